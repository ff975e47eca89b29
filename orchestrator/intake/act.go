package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// act is an intent that may be trusted, with whose it is.
type act struct {
	asked
	intent intent.Intent
	// considered is set where nothing of the request is on record yet, and confirmed where the user's yes is recorded with
	// the intent.
	considered *considered
	confirmed  bool
}

// start signs an intent and does its action. It returns when the action has ended, or a person is asked about it.
func (p *Pipeline) start(ctx context.Context, a *act, first Answer) (Answer, error) {
	f, err := p.flights.begin(a.owner, first, func(ctx context.Context, f *flight) (Answer, error) { return p.trust(ctx, f, a) })
	if err != nil {
		return Answer{}, err
	}
	return f.await(ctx)
}

// trust signs an intent and does its action.
func (p *Pipeline) trust(ctx context.Context, f *flight, a *act) (Answer, error) {
	token, err := p.seal(ctx, a)
	var no *refusedError
	switch {
	case errors.As(err, &no) && a.confirmed:
		return p.endConfirmation(ctx, a.owner, confirmed, no.answer)
	case errors.As(err, &no) && a.considered != nil:
		c := a.considered
		c.stop(no.answer.Status, gateAction, no.answer.Code, no.answer.Message)
		return c.answer(), p.book.open(ctx, c)
	case errors.As(err, &no):
		return p.end(ctx, a.owner, no.answer, endBody{})
	case err != nil:
		return f.pendingAnswer(), err
	}
	f.set(func(now *Answer) { now.Trusted = token.Token() })
	if a.turn {
		return Answer{RequestID: a.owner.request, Status: Completed, Trusted: token.Token()}, nil
	}
	return p.run(ctx, f, a, token)
}

// refusedError is an intent that can't be trusted any more.
type refusedError struct{ answer Answer }

func (e *refusedError) Error() string { return e.answer.Message }

// seal signs an intent, verifies it as its receiver does, and records it as used: the point of no return. What the user
// may refer to is looked up once more, and an operator's pause heeded.
func (p *Pipeline) seal(ctx context.Context, a *act) (intent.Trusted, error) {
	if no := p.refuseNow(ctx, a); no != nil {
		return intent.Trusted{}, no
	}
	now := p.o.Now()
	raw, err := p.o.Signer.Seal(a.intent, intent.Claims{
		Request: a.owner.request, User: a.owner.user, Session: a.owner.session, Audience: p.o.Audience, Policy: p.o.PolicyDigest,
		Issued: now, Expires: now.Add(p.o.Lifetime),
	})
	if err != nil {
		return intent.Trusted{}, err
	}
	token, err := p.o.Verifier.Open(raw)
	if err != nil {
		return intent.Trusted{}, fmt.Errorf("the intent that was just signed doesn't verify: %w", err)
	}
	err = p.book.submit(ctx, func(tx *store.Tx) error {
		if a.considered != nil {
			if err := p.book.recordRequest(tx, a.considered); err != nil {
				return err
			}
		}
		if a.confirmed {
			if err := p.book.recordConfirmation(tx, a.owner, confirmed, "", a.intent.Digest()); err != nil {
				return err
			}
		}
		if err := p.book.recordTrusted(tx, a.owner, token); err != nil || !a.turn {
			return err
		}
		o := a.owner
		if a.considered != nil {
			o.text = a.considered.text
		}
		return p.book.recordEnd(tx, o, Answer{Status: Completed}, endBody{Intent: token.ID()}) // its turn is what it was for
	})
	switch {
	case errors.Is(err, store.ErrSpent):
		return intent.Trusted{}, ErrDecided
	case err != nil:
		return intent.Trusted{}, err
	}
	if a.considered != nil {
		a.owner.text = a.considered.text
	}
	return token, nil
}

// refuseNow says why an intent can't be trusted now; nil where it can. What waited for a person is compared once more: the policy
// may be another since, and an approver may have chosen an intent that was never compared.
func (p *Pipeline) refuseNow(ctx context.Context, a *act) error {
	end := Answer{RequestID: a.owner.request, Status: Denied}
	if p.o.Pauser != nil {
		if _, paused := p.o.Pauser.Paused(a.owner.user, ""); paused {
			end.Code, end.Message = CodePaused, "An operator has paused the work."
			return &refusedError{end}
		}
	}
	if a.considered != nil {
		return nil // it was compared, and looked up, a moment ago
	}
	c := &considered{request: Request{ID: a.owner.request, User: a.owner.user}, at: p.o.Now(), canonical: a.intent, status: Running}
	if p.stages.compare(ctx, c); c.status == Running && c.info.Comparison.Verdict == compare.Hard && (a.confirmed || p.o.BlockHard) {
		c.stop(Denied, gateComparison, CodeMismatch, c.info.Comparison.Explanation) // no user can allow it
	}
	if c.status == Running {
		p.stages.resolve(ctx, c)
	}
	if c.status != Running {
		end.Status, end.Code, end.Message = c.status, c.code, c.message
		return &refusedError{end}
	}
	return nil
}

// run does the action of a trusted intent and records its end.
func (p *Pipeline) run(ctx context.Context, f *flight, a *act, token intent.Trusted) (Answer, error) {
	began := time.Now()
	action, known := p.o.Actions[token.Action().String()]
	out := Answer{RequestID: a.owner.request, Status: Completed, Trusted: token.Token()}
	b := endBody{Intent: token.ID()}
	var err error
	switch {
	case !known:
		out.Status, out.Code, out.Message = Failed, CodeUnsupported, fmt.Sprintf("Nothing here does %s.", token.Action())
	case action.Handler != nil:
		out.Result, err = p.runHandler(ctx, action, token)
	default:
		b.Call = actionCall(a.owner.request)
		out.Result, err = p.runSkill(ctx, f, action, a, token, false)
	}
	return p.conclude(ctx, a.owner, out, b, err, began)
}

// conclude makes an end of what an action came to.
func (p *Pipeline) conclude(ctx context.Context, o owner, out Answer, b endBody, err error, began time.Time) (Answer, error) {
	var no *skills.Refusal
	var failed *skills.Failure
	switch {
	case err == nil:
	case errors.Is(err, sentinel.ErrHeld):
		out.Status = Running
		return out, fmt.Errorf("%w: %w", errLeft, err)
	case errors.As(err, &no):
		out.Status, out.Code, out.Message = Denied, CodeNotAllowed, "The action was not allowed: "+no.Reason+"."
		if no.Kind == skills.KindAskExpired {
			out.Status, out.Code, out.Message = Expired, CodeExpired, "No person answered in time."
		}
	case errors.As(err, &failed) && failed.Unknown, errors.Is(err, errAbandoned), failed == nil && ctx.Err() != nil:
		out.Status, out.Code, out.Message = Unknown, CodeInterrupted, "The action was interrupted; whether it had its effect is not known."
	default:
		out.Status, out.Code, out.Message = Failed, CodeFailed, "The action failed."
		p.o.Log.Warn("an intent's action failed", "request", o.request, "intent", b.Intent)
	}
	b.TookUS = time.Since(began).Microseconds()
	return p.end(ctx, o, out, b)
}

// end records a request's end.
func (p *Pipeline) end(ctx context.Context, o owner, a Answer, b endBody) (Answer, error) {
	err := p.book.submit(ctx, func(tx *store.Tx) error { return p.book.recordEnd(tx, o, a, b) })
	return a, asDecided(err)
}

// asDecided makes ErrDecided of what was ended before.
func asDecided(err error) error {
	if errors.Is(err, store.ErrSpent) {
		return ErrDecided
	}
	return err
}

// errAbandoned is a handler that didn't return in time: it may go on.
var errAbandoned = errors.New("the handler didn't return in time")

// maxResult bounds a handler's result in bytes.
const maxResult = 1 << 20

// handled is what a handler returned.
type handled struct {
	value any
	err   error
}

// runHandler runs a Go handler, contained and within its time.
func (p *Pipeline) runHandler(ctx context.Context, action Action, token intent.Trusted) (json.RawMessage, error) {
	timeout := action.Timeout
	if timeout <= 0 {
		timeout = defaultHandler
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	done := make(chan handled, 1)
	go func() {
		out := handled{err: errors.New("the handler broke")}
		defer func() {
			if recover() != nil {
				p.o.Log.Error("an action's handler panicked", "action", token.Action().String(), "stack", string(debug.Stack()))
			}
			done <- out
		}()
		v, err := action.Handler(ctx, token)
		out = handled{v, err}
	}()
	var out handled
	select {
	case out = <-done:
	case <-ctx.Done():
		select { // it may have heard of the end
		case out = <-done:
		case <-time.After(handlerGrace):
			return nil, errAbandoned
		}
	}
	if out.err != nil {
		return nil, out.err
	}
	raw, err := plainjson.Marshal(out.value)
	if err != nil || len(raw) > maxResult {
		return nil, errors.New("the handler's result is no JSON, or too long")
	}
	return raw, nil
}

// handlerGrace is how long a handler has to return once its time is over.
const handlerGrace = 250 * time.Millisecond

// actionGrant is the id of the grant under which a request's skill is called.
func actionGrant(request string) string { return "intent-action/" + request }

// actionCall is the id of the call of a request's skill.
func actionCall(request string) string { return sentinel.CallID(actionGrant(request), 0) }

// runSkill calls an action's skill through the checkpoint, under a grant that holds this one skill.
func (p *Pipeline) runSkill(
	ctx context.Context, f *flight, action Action, a *act, token intent.Trusted, resumed bool,
) (json.RawMessage, error) {
	args, err := buildArguments(token, action.Arguments)
	if err != nil {
		return nil, err
	}
	scope, err := skills.NewScope(action.Skill)
	if err != nil {
		return nil, err
	}
	g, err := sentinel.NewGrant(a.grantOf(actionGrant(a.owner.request), scope, token.ID()))
	if err != nil {
		return nil, err
	}
	leave := p.flights.follow(actionCall(a.owner.request), f)
	defer leave()
	desk := p.o.Checkpoint.Numbered(g)
	if resumed {
		if _, err := desk.Resume(ctx, 0, 1); err != nil {
			return nil, err
		}
	}
	res, err := desk.Invoke(ctx, action.Skill, args)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(skillResult{res.Content, string(res.Trust), res.Truncated})
}

// skillResult is what a skill returned.
type skillResult struct {
	Content   string `json:"content"`
	Trust     string `json:"trust,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}
