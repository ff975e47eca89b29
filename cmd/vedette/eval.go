package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
)

type evalFlags struct {
	config, grants, results string
	cases                   []string
	noReview, json          bool
	jobs                    int
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
for each.`,
		Example: `  vedette eval --cases 'cases/*.jsonl'
  vedette eval --config vedette.yaml --cases cases/shell.jsonl --no-review --json
  vedette eval --cases mail.jsonl --grants all --results results.jsonl`,
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
	}
	return nil
}

func (a *app) eval(ctx context.Context, f evalFlags) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	files, err := caseFiles(f.cases)
	if err != nil {
		return err
	}
	if err := apart(f.results, files); err != nil {
		return err
	}
	d, err := a.decider(f.config, assembly.DeciderOptions{NoReview: f.noReview, NoFS: true})
	if err != nil {
		return err
	}
	defer d.Close()
	w, err := newResults(f.results)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	ev := cases.NewEvaluator(cases.Options{Decider: d, AllGrants: f.grants == "all"})
	var tally cases.Tally
	var bad badLines
	for _, name := range files {
		err := a.evalFile(ctx, ev, name, f.jobs, func(n int, r cases.Result) error {
			tally.Add(r)
			bad.add(name, n, r)
			return w.write(r)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if f.json {
		err = writeJSON(a.out, tally.Summary(), true)
	} else {
		err = a.evalTable(tally.Summary())
	}
	return errors.Join(err, bad.failure())
}

func (a *app) evalFile(ctx context.Context, ev *cases.Evaluator, name string, jobs int, fn func(int, cases.Result) error) error {
	in, err := a.open([]string{name})
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	return ev.Each(ctx, in, jobs, fn)
}

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

// apart refuses to write the results over a file that is still to be read.
func apart(out string, files []string) error {
	if out == "" {
		return nil
	}
	info, err := os.Stat(out)
	if err != nil {
		return nil //nolint:nilerr // it isn't there yet, or opening it will say what is wrong
	}
	for _, name := range files {
		if in, err := os.Stat(name); err == nil && os.SameFile(in, info) {
			return usage(fmt.Sprintf("--results %s is a file of cases; name another", out))
		}
	}
	return nil
}

// results writes the file of results; without a name it writes nothing.
type results struct {
	f *os.File
	w *bufio.Writer
}

func newResults(name string) (*results, error) {
	if name == "" {
		return &results{}, nil
	}
	// The reasons in it may quote values.
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	return &results{f, bufio.NewWriter(f)}, nil
}

func (r *results) write(res cases.Result) error {
	if r.f == nil {
		return nil
	}
	return writeLine(r.w, res.LabelledJSON())
}

func (r *results) close() error {
	if r.f == nil {
		return nil
	}
	return errors.Join(r.w.Flush(), r.f.Close())
}

func (a *app) evalTable(s cases.Summary) error {
	t := table{colour: a.color, right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}}
	t.add("CATEGORY", "KIND", "CASES", "ALLOWED", "ASKED", "DEFERRED", "DENIED", "ALLOWED %", "95% INTERVAL")
	row := func(name, kind string, c cases.Count) {
		n := c.Total()
		low, high := cases.Wilson(c.Allow, n)
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
	_, err := io.WriteString(a.out, fmt.Sprintf("\nblocked by  %s\ntime        p50 %d us, p99 %d us\n%d cases, %d errors\n",
		strings.Join(by, ", "), s.ElapsedUS.P50, s.ElapsedUS.P99, s.Cases, s.Errors))
	return err
}
