package review

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/internal/backoff"
)

// Purse is what the review may spend on models. Without one there is no bound.
type Purse interface {
	// Hold takes room for the most that a request can come to, in every budget or in
	// none. An error means that no store can count; the model isn't asked.
	Hold(ctx context.Context, s Spending) (Room, error)
	// Spend tells what the request came to, in place of what was held for it.
	// Zero gives all of it back.
	Spend(ctx context.Context, s Spending) error
}

// Spending is one request to a model and what it takes.
type Spending struct {
	// ID is the request's own.
	ID                 string
	User, Conversation string
	// Calls is 1, or 0 for a request that was not sent. Tokens are those of
	// question and answer; Cost is in millionths of the prices' currency.
	Calls, Tokens, Cost int64
}

// Room is the answer of a Purse.
type Room struct {
	OK bool
	// Budget names the one that is spent, by its configuration path below
	// sentinel.budget: "conversation.tokens".
	Budget string
	// InFlight says that there would be room but for what other requests hold
	// and may not need.
	InFlight bool
	// RetryAfter is the time until there is room again, 0 if unknown.
	RetryAfter time.Duration
}

// roomPauses are how long a request waits for others to tell what they came to, before it
// looks again.
var roomPauses = backoff.Pauses{First: 10 * time.Millisecond, Longest: 320 * time.Millisecond}

// holdBudget takes room for a request. What others may leave is waited for until by.
func (m *model) holdBudget(ctx context.Context, r llm.Request, q *inquiry, by time.Time) (Spending, error) {
	if m.purse == nil || q.canary {
		return Spending{}, nil
	}
	in, out := promptTokens(&r, worstBytes), int64(r.MaxTokens)
	s := Spending{ID: rand.Text(), User: q.user, Conversation: q.conversation, Calls: 1, Tokens: in + out, Cost: m.terms.Price.costOf(in, out)}
	for n := 0; ; n++ {
		pause := roomPauses.Pause(n)
		room, err := m.purse.Hold(ctx, s)
		switch {
		case err != nil && callerGaveUp(ctx) != nil:
			m.settleBudget(ctx, s, &r, &exchange{}) // the store may have held it all the same
			return s, errCanceled
		case err != nil:
			m.alarm.ring(ctx, "uncounted", "", slog.String("error", err.Error()))
			return s, &fault{kind: Budget, model: m.name}
		case room.OK:
			return s, nil
		case !room.InFlight || time.Until(by) < pause:
			m.alarm.ringSpent(ctx, room.Budget, q)
			return s, &fault{kind: Budget, model: m.name, retry: room.RetryAfter, budget: room.Budget}
		}
		if !backoff.Wait(ctx, pause) {
			return s, errCanceled
		}
	}
}

// settleBudget counts what a request came to. Also where the caller gave up: the
// model was paid all the same.
func (m *model) settleBudget(ctx context.Context, s Spending, r *llm.Request, e *exchange) {
	if s.ID == "" { // nothing was held
		return
	}
	s.Calls, s.Tokens, s.Cost = 0, 0, 0
	if e.sent {
		in, out := e.spentTokens(r)
		s.Calls, s.Tokens, s.Cost = 1, in+out, m.terms.Price.costOf(in, out)
	}
	if err := m.purse.Spend(context.WithoutCancel(ctx), s); err != nil {
		m.alarm.ring(ctx, "unsettled", "", slog.String("error", err.Error()))
	}
}

// exchange is what became of one request.
type exchange struct {
	sent  bool
	began time.Time
	took  time.Duration
	usage llm.Usage
	// said are the bytes of an answer; unpaid is set where the server told that
	// it did no work.
	said   int
	unpaid bool
}

// countAnswerBytes is how long an answer is, whichever way it was given.
func countAnswerBytes(r llm.Response) int {
	n := len(r.Content) + len(r.Refusal)
	for _, c := range r.ToolCalls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// spentTokens is what the server told. Where it did not, it is estimated: nothing for
// a request that was refused, else its text and that of the answer, if one came.
func (e *exchange) spentTokens(r *llm.Request) (in, out int64) {
	u := e.usage
	switch {
	case u.Prompt > 0 || u.Completion > 0 || u.Total > 0:
		in, out = int64(max(u.Prompt, 0)), int64(max(u.Completion, 0))
		return in, max(out, int64(u.Total)-in) // some count reasoning in the total alone
	case e.unpaid:
		return 0, 0
	}
	return promptTokens(r, usualBytes), int64(e.said+usualBytes-1) / usualBytes
}

// isUnpaidRequest reports whether a failure tells that the server did no work.
func isUnpaidRequest(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case llm.KindConnect:
		return e.Status == 0 // else it broke within an answer
	case llm.KindTimeout, llm.KindCanceled, llm.KindNotJSON, llm.KindBadResponse, llm.KindTooLarge:
		return false
	}
	return true
}

// A token is about four bytes of English. What is held is on the safe side.
const (
	worstBytes = 2
	usualBytes = 4
)

// promptTokens estimates a question's tokens from its bytes.
func promptTokens(r *llm.Request, perToken int) int64 {
	n := 0
	for i := range r.Messages {
		n += len(r.Messages[i].Content) + 4*perToken
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		n += len(t.Name) + len(t.Description) + len(t.Parameters) + 4*perToken
	}
	if r.Schema != nil {
		n += len(r.Schema.Name) + len(r.Schema.Schema)
	}
	return int64((n + perToken - 1) / perToken)
}

// million is the tokens of a price.
const million = 1_000_000

// costOf is what tokens cost, rounded up: what isn't free never comes to nothing.
func (p Price) costOf(in, out int64) int64 {
	return (in*p.Input + out*p.Output + million - 1) / million
}

// alarm is loud once: of a budget that is spent the log tells once an hour, for
// each whose it is.
type alarm struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]time.Time
}

// Bounds of an alarm. Beyond maxAlarms it forgets whom it told of.
const (
	alarmEvery = time.Hour
	maxAlarms  = 4096
)

// ringSpent tells of a budget.
func (a *alarm) ringSpent(ctx context.Context, budget string, q *inquiry) {
	who := ""
	switch {
	case strings.HasPrefix(budget, "user."):
		who = q.user
	case strings.HasPrefix(budget, "conversation."):
		who = q.user + "\x00" + q.conversation
	}
	a.ring(ctx, budget, who, slog.String("conversation", q.conversation))
}

func (a *alarm) ring(ctx context.Context, what, who string, attr slog.Attr) {
	now := time.Now()
	a.mu.Lock()
	if a.last == nil || len(a.last) >= maxAlarms {
		a.last = map[string]time.Time{}
	}
	key := what + "\x00" + who
	told, known := a.last[key]
	silent := known && now.Sub(told) < alarmEvery
	if !silent {
		a.last[key] = now
	}
	a.mu.Unlock()
	if silent {
		return
	}
	switch what {
	case "uncounted":
		a.log.LogAttrs(ctx, slog.LevelError, "REVIEW BUDGET: it can't be counted, so no model is asked", attr)
	case "unsettled":
		a.log.LogAttrs(ctx, slog.LevelError, "what a review came to can't be counted; what was held for it stays", attr)
	default:
		a.log.LogAttrs(ctx, slog.LevelError, "REVIEW BUDGET SPENT: calls can't be judged until there is room, see sentinel.unjudgeable",
			slog.String("budget", "sentinel.budget."+what), attr)
	}
}

// Price is what a million tokens cost, in millionths of a currency.
type Price struct{ Input, Output int64 }
