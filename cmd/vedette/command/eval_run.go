package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// evalRun is one run of eval.
type evalRun struct {
	flags    evalFlags
	files    []string
	offline  *eval.Offline // nil where models are asked
	prompts  *bufio.Writer
	results  *results
	compare  *eval.Comparer // nil without --against
	tally    eval.Tally
	bad      badLines
	progress *progress
	log      *slog.Logger
	away     *eval.Away // that ended the run; nil where it went on
	openFor  time.Duration
}

func (a *app) eval(ctx context.Context, f evalFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	f.noReview = f.noReview || a.opts.NoReview
	run := &evalRun{flags: f}
	if run.files, err = caseFiles(f.cases); err != nil {
		return err
	}
	if err := apart(f, run.files); err != nil {
		return err
	}
	cfg, err := a.load(f.config)
	if err != nil {
		return err
	}
	if err := guarded(cfg, f); err != nil {
		return err
	}
	answers, err := run.read(cfg)
	if err != nil {
		return err
	}
	// The progress is below what a log says while the cases run.
	run.progress = newProgress(a.err, f, run.files)
	d, closePrompts, err := run.decider(cfg, answers, run.progress)
	if err != nil {
		return err
	}
	defer func() { d.Close(); err = errors.Join(err, closePrompts()) }()
	m, err := runManifest(cfg, f, answers)
	if err != nil {
		return err
	}
	if run.results, err = openResults(f, m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.results.close()) }()
	run.openFor = cfg.Sentinel.Breaker.OpenFor
	run.tally.Prices, run.tally.Answered = prices(cfg), run.offline != nil
	if err := run.all(ctx, a, d); err != nil && ctx.Err() == nil && !errors.As(err, &run.away) {
		return err
	}
	return run.finish(ctx, a)
}

// answered are the answers of a file, and the file's digest.
type answered struct {
	byKey  map[string]eval.Answer
	digest string
}

// read reads what has to be right before a case is decided.
func (run *evalRun) read(cfg *config.Config) (answered, error) {
	f := run.flags
	if f.against != "" {
		rows, err := readResults(f.against)
		if err != nil {
			return answered{}, err
		}
		run.compare = eval.NewComparer(rows)
	}
	if f.offline() && cfg.Sentinel.Mode == config.Off && len(cfg.Sentinel.Modes.Effect)+len(cfg.Sentinel.Modes.Skill) == 0 {
		return answered{}, &failure{
			exitFailed, fmt.Errorf("%s has no review, so no model is asked: sentinel.mode is off", f.config),
			"name the configuration with --config FILE",
		}
	}
	if f.answer == "" {
		return answered{}, nil
	}
	return readAnswers(f.answer)
}

// decider builds the checkpoint. Where no model is asked, it stands in for
// them. The function that it returns ends the file of prompts.
func (run *evalRun) decider(cfg *config.Config, answers answered, log io.Writer) (*assembly.Decider, func() error, error) {
	warnings := slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})
	o := assembly.DeciderOptions{NoReview: run.flags.noReview, NoFS: true, Log: slog.New(newSeldom(warnings, saidAgain))}
	run.log = o.Log
	done := func() error { return nil }
	if run.flags.offline() {
		var out io.Writer
		if run.flags.prompts != "" {
			// The requests hold the arguments of calls.
			file, err := promptsOut(run.flags.prompts)
			if err != nil {
				return nil, nil, err
			}
			run.prompts = bufio.NewWriter(file)
			out = run.prompts
			done = func() error { return errors.Join(run.prompts.Flush(), file.Close()) }
		}
		// Each case that waits for its answer is given up by its caller, which
		// is no news. What failed is in the counts.
		o.Log = slog.New(slog.DiscardHandler)
		run.offline = eval.NewOffline(answers.byKey, out)
		o.Transport = run.offline.Transport
		run.flags.jobs = 1 // see eval.Offline
	}
	d, err := assembly.NewDecider(measured(cfg, run.offline != nil), o)
	if err != nil {
		return nil, nil, errors.Join(invalid(run.flags.config, err), done())
	}
	return d, done, nil
}

// saidAgain is when the log of an eval says a thing again.
const saidAgain = 30 * time.Second

// neverOpens are more failures in a row than an eval has cases.
const neverOpens = 1_000_000

// measured is a configuration whose review asks a model about each case: eval would
// count an answer from the cache twice. Where eval asks no model, measured also switches
// off pacing, budgets, retries and breakers; the questions stay the same.
func measured(cfg *config.Config, offline bool) *config.Config {
	c := *cfg
	c.Sentinel.CacheTTL = 0
	if !offline {
		return &c
	}
	c.Sentinel.Retries, c.Sentinel.Canaries.Every, c.Sentinel.Budget = 0, 0, config.ReviewBudget{}
	c.Sentinel.Breaker.Failures = neverOpens
	c.Models = maps.Clone(cfg.Models)
	for name, m := range c.Models {
		m.RequestsPerMinute = 0
		c.Models[name] = m
	}
	return &c
}

func prices(cfg *config.Config) map[string]eval.Price {
	out := map[string]eval.Price{}
	for name, m := range cfg.Models {
		out[name] = eval.Price{Input: int64(m.Price.Input), Output: int64(m.Price.Output)}
	}
	return out
}

// all decides the cases of every file.
func (run *evalRun) all(ctx context.Context, a *app, d *assembly.Decider) error {
	ev := eval.NewEvaluator(eval.Options{
		Decider: d, AllGrants: run.flags.grants == "all", Earlier: run.results.earlier, Offline: run.offline, Again: run.again(),
	})
	defer run.progress.end()
	for _, name := range run.files {
		in, err := a.open([]string{name})
		if err != nil {
			return err
		}
		err = ev.Each(ctx, in, run.flags.jobs, func(n int, r eval.Result) error { return run.take(name, n, r) })
		_ = in.Close() // it was only read
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// take counts one result and writes it.
func (run *evalRun) take(file string, n int, r eval.Result) error {
	run.tally.Add(r)
	run.bad.add(file, n, r)
	if run.compare != nil {
		run.compare.Add(r)
	}
	if err := run.results.write(r); err != nil {
		return err
	}
	if run.offline != nil && run.offline.Err() != nil {
		return fmt.Errorf("%s: %w", run.flags.prompts, cause(run.offline.Err()))
	}
	run.progress.step(time.Now(), r.Resumed, func() float64 { return run.tally.Cost() })
	return nil
}

// evalReport is what eval prints.
type evalReport struct {
	eval.Report
	Against *eval.Comparison `json:"against,omitempty"`
	// Interrupted says that the counts are of a part of the cases.
	Interrupted bool `json:"interrupted,omitempty"`
}

// finish prints the counts, also of a run that was interrupted, and says how it
// ended.
func (run *evalRun) finish(ctx context.Context, a *app) error {
	rep := evalReport{Report: run.tally.Report(), Interrupted: ctx.Err() != nil || run.away != nil}
	if run.compare != nil {
		c := run.compare.Comparison()
		rep.Against = &c
	}
	var err error
	if run.flags.json {
		err = writeJSON(a.out, rep, true)
	} else {
		err = a.evalText(rep)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		a.note("interrupted after %d cases%s", rep.Cases+rep.Errors, goOn(run.flags))
		return ctx.Err()
	case run.away != nil:
		return run.stopped(rep)
	}
	if err := run.results.settle(a); err != nil {
		return err
	}
	odd(a, rep)
	if run.bad.bad > 0 {
		return run.bad.failure()
	}
	if err := run.told(a, rep); err != nil {
		return err
	}
	if err := cmp.Or(run.none(rep), run.unjudged(rep)); err != nil {
		return err
	}
	return run.worse(rep)
}

// worse is the failure that --fail-on-worse asks for. What could not be compared
// did not pass.
func (run *evalRun) worse(rep evalReport) error {
	if !run.flags.failOnWorse {
		return nil
	}
	c := rep.Against
	if c.Worse > 0 {
		return &failure{exitFindings, fmt.Errorf("%d cases became worse", c.Worse), ""}
	}
	if n := c.OnlyBefore + c.Edited + c.Ambiguous; n > 0 || c.Compared == 0 {
		return &failure{
			exitFindings, fmt.Errorf("%d cases compared, %d could not be: %s", c.Compared, n, notCompared(*c)),
			"compare with a run over the same cases",
		}
	}
	return nil
}

func goOn(f evalFlags) string {
	if f.results == "" || f.offline() {
		return ""
	}
	return "; run it again with --resume to go on"
}

// told says what was asked and not answered.
func (run *evalRun) told(a *app, rep evalReport) error {
	if run.offline == nil {
		return nil
	}
	if n := run.offline.Unused(); n > 0 {
		a.note("%d answers of %s are to requests that were not made: the cases, the configuration or the prompt differ", n, run.flags.answer)
	}
	if run.flags.prompts != "" {
		a.note("%d requests written to %s; %d cases wait for their answers", run.offline.Written(), run.flags.prompts, rep.Unanswered)
		return nil
	}
	if rep.Unanswered > 0 {
		return &failure{
			exitFailed, fmt.Errorf("%d cases have no answer and were not decided", rep.Unanswered),
			"--print-prompts FILE writes what is missing",
		}
	}
	return nil
}
