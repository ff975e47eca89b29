package assembly

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/classify"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// Intents are what reads texts as intents, compiled and with nothing running: what commands measure and explain with.
type Intents struct {
	Vocabulary *intent.Vocabulary
	Detector   *detect.Detector
	// Classifier can raise what the detector found; nil where there is none.
	Classifier intake.Classifier
	Policy     *compare.Policy
	// Parsers read texts in this process, or each in a process of its own: see IntentOptions.
	Parsers *parse.Ensemble
	// Actions are what does the vocabulary's actions; those of the program are missing where it isn't known.
	Actions map[string]intake.Action
	// References are who may use what; nil where the configuration has no table.
	References intake.Resolver

	config config.Intent
}

// intentOptions are what intents need beside the configuration.
type intentOptions struct {
	isolation string
	start     parse.StartFunc
	model     func(name string) (parse.Model, bool)
	handlers  map[string]intake.Handler
	now       func() time.Time
	log       *slog.Logger
	// registry has the skills; nil leaves actions unchecked.
	registry *skills.Registry
}

// newIntents compiles what the configuration says of intents; nil where it says nothing. It reports every mistake.
func newIntents(cfg *config.Config, o intentOptions) (*Intents, error) {
	c := cfg.Intent
	if !c.IsOn() {
		return nil, nil //nolint:nilnil // none is configured
	}
	in := &Intents{config: c}
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
	in.Actions = listActions(c, o.handlers)
	var err4 error
	if o.registry != nil {
		err4 = intake.CheckActions(voc, o.registry, in.Actions)
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
func newClassifier(c config.IntentClassifier, o intentOptions) (*classify.Classifier, error) {
	co := classify.Options{Name: "classifier", Timeout: c.Timeout, Log: o.log}
	switch {
	case c.URL.IsSet():
		source, err := classify.FromServer(classify.Server{URL: c.URL.Reveal(), Token: c.Token.Reveal(), Timeout: c.Timeout})
		if err != nil {
			return nil, &skills.PathError{Path: "detector.classifier.url", Msg: err.Error()}
		}
		co.Source = source
	case c.Model != "":
		m, ok := o.model(c.Model)
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
func parserOptions(c config.Intent, voc *intent.Vocabulary, o intentOptions) parse.Options {
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
		Vocabulary: voc, Log: o.log, Isolation: o.isolation, Start: o.start, Ahead: c.Workers, Now: o.now,
		Breaker: parse.Breaker{Failures: c.ParserBreaker.Failures, Window: c.ParserBreaker.Window, OpenFor: c.ParserBreaker.OpenFor},
		Parsers: []parse.Parser{{ID: GrammarParser, Grammar: rules}},
	}
	for _, id := range slices.Sorted(maps.Keys(c.Parsers)) {
		p := c.Parsers[id]
		one := parse.Parser{ID: id, Trust: int(p.Trust), Timeout: p.Timeout, Concurrency: p.Concurrency, Words: words}
		if m, ok := o.model(p.Model); ok { // one that isn't there is a mistake that config tells
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
		if a.Skill == "" && handlers[name] == nil {
			continue
		}
		out[name] = intake.Action{Handler: handlers[name], Skill: a.Skill, Arguments: a.Arguments, Timeout: a.Timeout, Approve: a.Approve}
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

// startParser starts a process for one text.
func startParser(ctx context.Context) (parse.Process, error) {
	h, err := exec.StartHelper(ctx, parse.HelperKind)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// NewIntents compiles what a configuration says of intents, for commands that read texts without a store. The actions'
// handlers are missing. Parsers run in this process. transport is DeciderOptions.Transport. It returns nil where nothing is
// configured; close ends the connections to models.
func NewIntents(cfg *config.Config, transport func(model string) http.RoundTripper) (in *Intents, end func(), err error) {
	roster, err := newRoster(cfg, transport)
	if err != nil {
		return nil, nil, cfg.Locate(err)
	}
	in, err = newIntents(cfg, intentOptions{isolation: parse.Goroutine, model: func(name string) (parse.Model, bool) {
		m, ok := roster.Lookup(name)
		return m, ok
	}})
	if err != nil {
		roster.Close()
		return nil, nil, cfg.Locate(err)
	}
	if in != nil {
		for name, a := range cfg.Intent.Actions {
			if _, known := in.Actions[name]; !known { // a handler of a program does it
				in.Actions[name] = intake.Action{Approve: a.Approve}
			}
		}
	}
	return in, roster.Close, nil
}

// checkIntents finds what is wrong with intents, and starts nothing. A nil roster or registry is one with mistakes.
func checkIntents(cfg *config.Config, roster *llm.Roster, reg *skills.Registry) error {
	_, err := newIntents(cfg, intentOptions{isolation: parse.Goroutine, registry: reg, model: func(name string) (parse.Model, bool) {
		if roster == nil {
			return nil, false
		}
		m, ok := roster.Lookup(name)
		return m, ok
	}})
	return err
}

// buildIntake makes what takes texts through all stages, where it is configured.
func (p *Parts) buildIntake(o Options) error {
	cfg := p.Config
	if !cfg.Intent.IsOn() {
		return nil
	}
	isolation := cfg.Intent.Isolation
	if isolation == "" {
		isolation = o.ParserIsolation
	}
	in, err := newIntents(cfg, intentOptions{
		isolation: isolation, start: startParser, handlers: o.Handlers, now: o.Now, log: o.Log, registry: p.Registry,
		model: func(name string) (parse.Model, bool) { m, ok := p.models[name]; return m, ok },
	})
	if err != nil {
		return err
	}
	key, err := p.Keys.LoadOrCreateIntent()
	if err != nil {
		return err
	}
	signer, err := intent.NewSigner(key, o.Now)
	if err != nil {
		return err
	}
	public, _ := key.Public().(ed25519.PublicKey)
	verifier, err := intent.NewVerifier(intent.VerifierOptions{
		Keys: []ed25519.PublicKey{public}, Vocabulary: in.Vocabulary, Audience: intentAudience, Now: o.Now,
	})
	if err != nil {
		return err
	}
	io := in.Options()
	io.Store, io.Ledger, io.Journal, io.Checkpoint, io.Pauser = p.Store, p.Ledger, p.Journal, p.Checkpoint, p.Pauses
	io.Signer, io.Verifier, io.Audience, io.PolicyDigest = signer, verifier, intentAudience, cfg.Digest()
	io.Values, io.DigestKey, io.Alert, io.Now, io.Log = sentinel.ValuesMode(cfg.Ledger.Values), p.Keys.Digest(), o.ObserveBlocked, o.Now, o.Log
	if o.References != nil {
		io.References = o.References
	}
	p.intents = in
	p.Intake, err = intake.New(io)
	return err
}

// Options are what the intake is made of, as far as the configuration says it: enough for intake.Consider.
func (in *Intents) Options() intake.Options {
	c := in.config
	return intake.Options{
		Detector: in.Detector, Classifier: in.Classifier, Parsers: in.Parsers, Policy: in.Policy, Vocabulary: in.Vocabulary,
		References: in.References, Actions: in.Actions, ConfirmFrom: riskOf(c.Confirm.From), ConfirmTimeout: c.Confirm.Timeout,
		ApproveAlways: c.Approve == "always", BlockHard: c.Hard == "block", Lifetime: c.Lifetime, MaxText: c.MaxText,
		Texts: intake.Texts(c.Texts), Addresses: intake.Addresses(c.Addresses),
	}
}

// intentAudience is the receiver of this program's trusted intents: itself.
const intentAudience = "vedette"

// sweepEvery is how often requests whose time is over are ended.
const sweepEvery = 10 * time.Second

// sweepIntake ends requests whose time is over, until ctx ends.
func (p *Parts) sweepIntake(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := p.Intake.Sweep(ctx); err != nil && ctx.Err() == nil {
				p.log.Warn("requests whose time is over could not be ended; the next sweep tries again", "error", err)
			}
		}
	}
}

// intakeServices are what runs while texts are taken.
func (p *Parts) intakeServices() []Service {
	if p.Intake == nil {
		return nil
	}
	list := []Service{{"intent", "intake", p.sweepIntake}}
	for _, s := range p.intents.Parsers.Services() {
		list = append(list, Service{"intent", "parser-" + s.Parser, s.Run})
	}
	return list
}

// listNatives are the natives of the program, with the question to approvers about intents where there may be one.
func listNatives(cfg *config.Config, o Options) []Native {
	if !cfg.Intent.IsOn() || slices.ContainsFunc(o.Natives, func(n Native) bool { return n.Spec.Name == intake.ElevateSkill }) {
		return o.Natives
	}
	return append(slices.Clone(o.Natives), Native{Spec: intake.ElevateSpec(), Run: intake.RunElevate})
}
