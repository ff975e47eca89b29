package review

import (
	"cmp"
	"context"
	"maps"
	"strconv"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// How long, and how many, judgements made ahead are kept.
const (
	aheadFor  = time.Minute
	aheadSize = 4096
)

// These say in Meta, under "from", where a verdict is from that no question of its
// own brought.
const (
	fromCache  = "cache"
	fromAhead  = "ahead"
	fromShared = "shared"
)

// inquire begins a review.
func (g *Gate) inquire(c sentinel.Call) *inquiry {
	now, grant := time.Now(), c.Grant()
	return &inquiry{
		user: grant.User(), conversation: grant.Conversation(),
		turn:  cmp.Or(grant.Turn(), grant.ID()), // without turns a grant is one of its own
		began: now, until: now.Add(g.o.Timeout), apart: g.o.Apart,
	}
}

// recall answers from what is kept where it may, and asks otherwise. Of
// callers with the same question at a time one asks.
func (g *Gate) recall(ctx context.Context, c sentinel.Call, q *inquiry) (sentinel.Verdict, error) {
	if g.answers == nil {
		return g.question(ctx, c, q)
	}
	here := situation(c)
	if v, ok := g.answers.get(here); ok && g.sound() && mayKeep(c, v) {
		return copied(v, fromCache), nil
	}
	v, err := g.question(ctx, c, q)
	if err == nil && g.sound() && mayKeep(c, v) {
		same := v
		same.Meta = maps.Clone(v.Meta) // the caller goes on writing in its own
		g.answers.put(here, same, false)
	}
	return v, err
}

// question asks, unless the same question was foreseen or is being asked.
func (g *Gate) question(ctx context.Context, c sentinel.Call, q *inquiry) (sentinel.Verdict, error) {
	doc, fits := describe(c, g.o.view())
	if !fits {
		return g.unjudged(c, []*fault{{kind: TooLong}}), nil
	}
	id := asked(c, doc)
	if v, ok := g.ahead.get(id); ok && g.sound() {
		return copied(v, fromAhead), nil
	}
	if g.o.Apart {
		return g.review(ctx, c, doc, q)
	}
	v, how, err := g.flights.do(ctx, id, nil, func() (sentinel.Verdict, error) {
		return g.review(ctx, c, doc, q)
	})
	switch how {
	case "":
		return v, err
	case fromAhead:
		g.ahead.get(id) // this call was the one that it was for
	}
	return copied(v, how), nil
}

// Foresee judges a call that will probably be checked within a minute, and
// keeps the judgement for that one time; Check asks again where anything that
// a model would be shown has changed since. What could not be judged is not
// kept, and nothing is asked ahead while a model is away or marked.
func (g *Gate) Foresee(ctx context.Context, c sentinel.Call) {
	if g == nil || c.Skill() == nil || gaveUp(ctx) != nil || !g.sound() {
		return
	}
	if mode, _ := g.o.modeOf(c); mode != Enforce {
		return
	}
	if g.answers != nil {
		if _, ok := g.answers.get(situation(c)); ok {
			return
		}
	}
	doc, fits := describe(c, g.o.view())
	if !fits {
		return
	}
	id, q := asked(c, doc), g.inquire(c)
	q.ahead = &expected{}
	_, _, _ = g.flights.do(ctx, id, q.ahead, func() (sentinel.Verdict, error) { // who needs it will ask again
		v, err := g.review(ctx, c, doc, q)
		if err != nil {
			return v, err
		}
		v = q.stamp(v)
		if g.sound() && firsthand(v) {
			g.ahead.put(id, v, true)
		}
		return v, nil
	})
	g.tally.asked(q.sent)
}

// mayKeep reports whether a verdict may be given again to the same call in the
// same situation: a rejection, or the approval of a call that only reads or
// creates something of the user's own, by a skill of which nothing was refused
// in this branch. What follows from a missing judgement,
// from a model that stood in for another, or from two that disagree is not
// kept.
func mayKeep(c sentinel.Call, v sentinel.Verdict) bool {
	if v.State != sentinel.Judged || v.Degraded || !firsthand(v) {
		return false
	}
	switch {
	case v.Outcome == sentinel.Deny:
		return true
	case v.Outcome == sentinel.Allow && !c.Trace().RefusedBefore(c.Name()):
		return c.Effect() == skills.Read || c.Effect() == skills.Create && !c.Outward()
	}
	return false
}

// firsthand reports whether a verdict is a judgement, and no model stood in for
// another.
func firsthand(v sentinel.Verdict) bool {
	return v.Meta["failure"] == "" && v.Meta["failover"] == "" && v.Meta["second_failover"] == ""
}

// copied marks a verdict that no question of its own brought: it cost nothing this
// time.
func copied(v sentinel.Verdict, how string) sentinel.Verdict {
	v.Meta = maps.Clone(v.Meta)
	v.Meta["from"] = how
	if how != fromAhead { // that one is this call's own, and not paid for yet
		for _, k := range []string{"attempts", "cost", "spent", "waited_us", "repaired"} { // without attempts the rest is stamped again
			delete(v.Meta, k)
		}
	}
	return v
}

// stamp notes what asking has cost, and what it took.
func (q *inquiry) stamp(v sentinel.Verdict) sentinel.Verdict {
	v.Meta["attempts"] = strconv.Itoa(q.sent)
	v.Meta["tokens_in"], v.Meta["tokens_out"] = strconv.Itoa(q.in), strconv.Itoa(q.out)
	if q.cost > 0 {
		v.Meta["cost"] = strconv.FormatInt(q.cost, 10)
	}
	q.detail(v.Meta)
	if q.repaired != "" {
		v.Meta["repaired"] = string(q.repaired)
	}
	return v
}

// sound reports whether every model of both chains is in use and has not failed
// its canaries. While one isn't, nothing is kept and nothing that was kept is
// given.
func (g *Gate) sound() bool {
	for _, m := range g.all() {
		if m.breaker.Load().State() != gobreaker.StateClosed || m.failedCanary() {
			return false
		}
	}
	return true
}
