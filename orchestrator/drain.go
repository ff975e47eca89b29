package orchestrator

import (
	"context"
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

const (
	drainLook = 10 * time.Millisecond // how often a drain looks whether work has ended
	cutTime   = 5 * time.Second       // what is cut off has this long to end
)

// Drain ends the work and closes the Orchestrator. From now on requests are
// refused with ErrDraining, also those that were waiting for another to end and
// were not begun; the ones that were begun have until ctx ends, 30 s where it
// has no deadline. What has not ended by then is cut off: its callers get
// ErrClosed, and it is reported. Reply goes on answering meanwhile.
func (o *Orchestrator) Drain(ctx context.Context) (d Drained, err error) {
	began := time.Now()
	o.ending.draining.Store(true)
	ctx, cancel := withDeadline(ctx, defaultClose)
	defer cancel()
	look := time.NewTicker(drainLook)
	defer look.Stop()
	for calm := 0; calm < 2 && ctx.Err() == nil; { // seen twice: a request may have been on its way in
		if turns, calls := o.underWay(); len(turns) == 0 && len(calls) == 0 {
			calm++
		} else {
			calm = 0
		}
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	d.Turns, d.Calls = o.underWay()
	for _, t := range d.Turns {
		o.log.Warn("a request is cut off; the next start goes on with it", "conversation", t.Conversation, "turn", t.Turn, "phase", t.Phase)
	}
	for _, c := range d.Calls {
		o.log.Warn("a call is cut off", "call", c.CallID, "skill", c.Skill, "agent", c.Agent, "conversation", c.Conversation, "phase", c.Phase)
	}
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
	defer stop()
	err = o.Close(closing)
	d.Took = time.Since(began)
	return d, err
}

// underWay is what has not ended.
func (o *Orchestrator) underWay() (turns []CutTurn, calls []sentinel.InFlight) {
	for _, l := range o.statuses.listStatuses(o.sys) {
		if l.turn == "" && l.phase != statusReading {
			continue
		}
		t := CutTurn{Conversation: l.conversation, Request: l.request, Turn: l.turn, Phase: l.phase, Since: l.since}
		for _, a := range l.listAgents() {
			if !a.State.Done() {
				t.Agents = append(t.Agents, a)
			}
		}
		turns = append(turns, t)
	}
	return turns, o.parts.Checkpoint.InFlight()
}
