package loop

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// The bounds of what a model's answers add to the conversation with it.
const (
	// MaxParallel is how many calls of one answer are heard.
	MaxParallel = 64
	// MaxMessages is how many bytes all messages of one agent, or of one turn of
	// its orchestrator, may have. It is more text than models read at once. A loop that
	// comes to it asks once more, without tools. Only an answer's text may go
	// beyond it, by MaxAnswer, and the short replies to its calls.
	MaxMessages = 4 << 20
	// MaxAnswer is how many bytes of a model's text are kept. More than models write
	// who mean it; what a server may send is more than a journal takes.
	MaxAnswer = 256 << 10

	minReply = 512       // bytes of a reply that are kept however little room there is
	maxTool  = 256       // bytes of a tool's name that are kept
	maxEcho  = 256 << 10 // bytes of arguments that are sent back to the model
)

// HearCalls makes the calls of one answer fit for the conversation. Every call has
// an id that no call had before, since servers refuse answers that can't be told
// apart. It hears at most MaxParallel calls; left is how many came after those.
// The work is linear in calls and before. How long a call can be is up to the
// client: models.*.max_response bounds the whole answer.
func HearCalls(calls []llm.ToolCall, before []llm.Message) (heard []llm.ToolCall, left int) {
	ids := callIDs{seen: map[string]bool{}} // made each time: an agent that waits need not hold it
	for _, m := range before {
		for _, k := range m.ToolCalls {
			ids.seen[k.ID] = true
		}
	}
	heard = slices.Clone(calls[:min(len(calls), MaxParallel)])
	for i := range heard {
		heard[i].ID = ids.admitID(heard[i].ID)
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

// admitID returns the id, or a new one where it is none, too long or taken.
func (l *callIDs) admitID(id string) string {
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

// echoMessages returns messages as the conversation repeats them to the model: calls
// that a server would refuse there are put into a form that it takes. The list
// itself is not changed, and returned where nothing has to be.
func echoMessages(list []llm.Message) []llm.Message {
	out, copied := list, false
	for i, m := range list {
		if !slices.ContainsFunc(m.ToolCalls, isUnfit) {
			continue
		}
		if !copied {
			out, copied = slices.Clone(list), true
		}
		out[i].ToolCalls = echoToolCalls(m.ToolCalls)
	}
	return out
}

// isUnfit reports whether a server would refuse the call in a conversation.
func isUnfit(k llm.ToolCall) bool {
	a := jsontext.Value(k.Arguments)
	return !isToolName(k.Name) || len(a) == 0 || len(a) > maxEcho || a.Kind() != '{' || !a.IsValid()
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

// FitCalls returns the calls as the conversation keeps them: of arguments that
// are too long, or that there is no room for, it has the length alone.
func (r *Room) FitCalls(calls []llm.ToolCall) []llm.ToolCall {
	out, left := slices.Clone(calls), r.Left()
	for i := range out {
		k := &out[i]
		k.Name = textcut.Head(k.Name, maxTool)
		if n := len(k.Arguments); n > maxEcho || n > left {
			k.Arguments = EncodeJSON(map[string]int{"omitted_bytes": n})
		}
		left -= len(k.Name) + len(k.Arguments)
	}
	return out
}

// Left is how many bytes there is room for, zero at least.
func (r *Room) Left() int { return max(MaxMessages-r.used, 0) }

// Spent reports whether there is room for no further round.
func (r *Room) Spent() bool { return r.Left() <= minReply }

// Cut returns a text of at most n bytes whole, of a longer one the beginning, cut
// between two characters, with a line behind it that says so.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return textcut.Head(s, n) + "\n[cut here: the text was too long]"
}

// maxMalformed is how many bytes of arguments that are no JSON object go back to the model.
const maxMalformed = 2_000

// echoToolCalls returns calls as the conversation repeats them to the model. What a
// server would refuse there, and the loop would die of, is put into a form
// that it takes; what is proposed is not touched by this.
func echoToolCalls(calls []llm.ToolCall) []llm.ToolCall {
	out := slices.Clone(calls)
	for i := range out {
		k := &out[i]
		if !isToolName(k.Name) {
			k.Name = "unknown_tool"
		}
		switch a := jsontext.Value(k.Arguments); {
		case len(a) == 0:
			k.Arguments = "{}"
		case len(a) > maxEcho:
			k.Arguments = EncodeJSON(map[string]int{"omitted_bytes": len(a)})
		case a.Kind() != '{' || !json.Valid(a):
			k.Arguments = EncodeJSON(map[string]string{"malformed": textcut.Head(k.Arguments, maxMalformed)})
		}
	}
	return out
}

// isToolName reports whether servers take a tool's name.
func isToolName(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
