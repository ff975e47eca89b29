package eval

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
)

// RunOptions say which cases a Run decides, and what it writes. They are the flags of
// vedette eval, and errors name them so.
type RunOptions struct {
	// ConfigFile is the name of the configuration, for errors, and so that no file is
	// written over it.
	ConfigFile string
	// Cases are names of files or globs, - for the standard input.
	Cases []string
	// Grants is least, or all to take granted_skills_all where a case has it.
	Grants  string
	Results ResultsOptions
	// Against names the results of an earlier run, empty where there is nothing to
	// compare with. FailOnWorse makes a decision that became worse a *WorseError.
	Against     string
	FailOnWorse bool
	// Prompts names the file that gets the requests to models; none is sent then.
	// Answers names the file that answers them.
	Prompts, Answers string
	// Ceiling bounds each case's grant by what its request asks for; nil bounds none. Inputs are further files that the
	// run goes by, by their flags, so that none is written over.
	Ceiling Ceiling
	Inputs  map[string]string
	// Tables are those that the report has besides.
	Tables Tables
	// NoReview leaves the model review out. ReviewOff does so too, for a program that
	// has no review whatever the flags say.
	NoReview, ReviewOff bool
	// Jobs is how many cases are decided at a time, 1 to 1024.
	Jobs int
	// Wait is how long a model that is away is waited for; 0 takes its failures for
	// results.
	Wait time.Duration
	// Build is the program that decides.
	Build Build
	// Open opens a file of cases, or the standard input for -.
	Open func(name string) (io.ReadCloser, error)
	// Messages gets lines for people, and on a terminal the progress, unless Quiet.
	Messages io.Writer
	Quiet    bool
	// Print is called once, with what came out.
	Print func(RunReport) error
}

// Tables says which further tables a report has.
type Tables struct {
	// Signals is the SignalReport.
	Signals bool
}

// UsageError says that options can't be used, or not together.
type UsageError struct{ Msg string }

// Error returns the message.
func (e *UsageError) Error() string { return e.Msg }

// WorseError is what RunOptions.FailOnWorse asks for: a decision became worse, or
// could not be compared.
type WorseError struct {
	Err error
	// Todo is what the operator can do, empty where there is nothing.
	Todo string
}

// Error returns the message without the remedy.
func (e *WorseError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WorseError) Unwrap() error { return e.Err }

// Advice returns the remedy.
func (e *WorseError) Advice() string { return e.Todo }

func (o RunOptions) checkFlags() error {
	usage := func(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }
	switch r := o.Results; {
	case o.Grants != "least" && o.Grants != "all":
		return usage("--grants %q: say least or all", o.Grants)
	case o.Jobs < 1 || o.Jobs > 1024:
		return usage("--jobs %d: use 1 to 1024", o.Jobs)
	case len(o.Cases) == 0:
		return usage("name the cases with --cases FILE")
	case r.Resume && r.File == "":
		return usage("--resume goes on with a file of results; name it with --results FILE")
	case r.RetryUnjudged && !r.Resume:
		return usage("--retry-unjudged goes with --resume: it asks again about cases of the file of results")
	case r.Resume && r.Overwrite:
		return usage("--resume keeps what --overwrite throws away; leave one out")
	case o.Wait < 0:
		return usage("--wait %s: use 0s or more", o.Wait)
	case o.FailOnWorse && o.Against == "":
		return usage("--fail-on-worse needs --against FILE")
	case o.NoReview && o.isOffline():
		return usage("--no-review asks no model, so there is nothing to print or to answer; leave it out")
	case r.Resume && o.Tables.Signals:
		return usage("--signals reads the verdicts of each case, and rows of --resume hold none; leave one out")
	case r.Resume && o.isOffline():
		return usage("--resume is for runs that ask models; a run on answers takes seconds, so run it whole")
	}
	return nil
}

// isOffline reports whether models are stood in for.
func (o RunOptions) isOffline() bool { return o.Prompts != "" || o.Answers != "" }

// Run decides the cases of files once, writes their rows and counts them.
type Run struct {
	o        RunOptions
	files    []string
	offline  *Offline // nil where models are asked
	prompts  *bufio.Writer
	results  *resultsFile
	compare  *Comparer // nil without RunOptions.Against
	tally    Tally
	signals  *SignalTally // nil without Tables.Signals
	unread   cases.Faults
	progress *progress
	log      *slog.Logger
	away     *Away // that ended the run; nil where it went on
	openFor  time.Duration
}

// NewRun finds the files of cases. Its errors are a *UsageError, also where a file
// would be written that is still to be read, and an *advice.Error for a file that
// isn't there.
func NewRun(o RunOptions) (*Run, error) {
	if err := o.checkFlags(); err != nil {
		return nil, err
	}
	o.NoReview = o.NoReview || o.ReviewOff
	files, err := findCaseFiles(o.Cases)
	if err != nil {
		return nil, err
	}
	if err := checkFilesApart(o, files); err != nil {
		return nil, err
	}
	return &Run{o: o, files: files}, nil
}

// Do decides the cases with the gates of a configuration and prints the counts. It
// prints them also where ctx or a model ended the run early. It is called once. The
// error is ctx's, a *UsageError, a *WorseError or what kept cases from being decided.
func (r *Run) Do(ctx context.Context, cfg *config.Config) (err error) {
	if err := checkOutputs(cfg, r.o); err != nil {
		return err
	}
	answers, err := r.readRunInputs(cfg)
	if err != nil {
		return err
	}
	// The progress is below what a log says while the cases run.
	r.progress = newProgress(r.o.Messages, r.o.Quiet, r.files)
	d, closePrompts, err := r.buildDecider(cfg, answers)
	if err != nil {
		return err
	}
	defer func() { d.Close(); err = errors.Join(err, closePrompts()) }()
	m, err := newManifest(cfg, r.o, answers)
	if err != nil {
		return err
	}
	if r.results, err = openResults(r.o.Results, m); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.results.close()) }()
	r.openFor = cfg.Sentinel.Breaker.OpenFor
	if r.o.Tables.Signals {
		r.signals = NewSignalTally(int(cfg.Judge.Threshold), int(cfg.Judge.AskBelow))
	}
	r.tally.Prices, r.tally.Answered = pricesOfModels(cfg), r.offline != nil
	if err := r.decideAll(ctx, d); err != nil && ctx.Err() == nil && !errors.As(err, &r.away) {
		return err
	}
	return r.reportAndEnd(ctx)
}

// answered are the answers of a file, and the file's digest.
type answered struct {
	byKey  map[string]Answer
	digest string
}

// readRunInputs reads what has to be right before a case is decided.
func (r *Run) readRunInputs(cfg *config.Config) (answered, error) {
	if r.o.Against != "" {
		rows, err := readEarlierRows(r.o.Against)
		if err != nil {
			return answered{}, err
		}
		r.compare = NewComparer(rows)
	}
	if r.o.isOffline() && cfg.Sentinel.Mode == config.Off && len(cfg.Sentinel.Modes.Effect)+len(cfg.Sentinel.Modes.Skill) == 0 {
		return answered{}, &advice.Error{
			Err:  fmt.Errorf("%s has no review, so no model is asked: sentinel.mode is off", r.o.ConfigFile),
			Todo: "name the configuration with --config FILE",
		}
	}
	if r.o.Answers == "" {
		return answered{}, nil
	}
	return readAnswersFile(r.o.Answers)
}

// buildDecider builds the checkpoint. Where no model is asked, Offline stands in for
// the models. The function that buildDecider returns ends the file of prompts.
func (r *Run) buildDecider(cfg *config.Config, answers answered) (*assembly.Decider, func() error, error) {
	warnings := slog.NewTextHandler(r.progress, &slog.HandlerOptions{Level: slog.LevelWarn})
	o := assembly.DeciderOptions{NoReview: r.o.NoReview, NoFS: true, Log: slog.New(newQuietLog(warnings, repeatAfter))}
	r.log = o.Log
	done := func() error { return nil }
	if r.o.isOffline() {
		var out io.Writer
		if r.o.Prompts != "" {
			// The requests hold the arguments of calls.
			file, err := openPrompts(r.o.Prompts)
			if err != nil {
				return nil, nil, err
			}
			r.prompts = bufio.NewWriter(file)
			out = r.prompts
			done = func() error { return errors.Join(r.prompts.Flush(), file.Close()) }
		}
		// Each case that waits for its answer is given up by its caller, which
		// is no news. What failed is in the counts.
		o.Log = slog.New(slog.DiscardHandler)
		r.offline = NewOffline(answers.byKey, out)
		o.Transport = r.offline.Transport
		r.o.Jobs = 1 // see Offline
	}
	d, err := assembly.NewDecider(measuredConfig(cfg, r.offline != nil), o)
	if err != nil {
		return nil, nil, errors.Join(advice.InvalidConfig(r.o.ConfigFile, err), done())
	}
	return d, done, nil
}

// repeatAfter is when the log of a run says a thing once more.
const repeatAfter = 30 * time.Second

// neverOpens are more failures in a row than a run has cases.
const neverOpens = 1_000_000

// measuredConfig returns a configuration whose review asks a model about each case. A
// run would count an answer from the cache twice. Where no model is asked, it also
// switches off pacing, budgets, retries and breakers; the questions stay the same.
func measuredConfig(cfg *config.Config, offline bool) *config.Config {
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

func pricesOfModels(cfg *config.Config) map[string]Price {
	out := map[string]Price{}
	for name, m := range cfg.Models {
		out[name] = Price{Input: int64(m.Price.Input), Output: int64(m.Price.Output)}
	}
	return out
}

// decideAll decides the cases of every file.
func (r *Run) decideAll(ctx context.Context, d *assembly.Decider) error {
	ev := NewEvaluator(Options{
		Decider: d, AllGrants: r.o.Grants == "all", Earlier: r.results.earlier, Offline: r.offline, Retry: r.newRetryPolicy(),
		Ceiling: r.o.Ceiling,
	})
	defer r.progress.endProgress()
	for _, name := range r.files {
		in, err := r.o.Open(name)
		if err != nil {
			return err
		}
		err = ev.Each(ctx, in, r.o.Jobs, func(n int, res Result) error { return r.takeResult(name, n, res) })
		_ = in.Close() // it was only read
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// newRetryPolicy has cases wait for a model that is away. It is nil where the failure is to
// be the result, and where no model is asked. A wait lasts until a breaker lets a
// request through: with a shorter one the model would not be asked again.
func (r *Run) newRetryPolicy() *Retry {
	if r.o.Wait == 0 || r.o.NoReview || r.offline != nil {
		return nil
	}
	return &Retry{For: max(r.o.Wait, r.openFor+time.Second), OnWait: func(model, failure string, left time.Duration) {
		r.log.Warn("a model is away; eval waits for it",
			slog.String("model", model), slog.String("failure", failure), slog.Duration("at_most", left.Round(time.Second)))
		r.progress.showWaiting(time.Now(), fmt.Sprintf("waiting for %s (%s), %s at most", model, failure, left.Round(time.Second)))
	}}
}

// takeResult counts one result and writes it.
func (r *Run) takeResult(file string, n int, res Result) error {
	r.tally.Add(res)
	r.unread.Add(file, n, res.Err)
	if r.compare != nil {
		r.compare.Add(res)
	}
	if r.signals != nil {
		r.signals.Add(res)
	}
	if err := r.results.writeResultRow(res); err != nil {
		return err
	}
	if r.offline != nil && r.offline.Err() != nil {
		return fmt.Errorf("%s: %w", r.o.Prompts, advice.CauseOf(r.offline.Err()))
	}
	r.progress.addCase(time.Now(), res.Resumed, func() float64 { return r.tally.Cost() })
	return nil
}

// RunReport is what a run came to.
type RunReport struct {
	Report
	Against *Comparison `json:"against,omitempty"`
	// Signals is there where Tables.Signals asks for it.
	Signals *SignalReport `json:"signals,omitempty"`
	// Interrupted says that the counts are of a part of the cases.
	Interrupted bool `json:"interrupted,omitempty"`
}

// reportAndEnd prints the counts, also of a run that was interrupted, and says how it
// ended.
func (r *Run) reportAndEnd(ctx context.Context) error {
	rep := RunReport{Report: r.tally.Report(), Interrupted: ctx.Err() != nil || r.away != nil}
	if r.compare != nil {
		c := r.compare.Comparison()
		rep.Against = &c
	}
	if r.signals != nil {
		s := r.signals.Report()
		rep.Signals = &s
	}
	err := r.o.Print(rep)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		r.tellOperator("interrupted after %d cases%s", rep.Cases+rep.Errors, r.resumeHint())
		return ctx.Err()
	case r.away != nil:
		return r.awayError(rep)
	}
	if err := r.dropEdited(); err != nil {
		return err
	}
	r.noteOddKinds(rep)
	if err := r.unread.Err(); err != nil {
		return err
	}
	if err := r.noteAnswers(rep); err != nil {
		return err
	}
	return cmp.Or(r.noCaseError(rep), r.unjudgedError(rep), r.becameWorseError(rep))
}

// tellOperator writes one line for people.
func (r *Run) tellOperator(format string, args ...any) {
	_, _ = fmt.Fprintln(r.o.Messages, terminal.Clean(fmt.Sprintf(format, args...)))
}

func (r *Run) resumeHint() string {
	if r.o.Results.File == "" || r.o.isOffline() {
		return ""
	}
	return "; run it again with --resume to go on"
}

// awayError is the failure of a run that waited for a model until its time was over.
func (r *Run) awayError(rep RunReport) error {
	todo := "with --results FILE what was decided is kept, and --resume goes on with it"
	if r.o.Results.File != "" {
		todo = "run it again with --resume to go on"
	}
	switch model := "models." + r.away.Model; r.away.Failure {
	case quota:
		todo = "pay for more, or wait until there is some again; " + todo
	case auth:
		todo = "correct " + model + ".api_key; " + todo
	case badRequest:
		// Another configuration is another run, so there is nothing to go on with.
		todo = "correct " + model + ".model or " + model + ".base_url; vedette doctor asks the model and says what is wrong"
	default:
		todo += "; --wait says how long a model is waited for"
	}
	return &advice.Error{Err: fmt.Errorf("stopped after %d cases: %w", rep.Cases+rep.Errors, r.away), Todo: todo}
}

// dropEdited takes the rows out whose case was edited, and says what it took and what
// it left. All cases were gone through by then.
func (r *Run) dropEdited() error {
	dropped, others, err := r.results.dropEdited()
	if err != nil {
		return err
	}
	if dropped > 0 {
		r.tellOperator("%d rows of %s were removed: their cases were edited, and eval decided them again", dropped, r.results.name)
	}
	if others > 0 {
		r.tellOperator("%d rows of %s are of no case of this run; they stay, and are not counted", others, r.results.name)
	}
	return nil
}

// noteOddKinds names kinds that count in no rate, which may be misspelt.
func (r *Run) noteOddKinds(rep RunReport) {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(rep.Kinds)) {
		if n := rep.Kinds[kind].Total(); n > 0 && kind != Attack && kind != Benign && kind != Unlabelled {
			words = append(words, fmt.Sprintf("%d of the kind %q", n, kind))
		}
	}
	if more := len(words) - 5; more > 0 {
		words = append(words[:5], fmt.Sprintf("and of %d other kinds", more))
	}
	if len(words) > 0 {
		r.tellOperator("in no rate, since the kind is neither attack nor benign: %s", strings.Join(words, ", "))
	}
}

// noteAnswers says what was asked and not answered.
func (r *Run) noteAnswers(rep RunReport) error {
	if r.offline == nil {
		return nil
	}
	if n := r.offline.Unused(); n > 0 {
		r.tellOperator("%d answers of %s are to requests that were not made: the cases, the configuration or the prompt differ", n, r.o.Answers)
	}
	if r.o.Prompts != "" {
		r.tellOperator("%d requests written to %s; %d cases wait for their answers", r.offline.Written(), r.o.Prompts, rep.Unanswered)
		return nil
	}
	if rep.Unanswered > 0 {
		return &advice.Error{
			Err:  fmt.Errorf("%d cases have no answer and were not decided", rep.Unanswered),
			Todo: "--print-prompts FILE writes what is missing",
		}
	}
	return nil
}

// noCaseError is the failure of a run without cases.
func (r *Run) noCaseError(rep RunReport) error {
	if rep.Cases+rep.Errors+rep.Unanswered > 0 {
		return nil
	}
	return &advice.Error{Err: fmt.Errorf("there is no case in %s", strings.Join(r.files, ", ")), Todo: "a case is one JSON object a line"}
}

// unjudgedError is the failure of a run with cases that no model said anything of, or
// whose models judged none.
func (r *Run) unjudgedError(rep RunReport) error {
	if rep.Review == nil {
		return nil
	}
	n := 0
	for _, k := range rep.Review.NotJudged {
		n += k
	}
	switch {
	case n > 0:
		todo := ""
		if r.o.Results.File != "" {
			todo = "run it again with --resume --retry-unjudged to ask about them again"
		}
		return &advice.Error{
			Err: fmt.Errorf("%d cases were not judged (%s), and the rates hold what the tables say for that",
				n, formatCounts(rep.Review.NotJudged)),
			Todo: todo,
		}
	case rep.Review.Unjudged == rep.Review.Asked:
		return &advice.Error{
			Err:  fmt.Errorf("no case was judged (%s), and the rates hold what the tables say for that", formatCounts(rep.Review.Failures)),
			Todo: "vedette doctor asks the models and says what is wrong",
		}
	}
	return nil
}

// becameWorseError is the failure that --fail-on-worse asks for. What could not be compared
// did not pass.
func (r *Run) becameWorseError(rep RunReport) error {
	if !r.o.FailOnWorse {
		return nil
	}
	c := rep.Against
	if c.Worse > 0 {
		return &WorseError{Err: fmt.Errorf("%d cases became worse", c.Worse)}
	}
	if n := c.OnlyBefore + c.Edited + c.Ambiguous; n > 0 || c.Compared == 0 {
		return &WorseError{
			Err:  fmt.Errorf("%d cases compared, %d could not be: %s", c.Compared, n, listNotCompared(*c)),
			Todo: "compare with a run over the same cases",
		}
	}
	return nil
}

// findCaseFiles resolves globs, in the order given. A name that exists is taken as it is,
// whatever characters it has.
func findCaseFiles(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		if _, err := os.Lstat(p); err == nil || p == "-" {
			out = append(out, p)
			continue
		}
		found, err := doublestar.FilepathGlob(p, doublestar.WithFilesOnly())
		if err != nil {
			return nil, &UsageError{fmt.Sprintf("--cases %q is no pattern of files", p)}
		}
		if len(found) == 0 {
			return nil, &advice.Error{Err: fmt.Errorf("%s: no such file", p), Todo: "name the cases with --cases FILE"}
		}
		slices.Sort(found)
		out = append(out, found...)
	}
	return out, nil
}

// readEarlierRows reads the results of an earlier run.
func readEarlierRows(name string) ([]Row, error) {
	var rows Rows
	err := readNamedFile(name, "name the results of an earlier run with --against FILE", func(f *os.File) (err error) {
		rows, err = ReadRows(f)
		return err
	})
	return rows.List, err
}

func readAnswersFile(name string) (answered, error) {
	var a answered
	err := readNamedFile(name, "name the file of answers with --answers FILE", func(f *os.File) (err error) {
		h := sha256.New()
		a.byKey, err = ReadAnswers(io.TeeReader(f, h))
		a.digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
		return err
	})
	return a, err
}

// readNamedFile opens a file and has it read.
func readNamedFile(name, todo string, read func(*os.File) error) error {
	if err := advice.CheckReadable(name, todo); err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	if err := read(f); err != nil {
		return fmt.Errorf("%s, %w", name, advice.CauseOf(err))
	}
	return nil
}
