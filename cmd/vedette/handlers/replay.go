package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/orchestrator/replay"
	"github.com/vedette-dev/vedette/orchestrator/web"
)

// replayExamples is how many decisions a page names of each change.
const replayExamples = 5

// newReplayer returns what decides recorded calls again for a page: one at a time, without a model.
func newReplayer(cfg *config.Config, log *slog.Logger) web.Replayer {
	return func(ctx context.Context, asked web.ReplayAsked) (*web.ReplayReport, error) {
		o := replay.Options{
			Source:   records.Source{Database: cfg.Ledger.Path, Keys: cfg.Keys.Dir, Driver: cfg.Ledger.Driver},
			Chosen:   records.ListOptions{Query: asked.Query},
			Config:   cfg,
			Examples: replayExamples, Workers: 1, Log: log,
		}
		if asked.Rule != "" {
			o.Rules = []string{asked.Rule}
		}
		r, err := replay.Run(ctx, o)
		var mistake *replay.RuleError
		switch {
		case errors.As(err, &mistake):
			return nil, fmt.Errorf("%w: %s", web.ErrRule, mistake.Error())
		case err != nil:
			return nil, err
		}
		return writeReplay(r), nil
	}
}

// writeReplay writes a report for the page.
func writeReplay(r *replay.Report) *web.ReplayReport {
	out := &web.ReplayReport{Effect: r.Effect(), Calls: r.Calls, Same: r.Same, Changed: r.Changed, Tighter: r.Tighter, Looser: r.Looser,
		Uncertain: r.Indeterminate}
	for _, c := range r.Changes {
		out.Groups = append(out.Groups, web.ReplayGroup{Title: c.Was + " to " + c.Now, Calls: c.Calls, Skills: replay.ListCounts(c.Skills),
			Examples: writeExamples(c.Examples)})
	}
	for _, u := range r.Unknowns {
		says := strings.TrimSuffix(u.Says, ": --review asks the model")
		out.Groups = append(out.Groups, web.ReplayGroup{Title: "Can't be told, since " + says, Calls: u.Calls,
			Skills: replay.ListCounts(u.Skills), Examples: writeExamples(u.Examples)})
	}
	return out
}

func writeExamples(list []replay.Example) (out []web.ReplayExample) {
	for _, e := range list {
		one := web.ReplayExample{Decision: e.Decision, Skill: e.Skill, User: e.User, Was: e.Was.String()}
		if e.Now != nil {
			one.Now = e.Now.String()
		}
		out = append(out, one)
	}
	return out
}
