package orchestrator

import (
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/agents/loop"
	"github.com/vedette-dev/vedette/orchestrator/history"
)

// The kinds of item that a turn leaves in the journal, each under the turn's
// id. The first three are for people: the request's text, an agent's mission
// with what came of it, the answer. The others are what a restart reads.
const (
	keptRequest = "request"
	keptAgent   = "agent"
	keptAnswer  = "answer"

	recordOpen       = "turn.open"
	recordRound      = "turn.round"
	recordEnd        = "turn.end"
	recordAgentRound = "agent.round"
	recordAgentEnd   = "agent.end"

	maxKept   = 1 << 20  // bytes of one text for people
	maxRecord = 12 << 20 // bytes of one turn's end; the journal takes 16 MiB
	minCut    = 1 << 10  // bytes that are left of an answer whatever there is beside it
)

// recordVersion is the form of all records. A later one is not understood, and
// neither is the turn that it belongs to.
const recordVersion = 1

// openRecord is a request before anything is done about it.
type openRecord struct {
	V       int       `json:"v"`
	Request string    `json:"request"` // its id
	Grant   string    `json:"grant"`
	Scope   []string  `json:"scope"`
	Tainted bool      `json:"tainted"` // of earlier turns
	Started time.Time `json:"started"`
	By      string    `json:"by,omitempty"` // who sent it in the user's name
	// Principal is the id of who sent it, for what may be taken from them.
	Principal string `json:"principal,omitempty"`
	// Context is what the program said of the user, Imported what the client said was said
	// before this turn.
	Context  string        `json:"context,omitempty"`
	Imported loop.Messages `json:"imported,omitempty"`
	// Assistant is how the request is worked on.
	Assistant Assistant `json:"assistant,omitzero"`
	// Intent is what the trusted intent of the request allows; what it narrows is narrowed in Scope and Assistant.
	Intent allowedIntent `json:"intent,omitzero"`
}

// roundRecord is what was added to a turn since the round before. It ends with the model's
// next answer, of which no call has been made yet.
type roundRecord struct {
	V        int           `json:"v"`
	Number   int           `json:"n"` // from 1
	Messages loop.Messages `json:"messages"`
	// Hidden are the ids of calls in the answer whose secret arguments were left
	// out, so that they can't be proposed from here.
	Hidden []string `json:"hidden,omitempty"`
	// Proposed is how many calls the turn's desk had been given before.
	Proposed  int `json:"invokes"`
	Questions int `json:"rounds"` // to the model
	// WithoutTools says that the model gets no tools any more.
	WithoutTools bool `json:"last,omitempty"`
	Nudged       bool `json:"nudged,omitempty"`
	Tainted      bool `json:"tainted,omitempty"`
	// TaintedBefore says that the taint is of earlier turns alone. A record of a program that
	// didn't say so has a taint of its own turn.
	TaintedBefore bool `json:"tainted_before,omitempty"`
	// Omitted is how many calls of the turn's own were not proposed so far.
	Omitted int `json:"omitted,omitempty"`
	// Ended are the agents that had ended since, as the turn saw it.
	Ended []agents.Result `json:"ended,omitempty"`
	// Asking are the agents that were waiting for an answer.
	Asking []string `json:"asking,omitempty"`
	// Spent is by the turn's own questions so far.
	Spent Spent `json:"spent"`
}

// agentRecord is a round of an agent.
type agentRecord struct {
	V       int          `json:"v"`
	Grant   string       `json:"grant"`
	Tainted bool         `json:"tainted"`
	Before  bool         `json:"tainted_before,omitempty"` // as in roundRecord
	Round   agents.Round `json:"round"`
	Spent   Spent        `json:"spent"` // so far
}

// agentEndRecord is how an agent ended by itself.
type agentEndRecord struct {
	V       int           `json:"v"`
	Grant   string        `json:"grant"`
	Tainted bool          `json:"tainted"`
	Before  bool          `json:"tainted_before,omitempty"` // as in roundRecord
	Result  agents.Result `json:"result"`
	Spent   Spent         `json:"spent"`
}

// endRecord is how a turn ended: with a reply, or with a failure.
type endRecord struct {
	V       int    `json:"v"`
	Request string `json:"request"`
	Reply   Reply  `json:"reply"`
	Failure string `json:"failure,omitempty"`
	// TaintedBefore says that the turn itself has read nothing of others. A record of a
	// program that didn't say so has, if its reply is tainted.
	TaintedBefore bool `json:"tainted_before,omitempty"`
	// Messages are what the next turns are shown of this one.
	Messages loop.Messages `json:"messages,omitempty"`
	// Imported are those that stood before the turn.
	Imported loop.Messages `json:"imported,omitempty"`
	// Strange are the untrusted results of the turn, within bounds.
	Strange []strangeRecord `json:"strange,omitempty"`
	// Results are what the calls of the turn sent and brought, within bounds.
	Results []resultRecord `json:"results,omitempty"`
}

// The failures of an endRecord; those of the model have its kind behind them.
const (
	failedModel       = "model:"
	failedCancelled   = "cancelled"
	failedInterrupted = "interrupted"
	failedNotKept     = "not_kept"
)

// codeOfFailure is a turn's error as its endRecord has it.
func codeOfFailure(err error) string {
	var m *ModelError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &m):
		return failedModel + m.Kind
	case errors.Is(err, ErrCancelled):
		return failedCancelled
	case errors.Is(err, ErrNotKept):
		return failedNotKept
	}
	return failedInterrupted
}

// failureFromCode is the error that an endRecord tells.
func failureFromCode(code string) error {
	switch {
	case code == "":
		return nil
	case len(code) > len(failedModel) && code[:len(failedModel)] == failedModel:
		return &ModelError{code[len(failedModel):]}
	case code == failedCancelled:
		return ErrCancelled
	case code == failedNotKept:
		return ErrNotKept
	}
	return ErrInterrupted
}

// turnSpace is the namespace of turn ids: one conversation's request ids say
// nothing about another's.
var turnSpace = uuid.MustParse("c1b0a1de-3a6c-5f39-8d5e-70f0a5f0c7b2")

// deriveTurnID is the id of the turn that works on a request.
func deriveTurnID(conversation, request string) string {
	return uuid.NewSHA1(turnSpace, []byte(conversation+"\n"+request)).String()
}

// agentGrantID is the id of an agent's grant: the same again after a restart.
func agentGrantID(turnGrant, agent string) string {
	return uuid.NewSHA1(turnSpace, []byte(turnGrant+"\n"+agent)).String()
}

// fitEndRecord is the record of an end, with its texts cut to what the journal takes.
func fitEndRecord(end *endRecord) history.Item {
	whole, record := end.Reply, history.NewItem(recordEnd, end)
	for n := loop.MaxAnswer / 2; len(record.Data) > maxRecord && n >= minCut; n /= 2 {
		end.Reply.Text, end.Reply.Agents = loop.Cut(whole.Text, n), slices.Clone(whole.Agents)
		for i, a := range whole.Agents {
			end.Reply.Agents[i].Answer = loop.Cut(a.Answer, n)
		}
		record = history.NewItem(recordEnd, end)
	}
	return record
}
