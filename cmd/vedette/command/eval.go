package command

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

type evalFlags struct {
	config, grants, results  string
	against, prompts, answer string
	cases                    []string
	noReview, json, quiet    bool
	resume, failOnWorse      bool
	overwrite, retry         bool
	wait                     time.Duration
	jobs                     int
}

func newEval(a *app) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval --cases FILE...",
		Short: "Run labelled cases and count what became of them",
		Long: `Eval decides every case of the files as check does and prints the counts by
kind, by category and by the gate that blocked. Symbolic links are not followed:
the files that cases speak of are on another machine.

"cases" counts the lines that were decided, "errors" those that could not be
read; with any the exit status is 1. Cases without a kind or a category count
under "unlabelled". A category that holds cases of several kinds is shown once
for each.

Interrupted, it prints the counts so far; with --results and --resume the next run
goes on from there, also after a crash. A model that is away is waited for, and the
run ends with 1 where it stays away or a case could not be judged. --against lists the cases that an earlier
run decided otherwise. --print-prompts writes the requests to models that have no
answer and sends none, --answers reads answers back in: docs/eval.md shows how a
model is measured that can't be reached from here.`,
		Example: `  vedette eval --cases 'cases/*.jsonl'
  vedette eval --config vedette.yaml --cases cases/shell.jsonl --no-review --json
  vedette eval --cases mail.jsonl --grants all --results results.jsonl
  vedette eval --cases mail.jsonl --jobs 16 --results results.jsonl --resume
  vedette eval --cases mail.jsonl --against before.jsonl --fail-on-worse
  vedette eval --cases mail.jsonl --answers answers.jsonl --print-prompts missing.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.cases = append(f.cases, args...) // what a shell made of --cases *.jsonl
			return a.eval(cmd.Context(), f)
		},
	}
	configFlag(cmd, &f.config)
	fl := cmd.Flags()
	fl.StringArrayVar(&f.cases, "cases", nil, "`FILE` or glob of cases, - for the standard input; may be repeated")
	fl.StringVar(&f.grants, "grants", "least", "least, or all to take granted_skills_all where a case has it")
	fl.StringVar(&f.results, "results", "", "write each case's decision to `FILE`")
	fl.IntVar(&f.jobs, "jobs", runtime.GOMAXPROCS(0), "cases decided at a time")
	fl.BoolVar(&f.noReview, "no-review", false, "leave the model review out")
	fl.BoolVar(&f.json, "json", false, "print the counts as JSON")
	fl.BoolVar(&f.quiet, "quiet", false, "show no progress; none is shown where standard error is no terminal")
	fl.BoolVar(&f.resume, "resume", false, "decide what the file of --results lacks and add to it")
	fl.BoolVar(&f.retry, "retry-unjudged", false, "with --resume, ask again about cases that no model was there for")
	fl.BoolVar(&f.overwrite, "overwrite", false, "begin again where the file of --results holds an earlier run")
	fl.DurationVar(&f.wait, "wait", 5*time.Minute, "how long a model that is away is waited for; 0s takes its failures for results")
	fl.StringVar(&f.against, "against", "", "compare with `FILE`, the results of an earlier run")
	fl.BoolVar(&f.failOnWorse, "fail-on-worse", false, "with --against, exit 3 where a right decision became wrong")
	fl.StringVar(&f.prompts, "print-prompts", "", "write the requests to models to `FILE` and send none")
	fl.StringVar(&f.answer, "answers", "", "answer the requests to models from `FILE` and send none")
	return cmd
}

func (f evalFlags) check() error {
	switch {
	case f.grants != "least" && f.grants != "all":
		return usage(fmt.Sprintf("--grants %q: say least or all", f.grants))
	case f.jobs < 1 || f.jobs > 1024:
		return usage(fmt.Sprintf("--jobs %d: use 1 to 1024", f.jobs))
	case len(f.cases) == 0:
		return usage("name the cases with --cases FILE")
	case f.resume && f.results == "":
		return usage("--resume goes on with a file of results; name it with --results FILE")
	case f.retry && !f.resume:
		return usage("--retry-unjudged goes with --resume: it asks again about cases of the file of results")
	case f.resume && f.overwrite:
		return usage("--resume keeps what --overwrite throws away; leave one out")
	case f.wait < 0:
		return usage(fmt.Sprintf("--wait %s: use 0s or more", f.wait))
	case f.failOnWorse && f.against == "":
		return usage("--fail-on-worse needs --against FILE")
	case f.noReview && f.offline():
		return usage("--no-review asks no model, so there is nothing to print or to answer; leave it out")
	case f.resume && f.offline():
		return usage("--resume is for runs that ask models; a run on answers takes seconds, so run it whole")
	}
	return nil
}

// offline reports whether models are stood in for.
func (f evalFlags) offline() bool { return f.prompts != "" || f.answer != "" }

// caseFiles resolves globs, in the order given. A name that exists is taken as
// it is, whatever characters it has.
func caseFiles(patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		if _, err := os.Lstat(p); err == nil || p == "-" {
			out = append(out, p)
			continue
		}
		found, err := doublestar.FilepathGlob(p, doublestar.WithFilesOnly())
		if err != nil {
			return nil, usage(fmt.Sprintf("--cases %q is no pattern of files", p))
		}
		if len(found) == 0 {
			return nil, &failure{exitFailed, fmt.Errorf("%s: no such file", p), "name the cases with --cases FILE"}
		}
		slices.Sort(found)
		out = append(out, found...)
	}
	return out, nil
}

func (a *app) evalTable(s eval.Summary) error {
	t := table{colour: a.color, right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}}
	t.add("CATEGORY", "KIND", "CASES", "ALLOWED", "ASKED", "DEFERRED", "DENIED", "ALLOWED %", "95% INTERVAL")
	row := func(name, kind string, c eval.Count) {
		n := c.Total()
		low, high := eval.Wilson(c.Allow, n)
		share := "-"
		if n > 0 {
			share = fmt.Sprintf("%.1f", 100*float64(c.Allow)/float64(n))
		}
		t.add(name, kind, strconv.Itoa(n), strconv.Itoa(c.Allow), strconv.Itoa(c.Ask), strconv.Itoa(c.Defer), strconv.Itoa(c.Deny),
			share, fmt.Sprintf("%5.1f - %5.1f", 100*low, 100*high))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		row(name, s.Categories[name].Kind, s.Categories[name].Count)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		if s.Kinds[kind].Total() > 0 {
			row("all", kind, s.Kinds[kind])
		}
	}
	if err := t.write(a.out); err != nil {
		return err
	}
	var by []string
	for _, gate := range slices.Sorted(maps.Keys(s.BlockedBy)) {
		by = append(by, fmt.Sprintf("%s %d", gate, s.BlockedBy[gate]))
	}
	if len(by) == 0 {
		by = []string{"nothing"}
	}
	_, err := io.WriteString(a.out, fmt.Sprintf("\nblocked by  %s\ntime        p50 %s, p99 %s\n%d cases, %d errors\n",
		strings.Join(by, ", "), took(s.ElapsedUS.P50), took(s.ElapsedUS.P99), s.Cases, s.Errors))
	return err
}
