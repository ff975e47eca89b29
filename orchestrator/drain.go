package orchestrator

import (
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/sentinel"
)

// Drained says what a Drain had to cut off. All of it is in the journal, and
// the next process over the same database goes on with it.
type Drained struct {
	// Turns were under way when the time was over, by conversation.
	Turns []CutTurn `json:"turns"`
	// Calls were under way then: one that ran is unknown unless it ended after
	// all, one that waited for a person is asked about again.
	Calls []sentinel.InFlight `json:"calls"`
	Took  time.Duration       `json:"took_ns"`
}

// CutTurn is a request that was not finished. It holds no text.
type CutTurn struct {
	Conversation string    `json:"conversation"`
	Request      string    `json:"request"` // its id
	Turn         string    `json:"turn"`
	Phase        string    `json:"phase"`
	Since        time.Time `json:"since"` // of the phase
	// Agents are those that had not ended.
	Agents []AgentInfo `json:"agents,omitempty"`
}

// AgentInfo is the state of an agent.
type AgentInfo struct {
	Agent string       `json:"agent"`
	State agents.State `json:"state"`
}

// Clean reports whether nothing was cut off.
func (d Drained) Clean() bool { return len(d.Turns) == 0 && len(d.Calls) == 0 }

// String says in lines of text what was cut off.
func (d Drained) String() string {
	if d.Clean() {
		return fmt.Sprintf("all work has ended, after %s; nothing was cut off", d.Took.Round(time.Millisecond))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "cut off after %s; the next start goes on with it", d.Took.Round(time.Millisecond))
	now := time.Now()
	for _, t := range d.Turns {
		fmt.Fprintf(&b, "\n  request %s of conversation %s: %s for %s", t.Request, t.Conversation, spaceWords(t.Phase),
			now.Sub(t.Since).Round(time.Millisecond))
		for _, a := range t.Agents {
			fmt.Fprintf(&b, "\n    agent %q: %s", a.Agent, spaceWords(string(a.State)))
		}
	}
	for _, c := range d.Calls {
		fmt.Fprintf(&b, "\n  call %s of %s by agent %q in %s: %s for %s", c.CallID, c.Skill, c.Agent, c.Conversation,
			spaceWords(c.Phase), now.Sub(c.Since).Round(time.Millisecond))
	}
	return b.String()
}

// spaceWords makes words of a code.
func spaceWords(code string) string { return strings.ReplaceAll(code, "_", " ") }
