package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/orchestrator/replay"
)

// proposeSince is how far back a proposed rule is tried.
const proposeSince = "30d"

// makeMore prints what the flags make of a label: an expectation, and rules.
func (c *labelCommand) makeMore(ctx context.Context, all *setup.Labels, l *setup.Label) error {
	var line json.RawMessage
	var why string
	err := all.Export(ctx, l.Record, func(page setup.LabelledCases) error {
		for _, raw := range page.Cases {
			line = raw
		}
		for _, w := range page.Withheld {
			why = w.Why
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case line == nil:
		return fmt.Errorf("there is no case of %s: %s", l.Record, why)
	}
	if c.makeTest {
		if err := c.printTest(line); err != nil {
			return err
		}
	}
	if c.propose {
		return c.printProposals(ctx, l, line)
	}
	return nil
}

// printTest prints an expectation.
func (c *labelCommand) printTest(line json.RawMessage) error {
	text, whole, err := setup.WriteExpectation(line)
	if err != nil {
		return err
	}
	if !whole {
		c.tellNote("the test lacks what stood in earlier turns, or is kept no longer: look whether vedette test decides as it was decided")
	}
	c.tellNote("put this under tests: in the configuration; it holds values")
	return c.printText("%s", cleanLines(text))
}

// cleanLines shows no control characters of values. JSON has escaped all but a few that no screen shows.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = string(terminal.CleanJSON([]byte(l)))
	}
	return strings.Join(lines, "\n")
}

// printProposals prints rules and tries each on the calls of the skill.
func (c *labelCommand) printProposals(ctx context.Context, l *setup.Label, line json.RawMessage) error {
	program := c.program()
	cfg, err := program.Load(c.places.config)
	if err != nil {
		return err
	}
	src, err := c.places.findSource(program, false, false)
	if err != nil {
		return err
	}
	var made struct {
		Action struct {
			Skill string          `json:"skill_name"`
			Args  json.RawMessage `json:"arguments"`
		} `json:"proposed_action"`
	}
	if err := json.Unmarshal(line, &made); err != nil {
		return err
	}
	list, err := replay.Propose(cfg, made.Action.Skill, made.Action.Args, l.Decided, l.Should, l.Record)
	if err != nil {
		return err
	}
	chosen := chosenRecords{}
	q, err := chosen.readQuery([]string{query.Term("skill", made.Action.Skill), "since:" + proposeSince}, time.Now())
	if err != nil {
		return err
	}
	shown := 0
	for _, p := range list {
		r, err := replay.Run(ctx, replay.Options{
			Source: src, Chosen: records.ListOptions{Query: q}, Config: p.Config, Against: cfg, NoReview: program.NoReview, Log: program.Log,
		})
		if err != nil {
			return fmt.Errorf("the rule can't be tried: %w", err)
		}
		if p.Says == "change" && r.Looser == 0 { // it was another rule, or another gate
			continue
		}
		shown++
		err = c.printText("\n%s under permissions:\n  - %s\n%s of %s within %s\n", p.Says, cleanLines(p.Rule), r.Effect(),
			terminal.Clean(made.Action.Skill), proposeSince)
		if err != nil {
			return err
		}
	}
	if shown == 0 {
		c.tellNote("no change of a permission rule gives it more: the gate was %s, and rules lift no other gate's answer", l.Gate)
	}
	return nil
}
