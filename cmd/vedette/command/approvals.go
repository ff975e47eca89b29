package command

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
)

// inboxPlace is what the commands under `vedette approvals` find an inbox by.
type inboxPlace struct {
	*app
	config, db string
}

func newApprovalsCommand(a *app) *cobra.Command {
	p := &inboxPlace{app: a}
	cmd := asGroup(&cobra.Command{
		Use:     "approvals",
		Aliases: []string{"approval"},
		Short:   "List, show and answer the calls that wait for a person",
		Long: `Calls that need a person's approval wait in the inbox of the database, where the
configuration says approvals: {inbox: true}. These commands show and answer them: through
the process that runs on the database, or in the database itself where no process does. Such
an answer is kept, and counts once the program has started and asks again.

Who answers is the user of this system, as local:NAME; approvals.who says who may. On Linux
nothing that the process has started itself may answer.`,
		Example: `  vedette approvals list
  vedette approvals show 0199a1b2-c3d4
  vedette approvals approve 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60
  vedette approvals deny 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60 --feedback 'send it to Bob first'
  vedette approvals watch`,
	}, newApprovalsListCommand(p), newApprovalsShowCommand(p), newAnswerCommand(p, setup.ApprovalYes), newAnswerCommand(p, setup.ApprovalNo),
		newApprovalsWatchCommand(p), newStandingCommand(p))
	f := cmd.PersistentFlags()
	f.StringVar(&p.config, "config", defaultConfig, "configuration `FILE` of the process")
	f.StringVar(&p.db, "db", "", "database `FILE` of the process, in place of the configuration's")
	return cmd
}

// findInbox returns the inbox that the flags find.
func (p *inboxPlace) findInbox(cmd *cobra.Command) (*setup.Approvals, error) {
	return p.program().FindApprovals(p.config, p.db, cmd.Flags().Changed("config"))
}

// approvalsListCommand is `vedette approvals list`.
type approvalsListCommand struct {
	*inboxPlace
	chosen setup.ApprovalFilter
	state  string
	json   bool
}

func newApprovalsListCommand(p *inboxPlace) *cobra.Command {
	c := &approvalsListCommand{inboxPlace: p}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the calls that wait for an answer, the oldest first",
		Long: `List shows the calls that wait for an answer, the oldest first. Calls of one turn that
wait at the same time stand together, as 1 of 3. With --state or --all it shows those that
were answered, or ended otherwise, too. No value of a call is in it: show has those.`,
		Example: `  vedette approvals list
  vedette approvals list --conversation c-17 --json
  vedette approvals list --all --user ann`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	fl := cmd.Flags()
	c.addFilterFlags(cmd)
	fl.StringVar(&c.state, "state", "", strings.Join(setup.ApprovalStates(), ", "))
	fl.BoolVar(&c.chosen.All, "all", false, "approvals of every state")
	fl.IntVar(&c.chosen.Limit, "limit", 100, "approvals to show at most")
	fl.StringVar(&c.chosen.After, "after", "", "begin after the approval of this `ID`")
	fl.BoolVar(&c.json, "json", false, "print each approval as a line of JSON")
	return cmd
}

// addFilterFlags adds what chooses approvals.
func (c *approvalsListCommand) addFilterFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.chosen.Conversation, "conversation", "", "approvals of this conversation's `ID`")
	cmd.Flags().StringVar(&c.chosen.User, "user", "", "calls made for this `USER`")
	cmd.Flags().StringVar(&c.chosen.Skill, "skill", "", "calls of this `SKILL`")
}

// mostApprovals is how many approvals one list has at most.
const mostApprovals = 10_000

func (c *approvalsListCommand) run(cmd *cobra.Command) error {
	words := setup.ApprovalStates()
	if c.state != "" && !slices.Contains(words, c.state) {
		near := slices.DeleteFunc(words, func(w string) bool { return !isAlike(c.state, w) })
		return usageError(fmt.Sprintf("--state %q: say %s%s", c.state, strings.Join(setup.ApprovalStates(), ", "), didYouMean(near)))
	}
	if c.chosen.Limit < 1 || c.chosen.Limit > mostApprovals {
		return usageError(fmt.Sprintf("--limit %d: use 1 to %d; --after goes on where a list ended", c.chosen.Limit, mostApprovals))
	}
	c.chosen.State = setup.ApprovalState(c.state)
	inbox, err := c.findInbox(cmd)
	if err != nil {
		return err
	}
	list, err := inbox.List(cmd.Context(), c.chosen)
	if err != nil {
		return err
	}
	if len(list) == c.chosen.Limit {
		defer c.tellNote("%d approvals shown; there may be more, ask with --limit N or --after %s", len(list), list[len(list)-1].ID)
	}
	return c.printItems(groupBatches(list), c.json, time.Now())
}

// groupBatches puts the calls of one turn together, at the place of the oldest.
func groupBatches(list []setup.ApprovalItem) []setup.ApprovalItem {
	type turn struct{ conversation, turn string }
	first := map[turn]int{}
	place := func(i setup.ApprovalItem) int { return first[turn{i.Conversation, i.Turn}] }
	for n, i := range list {
		k := turn{i.Conversation, i.Turn}
		if _, ok := first[k]; !ok {
			first[k] = n
		}
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b setup.ApprovalItem) int { return place(a) - place(b) })
	return out
}

// approvalsShowCommand is `vedette approvals show`.
type approvalsShowCommand struct {
	*inboxPlace
	json bool
}

func newApprovalsShowCommand(p *inboxPlace) *cobra.Command {
	c := &approvalsShowCommand{inboxPlace: p}
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one call with all that a person must see before they answer",
		Long: `Show prints the call as it will run: its arguments, what it touches, the user's request,
the mission, and every reason for asking. Secrets are shown by their size. What is printed
comes from models, users and tools, and is escaped. ID is an approval's id or the start of it.`,
		Example: `  vedette approvals show 0199a1b2-c3d4
  vedette approvals show 0199a1b2-c3d4 --json`,
		Args: wantOne("name one approval by its ID, or by how the ID begins; vedette approvals list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			inbox, err := c.findInbox(cmd)
			if err != nil {
				return err
			}
			card, err := inbox.Show(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case c.json:
				return c.writeJSON(card, false)
			}
			return c.printCard(card)
		},
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

// answerCommand is `vedette approvals approve` and `deny`.
type answerCommand struct {
	*inboxPlace
	word             setup.ApprovalWord
	digest, feedback string
	edit             string
	standing         bool
	terms            setup.StandingTerms
	json             bool
}

func newAnswerCommand(p *inboxPlace, word setup.ApprovalWord) *cobra.Command {
	c := &answerCommand{inboxPlace: p, word: word}
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Say yes to one call: it runs as it was shown, once",
		Long: `Approve says yes to one call, as it was shown. --digest is what vedette approvals show
prints: a yes to a call that has changed since is refused. On a terminal, without --digest,
the call is shown and the answer is asked for.

The program asks its rules again after the yes, and compares the files: a call that is not
allowed any more, or whose files have changed, does not run.

With --edit another call runs: the same skill with these arguments, once the rules let it. With
--standing the yes holds for calls to come that are the same: skill, user, targets and rule.`,
		Example: `  vedette approvals approve 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60
  vedette approvals approve 0199a1b2-c3d4
  vedette approvals approve 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60 --edit '{"to":"bob@example.com"}'
  vedette approvals approve 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60 --standing --uses 5 --for 8h`,
	}
	if word == setup.ApprovalNo {
		cmd = &cobra.Command{
			Use:   "deny ID",
			Short: "Say no to one call, and why",
			Long: `Deny says no to one call: it does not run, whatever others say. The agent reads the
feedback as the refusal's text. --digest is what vedette approvals show prints. On a terminal,
without --digest, the call is shown and the answer is asked for.`,
			Example: `  vedette approvals deny 0199a1b2-c3d4 --digest 3f0a9c1d2b4e5f60 --feedback 'send it to Bob first'`,
		}
	}
	cmd.Args = wantOne("name one approval by its ID, or by how the ID begins; vedette approvals list shows the IDs")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args[0]) }
	fl := cmd.Flags()
	fl.StringVar(&c.digest, "digest", "", "the `DIGEST` that show prints: what the answer is to")
	fl.StringVar(&c.feedback, "feedback", "", "`TEXT` that is kept with the answer; the agent reads that of a no")
	fl.BoolVar(&c.json, "json", false, "print the approval as JSON")
	if word == setup.ApprovalYes {
		fl.StringVar(&c.edit, "edit", "", "run these `ARGUMENTS` instead, whole, as one JSON object")
		fl.BoolVar(&c.standing, "standing", false, "say yes to calls to come that are as this one, too")
		fl.IntVar(&c.terms.Uses, "uses", 1, fmt.Sprintf("with --standing: for how many more calls, at most %d", setup.MaxStandingUses))
		fl.DurationVar(&c.terms.For, "for", time.Hour, fmt.Sprintf("with --standing: for how long, at most %s", setup.MaxStandingFor))
	}
	return cmd
}

// checkFlags refuses flags that don't go together.
func (c *answerCommand) checkFlags(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case c.standing && c.edit != "":
		return usageError("--standing and --edit don't go together: a standing approval is for the call as it is shown")
	case !c.standing && (changed("uses") || changed("for")):
		return usageError("--uses and --for go with --standing")
	}
	return nil
}

func (c *answerCommand) run(cmd *cobra.Command, id string) error {
	if err := c.checkFlags(cmd); err != nil {
		return err
	}
	asks := c.digest == ""
	if asks && (!c.prompt || c.json) {
		return usageError("--digest is missing: say to what you answer; vedette approvals show ID prints it")
	}
	inbox, err := c.findInbox(cmd)
	if err != nil {
		return err
	}
	card, err := inbox.Show(cmd.Context(), id)
	if err != nil {
		return err
	}
	if asks {
		if err := c.printCard(card); err != nil {
			return err
		}
		if card.State != setup.ApprovalPending || !c.isMeant() {
			return &failure{exitFailed, fmt.Errorf("nothing was answered"), "answer yes to the question, for a call that waits"}
		}
		c.digest = card.Digest
	}
	return c.send(cmd.Context(), inbox, card.ID)
}

// send gives the answer and says what came of it.
func (c *answerCommand) send(ctx context.Context, inbox *setup.Approvals, id string) error {
	answer := setup.ApprovalAnswer{Approval: id, Word: c.word, Digest: c.digest, Feedback: c.feedback}
	if c.standing {
		return c.sendStanding(ctx, inbox, answer)
	}
	if c.edit != "" {
		answer.Edit = json.RawMessage(c.edit)
	}
	item, err := inbox.Answer(ctx, answer)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(item, false)
	}
	return c.printAnswered(item)
}

// approvalsWatchCommand is `vedette approvals watch`.
type approvalsWatchCommand struct {
	approvalsListCommand
	every time.Duration
	once  bool
}

func newApprovalsWatchCommand(p *inboxPlace) *cobra.Command {
	c := &approvalsWatchCommand{approvalsListCommand: approvalsListCommand{inboxPlace: p}}
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print calls as they begin to wait and as they are answered",
		Long: `Watch prints a line for every call that waits, for every one that begins to wait, and for
every one that was answered or ended, until it is interrupted. It goes on over restarts of
the program. What begins and ends to wait between two looks is not printed, and of more
than 10,000 calls that wait the oldest are looked at: vedette ledger tail misses nothing.`,
		Example: `  vedette approvals watch
  vedette approvals watch --user ann --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.watchInbox(cmd) },
	}
	c.addFilterFlags(cmd)
	cmd.Flags().DurationVar(&c.every, "every", time.Second, "how often the inbox is looked at, 100ms at least")
	cmd.Flags().BoolVar(&c.once, "once", false, "print what waits now, and end")
	cmd.Flags().BoolVar(&c.json, "json", false, "print each approval as a line of JSON")
	return cmd
}

func (c *approvalsWatchCommand) watchInbox(cmd *cobra.Command) error {
	if c.every < 100*time.Millisecond {
		return usageError("--every must be 100ms at least")
	}
	inbox, err := c.findInbox(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	tick := time.NewTicker(c.every)
	defer tick.Stop()
	waiting := map[string]setup.ApprovalItem{}
	for {
		list, err := inbox.List(ctx, c.chosen)
		switch {
		case ctx.Err() != nil:
			return nil // that is how it ends
		case err != nil:
			return err
		}
		if err := c.printChanges(ctx, inbox, waiting, list); err != nil || c.once {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// printChanges prints what is new in the list and what of waiting is no more in it.
func (c *approvalsWatchCommand) printChanges(
	ctx context.Context, inbox *setup.Approvals, waiting map[string]setup.ApprovalItem, list []setup.ApprovalItem,
) error {
	now := map[string]bool{}
	for _, i := range list {
		now[i.ID] = true
		if _, known := waiting[i.ID]; known {
			continue
		}
		waiting[i.ID] = i
		if err := c.printChange(i); err != nil {
			return err
		}
	}
	var gone []string
	for id := range waiting {
		if !now[id] {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	for _, id := range gone {
		item := waiting[id]
		delete(waiting, id)
		all, err := inbox.List(ctx, setup.ApprovalFilter{All: true, Conversation: item.Conversation})
		if err != nil {
			return err
		}
		if n := slices.IndexFunc(all, func(i setup.ApprovalItem) bool { return i.ID == id }); n >= 0 {
			item = all[n]
		} else {
			item.State = "purged"
		}
		if err := c.printChange(item); err != nil {
			return err
		}
	}
	return nil
}
