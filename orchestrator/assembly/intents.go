package assembly

import (
	"context"
	"net/http"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/intents"
	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

type (
	// IntentHandler does an action that users ask for by an intent.
	IntentHandler = intents.Handler
	// IntentResolver says what users may refer to.
	IntentResolver = intents.Resolver
	// IntentRequest is one text of a user.
	IntentRequest = intents.Request
	// IntentAnswer is where its request stands.
	IntentAnswer = intents.Answer
	// IntentInputError is a request that is none.
	IntentInputError = intents.InputError
	// IntentCeiling is what a turn may do.
	IntentCeiling = intents.Ceiling
	// IntentConfirm is what a user says to a confirmation.
	IntentConfirm = intents.UserAnswer
)

// Why the intent of a request could not be made: the process is ending, or too many requests are under way.
var (
	ErrIntentClosed = intents.ErrClosed
	ErrIntentBusy   = intents.ErrBusy
)

// IsolateParsers is the value of Options.ParserIsolation that reads each text in a process of its own.
const IsolateParsers = intents.OwnProcess

// MaybeParser makes this process a parser of texts where it was started as one, and then doesn't return. A program whose
// parsers have processes of their own calls it first in main, behind exec.MaybeChild.
func MaybeParser() { intents.MaybeHelper(exec.IsHelper(intents.HelperKind)) }

// startParser starts a process for one text.
func startParser(ctx context.Context) (intents.Process, error) {
	h, err := exec.StartHelper(ctx, intents.HelperKind)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// lookUpIn returns what finds models in a roster; a nil one has none.
func lookUpIn(roster *llm.Roster) func(name string) (intents.Model, bool) {
	return func(name string) (intents.Model, bool) {
		if roster == nil {
			return nil, false
		}
		m, ok := roster.Lookup(name)
		return m, ok
	}
}

// NewIntents compiles what a configuration says of intents, for commands that read texts without a store. Parsers run in
// this process. transport is DeciderOptions.Transport. It returns nil where nothing is configured; end closes the
// connections to models.
func NewIntents(cfg *config.Config, transport func(model string) http.RoundTripper) (in *intents.Parts, end func(), err error) {
	roster, err := newRoster(cfg, transport)
	if err != nil {
		return nil, nil, cfg.Locate(err)
	}
	c := cfg.Intent
	c.Isolation = intents.Goroutine
	in, err = intents.New(c, intents.Options{Model: lookUpIn(roster)})
	if err != nil {
		roster.Close()
		return nil, nil, cfg.Locate(err)
	}
	return in, roster.Close, nil
}

// checkIntents finds what is wrong with intents, and starts nothing. A nil roster is one with mistakes.
func checkIntents(cfg *config.Config, roster *llm.Roster, reg *skills.Registry) error {
	c := cfg.Intent
	c.Isolation = intents.Goroutine
	_, err := intents.New(c, intents.Options{Registry: reg, Model: lookUpIn(roster)})
	return err
}

// buildIntake makes what takes texts through all stages, where it is configured.
func buildIntake(p *Parts, o Options) error {
	cfg := p.Config
	in, err := intents.New(cfg.Intent, intents.Options{
		Isolation: o.ParserIsolation, Start: startParser, Handlers: o.Handlers, Now: o.Now, Log: o.Log, Registry: p.Registry,
		Model: func(name string) (intents.Model, bool) { m, ok := p.models[name]; return m, ok },
	})
	if err != nil || in == nil {
		return err
	}
	key, err := p.Keys.LoadOrCreateIntent()
	if err != nil {
		return err
	}
	alarms, err := newAlarms(p, o)
	if err != nil {
		return err
	}
	n := intents.Needs{Key: key, References: o.References, Alert: tellBlocked(alarms, o), PolicyDigest: cfg.Digest(), Now: o.Now, Log: o.Log}
	n.Recording.Store, n.Recording.Ledger, n.Recording.Journal = p.Store, p.Ledger, p.Journal
	n.Recording.Checkpoint, n.Recording.Pauser, n.Recording.DigestKey = p.Checkpoint, p.Pauses, p.Keys.Digest()
	n.Recording.Values = sentinel.ValuesMode(cfg.Ledger.Values)
	if p.Intake, err = in.Build(n); err != nil {
		return err
	}
	p.intakeServices = append(in.Services(p.Intake, o.Log), intents.Service{ID: "alarms", Run: alarms.Run})
	return nil
}

// newAlarms makes what tells the channels of approvals of blocked texts.
func newAlarms(p *Parts, o Options) (*notify.Alarms, error) {
	list, err := newChannels(p.Config)
	if err != nil {
		return nil, err
	}
	return notify.NewAlarms(list, p.Config.Server.PublicURL, o.Log), nil
}

// tellBlocked returns what tells channels and the program of blocked texts.
func tellBlocked(alarms *notify.Alarms, o Options) func(intents.Alert) {
	return func(a intents.Alert) {
		alarms.Tell(notify.Blocked{Request: a.Request, User: a.User, At: a.At, Score: a.Score, Rules: a.Rules, Others: a.Others})
		if o.ObserveBlocked != nil {
			o.ObserveBlocked(a)
		}
	}
}

// watchIntake returns an observer that passes on to observe, and has the intake hear of calls first.
func watchIntake(p *Parts, observe func(sentinel.Event)) func(sentinel.Event) {
	if !p.Config.Intent.IsOn() {
		return observe
	}
	return func(e sentinel.Event) {
		if p.Intake != nil { // it is built behind the checkpoint
			p.Intake.OnEvent(e)
		}
		if observe != nil {
			observe(e)
		}
	}
}

// IsIntentQuestion reports whether a skill's calls ask an approver about an intent, and do nothing.
func IsIntentQuestion(skill string) bool { return skill == intents.ElevateSkill }

// listNatives are the natives of the program, with the question to approvers about intents where there may be one.
func listNatives(cfg *config.Config, o Options) []Native {
	if !cfg.Intent.IsOn() || slices.ContainsFunc(o.Natives, func(n Native) bool { return n.Spec.Name == intents.ElevateSkill }) {
		return o.Natives
	}
	return append(slices.Clone(o.Natives), Native{Spec: intents.ElevateSpec(), Run: intents.RunElevate})
}
