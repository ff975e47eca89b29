package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
)

// newStandingCommand is `vedette approvals standing`.
func newStandingCommand(p *inboxPlace) *cobra.Command {
	return asGroup(&cobra.Command{
		Use:   "standing",
		Short: "List and revoke approvals that hold for calls to come",
		Long: `A standing approval lets calls run that are as the one that it was given to, without a
question: the same skill, user, targets and rule, a number of times, for a number of hours.
vedette approvals approve --standing makes one. Each use is on record.`,
		Example: `  vedette approvals standing list
  vedette approvals standing revoke 0199a1b2`,
	}, newStandingListCommand(p), newStandingRevokeCommand(p))
}

// standingListCommand is `vedette approvals standing list`.
type standingListCommand struct {
	*inboxPlace
	chosen setup.StandingFilter
	json   bool
}

func newStandingListCommand(p *inboxPlace) *cobra.Command {
	c := &standingListCommand{inboxPlace: p}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the standing approvals, the oldest first",
		Example: `  vedette approvals standing list
  vedette approvals standing list --all --user ann`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	fl := cmd.Flags()
	fl.StringVar(&c.chosen.User, "user", "", "for calls made for this `USER`")
	fl.StringVar(&c.chosen.Skill, "skill", "", "for calls of this `SKILL`")
	fl.BoolVar(&c.chosen.All, "all", false, "those too that hold no more")
	fl.IntVar(&c.chosen.Limit, "limit", 100, "standing approvals to show at most")
	fl.StringVar(&c.chosen.After, "after", "", "begin after the one of this `ID`")
	fl.BoolVar(&c.json, "json", false, "print each as a line of JSON")
	return cmd
}

func (c *standingListCommand) run(cmd *cobra.Command) error {
	if c.chosen.Limit < 1 {
		return usageError(fmt.Sprintf("--limit %d: use 1 or more", c.chosen.Limit))
	}
	inbox, err := c.findInbox(cmd)
	if err != nil {
		return err
	}
	list, err := inbox.ListStanding(cmd.Context(), c.chosen)
	if err != nil {
		return err
	}
	if len(list) == c.chosen.Limit {
		defer c.tellNote("%d standing approvals shown; there may be more, ask with --limit N or --after %s", len(list), list[len(list)-1].ID)
	}
	return c.printStandings(list, c.json)
}

// printStandings shows standing approvals, a line each.
func (p *inboxPlace) printStandings(list []setup.Standing, asJSON bool) error {
	if asJSON {
		for _, s := range list {
			if err := p.writeJSON(s, true); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) == 0 {
		p.tellNote("no standing approval matches")
		return nil
	}
	t := terminal.Table{Colour: p.color}
	t.Add("ID", "STATE", "USED", "EXPIRES", "SKILL", "USER", "RULE", "FROM", "BY")
	for _, s := range list {
		used := fmt.Sprintf("%d/%d", s.Used, s.Uses)
		t.Add(s.ID, string(s.State), used, s.Expires.Format(records.TimeLayout), s.Skill, s.User, s.Rule, s.From, s.By)
	}
	return t.Write(p.out)
}

func newStandingRevokeCommand(p *inboxPlace) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End a standing approval: the next such call is asked about",
		Example: `  vedette approvals standing revoke 0199a1b2`,
		Args:    wantOne("name one standing approval by its ID, or by how the ID begins; vedette approvals standing list shows the IDs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			inbox, err := p.findInbox(cmd)
			if err != nil {
				return err
			}
			s, err := inbox.Revoke(cmd.Context(), args[0])
			switch {
			case err != nil:
				return err
			case asJSON:
				return p.writeJSON(s, false)
			}
			return p.printText("%s is %s\n", s.ID, s.State)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the standing approval as JSON")
	return cmd
}

// sendStanding says yes, and leaves a standing approval.
func (c *answerCommand) sendStanding(ctx context.Context, inbox *setup.Approvals, a setup.ApprovalAnswer) error {
	s, err := inbox.Stand(ctx, a, c.terms)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(s, false)
	}
	return c.printText("%s is approved by %s; so are %d calls like it until %s\nend that with\n  vedette approvals standing revoke %s\n",
		a.Approval, terminal.Clean(s.By), s.Uses, s.Expires.Format(records.TimeLayout), s.ID)
}
