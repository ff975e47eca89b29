package handover

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Records lists the calls of a conversation, in the order of their ends; a *recorder.Recorder does.
type Records interface {
	// Calls returns at most limit ids, and whether there are more.
	Calls(ctx context.Context, user, conversation string, limit int) (ids []string, more bool, err error)
	// NewestCalls returns the ids of the newest calls, in the order of their ends, and whether there may be more.
	NewestCalls(ctx context.Context, user, conversation string, limit int) (ids []string, more bool, err error)
	// Owner returns who runs the call of that id elsewhere, for whom, and in which conversation; ok is false
	// where no such call is on record.
	Owner(ctx context.Context, id string) (principal, user, conversation string, ok bool, err error)
	// Asked returns remote calls that a person was asked about since the one time and that have no end,
	// whose questions ended before the other.
	Asked(ctx context.Context, since, before time.Time) ([]string, error)
	// Open returns remote calls that were handed over since the one time and that have no outcome, whose
	// time to report ended before the other.
	Open(ctx context.Context, since, before time.Time) ([]string, error)
}

// Options are the parts of a Handover. Checkpoint, Records and Tokens are required.
type Options struct {
	Checkpoint *sentinel.Checkpoint
	Records    Records
	// Tokens signs warrants. Receivers verify them with skills/warrant.
	Tokens *warrant.HTTPSigner
	// Skills are those that other programs may run: nothing in this program runs them.
	Skills skills.Scope
	// Calls is how many calls may be proposed with one request; zero means the limits' own number.
	Calls int
	// Grace is how long a program has beside a skill's timeout to run and report a call. If zero, a minute.
	Grace time.Duration
	// AskTimeout is how long a person has to answer.
	AskTimeout time.Duration
	// MaxUnderWay bounds the calls that are decided or wait for people at a time. If zero, 4096.
	MaxUnderWay int
	// MaxOfPrincipal bounds those of one principal, so that no other principal is kept out by one that fills
	// them all. If zero, a quarter of MaxUnderWay.
	MaxOfPrincipal int
	// MaxConversations bounds the conversations that are kept in memory while nothing is under way in
	// them. If zero, 128.
	MaxConversations int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	Log *slog.Logger
}

const (
	defaultGrace         = time.Minute
	defaultUnderWay      = 4096
	shareOfPrincipal     = 4 // of MaxUnderWay, as a divisor
	defaultConversations = 128
	// maxLifetime bounds the time of a warrant: receivers admit no longer one unless told so.
	maxLifetime = 10 * time.Minute
	// maxCalls is how many calls a conversation may hold, maxBytes how long arguments and results are in
	// all, roughly.
	maxCalls = 1000
	maxBytes = 4 << 20
	// sweepSlack is how much further back a sweep looks than to the one before.
	sweepSlack = time.Hour
	// collectTime is how long an approved call waits for its caller at least.
	collectTime = time.Minute
)

// Handover decides calls that other programs run, and hears what became of them. It is safe for
// concurrent use. Close ends it.
type Handover struct {
	o Options

	base context.Context //nolint:containedctx // of what goes on while no caller waits
	end  context.CancelFunc
	work sync.WaitGroup

	mu            sync.Mutex
	closed        bool
	conversations map[string]*conversation
	underWay      map[string]*flight
	shares        map[string]int // how many of underWay are a principal's
	handed        handedList
	swept         time.Time // when Sweep ran last
	used          int64     // a clock for the conversations that were used last
}

// New returns a Handover.
func New(o Options) (*Handover, error) {
	if o.Checkpoint == nil || o.Records == nil || o.Tokens == nil {
		return nil, errors.New("handed over calls need a checkpoint, its records and a signer of warrants")
	}
	if o.Grace <= 0 {
		o.Grace = defaultGrace
	}
	if o.MaxUnderWay <= 0 {
		o.MaxUnderWay = defaultUnderWay
	}
	if o.MaxOfPrincipal <= 0 {
		o.MaxOfPrincipal = max(1, o.MaxUnderWay/shareOfPrincipal)
	}
	if o.MaxConversations <= 0 {
		o.MaxConversations = defaultConversations
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handover{o: o, conversations: map[string]*conversation{}, underWay: map[string]*flight{}, shares: map[string]int{}}
	h.base, h.end = context.WithCancel(context.Background())
	return h, nil
}

// Close ends what is under way: calls that a person is asked about stay held, and go on when they are
// proposed again. Close returns when all of it has ended.
func (h *Handover) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.work.Wait()
}

// Propose decides a call, or says where a call that was proposed before stands. It waits for the
// decision, and up to Proposal.Wait for a person. Answer.Warrant is there once for each call.
//
// An error wraps ErrProposal, ErrDigest, ErrConversationFull, ErrBusy (ErrShare is one), ErrClosed,
// sentinel.ErrNotRecorded, or is ctx's. Where ctx ends the decision goes on: propose the call again.
func (h *Handover) Propose(ctx context.Context, p Proposal) (Answer, error) {
	if err := p.check(); err != nil {
		return Answer{}, err
	}
	g, err := newGrant(h.o, &p)
	if err != nil {
		return Answer{}, err
	}
	conv, err := h.openConversation(ctx, g)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	f, err := h.joinFlight(conv, &p, g)
	if err != nil {
		return Answer{}, err
	}
	return h.awaitFlight(ctx, f, &p)
}

// RunsHere reports whether this program runs the skill itself, so that no other program is handed its calls.
func (h *Handover) RunsHere(skill string) bool {
	_, known := h.o.Checkpoint.Registry().Get(skill)
	return known && !h.o.Skills.Allows(skill)
}

// Report takes down what became of a call that its caller ran. The same report once more is answered
// as the first. An error wraps ErrProposal, ErrUnknownCall, ErrNotAllowed, ErrReported, ErrLate, or
// sentinel.ErrNotRecorded.
func (h *Handover) Report(ctx context.Context, r Report) (Answer, error) {
	if err := checkName("principal", r.Principal, true); err != nil {
		return Answer{}, err
	}
	if r.Outcome != OK && r.Outcome != Failed {
		return Answer{}, fmt.Errorf("%w: the outcome must be ok or failed", ErrProposal)
	}
	conv, err := h.openOwner(ctx, r.ID, r.Principal)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	if h.isHeld(ctx, r.ID) { // its decision may take as long as a person does, or its warrant lies here
		return Answer{}, ErrNotAllowed
	}
	past, err := conv.desk.Report(ctx, r.ID, sentinel.RemoteReport{Failed: r.Outcome == Failed, Text: r.Result})
	for ours, theirs := range reportErrors {
		if errors.Is(err, theirs) {
			return answerPast(r.ID, "", past), fmt.Errorf("%w", ours)
		}
	}
	if err != nil {
		return Answer{}, err
	}
	conv.dropHanded(r.ID)
	return answerPast(r.ID, "", past), nil
}

// isHeld reports whether a person is asked about a call that is under way, or its warrant was not handed
// out yet. It waits until that is known.
func (h *Handover) isHeld(ctx context.Context, id string) bool {
	h.mu.Lock()
	f := h.underWay[id]
	h.mu.Unlock()
	if f == nil {
		return false
	}
	select {
	case <-f.done:
	case <-f.held:
	case <-ctx.Done():
	}
	select {
	case <-f.done:
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.err == nil && f.handed.Warrant != "" && !f.taken
	default:
		return ctx.Err() == nil
	}
}

// reportErrors are the errors of package sentinel by those of this one.
var reportErrors = map[error]error{
	ErrUnknownCall: sentinel.ErrNoCall, ErrNotAllowed: sentinel.ErrNotAllowed, ErrReported: sentinel.ErrReported, ErrLate: sentinel.ErrLate,
}

// Sweep ends calls whose time is over: those that were not reported become unknown, and questions
// that no person answered, or whose caller never came back, have expired.
func (h *Handover) Sweep(ctx context.Context) error {
	now := h.o.Now()
	h.mu.Lock()
	swept := h.swept
	h.swept = now
	h.mu.Unlock()
	// What ended before the first sweep was ended when the program started.
	open, err := h.o.Records.Open(ctx, timeOr(swept, now).Add(-sweepSlack), now)
	for _, id := range open {
		err = errors.Join(err, h.endCall(ctx, id, func(c *conversation) error {
			_, err := c.desk.EndUnreported(ctx, id)
			return err
		}))
	}
	since := time.Time{}
	if !swept.IsZero() {
		since = swept.Add(-sweepSlack - h.o.AskTimeout)
	}
	asked, aerr := h.o.Records.Asked(ctx, since, now.Add(-2*collectTime))
	err = errors.Join(err, aerr)
	for _, id := range asked {
		h.mu.Lock()
		_, busy := h.underWay[id]
		h.mu.Unlock()
		if !busy {
			err = errors.Join(err, h.endCall(ctx, id, func(c *conversation) error { return c.desk.EndQuestion(ctx, id) }))
		}
	}
	h.dropWarrants()
	h.handed.list(now) // which forgets those whose time is over
	return err
}

// endCall ends a call in its conversation.
func (h *Handover) endCall(ctx context.Context, id string, end func(*conversation) error) error {
	conv, err := h.openOwner(ctx, id, "")
	if err != nil {
		return err
	}
	defer h.leaveConversation(conv)
	return end(conv)
}

// narrowScope is what the proposal may use: of the skills that may be handed over those of its
// principal, and of these those that it asks for.
func narrowScope(elsewhere skills.Scope, p *Proposal) skills.Scope {
	var names []string
	for _, n := range elsewhere.List() {
		if (p.Scope.Empty() || p.Scope.Allows(n)) && (p.Only == nil || p.Only.Allows(n)) {
			names = append(names, n)
		}
	}
	s, _ := skills.NewScope(names...) // they are names of skills
	return s
}

// timeOr is the time, or the other where it is none.
func timeOr(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return t
}

// Look says where a call stands, and changes nothing: a pending call doesn't go on, and no warrant is
// given. An error wraps ErrProposal or ErrUnknownCall, or is the store's.
func (h *Handover) Look(ctx context.Context, principal, id string) (Answer, error) {
	for name, text := range map[string]string{"principal": principal, "call's id": id} {
		if err := checkName(name, text, true); err != nil {
			return Answer{}, err
		}
	}
	conv, err := h.openOwner(ctx, id, principal)
	if err != nil {
		return Answer{}, err
	}
	defer h.leaveConversation(conv)
	h.mu.Lock()
	f := h.underWay[id]
	h.mu.Unlock()
	if f != nil && f.isHeld() {
		return f.answerPending(), nil
	}
	past, known, err := conv.desk.PastCall(ctx, id)
	switch {
	case err != nil:
		return Answer{}, err
	case !known: // a question that no process follows: it goes on when the call is proposed again
		return Answer{ID: id, State: Pending}, nil
	}
	return answerPast(id, "", past), nil
}

// isHeld reports whether a person is asked about the call.
func (f *flight) isHeld() bool {
	if f.hasEnded() {
		return false
	}
	select {
	case <-f.held:
		return true
	default:
		return false
	}
}

// InFlight returns the calls that were handed over and not reported yet: a pause doesn't stop them. Those
// of before a restart are in it from the next use of their conversation on.
func (h *Handover) InFlight() []sentinel.InFlight { return h.handed.list(h.o.Now()) }
