package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/shown"
)

// policyCommand is `vedette ledger policy`.
type policyCommand struct {
	*app
	places *places
	json   bool
}

func newPolicyCommand(a *app, p *places) *cobra.Command {
	c := &policyCommand{app: a, places: p}
	cmd := &cobra.Command{
		Use:   "policy [DIGEST [DIGEST]]",
		Short: "Show what a policy's digest stands for, or how two differ",
		Long: `Policy prints what decided under a digest: the configuration as far as it decides, skills,
rules and the review's prompt, as they were. Secrets and values of the environment are left
out. Every decision names the digest of its policy, and what is kept must be what the digest
stands for. With two digests it prints how the second differs; without one it lists the
policies that are kept, the newest first. DIGEST may be the beginning of one.`,
		Example: `  vedette ledger policy
  vedette ledger policy 3f0a9c1d2b4e
  vedette ledger policy 3f0a9c1d2b4e 7b21e0aa94c3`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON")
	return cmd
}

func (c *policyCommand) run(ctx context.Context, digests []string) error {
	src, err := c.places.findSource(c.program(), false, false)
	if err != nil {
		return err
	}
	if len(digests) == 0 {
		return c.listPolicies(ctx, src)
	}
	found := make([]shown.Policy, len(digests))
	for i, digest := range digests {
		if found[i], err = shown.ReadPolicy(ctx, src, digest); err != nil {
			return asLedgerFailure(err)
		}
	}
	if len(found) == 2 {
		return c.printDiff(found[0], found[1])
	}
	if c.json {
		return c.writeJSON(found[0], false)
	}
	return c.printPolicy(found[0])
}

// listPolicies prints the policies that are kept.
func (c *policyCommand) listPolicies(ctx context.Context, src records.Source) error {
	list, err := shown.ListPolicies(ctx, src)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.writeJSON(list, false)
	case len(list) == 0:
		c.tellNote("no policy is kept; each is kept when it comes in force")
		return nil
	}
	t := &terminal.Table{Right: map[int]bool{3: true}}
	t.Add("DIGEST", "FIRST", "LAST", "BYTES")
	for _, i := range list {
		t.Add(i.Digest, i.First.Format(time.RFC3339), i.Last.Format(time.RFC3339), fmt.Sprint(i.Bytes))
	}
	return t.Write(c.out)
}

// printPolicy prints a policy, section by section.
func (c *policyCommand) printPolicy(p shown.Policy) error {
	t := &terminal.Table{}
	t.Add("policy", p.Digest)
	t.Add("in force", p.First.Format(time.RFC3339)+", last from "+p.Last.Format(time.RFC3339)+" on")
	t.Add("kept", "it is what the digest stands for")
	if err := t.Write(c.out); err != nil {
		return err
	}
	for _, s := range p.Sections() {
		if err := c.printSection(s.Name, s.Lines); err != nil {
			return err
		}
	}
	return nil
}

// printDiff prints how the second policy differs from the first.
func (c *policyCommand) printDiff(first, second shown.Policy) error {
	changes := shown.ComparePolicies(first, second)
	if c.json {
		return c.writeJSON(changes, false)
	}
	if len(changes) == 0 {
		c.tellNote("what is shown of both is the same; secrets that are left out may differ")
		return nil
	}
	for _, change := range changes {
		if err := c.printSection(change.Name, change.Lines); err != nil {
			return err
		}
	}
	return nil
}

func (c *policyCommand) printSection(name string, lines []string) error {
	t := &terminal.Table{}
	for _, l := range lines {
		t.Add("  " + l)
	}
	return terminal.WriteSection(c.out, terminal.Clean(name), t)
}
