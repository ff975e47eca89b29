package agents

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
)

// The bounds of what a model's answers add to the conversation with it.
const (
	// MaxParallel is how many calls of one answer are heard.
	MaxParallel = 64
	// MaxMessages is how many bytes all messages of one agent, or of one turn of
	// its orchestrator, may have. It is more text than models read at once. Who
	// comes to it is asked once more, without tools. One answer may go beyond it,
	// and the short replies to its calls.
	MaxMessages = 4 << 20

	maxAnswerCalls = 2 << 20 // bytes of names and arguments in the calls of one answer
	maxInputs      = 1 << 20 // bytes of the answers that an agent is given
	minReply       = 512     // bytes of a reply that are kept however little room there is
)

// HearCalls makes the calls of one answer fit for the conversation. Every call has
// an id that no call had before, since servers refuse answers that can't be told
// apart. It hears at most MaxParallel calls and 2 MiB of names and arguments;
// left is how many calls came after those. Longer arguments than any checkpoint
// takes are cut. The work is linear in calls and before.
func HearCalls(calls []llm.ToolCall, before []llm.Message) (heard []llm.ToolCall, left int) {
	ids := callIDs{seen: map[string]bool{}} // made each time: an agent that waits need not hold it
	for _, m := range before {
		for _, k := range m.ToolCalls {
			ids.seen[k.ID] = true
		}
	}
	heard = make([]llm.ToolCall, 0, min(len(calls), MaxParallel))
	size := 0
	for i, k := range calls {
		k.Arguments = k.Arguments[:min(len(k.Arguments), maxKeptArgs)]
		size += len(k.Name) + len(k.Arguments)
		if i == MaxParallel || i > 0 && size > maxAnswerCalls {
			break
		}
		k.ID = ids.admit(k.ID)
		heard = append(heard, k)
	}
	return heard, len(calls) - len(heard)
}

// maxID is the longest id of a call that servers are known to take back.
const maxID = 64

// callIDs are the ids that are taken.
type callIDs struct {
	seen map[string]bool
	next int
}

// admit returns the id, or a new one where it is none, too long or taken.
func (l *callIDs) admit(id string) string {
	if id == "" || len(id) > maxID || l.seen[id] {
		for l.next = max(l.next, len(l.seen)); ; l.next++ {
			if id = "call_v" + strconv.Itoa(l.next); !l.seen[id] {
				break
			}
		}
	}
	l.seen[id] = true
	return id
}

// EchoMessages are messages as the conversation repeats them to the model: calls
// that a server would refuse there are put into a form that it takes. The list
// itself is not changed, and returned where nothing has to be.
func EchoMessages(list []llm.Message) []llm.Message {
	out, copied := list, false
	for i, m := range list {
		if !slices.ContainsFunc(m.ToolCalls, unfit) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		out[i].ToolCalls = echoed(m.ToolCalls)
	}
	return out
}

// unfit reports whether a server would refuse the call in a conversation.
func unfit(k llm.ToolCall) bool {
	a := jsontext.Value(k.Arguments)
	return !toolName(k.Name) || len(a) == 0 || len(a) > maxEcho || a.Kind() != '{' || !a.IsValid()
}

// Room is what is left of MaxMessages. Its zero value has all of it.
type Room struct{ used int }

// Take counts a message that is part of the conversation now.
func (r *Room) Take(m llm.Message) {
	r.used += len(m.Content) + len(m.ToolCallID)
	for _, k := range m.ToolCalls {
		r.used += len(k.ID) + len(k.Name) + len(k.Arguments)
	}
}

// Fit returns the text, cut to what there is room for, with a line behind it
// that says so.
func (r *Room) Fit(text string) string { return Cut(text, max(r.Left(), minReply)) }

// Left is how many bytes there is room for, zero at least.
func (r *Room) Left() int { return max(MaxMessages-r.used, 0) }

// Spent reports whether there is room for no further round.
func (r *Room) Spent() bool { return r.Left() <= minReply }
