package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// Texts says what is kept of the texts.
type Texts string

// The choices of Texts.
const (
	TextsDigest Texts = "digest" // a keyed digest; the text itself only while a request waits
	TextsFull   Texts = "full"   // the text too, sealed in the journal
)

// Addresses says what is kept of clients' addresses.
type Addresses string

// The choices of Addresses.
const (
	AddressesShort Addresses = "short" // without the last 8 bits of IPv4, and the last 80 of IPv6
	AddressesFull  Addresses = "full"
	AddressesNone  Addresses = "none"
)

// Classifier scores a text from 0 to 100: how surely it is an attack.
type Classifier interface {
	Name() string
	Score(ctx context.Context, text string) (int, error)
}

// Similar compares a topic with texts by their meaning: package classify has one that asks a model for embeddings.
type Similar interface {
	// Compare returns how similar a topic is to each of the others, from 0 to 1.
	Compare(ctx context.Context, topic string, others []string) ([]float64, error)
}

// Recording is where requests are recorded, and what asks people and runs skills. Ledger and Journal must be those of Store.
type Recording struct {
	Store      *store.Store
	Ledger     *ledger.Ledger
	Journal    *journal.Journal
	Checkpoint *sentinel.Checkpoint
	// Pauser is an operator's switch; nil pauses nothing.
	Pauser sentinel.Pauser
	// Values says whether the ledger holds values.
	Values sentinel.ValuesMode
	// DigestKey keys the digests in the ledger.
	DigestKey [32]byte
}

// Options are the parts of a Pipeline. What is in Recording, Detector, Parsers, Policy, Vocabulary, Signer and Verifier are
// required.
type Options struct {
	Recording

	Detector   *detect.Detector
	Classifier Classifier
	Parsers    *parse.Ensemble
	Policy     *compare.Policy
	Vocabulary *intent.Vocabulary
	Signer     *intent.Signer
	Verifier   *intent.Verifier
	// References says what users may use; nil refuses every reference.
	References Resolver
	// Similar compares topics by their meaning; nil compares words.
	Similar Similar

	// Actions are what does the vocabulary's actions. One without is unsupported.
	Actions map[string]Action
	// ConfirmFrom is the risk from which on a low vote asks the user. The zero Risk is High.
	ConfirmFrom intent.Risk
	// ConfirmTimeout is how long the user has to answer. Zero is five minutes.
	ConfirmTimeout time.Duration
	// ApproveAlways asks an approver about every request.
	ApproveAlways bool
	// BlockHard denies a hard mismatch instead of asking an approver.
	BlockHard bool
	// Lifetime is how long a trusted intent is valid. Zero is five minutes.
	Lifetime time.Duration
	// Audience names the receiver of trusted intents.
	Audience string

	// Rates bound how many requests of a user may ask for actions of a risk. A risk without one has no bound.
	Rates map[intent.Risk]Rate

	// MaxText is the greatest size of a text in bytes. Zero is 16 KiB.
	MaxText   int
	Texts     Texts
	Addresses Addresses
	// PolicyDigest identifies the configuration in every record.
	PolicyDigest string
	// MaxUnderWay bounds the requests that act or wait for an approver at a time. Zero is 4096.
	MaxUnderWay int
	// Alert is told of blocked texts, at most once in AlertEvery; zero is 30 s. It must not block.
	Alert      func(Alert)
	AlertEvery time.Duration

	Now func() time.Time
	Log *slog.Logger
}

const (
	defaultMaxText  = 16 << 10
	defaultLifetime = 5 * time.Minute
	defaultConfirm  = 5 * time.Minute
	defaultUnderWay = 4096
	defaultHandler  = time.Minute
	defaultAlert    = 30 * time.Second
	maxAge          = 365 * 24 * time.Hour
)

// Pipeline takes texts through all stages. It is safe for concurrent use. Close ends it.
type Pipeline struct {
	o       Options
	book    *book
	stages  *stages
	asker   *asker
	flights *flights
	alerts  *alerts
	rates   *rates
}

// New returns a Pipeline. The error says which part is missing, or which action's arguments are made of what is no field.
func New(o Options) (*Pipeline, error) {
	if o.Store == nil || o.Ledger == nil || o.Journal == nil || o.Checkpoint == nil || o.Detector == nil || o.Parsers == nil ||
		o.Policy == nil || o.Vocabulary == nil || o.Signer == nil || o.Verifier == nil {
		return nil, errors.New("the intake needs a store, ledger and journal, a checkpoint, detector, parsers, policy, vocabulary and keys")
	}
	if err := CheckActions(o.Vocabulary, o.Checkpoint.Registry(), o.Actions); err != nil {
		return nil, err
	}
	p := &Pipeline{o: o.withDefaults()}
	p.book, p.stages, p.asker = &book{&p.o}, &stages{&p.o}, &asker{&p.o}
	p.rates = newRates(p.o.Rates)
	p.flights = newFlights(p.o.MaxUnderWay, p.o.Log)
	p.alerts = &alerts{every: p.o.AlertEvery, tell: p.o.Alert, now: p.o.Now}
	return p, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Texts == "" {
		o.Texts = TextsDigest
	}
	if o.Addresses == "" {
		o.Addresses = AddressesShort
	}
	if o.Values == "" {
		o.Values = sentinel.ValuesKeys
	}
	for _, d := range []struct {
		value *time.Duration
		def   time.Duration
	}{{&o.ConfirmTimeout, defaultConfirm}, {&o.Lifetime, defaultLifetime}, {&o.AlertEvery, defaultAlert}} {
		if *d.value <= 0 {
			*d.value = d.def
		}
	}
	if o.MaxText <= 0 {
		o.MaxText = defaultMaxText
	}
	if o.MaxUnderWay <= 0 {
		o.MaxUnderWay = defaultUnderWay
	}
	return o
}

// Close ends what is under way: questions to approvers stay held and go on with Resume of the next process. It returns
// when all of it has ended.
func (p *Pipeline) Close() { p.flights.close() }

// OnEvent hears of the checkpoint's events: a request is pending once people can find its question. Give it every event.
func (p *Pipeline) OnEvent(e sentinel.Event) { p.flights.onEvent(e) }

// maxID bounds the ids of users and sessions in bytes.
const maxID = 256

// checkRequest refuses what is no request, and gives it an id.
func (o *Options) checkRequest(r *Request) error {
	for _, f := range []struct {
		name, value string
		needed      bool
	}{{"user", r.User, true}, {"session", r.Session, true}, {"by", r.By, false}} {
		if f.value == "" && f.needed || len(f.value) > maxID || !utf8.ValidString(f.value) || strings.ContainsFunc(f.value, unicode.IsControl) {
			return &InputError{f.name, fmt.Sprintf("must be one line of 1 to %d bytes", maxID)}
		}
	}
	switch {
	case len(r.Text) > o.MaxText:
		return &InputError{"text", fmt.Sprintf("has %d bytes; at most %d may be sent", len(r.Text), o.MaxText)}
	case !utf8.ValidString(r.Text):
		return &InputError{"text", "is not valid UTF-8"}
	case isBlank(r.Text):
		return &InputError{"text", "is empty"}
	case r.ID == "":
		r.ID = ids.New()
	case len(r.ID) > ledger.MaxID || strings.ContainsFunc(r.ID, isNoIDRune):
		return &InputError{"id", fmt.Sprintf("must be 1 to %d letters, digits, '-' and '_'", ledger.MaxID)}
	}
	return nil
}

func isNoIDRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// isBlank reports whether a text has nothing that people see.
func isBlank(s string) bool {
	return !slices.ContainsFunc([]rune(s), func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
}

// Process takes a request through the stages. It returns when the action has ended, when a person is asked, or when the
// request can't go on. Where ctx ends while the action runs, the action goes on and Look tells of its end.
//
// The error is an *InputError, ErrNotRecorded, ErrBusy, ErrClosed, or ctx's where nothing was decided yet.
func (p *Pipeline) Process(ctx context.Context, r Request) (Answer, error) {
	if err := p.o.checkRequest(&r); err != nil {
		return Answer{}, err
	}
	if p.flights.isClosed() {
		return Answer{}, ErrClosed
	}
	c := p.stages.consider(ctx, r)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	p.spendRate(c)
	switch c.status {
	case PendingConfirmation:
		if err := p.book.open(ctx, c); err != nil {
			return Answer{}, err
		}
		p.flights.remind(r.ID, c.expires)
		return c.answer(), nil
	case PendingApproval:
		return p.holdForApprover(ctx, c)
	case Running:
		return p.start(ctx, &act{asked: askedOf(r, 0), intent: c.canonical, considered: c}, c.answer())
	}
	return p.endAtOnce(ctx, c)
}

// spendRate denies a request that would act, or ask a person, where its user has had too many of its risk.
func (p *Pipeline) spendRate(c *considered) {
	if c.status.IsEnd() {
		return
	}
	wait := p.rates.take(c.request.User, p.o.Vocabulary.Risk(c.canonical.Action()), p.o.Now())
	if wait > 0 {
		c.retryAfter = wait
		c.stop(Denied, gateRate, CodeRate, "There were too many such requests; send it again later.")
	}
}

// Consider takes a request through the stages that read it, and says how it would go on: Running is at once. It records
// nothing, asks no person and does nothing, so Options needs no store. The error is an *InputError or ctx's.
func Consider(ctx context.Context, o Options, r Request) (Answer, error) {
	o = o.withDefaults()
	if err := o.checkRequest(&r); err != nil {
		return Answer{}, err
	}
	c := (&stages{&o}).consider(ctx, r)
	return c.answer(), ctx.Err()
}

// endAtOnce records a request of which nothing can come, and tells of a blocked one.
func (p *Pipeline) endAtOnce(ctx context.Context, c *considered) (Answer, error) {
	if err := p.book.open(ctx, c); err != nil {
		return Answer{}, err
	}
	if c.status == Blocked {
		p.alerts.add(p.o.Log, c)
	}
	return c.answer(), nil
}

// Authorize takes the request of a turn through the stages, and returns what the turn may do. The intent is used up by it:
// the same id gives the same ceiling again, for the turn of that id alone. It waits for an approver as long as ctx does.
// With advisory no person is asked: what would ask one is denied.
//
// The error is that of Process; ctx's where it ends while an approver is asked, who can answer all the same.
func (p *Pipeline) Authorize(ctx context.Context, r Request, advisory bool) (Ceiling, error) {
	return turns{p}.authorize(ctx, r, advisory)
}

// Look tells where a request of a user stands, and changes nothing. The error is ErrUnknownRequest or the store's.
func (p *Pipeline) Look(ctx context.Context, request, user string) (Answer, error) {
	if user == "" {
		return Answer{}, ErrUnknownRequest
	}
	if f := p.flights.find(request); f != nil && f.owner.user == user {
		if s := f.look(); !s.over {
			return s.now, nil
		}
	}
	s, err := p.book.readState(ctx, request, user)
	if err != nil {
		return Answer{}, err
	}
	return p.book.answerOf(s), nil
}
