package orchestrator

import (
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/admission"
)

// OverloadedError says what there was no room for and when to come again:
//
//	var full *orchestrator.OverloadedError
//	if errors.As(err, &full) { wait(full.RetryAfter) }
type OverloadedError = admission.OverloadedError

// agentWait is how long an agent waits for room before it fails. So much time it would
// have had to work.
const agentWait = time.Minute

// pools bound how many conversations, requests, turns and agents there are at a
// time. Work takes a place of each in this order. A wait for one never depends on
// work that waits for the next. A request counts while its caller waits, a turn and
// an agent while they work.
type pools struct {
	requests, turns, agents, conversations *admission.Pool
}

// listStats returns how full the pools are, in the order in which work meets them.
func (p *pools) listStats() []admission.Stats {
	return []admission.Stats{p.conversations.Stats(), p.requests.Stats(), p.turns.Stats(), p.agents.Stats()}
}

// newPools makes the pools as the limits say; room is how long an agent waits.
func newPools(l config.Limits, room time.Duration) pools {
	p, u := l.Process, l.User
	return pools{
		requests: admission.New(admission.Options{What: "requests", Process: p.Turns + p.Waiting, User: u.Turns + u.Waiting}),
		turns: admission.New(admission.Options{
			What: "turns", Process: p.Turns, User: u.Turns, Waiting: p.Waiting, UserWaiting: u.Waiting, Wait: p.Wait,
		}),
		// As many may wait as the turns may dispatch.
		agents: admission.New(admission.Options{
			What: "agents", Process: p.Agents, User: u.Agents,
			Waiting: p.Turns * l.Turn.Agents, UserWaiting: p.Turns * l.Turn.Agents, Wait: room,
		}),
		conversations: admission.New(admission.Options{What: "conversations", Process: p.Conversations, User: u.Conversations}),
	}
}
