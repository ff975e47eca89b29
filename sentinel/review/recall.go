package review

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/sentinel"
)

// How long, and how many, judgements made ahead are kept.
const (
	prejudgedFor  = time.Minute
	prejudgedSize = 4096
)

// fromCache and the others stand in Meta under "from". They say where a verdict is from that
// no question of its own brought.
const (
	fromCache     = "cache"
	fromPrejudged = "ahead"
	fromShared    = "shared"
)

// newInquiry begins a review.
func (g *Gate) newInquiry(c sentinel.Call) *inquiry {
	now, grant := time.Now(), c.Grant()
	return &inquiry{
		user: grant.User(), conversation: grant.Conversation(),
		turn:  cmp.Or(grant.Turn(), grant.ID()), // without turns a grant is one of its own
		began: now, until: now.Add(g.o.Timeout), apart: g.o.Measure.Apart,
	}
}

// recallVerdict answers from what is kept where it may, and asks otherwise. Of
// callers with the same question at a time one asks.
func (g *Gate) recallVerdict(ctx context.Context, c sentinel.Call, q *inquiry) (sentinel.Verdict, error) {
	if g.answers == nil {
		return g.shareQuestion(ctx, c, q)
	}
	here := situationKey(c)
	if v, ok := g.answers.get(here); ok && g.isSound() && mayKeep(c, v) {
		return copyVerdict(v, fromCache), nil
	}
	v, err := g.shareQuestion(ctx, c, q)
	if err == nil && g.isSound() && mayKeep(c, v) {
		same := v
		same.Meta = maps.Clone(v.Meta) // the caller goes on writing in its own
		g.answers.put(here, same, false)
	}
	return v, err
}

// shareQuestion asks, unless the same question was prejudged or is being asked.
func (g *Gate) shareQuestion(ctx context.Context, c sentinel.Call, q *inquiry) (sentinel.Verdict, error) {
	doc, fits := describeCall(c, g.o.documentView())
	if !fits {
		return g.unjudgedVerdict(c, []*fault{{kind: TooLong}}), nil
	}
	v, err := g.askOrShare(ctx, c, doc, q)
	v.Question = nameQuestion(g, doc)
	return v, err
}

// askOrShare asks the question, unless the same was prejudged or is being asked.
func (g *Gate) askOrShare(ctx context.Context, c sentinel.Call, doc string, q *inquiry) (sentinel.Verdict, error) {
	id := questionKey(c, doc)
	if v, ok := g.prejudged.get(id); ok && g.isSound() {
		return copyVerdict(v, fromPrejudged), nil
	}
	if g.o.Measure.Apart {
		return g.reviewCall(ctx, c, doc, q)
	}
	v, how, err := g.flights.do(ctx, id, nil, func() (sentinel.Verdict, error) {
		return g.reviewCall(ctx, c, doc, q)
	})
	switch how {
	case "":
		return v, err
	case fromPrejudged:
		g.prejudged.get(id) // this call was the one that it was for
	}
	return copyVerdict(v, how), nil
}

// Prejudge judges a call that will probably be checked within a minute, and keeps the judgement
// for that one time. Check asks again where anything that a model would be shown has changed
// since. What could not be judged is not kept, and nothing is asked ahead while a model is
// away or marked.
func (g *Gate) Prejudge(ctx context.Context, c sentinel.Call) {
	if g == nil || c.Skill() == nil || callerGaveUp(ctx) != nil || !g.isSound() {
		return
	}
	if mode, _ := g.o.modeOf(c); mode != Enforce {
		return
	}
	if _, skipped := g.o.Profile.skipVerdict(c, g.o.Modes); skipped {
		return
	}
	c = c.WithEvidence(g.o.Evidence)
	if g.answers != nil {
		if _, ok := g.answers.get(situationKey(c)); ok {
			return
		}
	}
	doc, fits := describeCall(c, g.o.documentView())
	if !fits {
		return
	}
	id, q := questionKey(c, doc), g.newInquiry(c)
	q.prejudging = &expected{}
	_, _, _ = g.flights.do(ctx, id, q.prejudging, func() (sentinel.Verdict, error) { // who needs it will ask again
		v, err := g.reviewCall(ctx, c, doc, q)
		if err != nil {
			return v, err
		}
		v = q.stampCosts(v)
		if g.isSound() && isFirsthand(v) {
			g.prejudged.put(id, v, true)
		}
		return v, nil
	})
	g.tally.countRequests(q.sent)
}

// isSound reports whether every model of both chains is in use and has not failed
// its canaries. While one isn't, nothing is kept and nothing that was kept is
// given.
func (g *Gate) isSound() bool {
	for _, m := range g.modelsOfBothChains() {
		if m.breaker.Load().State() != gobreaker.StateClosed || m.failedCanary() {
			return false
		}
	}
	return true
}
