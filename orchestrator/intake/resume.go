package intake

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// resumeStep bounds one page of requests that are looked through.
const resumeStep = 200

// Resume goes on with what an earlier process left: questions to approvers are put again under their ids, what was trusted
// and has no end is ended, and confirmations whose time is over expire. It must run before the first Process. The errors
// are the store's; what could not be gone on with is tried by the next Sweep.
func (p *Pipeline) Resume(ctx context.Context) error {
	var errs error
	for _, outcome := range []string{string(PendingApproval), string(PendingConfirmation), outcomeAccepted} {
		after := int64(-1)
		for {
			list, err := p.o.Ledger.List(ctx, ledger.Query{
				Kind: RecordRequest, Outcome: outcome, Without: RecordEnd, AfterIndex: &after, Limit: resumeStep,
			})
			if err != nil {
				return errors.Join(errs, err)
			}
			for _, r := range list {
				errs = errors.Join(errs, p.goOnWith(ctx, r.Call))
				after = r.Index
			}
			if len(list) < resumeStep {
				break
			}
		}
	}
	return errs
}

// Sweep ends confirmations whose time is over, and goes on with what waits for room or for the store. Call it now and
// then.
func (p *Pipeline) Sweep(ctx context.Context) error {
	var errs error
	for _, request := range p.flights.takeDue(p.o.Now()) {
		if err := p.goOnWith(ctx, request); err != nil {
			p.flights.remind(request, time.Time{})
			errs = errors.Join(errs, err)
		}
	}
	return errs
}

// goOnWith goes on with one request that has no end, unless this process works on it.
func (p *Pipeline) goOnWith(ctx context.Context, request string) error {
	s, err := p.book.readState(ctx, request, "")
	switch {
	case errors.Is(err, ErrUnknownRequest): // nothing of it was recorded
		return nil
	case err != nil:
		return err
	case s.status.IsEnd(), p.flights.find(request) != nil: // asked after the reading: what has ended since is on record
		return nil
	case s.trusted:
		return p.resumeTrusted(ctx, s)
	case s.status == PendingApproval:
		return p.resumeElevation(ctx, s)
	case s.status == PendingConfirmation:
		return p.expireConfirmation(ctx, s)
	}
	return nil
}

// resumeElevation asks the approver again, under the same id.
func (p *Pipeline) resumeElevation(ctx context.Context, s *state) error {
	w, err := p.book.waitingOf(s)
	if err != nil {
		_, err = p.endLost(ctx, s.owner)
		return ignoreDecided(err)
	}
	info := s.kept.Info
	first := Answer{RequestID: s.owner.request, Status: PendingApproval, Code: s.code, Message: s.kept.Message, Info: &info}
	_, err = p.flights.begin(s.owner, first, func(ctx context.Context, f *flight) (Answer, error) { return p.elevate(ctx, f, w) })
	return p.flights.remindOf(s.owner.request, err)
}

// resumeTrusted ends a request whose action was begun by an earlier process: a handler's is unknown; of a skill's call the
// checkpoint knows what became, or asks on.
func (p *Pipeline) resumeTrusted(ctx context.Context, s *state) error {
	unknown := Answer{RequestID: s.owner.request, Status: Unknown, Code: CodeInterrupted,
		Message: "The process ended while the action ran; whether it had its effect is not known."}
	action, token, ok := p.readToken(s)
	if !ok || action.Skill == "" {
		_, err := p.end(ctx, s.owner, unknown, endBody{Intent: s.intentID})
		return ignoreDecided(err)
	}
	a := &act{asked: s.asked(), intent: token.Intent}
	_, err := p.flights.begin(s.owner, Answer{RequestID: s.owner.request, Status: Running, Trusted: s.token},
		func(ctx context.Context, f *flight) (Answer, error) {
			began := time.Now()
			out := Answer{RequestID: s.owner.request, Status: Completed, Trusted: s.token}
			var err error
			out.Result, err = p.runSkill(ctx, f, action, a, token, true)
			return p.conclude(ctx, s.owner, out, endBody{Intent: s.intentID, Call: actionCall(s.owner.request)}, err, began)
		})
	return p.flights.remindOf(s.owner.request, err)
}

// readToken opens the intent that was trusted, at the time at which it was: it was used up then, and is not used again.
func (p *Pipeline) readToken(s *state) (Action, intent.Trusted, bool) {
	if s.token == nil {
		return Action{}, intent.Trusted{}, false
	}
	var issued struct {
		Timestamp int64 `json:"timestamp"`
	}
	if json.Unmarshal(s.token, &issued) != nil {
		return Action{}, intent.Trusted{}, false
	}
	t, err := p.o.Verifier.OpenAt(s.token, time.Unix(issued.Timestamp, 0))
	if err != nil || t.ID() != s.intentID {
		return Action{}, intent.Trusted{}, false
	}
	action, ok := p.o.Actions[t.Action().String()]
	return action, t, ok
}

// expireConfirmation ends a confirmation whose time is over.
func (p *Pipeline) expireConfirmation(ctx context.Context, s *state) error {
	if s.kept == nil {
		_, err := p.endLost(ctx, s.owner)
		return ignoreDecided(err)
	}
	if p.o.Now().Before(s.kept.Expires) {
		p.flights.remind(s.owner.request, s.kept.Expires)
		return nil
	}
	_, err := p.endConfirmation(ctx, s.owner, expired, Answer{RequestID: s.owner.request, Status: Expired, Code: CodeExpired})
	return ignoreDecided(err)
}

// ignoreDecided passes over a request that was ended meanwhile.
func ignoreDecided(err error) error {
	if errors.Is(err, ErrDecided) {
		return nil
	}
	return err
}
