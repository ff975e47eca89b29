package orchestrator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/orchestrator/answers"
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
	Tainted bool      `json:"tainted"`
	Started time.Time `json:"started"`
}

// roundRecord is what was added to a turn since the round before, with the
// model's next answer, of which no call has been made yet.
type roundRecord struct {
	V        int             `json:"v"`
	Number   int             `json:"n"` // from 1
	Messages agents.Messages `json:"messages"`
	// Hidden are the ids of calls in the answer whose secret arguments were left
	// out, so that they can't be proposed from here.
	Hidden []string `json:"hidden,omitempty"`
	// Invokes is how many calls the turn's desk had been given before.
	Invokes int  `json:"invokes"`
	Rounds  int  `json:"rounds"` // with the model
	Last    bool `json:"last,omitempty"`
	Nudged  bool `json:"nudged,omitempty"`
	Tainted bool `json:"tainted,omitempty"`
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
	Round   agents.Round `json:"round"`
	Spent   Spent        `json:"spent"` // so far
}

// agentEndRecord is how an agent ended by itself.
type agentEndRecord struct {
	V       int           `json:"v"`
	Grant   string        `json:"grant"`
	Tainted bool          `json:"tainted"`
	Result  agents.Result `json:"result"`
	Spent   Spent         `json:"spent"`
}

// endRecord is how a turn ended: with a reply, or with a failure.
type endRecord struct {
	V       int    `json:"v"`
	Request string `json:"request"`
	Reply   Reply  `json:"reply"`
	Failure string `json:"failure,omitempty"`
	// Messages are what the next turns are shown of this one.
	Messages agents.Messages `json:"messages,omitempty"`
}

// The failures of an endRecord; those of the model have its kind behind them.
const (
	failedModel       = "model:"
	failedCancelled   = "cancelled"
	failedInterrupted = "interrupted"
	failedNotKept     = "not_kept"
)

func failureCode(err error) string {
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

func failureOf(code string) error {
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

// item makes a record of v, which always marshals: it is made of plain values.
func item(kind string, v any) history.Item {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return history.Item{Kind: kind, Data: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

// about names the turn for the journal.
func (t *turn) about() history.Turn {
	g := t.desk.Grant()
	return history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: t.id, Tainted: g.Tainted()}
}

// defang makes links of a tainted text plain, as in the answer to the user.
func (t *turn) defang(tainted bool, text string) (string, int) {
	if !tainted {
		return text, 0
	}
	return answers.Defang(text, answers.Options{Allow: t.o.links, Request: t.request})
}

// describe is an agent for people: links of a tainted one lead nowhere.
func (t *turn) describe(k *member, r agents.Result) history.Item {
	tainted := k.desk.Tainted()
	plain := func(s string) string {
		s, _ = t.defang(tainted, s)
		return clip(s, maxKept/2)
	}
	return item(keptAgent, map[string]any{
		"agent_id": r.Agent, "grant": k.desk.Grant().ID(), "mission": plain(k.args.Mission), "context": plain(k.args.Context),
		"state": r.State, "reason": r.Reason, "answer": plain(r.Answer),
	})
}

// agentJournal is the journal of one agent. It is used by the agent's process.
type agentJournal struct {
	t *turn
	k *member
}

func (j agentJournal) about() history.Turn {
	g := j.k.desk.Grant()
	return history.Turn{Conversation: g.Conversation(), User: g.User(), Turn: j.t.id}
}

// Round makes a round of the agent durable.
func (j agentJournal) Round(ctx context.Context, r agents.Round) error {
	d := j.k.desk
	return j.keep(ctx, item(recordAgentRound, agentRecord{recordVersion, d.Grant().ID(), d.Tainted(), r, spentOf(&j.k.spent)}))
}

// End makes the agent's result durable, for a restart and for people.
func (j agentJournal) End(ctx context.Context, r agents.Result) error {
	d := j.k.desk
	end := item(recordAgentEnd, agentEndRecord{recordVersion, d.Grant().ID(), d.Tainted(), r, spentOf(&j.k.spent)})
	err := j.keep(ctx, end, j.t.describe(j.k, r))
	if err == nil {
		j.k.described.Store(true)
	}
	return err
}

// flag is a bool that agents' goroutines set.
type flag = atomic.Bool

// saved is what the journal has of a turn.
type saved struct {
	text   string
	open   openRecord
	rounds []roundRecord
	agents map[string][]agentRecord // by grant
	ends   map[string]agentEndRecord
	end    *endRecord
}

// errLost is a turn of which so much is gone, or so little understood, that it
// can't be gone on with.
var errLost = errors.New("what is kept of the request is not enough to go on with it")

// read puts the items of a turn back together.
func read(items []history.Item) (saved, error) {
	s := saved{agents: map[string][]agentRecord{}, ends: map[string]agentEndRecord{}}
	for _, it := range items {
		if err := s.take(it); err != nil {
			return saved{}, fmt.Errorf("%w: a record %s", errLost, it.Kind)
		}
	}
	return s, nil
}

func (s *saved) take(it history.Item) error {
	version := func(v int, err error) error {
		if err == nil && v != recordVersion {
			return errLost
		}
		return err
	}
	switch it.Kind {
	case keptRequest: // of a turn that was begun twice, the newest counts
		*s = saved{text: string(it.Data), agents: map[string][]agentRecord{}, ends: map[string]agentEndRecord{}}
	case recordOpen:
		err := json.Unmarshal(it.Data, &s.open)
		return version(s.open.V, err)
	case recordRound:
		var r roundRecord
		err := json.Unmarshal(it.Data, &r)
		s.rounds = append(s.rounds, r)
		if r.Number != len(s.rounds) {
			return errLost
		}
		return version(r.V, err)
	case recordAgentRound:
		var r agentRecord
		err := json.Unmarshal(it.Data, &r)
		if n := len(s.agents[r.Grant]); n > 0 && s.agents[r.Grant][n-1].Round.Number == r.Round.Number {
			s.agents[r.Grant] = s.agents[r.Grant][:n-1] // it was written again: whether it had been kept wasn't known
		}
		s.agents[r.Grant] = append(s.agents[r.Grant], r)
		return version(r.V, err)
	case recordAgentEnd:
		var r agentEndRecord
		err := json.Unmarshal(it.Data, &r)
		s.ends[r.Grant] = r
		return version(r.V, err)
	case recordEnd:
		s.end = &endRecord{}
		err := json.Unmarshal(it.Data, s.end)
		return version(s.end.V, err)
	}
	return nil
}
