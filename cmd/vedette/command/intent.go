package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

func newIntentCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "intent",
		Short: "Read texts of users as intents, explain what becomes of them, and act on them",
		Long: `What a user writes becomes an intent: one action of the configuration's list with its
typed parameters, checked against a policy and signed before anything acts on it.
docs/intent.md has the stages.`,
		Example: `  vedette intent explain 'Find 3 experts in security'`,
		Args:    cobra.NoArgs,
	}
	cmd.AddCommand(newIntentParseCommand(a), newIntentProcessCommand(a), newIntentExplainCommand(a), newIntentEvalCommand(a))
	return cmd
}

// intentCommand is what the commands about one text share.
type intentCommand struct {
	*app
	config, user string
	rules, json  bool
	now          func() time.Time // nil is time.Now
}

func (c *intentCommand) addFlags(cmd *cobra.Command, acts bool) {
	addConfigFlag(cmd, &c.config)
	f := cmd.Flags()
	f.StringVar(&c.user, "user", "", "the `USER` whose text it is (default: the system's user)")
	f.BoolVar(&c.json, "json", false, "print JSON")
	if !acts {
		f.BoolVar(&c.rules, "rules", false, "ask no model and no classifier")
	}
}

// maxTyped bounds a text from the standard input in bytes. A longer one is refused by its length.
const maxTyped = 2 << 20

// readText returns the text of the command line, or of the standard input.
func (c *intentCommand) readText(args []string) (string, error) {
	if text := argumentOr(args, "-"); text != "-" {
		return text, nil
	}
	if c.prompt {
		c.tellNote("reading from the terminal: end with Ctrl-D")
	}
	b, err := io.ReadAll(io.LimitReader(c.in, maxTyped))
	return strings.TrimRight(string(b), "\r\n"), err
}

// userOr is the user of the command line, or the system's.
func (c *intentCommand) userOr() string {
	if c.user != "" {
		return c.user
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "local"
}

// openRehearsal compiles the configuration's intents, for reading texts without acting.
func (c *intentCommand) openRehearsal() (*policy.Rehearsal, error) {
	p := c.program()
	cfg, err := setup.LoadIntents(p, c.config)
	if err != nil {
		return nil, err
	}
	return policy.NewRehearsal(policy.RehearsalOptions{Config: cfg, Rules: c.rules, User: c.userOr(), Log: p.Log, Now: c.now})
}

// consider takes the text through the stages without acting.
func (c *intentCommand) consider(ctx context.Context, args []string) (a setup.IntentAnswer, err error) {
	text, err := c.readText(args)
	if err != nil {
		return a, err
	}
	r, err := c.openRehearsal()
	if err != nil {
		return a, err
	}
	defer r.Close()
	return r.Consider(ctx, text)
}

func newIntentParseCommand(a *app) *cobra.Command {
	c := &intentCommand{app: a}
	cmd := &cobra.Command{
		Use:   "parse [TEXT|-]",
		Short: "Show what the detector finds in a text and what each parser reads",
		Long: `Parse shows what the detector finds in a text, and the intent that each parser reads
or why it reads none. It records nothing and does nothing. Parsers run in this process,
whatever intent.isolation says.`,
		Example: `  vedette intent parse 'Find 3 experts in security under 5000 euros'
  vedette intent parse --rules - < letter.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := c.consider(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case c.json:
				return c.writeJSON(answer.Info, false)
			}
			return intentText{answer, c.color}.writeReading(c.out)
		},
	}
	c.addFlags(cmd, false)
	return cmd
}

func newIntentExplainCommand(a *app) *cobra.Command {
	c := &intentCommand{app: a}
	cmd := &cobra.Command{
		Use:   "explain [TEXT|-]",
		Short: "Explain how the request of a text would go on, and why",
		Long: `Explain takes a text through detector, parsers, vote and comparison, and says how its
request would go on: at once (running), after the user's confirmation, after an
approver's yes, or not at all. It records nothing, asks no person and does nothing.`,
		Example: `  vedette intent explain 'Pay Bob 300 euros'`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := c.consider(cmd.Context(), args)
			switch {
			case err != nil:
				return err
			case c.json:
				return c.writeJSON(answer, false)
			}
			return intentText{answer, c.color}.writeAll(c.out)
		},
	}
	c.addFlags(cmd, false)
	return cmd
}

func newIntentProcessCommand(a *app) *cobra.Command {
	c := &intentCommand{app: a}
	var session string
	cmd := &cobra.Command{
		Use:   "process [TEXT|-]",
		Short: "Take a text through all stages, and do what it asks for",
		Long: `Process takes a text through all stages in this process and does its action: by its
skill, or by a handler of the program that this command is in. Every step is on record.
What has to be confirmed is asked at the terminal. A question to an approver stays in
the inbox: answer it with vedette approvals, and the next process on the database goes
on with it.

The exit status is 0 where the action is done or a person is asked, 6 where the text
was blocked or the action denied, and 1 where it failed.`,
		Example: `  vedette intent process 'Note down the meeting on Friday'`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.process(cmd.Context(), args, session)
		},
	}
	c.addFlags(cmd, true)
	cmd.Flags().StringVar(&session, "session", "cli", "the `ID` of the conversation that the text belongs to")
	return cmd
}

// process takes a text through all stages, and asks the user where that is needed.
func (c *intentCommand) process(ctx context.Context, args []string, session string) error {
	text, err := c.readText(args)
	if err != nil {
		return err
	}
	ask := c.askUser
	if c.askablePerson() == nil {
		ask = nil
	}
	r := setup.IntentRequest{User: c.userOr(), Session: session, Text: text}
	answer, err := setup.ProcessIntent(ctx, c.program(), c.config, r, ask)
	if err != nil {
		return err
	}
	if c.json {
		err = c.writeJSON(answer, false)
	} else {
		err = intentText{answer, c.color}.writeEnd(c.out)
	}
	if err != nil {
		return err
	}
	return exitOfIntent(answer)
}

// askUser shows the user what was understood, and asks.
func (c *intentCommand) askUser(a setup.IntentAnswer) (bool, error) {
	if err := (intentText{a, c.color}).writeQuestion(c.out); err != nil {
		return false, err
	}
	if err := c.printText("Do it? [y/N] "); err != nil {
		return false, err
	}
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes", nil
}

// exitOfIntent is the failure that a request's end is for the command line; nil for none.
func exitOfIntent(a setup.IntentAnswer) error {
	err := fmt.Errorf("the request is %s (%s)", a.Status, a.Code)
	switch a.Status {
	case "completed", "running", "pending_approval", "pending_confirmation":
		return nil
	case "blocked", "denied", "expired":
		return &failure{code: exitDenied, err: err}
	}
	return &failure{code: exitFailed, err: err}
}

// intentEvalCommand is `vedette intent eval`.
type intentEvalCommand struct {
	intentCommand
	cases []string
}

func newIntentEvalCommand(a *app) *cobra.Command {
	c := &intentEvalCommand{intentCommand: intentCommand{app: a}}
	cmd := &cobra.Command{
		Use:   "eval --cases FILE...",
		Short: "Count what would become of labelled texts",
		Long: `Eval takes the texts of the files through the stages as explain does, and counts by
kind what would become of them. Each distinct text of a kind counts once.

A line is one JSON object with
  text               a text, and kind: what it is counted under
or it is a case of vedette eval, of which the text is
  injection_goal     counted as attack
  original_request   of a case whose kind is benign`,
		Example: `  vedette intent eval --cases texts.jsonl --rules
  vedette intent eval --config vedette.yaml --cases 'cases.jsonl' --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.cases = append(c.cases, args...)
			return c.run(cmd.Context())
		},
	}
	c.addFlags(cmd, false)
	cmd.Flags().StringArrayVar(&c.cases, "cases", nil, "`FILE` of texts, - for the standard input; may be repeated")
	return cmd
}

func (c *intentEvalCommand) run(ctx context.Context) error {
	if len(c.cases) == 0 {
		return usageError("there are no cases; name a file with --cases FILE")
	}
	r, err := c.openRehearsal()
	if err != nil {
		return err
	}
	defer r.Close()
	var faults cases.Faults
	var texts []policy.Text
	for _, file := range c.cases {
		found, err := c.readCases(file, &faults)
		if err != nil {
			return err
		}
		texts = append(texts, found...)
	}
	counts, err := r.Count(ctx, texts)
	switch {
	case err != nil:
		return err
	case c.json:
		err = c.writeJSON(counts, false)
	default:
		err = writeIntentCounts(c.out, counts)
	}
	return errors.Join(err, faults.Err())
}

// readCases reads the texts of a file.
func (c *intentEvalCommand) readCases(file string, faults *cases.Faults) (out []policy.Text, err error) {
	in, err := c.openCases(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	for r := cases.NewReader(in); ; {
		line, err := r.Next()
		var bad *cases.Error
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case errors.As(err, &bad):
		case err != nil:
			return nil, err
		default:
			var texts []policy.Text
			texts, bad = policy.ReadTexts(line)
			out = append(out, texts...)
		}
		faults.Add(file, r.Line(), bad)
	}
}

// writeIntentCounts writes counts for people.
func writeIntentCounts(w io.Writer, list []policy.TextCounts) error {
	t := &terminal.Table{Right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}}
	t.Add("kind", "texts", "blocked", "flagged", "no intent", "denied", "approval", "confirmation", "passed", "refused")
	for _, c := range list {
		row := []string{c.Kind}
		for _, n := range []int{c.Texts, c.Blocked, c.Flagged, c.NoIntent, c.Denied, c.Approved, c.Confirmed, c.Passed, c.Refused} {
			row = append(row, fmt.Sprint(n))
		}
		t.Add(row...)
	}
	return t.Write(w)
}
