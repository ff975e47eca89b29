package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

func newExplain(a *app) *cobra.Command {
	var path string
	var o assembly.DeciderOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain CALL.json|-",
		Short: "Show every gate's working on one proposed call",
		Long: `Explain decides one proposed call, one JSON object as check reads them, and shows
how it came about: what the call would touch, what each rule says of it and why,
the judge's sum, and what would change the outcome. Explain runs no skill, asks no
person and records nothing.

Explain prints the arguments, except those that are x-secret: the output is for a
person who already has the call, not for a log. The exit status is 0 whatever the
decision.`,
		Example: `  vedette explain call.json
  head -1 cases.jsonl | vedette explain - --no-review --json`,
		Args: one("name one file with a call, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), path, args, o, asJSON)
		},
	}
	configFlag(cmd, &path)
	cmd.Flags().BoolVar(&o.NoReview, "no-review", false, "leave the model review out")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) explain(ctx context.Context, path string, args []string, o assembly.DeciderOptions, asJSON bool) error {
	cfg, err := a.load(path)
	if err != nil {
		return err
	}
	d, err := a.deciderOf(cfg, path, o)
	if err != nil {
		return err
	}
	defer d.Close()
	line, err := a.oneCase(args)
	if err != nil {
		return err
	}
	e, err := policy.Explain(ctx, cfg, d, line)
	var bad *cases.Error
	switch {
	case errors.As(err, &bad):
		return &failure{
			exitFailed, fmt.Errorf("%s (%s)", bad.Message, bad.Code),
			"explain reads one JSON object as check does: vedette help check",
		}
	case err != nil:
		return err
	case asJSON:
		return writeJSON(a.out, e, true)
	}
	return explained{e, a.color}.write(a.out)
}

// oneCase reads the whole input: one object, over as many lines as it likes.
func (a *app) oneCase(args []string) ([]byte, error) {
	in, err := a.open(args)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(in, cases.MaxLine+1))
	if err != nil {
		return nil, err
	}
	if len(b) > cases.MaxLine {
		return nil, fmt.Errorf("the call is longer than %d bytes", cases.MaxLine)
	}
	return []byte(strings.TrimSpace(string(b))), nil
}

// explained writes an explanation for people. Every text goes through a table,
// which escapes it.
type explained struct {
	policy.Explanation
	colour bool
}

func (e explained) write(w io.Writer) error {
	if err := e.head().write(w); err != nil {
		return err
	}
	for _, s := range []struct {
		name  string
		table *table
	}{
		{"call", e.call()}, {"touch", e.touch()}, {"gates", e.gates()}, {"rules", e.rules()},
		{"judge", e.judge()}, {"what would change it", e.changes()},
	} {
		if err := section(w, s.name, s.table); err != nil {
			return err
		}
	}
	return nil
}

func (e explained) head() *table {
	t := &table{colour: e.colour}
	d := e.Decision
	if d.ID != "" {
		t.add("case", d.ID)
	}
	t.add("decision", d.Decision)
	if d.BlockedBy != nil {
		t.add("by", *d.BlockedBy+" ("+d.Code+")")
		t.add("reason", d.Reason)
	}
	if m := d.Modified; m != nil {
		t.add("rewritten", strings.Join(m.Args, ", ")+" by "+strings.Join(m.Rules, ", "))
	}
	return t
}

func (e explained) call() *table {
	t := &table{}
	c := e.Call
	if c == nil {
		return t
	}
	skill := c.Skill + " (unknown)"
	if c.Known {
		skill = c.Skill + " (" + c.Effect + ", reaches " + c.Reaches + ")"
	}
	t.add("  skill", skill)
	t.add("  user, agent", c.User+", "+c.Agent)
	t.add("  granted", strings.Join(c.Granted, ", "))
	t.add("  outward, tainted", fmt.Sprintf("%t, %t", c.Outward, c.Tainted))
	if e.Proposed != nil {
		t.add("  proposed", string(e.Proposed))
	}
	t.add("  arguments", string(c.Arguments))
	for _, f := range c.Flags {
		t.add("  flag", strings.TrimSpace(f.Code+" "+strings.Join(f.Args, ", ")))
	}
	for _, s := range c.History {
		t.add("  came back", strings.TrimSpace(s.Skill+", "+s.Trust+" "+strings.Join(s.Marks, ", ")))
	}
	return t
}

func (e explained) touch() *table {
	t := &table{}
	v := e.Touch
	if v == nil {
		return t
	}
	for _, p := range v.Paths {
		text := p.Path
		if p.Real != "" {
			text += " -> " + p.Real
		}
		if p.Recursive {
			text += " and all below"
		}
		t.add("  path", p.Arg, strings.Join(p.Access, ", "), text)
	}
	for _, c := range v.Commands {
		how := ""
		if c.Dynamic || c.Opaque {
			how = "not all known"
		}
		t.add("  command", c.Arg, how, strings.TrimSpace(orUnknown(c.Name)+" "+strings.Join(c.Args, " ")))
	}
	for _, l := range []struct {
		name string
		list []policy.ValueView
	}{{"host", v.Hosts}, {"recipient", v.Recipients}, {"amount", v.Amounts}, {"danger", v.Dangers}, {"doubt", v.Doubts}} {
		for _, x := range l.list {
			t.add("  "+l.name, x.Arg, "", x.Value)
		}
	}
	for _, x := range v.Unparsed {
		t.add("  unreadable", x, "", "a command line that can't be read")
	}
	for _, x := range v.Incomplete {
		t.add("  incomplete", x, "", "a command line that ends too early")
	}
	return t
}

func orUnknown(name string) string {
	if name == "" {
		return "?"
	}
	return name
}

func (e explained) gates() *table {
	t := &table{colour: e.colour}
	for _, g := range e.Gates {
		about := g.Reason
		if g.Detail != "" {
			about = strings.TrimPrefix(about+"; "+g.Detail, "; ")
		}
		t.add("  "+g.Gate, g.Outcome, g.Code, about)
	}
	return t
}

// ruleStates are the states of rules in words.
var ruleStates = map[string]string{
	"other_skill": "is about other skills", "other_user": "is about other users", "no_match": "doesn't fit", "match": "fits",
	"error": "can't be evaluated, which denies",
}

func (e explained) rules() *table {
	t := &table{colour: e.colour}
	for _, r := range e.Rules {
		t.add("  "+r.Rule, r.Then, ruleStates[r.State], fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Column))
		if r.Error != "" {
			t.add("", "", "  error", r.Error)
		}
		for _, term := range r.Terms {
			t.add("", "", "  "+term.Text, "= "+term.Value)
		}
	}
	return t
}

func (e explained) judge() *table {
	t := &table{colour: e.colour, right: map[int]bool{1: true}}
	j := e.Judge
	if j == nil {
		return t
	}
	t.add("  score", hundredths(j.Score),
		fmt.Sprintf("denied below %s, asked about below %s", hundredths(j.Threshold), hundredths(j.AskBelow)))
	for _, s := range j.Signals {
		about := strings.Join(s.Args, ", ")
		if s.Without != "" {
			about = strings.TrimSpace(about + " (without it: " + s.Without + ")")
		}
		t.add("  "+s.Signal, fmt.Sprintf("%+.2f", float64(s.Amount)/100), about)
	}
	return t
}

func hundredths(n int) string { return fmt.Sprintf("%.2f", float64(n)/100) }

func (e explained) changes() *table {
	t := &table{colour: e.colour}
	for _, c := range e.Changes {
		if c.Outcome == "" {
			t.add("  if "+c.If, "it would be judged")
			continue
		}
		t.add("  if "+c.If, "the rules would say", c.Outcome)
	}
	return t
}
