package loop

import (
	"slices"
	"strconv"

	"github.com/vedette-dev/vedette/agents/llm"
)

// HearCalls makes the calls of one answer fit for the conversation. Every call has
// an id that no call had before, since servers refuse answers that can't be told
// apart. It hears at most MaxCallsHeard calls; left is how many came after those.
// The work is linear in calls and before. How long a call can be is up to the
// client: models.*.max_response bounds the whole answer.
func HearCalls(calls []llm.ToolCall, before []llm.Message) (heard []llm.ToolCall, left int) {
	ids := callIDs{seen: map[string]bool{}} // made each time: an agent that waits need not hold it
	for _, m := range before {
		for _, k := range m.ToolCalls {
			ids.seen[k.ID] = true
		}
	}
	heard = slices.Clone(calls[:min(len(calls), MaxCallsHeard)])
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
