// Package intents builds what takes texts of users to typed intents, from the section intent of the configuration.
//
//	in, err := intents.New(cfg.Intent, intents.Options{Model: lookUp})   // compiled, nothing runs
//	p, err := in.Build(intents.Needs{Store: st, …})                      // with what it records in and asks through
//	defer p.Close()
//
// Errors of New are *skills.PathError values below intent, so that Config.Locate finds their places.
//
// What not to do: don't build two of one store. Both would go on with the same requests.
//
// The package isn't stable: docs/api.md lists those that are. Programs reach it through orchestrator/assembly.
package intents

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/classify"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/skills"
)

// What programs and commands say to an intake, without importing it.
type (
	// Handler does an action.
	Handler = intake.Handler
	// Resolver says what users may refer to.
	Resolver = intake.Resolver
	// Alert tells of blocked texts.
	Alert = intake.Alert
	// Pipeline takes texts through all stages.
	Pipeline = intake.Pipeline
	// Request is one text of a user.
	Request = intake.Request
	// Answer is where a request stands.
	Answer = intake.Answer
	// InputError is a request that is none.
	InputError = intake.InputError
	// Ceiling is what a turn may do.
	Ceiling = intake.Ceiling
	// UserAnswer is what a user says to a confirmation.
	UserAnswer = intake.UserAnswer
	// Model is a model that reads texts.
	Model = parse.Model
	// Process is a process of a parser.
	Process = parse.Process
)

// How parsers are kept apart, for Options.Isolation.
const (
	OwnProcess = parse.OwnProcess
	Goroutine  = parse.Goroutine
)

// HelperKind is the kind of helper that a parser's process is: see exec.StartHelper.
const HelperKind = parse.HelperKind

// MaybeHelper makes this process a parser where it was started as one: see parse.MaybeHelper.
func MaybeHelper(isHelper bool) { parse.MaybeHelper(isHelper) }

// Errors of a Pipeline.
var (
	// ErrClosed: the process is ending.
	ErrClosed = intake.ErrClosed
	// ErrBusy: too many requests are under way.
	ErrBusy = intake.ErrBusy
)

// ElevateSkill is the call by which an approver is asked about an intent; ElevateSpec declares it and RunElevate runs it.
const ElevateSkill = intake.ElevateSkill

// ElevateSpec is the skill of the question to an approver.
func ElevateSpec() skills.Spec { return intake.ElevateSpec() }

// RunElevate runs an allowed call of ElevateSkill.
func RunElevate(ctx context.Context, o skills.Order) (skills.Result, error) {
	return intake.RunElevate(ctx, o)
}

// Parts are what reads texts as intents, compiled and with nothing running.
type Parts struct {
	Vocabulary *intent.Vocabulary
	Detector   *detect.Detector
	// Classifier can raise what the detector found; nil where there is none.
	Classifier intake.Classifier
	Policy     *compare.Policy
	// Parsers read texts in this process, or each in a process of its own: see Options.
	Parsers *parse.Ensemble
	// Actions are what does the vocabulary's actions; those of the program are missing where it isn't known.
	Actions map[string]intake.Action
	// References are who may use what; nil where the configuration has no table.
	References intake.Resolver

	config config.Intent
}

// Options are what intents need beside the configuration.
type Options struct {
	// Isolation keeps parsers apart where the configuration doesn't say how. Empty is Goroutine.
	Isolation string
	// Start starts a process of a parser; it is needed with OwnProcess.
	Start func(ctx context.Context) (Process, error)
	// Model looks up a model by its name.
	Model func(name string) (Model, bool)
	// Handlers do actions, by their names.
	Handlers map[string]Handler
	// Registry has the skills; nil leaves actions unchecked.
	Registry *skills.Registry
	Now      func() time.Time
	Log      *slog.Logger
}

// New compiles what the configuration says of intents; nil where it says nothing. The error has every mistake.
func New(c config.Intent, o Options) (*Parts, error) {
	if !c.IsOn() {
		return nil, nil //nolint:nilnil // none is configured
	}
	in := &Parts{config: c}
	voc, err1 := intent.NewVocabulary(intent.VocabularyOptions{
		Actions: listRisks(c), Expertise: slices.Sorted(maps.Keys(c.Expertise)), Entities: listEntities(c), Currencies: c.Currencies,
	})
	in.Vocabulary = voc
	detector, err2 := newDetector(c.Detector)
	in.Detector = detector
	references, err3 := newReferences(c.References)
	if references != nil {
		in.References = references
	}
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, atIntent(err)
	}
	policy, err1 := compare.New(policyOptions(c.Policy, voc))
	in.Policy = policy
	classifier, err3 := newClassifier(c.Detector.Classifier, o)
	if classifier != nil {
		in.Classifier = classifier
	}
	parsers, err2 := parse.New(parserOptions(c, voc, o))
	in.Parsers = parsers
	in.Actions = listActions(c, o.Handlers)
	var err4 error
	if o.Registry != nil {
		err4 = intake.CheckActions(voc, o.Registry, in.Actions)
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, atIntent(err)
	}
	return in, nil
}

// atIntent puts the places of mistakes below intent, where the configuration has them.
func atIntent(err error) error {
	var errs []error
	for _, e := range leaves(err) {
		var at *skills.PathError
		if errors.As(e, &at) {
			e = &skills.PathError{Path: "intent." + placeOfWords(at.Path), Msg: at.Msg}
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// placeOfWords turns a place among the grammar's words into the configuration's: actions.pay[0] is actions.pay.words[0].
func placeOfWords(path string) string {
	i := strings.IndexByte(path, '[')
	head, rest := path, ""
	if i >= 0 {
		head, rest = path[:i], path[i:]
	}
	kind, name, _ := strings.Cut(head, ".")
	switch {
	case kind == "actions" && rest != "" && !strings.Contains(name, "."):
		return head + ".words" + rest
	case kind == "entities":
		if of, one, ok := strings.Cut(name, "."); ok {
			return "entities." + of + ".names." + one + rest
		}
	case kind == "references" && rest != "":
		return "references.begin" + rest
	}
	return path
}

// leaves takes a tree of errors apart.
func leaves(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, leaves(e)...)
		}
		return out
	}
	return []error{err}
}

func listRisks(c config.Intent) map[string]intent.Risk {
	out := map[string]intent.Risk{}
	for name, a := range c.Actions {
		out[name] = riskOf(a.Risk)
	}
	return out
}

// riskOf reads a risk; what is none, and the one that is left out, is high.
func riskOf(s string) intent.Risk {
	r, err := intent.ParseRisk(s)
	if err != nil {
		return intent.High
	}
	return r
}

func listEntities(c config.Intent) map[string][]string {
	out := map[string][]string{}
	for kind, k := range c.Entities {
		out[kind] = slices.Sorted(maps.Keys(k.Names))
	}
	return out
}

func newDetector(c config.IntentDetector) (*detect.Detector, error) {
	o := detect.Options{Families: map[detect.Family]detect.Mode{}, BlockAt: int(c.BlockAt), FlagAt: int(c.FlagAt)}
	for family, mode := range c.Families {
		o.Families[detect.Family(family)] = detect.Mode(mode)
	}
	d, err := detect.New(o)
	if err != nil {
		return nil, &skills.PathError{Path: "detector", Msg: err.Error()}
	}
	return d, nil
}

// newClassifier makes the classifier; nil where none is configured.
func newClassifier(c config.IntentClassifier, o Options) (*classify.Classifier, error) {
	co := classify.Options{Name: "classifier", Timeout: c.Timeout, Log: o.Log}
	switch {
	case c.URL.IsSet():
		source, err := classify.FromServer(classify.Server{URL: c.URL.Reveal(), Token: c.Token.Reveal(), Timeout: c.Timeout})
		if err != nil {
			return nil, &skills.PathError{Path: "detector.classifier.url", Msg: err.Error()}
		}
		co.Source = source
	case c.Model != "":
		m, ok := o.Model(c.Model)
		if !ok { // config tells
			return nil, nil //nolint:nilnil // it is a mistake that is told elsewhere
		}
		co.Name, co.Source = c.Model, classify.FromModel(m)
	default:
		return nil, nil //nolint:nilnil // none is configured
	}
	return classify.New(co), nil
}

func policyOptions(c config.IntentPolicy, voc *intent.Vocabulary) compare.Options {
	o := compare.Options{
		Vocabulary: voc, Actions: c.Actions, Expertise: c.Expertise, Budgets: map[string]string{}, MaxResults: c.MaxResults,
		MaxLength: c.MaxLength, Earliest: c.EarliestDays, Latest: c.LatestDays, Domains: c.Domains,
		Topics:        compare.Topics{Allow: c.Topics.Allow, Patterns: c.Topics.Patterns},
		Forbid:        compare.Forbid{Actions: c.Forbid.Actions, Expertise: c.Forbid.Expertise, Topics: c.Forbid.Topics},
		SoftTolerance: int(c.SoftTolerance),
	}
	if c.SoftTolerance == 0 {
		o.SoftTolerance = -1 // none
	}
	for code, most := range c.Budgets {
		o.Budgets[code] = string(most)
	}
	for _, k := range c.Constraints {
		o.Constraints = append(o.Constraints, compare.Constraint{ID: k.ID, When: k.When, Then: k.Then, Reason: k.Reason})
	}
	return o
}

// parserOptions lists the parsers: the grammar, and the models.
func parserOptions(c config.Intent, voc *intent.Vocabulary, o Options) parse.Options {
	rules := &grammar.Options{
		Languages: c.Languages, Actions: map[string][]string{}, Expertise: c.Expertise, Topics: c.Topics, ListedTopics: c.ListedTopics,
		Entities: map[string]map[string][]string{}, Currency: c.Currency, References: c.References.Begin, MonthFirst: c.MonthFirst,
	}
	words := &parse.Words{
		Expertise: slices.Sorted(maps.Keys(c.Expertise)), Entities: listEntities(c), Currencies: c.Currencies, Currency: c.Currency,
		References: c.References.Begin,
	}
	for _, name := range slices.Sorted(maps.Keys(c.Actions)) {
		a := c.Actions[name]
		if len(a.Words) > 0 {
			rules.Actions[name] = a.Words
		}
		words.Actions = append(words.Actions, parse.Described{Name: name, Description: a.Description})
	}
	for kind, k := range c.Entities {
		rules.Entities[kind] = k.Names
	}
	po := parse.Options{
		Vocabulary: voc, Log: o.Log, Isolation: o.isolationOf(c), Start: parse.StartFunc(o.Start), Ahead: c.Workers, Now: o.Now,
		Breaker: parse.Breaker{Failures: c.ParserBreaker.Failures, Window: c.ParserBreaker.Window, OpenFor: c.ParserBreaker.OpenFor},
		Parsers: []parse.Parser{{ID: GrammarParser, Grammar: rules}},
	}
	for _, id := range slices.Sorted(maps.Keys(c.Parsers)) {
		p := c.Parsers[id]
		one := parse.Parser{ID: id, Trust: int(p.Trust), Timeout: p.Timeout, Concurrency: p.Concurrency, Words: words}
		if m, ok := o.Model(p.Model); ok { // one that isn't there is a mistake that config tells
			one.Model = m
			po.Parsers = append(po.Parsers, one)
		}
	}
	return po
}

// GrammarParser is the id of the parser of fixed rules.
const GrammarParser = "grammar"

// listActions are what does the actions: skills, and the program's handlers.
func listActions(c config.Intent, handlers map[string]intake.Handler) map[string]intake.Action {
	out := map[string]intake.Action{}
	for name, a := range c.Actions {
		if a.Skill == "" && handlers[name] == nil && len(a.Grants) == 0 {
			continue
		}
		out[name] = intake.Action{Handler: handlers[name], Skill: a.Skill, Arguments: a.Arguments, Timeout: a.Timeout, Approve: a.Approve,
			Grants: a.Grants, Limits: intake.Limits{Agents: a.Limits.Agents, Calls: a.Limits.Calls, Tokens: int64(a.Limits.Tokens)}}
	}
	for name, h := range handlers {
		if _, known := c.Actions[name]; !known {
			out[name] = intake.Action{Handler: h}
		}
	}
	return out
}

// references are who may use what, as the configuration lists it.
type references []referenceGrant

type referenceGrant struct {
	users []userglob.Glob
	ids   map[string]bool
}

func newReferences(c config.IntentReferences) (references, error) {
	var out references
	var errs []error
	for i, g := range c.Grants {
		one := referenceGrant{ids: map[string]bool{}}
		for j, u := range g.Users {
			glob, mistake := userglob.Parse(u)
			if mistake != "" {
				errs = append(errs, &skills.PathError{Path: fmt.Sprintf("references.grants[%d].users[%d]", i, j), Msg: mistake})
			}
			one.users = append(one.users, glob)
		}
		for j, id := range g.IDs {
			if _, err := intent.NewReference(id); err != nil {
				errs = append(errs, &skills.PathError{Path: fmt.Sprintf("references.grants[%d].ids[%d]", i, j), Msg: err.Error()})
			}
			one.ids[id] = true
		}
		out = append(out, one)
	}
	return out, errors.Join(errs...)
}

// Resolve lets a user use an id that a grant names for them.
func (r references) Resolve(_ context.Context, user string, ref intent.Reference) error {
	for _, g := range r {
		if g.ids[ref.String()] && slices.ContainsFunc(g.users, func(u userglob.Glob) bool { return u.Matches(user) }) {
			return nil
		}
	}
	return intake.ErrNoReference
}

// isolationOf is how parsers are kept apart.
func (o Options) isolationOf(c config.Intent) string {
	if c.Isolation != "" {
		return c.Isolation
	}
	return o.Isolation
}

// Options are what the intake is made of, as far as the configuration says it: enough for intake.Consider. With handled,
// an action without a skill is taken as one that a program's handler does.
func (in *Parts) Options(handled bool) intake.Options {
	c := in.config
	o := intake.Options{
		Detector: in.Detector, Classifier: in.Classifier, Parsers: in.Parsers, Policy: in.Policy, Vocabulary: in.Vocabulary,
		References: in.References, Actions: maps.Clone(in.Actions), ConfirmFrom: riskOf(c.Confirm.From), ConfirmTimeout: c.Confirm.Timeout,
		ApproveAlways: c.Approve == "always", BlockHard: c.Hard == "block", Lifetime: c.Lifetime, MaxText: c.MaxText,
		Texts: intake.Texts(c.Texts), Addresses: intake.Addresses(c.Addresses), Rates: map[intent.Risk]intake.Rate{},
	}
	for risk, r := range c.Rates {
		o.Rates[riskOf(risk)] = intake.Rate{PerMinute: r.PerMinute, Burst: r.Burst}
	}
	for name, a := range c.Actions {
		if handled && a.Skill == "" {
			one := o.Actions[name]
			one.Approve = a.Approve
			if one.Handler == nil { // it is never run
				one.Handler = func(context.Context, intent.Trusted) (any, error) { return nil, errors.New("nothing acts here") }
			}
			o.Actions[name] = one
		}
	}
	return o
}

// Needs are what an intake records in, asks through and signs with. Its fields are those of intake.Options.
type Needs struct {
	Recording intake.Recording
	// Key signs trusted intents.
	Key ed25519.PrivateKey
	// References says what users may refer to; nil goes by the configuration.
	References Resolver
	// Alert is told of blocked texts.
	Alert func(Alert)
	// PolicyDigest identifies the configuration.
	PolicyDigest string
	Now          func() time.Time
	Log          *slog.Logger
}

// audience is the receiver of this program's trusted intents: itself.
const audience = "vedette"

// Build makes what takes texts through all stages.
func (in *Parts) Build(n Needs) (*Pipeline, error) {
	signer, err := intent.NewSigner(n.Key, n.Now)
	if err != nil {
		return nil, err
	}
	public, _ := n.Key.Public().(ed25519.PublicKey)
	verifier, err := intent.NewVerifier(intent.VerifierOptions{
		Keys: []ed25519.PublicKey{public}, Vocabulary: in.Vocabulary, Audience: audience, Now: n.Now,
	})
	if err != nil {
		return nil, err
	}
	o := in.Options(false)
	o.Recording, o.Signer, o.Verifier, o.Audience, o.PolicyDigest = n.Recording, signer, verifier, audience, n.PolicyDigest
	o.Alert, o.Now, o.Log = n.Alert, n.Now, n.Log
	if n.References != nil {
		o.References = n.References
	}
	return intake.New(o)
}

// Service is work that goes on while texts are taken. Run returns nil once ctx has ended.
type Service struct {
	ID  string
	Run func(ctx context.Context) error
}

// sweepEvery is how often requests whose time is over are ended.
const sweepEvery = 10 * time.Second

// Services are what runs while texts are taken.
func (in *Parts) Services(p *Pipeline, log *slog.Logger) []Service {
	list := []Service{{"intake", func(ctx context.Context) error { return sweep(ctx, p, log) }}}
	for _, s := range in.Parsers.Services() {
		list = append(list, Service{"parser-" + s.Parser, s.Run})
	}
	return list
}

// sweep ends requests whose time is over, until ctx ends.
func sweep(ctx context.Context, p *Pipeline, log *slog.Logger) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := p.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.Warn("requests whose time is over could not be ended; the next sweep tries again", "error", err)
			}
		}
	}
}
