package intake

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// What questions to approvers and users came to, as the records have it.
const (
	approved  = "approved"
	denied    = "denied"
	confirmed = "confirmed"
	declined  = "declined"
	expired   = "expired"
)

// holdForApprover records that an approver has to decide, and asks.
func (p *Pipeline) holdForApprover(ctx context.Context, c *considered) (Answer, error) {
	if err := p.flights.makeRoom(); err != nil {
		return Answer{}, err
	}
	if err := p.book.open(ctx, c); err != nil {
		return Answer{}, err
	}
	w := &waiting{
		asked: askedOf(c.request, c.text), reason: c.reasons[0], why: c.reasons[1:], canonical: candidate{c.vote.Parser, c.canonical},
	}
	for _, i := range c.info.Parsers {
		if i.Failure == "" && i.Parser != w.canonical.parser {
			w.candidates = append(w.candidates, candidate{i.Parser, i.built})
		}
	}
	f, err := p.flights.begin(w.owner, c.answer(), func(ctx context.Context, f *flight) (Answer, error) { return p.elevate(ctx, f, w) })
	if err != nil { // it is on record, and waits on
		return c.answer(), p.flights.remindOf(w.owner.request, err)
	}
	return f.await(ctx)
}

// elevate asks an approver and goes on with what they said.
func (p *Pipeline) elevate(ctx context.Context, f *flight, w *waiting) (Answer, error) {
	leave := p.flights.follow(elevationCall(w.owner.request), f)
	asking, end := f.questionContext(ctx)
	digest, err := p.asker.ask(asking, w)
	end()
	leave()
	var no *skills.Refusal
	switch {
	case errors.As(err, &no):
		return p.endRefused(ctx, w, no)
	case err != nil:
		return f.pendingAnswer(), fmt.Errorf("%w: %w", errLeft, err)
	}
	chosen, known := w.choose(digest)
	if !known {
		return p.endElevation(ctx, w, denied, Answer{
			Status: Denied, Code: CodeEdited, Message: "The approver chose an intent that no parser gave.",
		})
	}
	if !w.approved {
		other := ""
		if chosen.parser != w.canonical.parser {
			other = chosen.parser
		}
		e := p.asker.readElevation(ctx, w.owner.request)
		err := p.book.submit(ctx, func(tx *store.Tx) error { return p.book.recordElevation(tx, w, approved, "", other, e) })
		if err != nil {
			return f.pendingAnswer(), err
		}
	}
	f.set(func(a *Answer) { a.Status, a.Approval, a.Message, a.Code = Running, "", "", "" })
	return p.trust(ctx, f, &act{asked: w.asked, intent: chosen.intent})
}

// endRefused ends a request whose approver said no, or couldn't be asked.
func (p *Pipeline) endRefused(ctx context.Context, w *waiting, no *skills.Refusal) (Answer, error) {
	switch {
	case no.Kind == skills.KindAskDenied && no.Code != sentinel.CodeApprovalNobody:
		return p.endElevation(ctx, w, denied, Answer{Status: Denied, Code: CodeRefused, Message: "A person said no."})
	case no.Kind == skills.KindAskExpired:
		return p.endElevation(ctx, w, expired, Answer{Status: Expired, Code: CodeExpired, Message: "No person answered in time."})
	case no.Kind == skills.KindPaused:
		return p.endElevation(ctx, w, denied, Answer{Status: Denied, Code: CodePaused, Message: "An operator has paused the work."})
	}
	return p.endElevation(ctx, w, denied, Answer{
		Status: Denied, Code: CodeNotAsked, Message: "No person could be asked: " + no.Reason + ".",
	})
}

// endElevation records what the approver's question came to, and the request's end.
func (p *Pipeline) endElevation(ctx context.Context, w *waiting, outcome string, a Answer) (Answer, error) {
	a.RequestID = w.owner.request
	e := p.asker.readElevation(ctx, w.owner.request)
	err := p.book.submit(ctx, func(tx *store.Tx) error {
		if err := p.book.recordElevation(tx, w, outcome, a.Code, "", e); err != nil {
			return err
		}
		return p.book.recordEnd(tx, w.owner, a, endBody{})
	})
	return a, asDecided(err)
}

// UserAnswer is what a user says to a Confirmation.
type UserAnswer struct {
	Request string
	// User is who answers, by what the server knows of its caller.
	User string
	// Digest is Confirmation.Digest as the user was shown it.
	Digest string
	Yes    bool
}

// Confirm takes the user's answer. With a yes the intent is signed and its action begins; Confirm returns as Process does.
// The answer is to exactly the intent that was shown, once, within its time, and by the same user.
//
// The error is ErrUnknownRequest, ErrDecided, ErrDigest, ErrNotRecorded, ErrBusy or ErrClosed. After ErrDigest the request
// waits on.
func (p *Pipeline) Confirm(ctx context.Context, u UserAnswer) (Answer, error) {
	if u.User == "" {
		return Answer{}, ErrUnknownRequest
	}
	s, err := p.book.readState(ctx, u.Request, u.User)
	switch {
	case err != nil:
		return Answer{}, err
	case s.status != PendingConfirmation:
		return Answer{}, ErrDecided
	case s.kept == nil || s.kept.Canonical == nil:
		return p.endLost(ctx, s.owner)
	}
	i, err := p.o.Vocabulary.Build(*s.kept.Canonical)
	switch {
	case err != nil:
		return p.endLost(ctx, s.owner)
	case subtle.ConstantTimeCompare([]byte(u.Digest), []byte(i.Digest())) != 1:
		return Answer{}, ErrDigest
	case !p.o.Now().Before(s.kept.Expires):
		return p.endConfirmation(ctx, s.owner, expired, Answer{Status: Expired, Code: CodeExpired, Message: "The time to confirm is over."})
	case !u.Yes:
		return p.endConfirmation(ctx, s.owner, declined, Answer{Status: Denied, Code: CodeDeclined, Message: "You said no."})
	}
	info := s.kept.Info
	return p.start(ctx, &act{asked: s.asked(), intent: i, confirmed: true}, Answer{RequestID: u.Request, Status: Running, Info: &info})
}

// endConfirmation records what a confirmation came to, and the request's end.
func (p *Pipeline) endConfirmation(ctx context.Context, o owner, outcome string, a Answer) (Answer, error) {
	a.RequestID = o.request
	err := p.book.submit(ctx, func(tx *store.Tx) error {
		if err := p.book.recordConfirmation(tx, o, outcome, a.Code, ""); err != nil {
			return err
		}
		return p.book.recordEnd(tx, o, a, endBody{})
	})
	return a, asDecided(err)
}

// endLost ends a request of which nothing is kept that could go on.
func (p *Pipeline) endLost(ctx context.Context, o owner) (Answer, error) {
	return p.end(ctx, o, Answer{
		RequestID: o.request, Status: Failed, Code: CodeLost, Message: "What was kept of the request is gone; send it again.",
	}, endBody{})
}
