// Package limits says how much an agent may attempt. It has budgets for one agent,
// one turn and one conversation, and a circuit breaker for each skill.
//
//	level         what is counted                      default          forgotten
//	agent         proposals of one agent               5 (at most 20)   by EndTurn, EndAgent
//	turn          agents dispatched; proposals         8; 30            by EndTurn
//	conversation  proposals, in a sliding window       50 in 5 minutes  as the window slides
//	skill         failures of the executor             3 in 60 s        30 s open, then one probe
//
// Beside these, [Budgets] bound what questions to models take in tokens and in
// money. [Limiter.Hold] takes room for the most that a question can come to, and
// [Limiter.Spend] says what it came to.
//
// Make one [Limiter] over one [Store] and ask it once for every proposal,
// before any rule has looked at it:
//
//	l, err := limits.New(limits.Config{}, limits.NewMemory(limits.MemoryOptions{}))
//	v, err := l.Reserve(ctx, p)
//	switch {
//	case err != nil:          // the store could not answer: refuse, nothing runs
//	case !v.OK:               // v.Code, v.RetryAfter: refuse, the model may read why
//	case refusedByALaterGate: // l.Abandon(ctx, p.Skill, p.ID)
//	default:                  // run, then l.Report(ctx, p.Skill, p.ID, worked)
//	}
//
// NewMemory counts for one process; package limits/redisstore counts for all
// that share a Redis server.
//
// A proposal uses its slot whether or not it is allowed later. So a model that keeps
// trying refused calls runs out as fast as one whose calls succeed. A proposal takes
// all its buckets or none. A proposal that comes again with the same id takes nothing
// twice.
//
// What NOT to do. Don't treat an error as room: after an error the store has counted
// nothing. Where an error is ErrAway, the caller may decide by what a call does.
// Don't report refusals, timeouts of a person or bad arguments as failures of a
// skill. A user who can cause failures could open the breaker for all users: report
// only that the executor itself broke. Don't forget Abandon: a half-open
// breaker lets a single probe through. A probe that is neither reported nor
// abandoned blocks the skill for another OpenFor. Don't forget EndTurn: without it
// counts stay until the store evicts them. Don't make a second Store per
// conversation: all conversations share the breakers.
//
// To change the numbers while running, make a new Limiter over the same Store;
// what has been used stays used.
package limits
