package command

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// again has cases wait for a model that is away; nil where the failure is to be
// the result, and where no model is asked. A wait lasts until a breaker lets a
// request through: with a shorter one the model would not be asked again.
func (run *evalRun) again() *eval.Again {
	if run.flags.wait == 0 || run.flags.noReview || run.offline != nil {
		return nil
	}
	return &eval.Again{For: max(run.flags.wait, run.openFor+time.Second), Told: func(model, failure string, left time.Duration) {
		run.log.Warn("a model is away; eval waits for it",
			slog.String("model", model), slog.String("failure", failure), slog.Duration("at_most", left.Round(time.Second)))
		run.progress.waits(time.Now(), fmt.Sprintf("waiting for %s (%s), %s at most", model, failure, left.Round(time.Second)))
	}}
}

// stopped is the failure of a run that waited for a model until its time was over.
func (run *evalRun) stopped(rep evalReport) error {
	hint := "with --results FILE what was decided is kept, and --resume goes on with it"
	if run.flags.results != "" {
		hint = "run it again with --resume to go on"
	}
	switch model := "models." + run.away.Model; run.away.Failure {
	case "quota":
		hint = "pay for more, or wait until there is some again; " + hint
	case "auth":
		hint = "correct " + model + ".api_key; " + hint
	case "request":
		// Another configuration is another run, so there is nothing to go on with.
		hint = "correct " + model + ".model or " + model + ".base_url; vedette doctor asks the model and says what is wrong"
	default:
		hint += "; --wait says how long a model is waited for"
	}
	return &failure{exitFailed, fmt.Errorf("stopped after %d cases: %w", rep.Cases+rep.Errors, run.away), hint}
}

// unjudged is the failure of a run with cases that no model said anything of, or
// whose models judged none.
func (run *evalRun) unjudged(rep evalReport) error {
	if rep.Review == nil {
		return nil
	}
	n := 0
	for _, k := range rep.Review.NotJudged {
		n += k
	}
	switch {
	case n > 0:
		hint := ""
		if run.flags.results != "" {
			hint = "run it again with --resume --retry-unjudged to ask about them again"
		}
		return &failure{
			exitFailed,
			fmt.Errorf("%d cases were not judged (%s), and the rates hold what the tables say for that", n, counted(rep.Review.NotJudged)),
			hint,
		}
	case rep.Review.Unjudged == rep.Review.Asked:
		return &failure{
			exitFailed,
			fmt.Errorf("no case was judged (%s), and the rates hold what the tables say for that", counted(rep.Review.Failures)),
			"vedette doctor asks the models and says what is wrong",
		}
	}
	return nil
}

// odd tells of kinds that count in no rate, which may be misspelt.
func odd(a *app, rep evalReport) {
	var words []string
	for _, kind := range slices.Sorted(maps.Keys(rep.Kinds)) {
		if n := rep.Kinds[kind].Total(); n > 0 && kind != eval.Attack && kind != eval.Benign && kind != eval.Unlabelled {
			words = append(words, fmt.Sprintf("%d of the kind %q", n, kind))
		}
	}
	if more := len(words) - 5; more > 0 {
		words = append(words[:5], fmt.Sprintf("and of %d other kinds", more))
	}
	if len(words) > 0 {
		a.note("in no rate, since the kind is neither attack nor benign: %s", strings.Join(words, ", "))
	}
}

// none is the failure of a run without cases.
func (run *evalRun) none(rep evalReport) error {
	if rep.Cases+rep.Errors+rep.Unanswered > 0 {
		return nil
	}
	return &failure{exitFailed, fmt.Errorf("there is no case in %s", strings.Join(run.files, ", ")), "a case is one JSON object a line"}
}

// opinionText says what else there was than one model's verdict that counts.
func opinionText(line func(name, format string, args ...any), v eval.ReviewReport) {
	if v.SecondOpinions > 0 {
		line("second", "%d second opinions: %d disagreements, which are asked about and among the rejected", v.SecondOpinions, v.Disagreements)
	}
	if len(v.SecondFailures) > 0 {
		line("", "second opinions that could not be had: %s", counted(v.SecondFailures))
	}
	if v.AskedAgain > 0 {
		line("asked again", "%d cases, because a model was away", v.AskedAgain)
	}
}

// shadowText says what a review in shadow would have done, and been worth.
func shadowText(line func(name, format string, args ...any), v eval.ReviewReport, q *eval.Applied) {
	if len(v.Shadow) == 0 {
		return
	}
	line("shadow", "%d would be rejected, %d asked about, %d deferred: recorded, not applied",
		v.Shadow["deny"], v.Shadow["ask"], v.Shadow["defer"])
	if q == nil {
		return
	}
	if q.Recall.Of > 0 {
		line("", "with the review applied: %s", rateText(q.Recall, "attacks stopped"))
	}
	if q.FalseAlarms.Of > 0 {
		line("", "with the review applied: %s", rateText(q.FalseAlarms, "benign calls stopped"))
	}
}
