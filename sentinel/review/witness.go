package review

import (
	"errors"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
)

// What a call asks about can make a server fail, hang or refuse. One user's
// failures are therefore no outage: reads would go on unjudged for a caller that brings
// one about. A canary's failure is a witness, and so is another user's.

// witness is who has met one kind of failure.
type witness struct {
	user   string    // who met it last
	at     time.Time // and when
	other  time.Time // when somebody else than that user did
	canary time.Time // when a canary did
}

// nameFault names what went wrong, and has the model looked at where the call may
// have brought that about. A timeout of a request that was sent too late to be
// answered says nothing of the model: the user that made it wait could do the same to
// all, and make an outage of it. Nor does a question that was asked ahead.
func (m *model) nameFault(err error, t turn, fair bool) *fault {
	var e *llm.Error
	if !errors.As(err, &e) {
		return &fault{kind: BadShape, model: m.name}
	}
	f := &fault{kind: failureOf(e), retry: min(e.RetryAfter, m.longest), model: m.name, status: e.Status}
	lone := f.kind.loneKind()
	late := f.kind == Timeout && !fair && e.Kind != llm.KindTimeout
	if lone == "" || e.Unreached() {
		return f
	}
	if !t.canary && !late {
		m.suspect()
	}
	if late || t.prejudging.isPending() || !m.isBelievedFailure(f.kind, t) {
		f.kind = lone
	}
	return f
}

// isBelievedFailure notes a failure and reports whether it is the model's: a canary met
// it, or another user's call did and no canary was answered, within the breaker's
// window. A limit that one user's requests have used up is that user's alone.
func (m *model) isBelievedFailure(kind Failure, t turn) bool {
	now := m.now()
	acquitted := m.isAcquitted()
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.met[kind.kindAlike()]
	if t.canary {
		w.canary = now
	} else {
		if w.user != t.user {
			w.other = w.at
		}
		w.user, w.at = t.user, now
	}
	if m.met == nil {
		m.met = map[Failure]witness{}
	}
	m.met[kind.kindAlike()] = w
	if kind.isLimited() && m.users.isFlooded(time.Now()) {
		return false
	}
	recent := func(at time.Time) bool { return !at.IsZero() && now.Sub(at) < m.window }
	return recent(w.canary) || recent(w.other) && !acquitted
}

// noteServedRequest notes what became of a request, for the share that its user has in what
// the server was asked.
func (m *model) noteServedRequest(t turn, f *fault) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f != nil {
		switch f.kind {
		case RateLimited, LoneRateLimited, Quota, LoneQuota, Connect:
			return
		}
	}
	m.users.add(t.user, time.Now())
	if f == nil || f.status != 0 || f.kind.isAnswer() {
		m.users.noteAnswer()
	}
}
