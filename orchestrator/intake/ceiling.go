package intake

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// Ceiling is what a turn may do by the trusted intent of its request.
type Ceiling struct {
	// Intent is the id of the trusted intent; empty where there is none, and then nothing is granted.
	Intent string
	// Action is what it asks for, Grants the skills for that, within Limits.
	Action string
	Grants []string
	Limits Limits
	// Status, Code and Message say why there is none. They hold no word of the request.
	Status  Status
	Code    string
	Message string
}

// IsBlocked reports whether the request ends at once: the detector stopped it, or the policy blocks what it asks for. Nothing
// may read it any more, a model that answers it neither.
func (c Ceiling) IsBlocked() bool {
	return c.Status == Blocked || c.Status == Denied && (c.Code == CodeForbidden || c.Code == CodeMismatch)
}

// turns take requests of turns through the stages.
type turns struct{ *Pipeline }

// authorize is Pipeline.Authorize.
func (t turns) authorize(ctx context.Context, r Request, advisory bool) (Ceiling, error) {
	r.turn = true
	if err := t.o.checkRequest(&r); err != nil {
		return Ceiling{}, err
	}
	if t.flights.isClosed() {
		return Ceiling{}, ErrClosed
	}
	s, err := t.book.readState(ctx, r.ID, r.User)
	switch {
	case errors.Is(err, ErrUnknownRequest):
		if err := t.open(ctx, r, advisory); err != nil {
			return Ceiling{}, err
		}
	case err != nil:
		return Ceiling{}, err
	case s.owner.session != r.Session:
		return Ceiling{}, ErrUnknownRequest
	}
	t.awaitApprover(ctx, r.ID)
	if s, err = t.book.readState(context.WithoutCancel(ctx), r.ID, r.User); err != nil {
		return Ceiling{}, err
	}
	if !s.status.IsEnd() {
		return Ceiling{}, t.explainWait(ctx)
	}
	return t.read(s), nil
}

// explainWait says why a request has no end yet: its caller left, the process ends, or there is no room. It waits on, and its
// turn must not begin without it.
func (t turns) explainWait(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case t.flights.isClosed():
		return ErrClosed
	}
	return ErrBusy
}

// open takes a request through the stages that is not on record yet.
func (t turns) open(ctx context.Context, r Request, advisory bool) error {
	c := t.stages.consider(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t.spendRate(c)
	if advisory && c.status == PendingApproval {
		c.stop(Denied, c.gate, c.code, "A person would have to approve it.")
	}
	var err error
	switch c.status {
	case PendingApproval:
		_, err = t.holdForApprover(ctx, c)
	case Running:
		_, err = t.start(ctx, &act{asked: askedOf(r, 0), intent: c.canonical, considered: c}, c.answer())
	default:
		_, err = t.endAtOnce(ctx, c)
	}
	return err
}

// awaitApprover waits until a request that asks an approver, or is being signed, has its end; or until ctx ends.
func (t turns) awaitApprover(ctx context.Context, request string) {
	f := t.flights.find(request)
	for f != nil {
		s := f.look()
		if s.over {
			return
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return
		}
	}
}

// read is what a request's turn may do by its records.
func (t turns) read(s *state) Ceiling {
	out := Ceiling{Status: s.status, Code: s.code, Message: "No checked intent allows it."}
	switch {
	case s.kept != nil && s.kept.Message != "":
		out.Message = s.kept.Message
	case s.code == CodeRefused:
		out.Message = "A person said no."
	}
	if s.status != Completed || !s.trusted {
		return out
	}
	action, token, ok := t.readToken(s)
	switch {
	case !ok || len(action.Grants) == 0:
		out.Status, out.Code, out.Message = Failed, CodeLost, "What was kept of the request is gone; send it again."
	case t.isOver(token):
		out.Status, out.Code, out.Message = Expired, CodeExpired, "The checked intent is too old; send the request again."
	default:
		return Ceiling{Intent: token.ID(), Action: token.Action().String(), Grants: slices.Clone(action.Grants), Limits: action.Limits,
			Status: Completed}
	}
	return out
}

// isOver reports whether an intent is valid no more: its turn begins at once, or not at all.
func (t turns) isOver(token intent.Trusted) bool {
	return !t.o.Now().Before(token.Expires().Add(time.Second))
}
