package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// labelCommand is `vedette ledger label`.
type labelCommand struct {
	*app
	places       *places
	should, note string
	json         bool

	makeTest, propose bool
}

func newLabelCommand(a *app, p *places) *cobra.Command {
	c := &labelCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "label ID " + strings.Join(setup.LabelWords(), "|"),
		Short: "Say that a decision was right or wrong",
		Long: `Label keeps what you say of a decision: that it was right, or wrong and what it should
have been, or that you can't tell. Your newest word stands, and each is a record of the
ledger in the name of the system's user. ID is that of a record, or how it begins, or that
of a decision or of a call.

A decision about which a person was asked counts as ask, whatever they answered: it is wrong
if no person should have been asked.

A note is sealed in the journal. A purge of the call's user erases it, and so does the
journal's retention. It works beside a running server, and without one.`,
		Example: `  vedette ledger label 0199a1b2-c3d4 right
  vedette ledger label 0199a1b2-c3d4 wrong --should allow --note 'it is her own manager'
  vedette ledger label 0199a1b2-c3d4 wrong --should ask --make-test --propose
  vedette ledger label list --disputed
  vedette ledger label export --output cases.jsonl`,
		Annotations: map[string]string{takesArguments: "yes"},
		Args:        func(_ *cobra.Command, args []string) error { return checkLabelArgs(args) },
		RunE:        func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringVar(&c.should, "should", "", "what a wrong one should have been: "+strings.Join(setup.LabelOutcomes(), ", "))
	f.StringVar(&c.note, "note", "", "why, in your own `WORDS`; they are kept as a value, sealed")
	f.BoolVar(&c.json, "json", false, "print the label as JSON")
	f.BoolVar(&c.makeTest, "make-test", false, "print an item for tests: of the configuration too; it holds values")
	f.BoolVar(&c.propose, "propose", false, "print rules that would decide so, each with what it would have changed in 30 days")
	cmd.AddCommand(newLabelListCommand(a, p), newLabelExportCommand(a, p))
	return cmd
}

// checkLabelArgs refuses what is no id with a word.
func checkLabelArgs(args []string) error {
	words := setup.LabelWords()
	if len(args) != 2 {
		return usageError("name one decision by its ID and say " + strings.Join(words, ", ") + "; vedette ledger list shows the IDs")
	}
	if !slices.Contains(words, args[1]) {
		near := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !isAlike(args[1], w) })
		return usageError(fmt.Sprintf("%q: say %s%s", args[1], strings.Join(words, ", "), didYouMean(near)))
	}
	return nil
}

// findLabels returns the labels of the database that the flags find.
func findLabels(a *app, p *places) (*setup.Labels, error) {
	src, err := p.findSource(a.program(), false, false)
	if err != nil {
		return nil, err
	}
	return setup.NewLabels(src), nil
}

func (c *labelCommand) run(ctx context.Context, id, word string) error {
	outcomes := setup.LabelOutcomes()
	switch wrong := word == "wrong"; {
	case wrong && !slices.Contains(outcomes, c.should):
		return usageError("say what it should have been with --should " + strings.Join(outcomes, "|"))
	case !wrong && c.should != "":
		return usageError("--should is for wrong alone")
	case !wrong && c.propose:
		return usageError("--propose is for wrong alone")
	case c.json && (c.makeTest || c.propose):
		return usageError("--json prints the label alone")
	case word == "unsure" && c.makeTest:
		return usageError("--make-test needs right or wrong")
	}
	all, err := findLabels(c.app, c.places)
	if err != nil {
		return err
	}
	made, err := all.Put(ctx, setup.LabelSaid{Of: id, Word: setup.LabelWord(word), Should: c.should, Note: c.note})
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(made, false)
	}
	err = c.printText("%s said %s of %s, which was %s%s\n", terminal.Clean(made.By), describeWord(&made), made.Record, made.Decided,
		terminal.Clean(describeSkill(made.Skill)))
	if err != nil || !c.makeTest && !c.propose {
		return err
	}
	return c.makeMore(ctx, all, &made)
}

// describeWord is what a reviewer said.
func describeWord(l *setup.Label) string {
	if l.Should != "" {
		return string(l.Word) + ", should " + l.Should
	}
	return string(l.Word)
}

// describeSkill names a label's skill.
func describeSkill(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// labelListCommand is `vedette ledger label list`.
type labelListCommand struct {
	*app
	places           *places
	chosen           setup.LabelFilter
	word             string
	seeing, disputed bool
	json             bool
}

func newLabelListCommand(a *app, p *places) *cobra.Command {
	c := &labelListCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List labels, the newest first",
		Long: `List shows your own labels, and those of others on decisions that you have labelled: so
two reviewers don't copy each other. --see-all shows all of them.

Notes are shown where a process runs on the database; without one the list says that there
is a note.`,
		Example: `  vedette ledger label list
  vedette ledger label list --disputed
  vedette ledger label list --see-all --word wrong --skill email.send --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.chosen.Record, "record", "", "labels of the decision of this record's whole `ID`")
	f.StringVar(&c.chosen.By, "by", "", "labels of this reviewer's `NAME`")
	f.StringVar(&c.chosen.User, "user", "", "labels of calls of this `USER`")
	f.StringVar(&c.chosen.Skill, "skill", "", "labels of calls of this `SKILL`")
	f.StringVar(&c.word, "word", "", strings.Join(setup.LabelWords(), ", "))
	f.BoolVar(&c.chosen.All, "replaced", false, "those too in whose place their reviewers said something else")
	f.BoolVar(&c.seeing, "see-all", false, "what others said, too, of decisions that you have not labelled")
	f.BoolVar(&c.disputed, "disputed", false, "only decisions of which reviewers said different things")
	f.IntVar(&c.chosen.Limit, "limit", 100, "labels to show at most, up to 1000")
	f.BoolVar(&c.json, "json", false, "print each label as a line of JSON")
	return cmd
}

func (c *labelListCommand) run(ctx context.Context) error {
	if words := setup.LabelWords(); c.word != "" && !slices.Contains(words, c.word) {
		return usageError(fmt.Sprintf("--word %q: say %s", c.word, strings.Join(words, ", ")))
	}
	if c.chosen.Limit < 1 || c.chosen.Limit > 1000 {
		return usageError(fmt.Sprintf("--limit %d: use 1 to 1000", c.chosen.Limit))
	}
	c.chosen.Word = setup.LabelWord(c.word)
	if !c.seeing {
		c.chosen.Viewer = "me"
	}
	all, err := findLabels(c.app, c.places)
	if err != nil {
		return err
	}
	list, err := c.read(ctx, all)
	switch {
	case err != nil:
		return err
	case len(list) == 0:
		c.tellNote("no label matches")
		return nil
	}
	t := terminal.Table{Colour: c.color}
	t.Add("TIME", "BY", "SAID", "DECIDED", "GATE", "SKILL", "RECORD", "NOTE")
	for i := range list {
		l := &list[i]
		if c.json {
			if err := c.writeJSON(l, true); err != nil {
				return err
			}
			continue
		}
		note := l.Note
		if note == "" && l.HasNote {
			note = "(sealed)"
		}
		t.Add(l.At.Format(records.TimeLayout), l.By, describeWord(l), l.Decided, l.Gate, l.Skill, l.Record, note)
	}
	if c.json {
		return nil
	}
	return t.Write(c.out)
}

// read reads the labels that the flags choose.
func (c *labelListCommand) read(ctx context.Context, all *setup.Labels) (list []setup.Label, err error) {
	if !c.disputed {
		return all.List(ctx, c.chosen)
	}
	disputes, err := all.Disputes(ctx, c.chosen.Viewer, c.chosen.Limit)
	for _, d := range disputes {
		list = append(list, d.Labels...)
	}
	return list, err
}

// labelExportCommand is `vedette ledger label export`.
type labelExportCommand struct {
	*app
	places *places
	output string
}

func newLabelExportCommand(a *app, p *places) *cobra.Command {
	c := &labelExportCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write labelled decisions as cases of vedette eval",
		Long: `Export writes a case of vedette eval, a line of JSON each, for every labelled decision whose
arguments the journal still holds. What should have been allowed is benign; what should have
been asked about or denied is an attack.

Decisions of which there is no case are counted and named, with the reason. So are the cases
that lack the request or the mission: eval judges them more strictly than the calls were.

The file holds values: arguments, requests, results. Who reads them is on record.`,
		Example: `  vedette ledger label export --output cases.jsonl
  vedette eval --config vedette.yaml --cases cases.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "a new `FILE`; without it, standard output")
	return cmd
}

func (c *labelExportCommand) run(ctx context.Context) error {
	all, err := findLabels(c.app, c.places)
	if err != nil {
		return err
	}
	sum := setup.LabelledCases{Lacking: map[string]int{}}
	write := func(w io.Writer) (n int64, err error) {
		err = all.Export(ctx, "", func(page setup.LabelledCases) error {
			for _, line := range page.Cases {
				if err := terminal.WriteLine(w, terminal.CleanJSON(line)); err != nil {
					return err
				}
				n++
			}
			sum.Withheld = append(sum.Withheld, page.Withheld...)
			for what, n := range page.Lacking {
				sum.Lacking[what] += n
			}
			return nil
		})
		return n, err
	}
	var n int64
	if c.output == "" {
		n, err = write(c.out)
	} else {
		n, err = writeNewFile(c.output, write)
	}
	if err != nil {
		return err
	}
	c.tellExported(n, sum)
	return nil
}

// tellExported says how much was written, what was not, and why.
func (c *labelExportCommand) tellExported(n int64, sum setup.LabelledCases) {
	c.tellNote("%d cases; %d labelled decisions have none", n, len(sum.Withheld))
	for _, what := range slices.Sorted(maps.Keys(sum.Lacking)) {
		c.tellNote("%d cases lack the %s", sum.Lacking[what], what)
	}
	for _, w := range sum.Withheld {
		c.tellNote("no case of %s%s: %s", w.Record, terminal.Clean(describeSkill(w.Skill)), w.Why)
	}
}
