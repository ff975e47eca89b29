package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// canaries asks the models of the review that can be asked.
func (e *exam) canaries(ctx context.Context, g *review.Gate, models []*llm.Client) {
	for _, m := range models {
		list, err := g.AskCanaries(ctx, review.CanaryOptions{Models: []string{m.Name()}})
		check := "canaries " + m.Name()
		if err != nil || len(list) != 1 {
			e.problem(check, "they could not be asked", "run it again")
			continue
		}
		r := list[0]
		switch r.Result {
		case review.CanaryPassed:
			e.ok(check, "passed: %d requests, %d tokens", r.Requests, r.TokensIn+r.TokensOut)
		case review.CanaryFailed:
			e.problem(check, "it gave the wrong verdict on "+strings.Join(r.Wrong(), ", ")+unjudged(r),
				"run it again; if it stays so, take another model, and measure both with vedette eval")
		default:
			e.tooFew(check, m, r)
		}
		e.pace(g, m, r)
	}
}

// unjudged says how many a model did not judge, beside what it got wrong.
func unjudged(r review.CanaryReport) string {
	n := 0
	for _, a := range r.Answers {
		if a.Failure != "" {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %d it did not judge (%s)", n, len(r.Answers), r.Failure())
}

// tooFew says why there is no verdict, and what helps against it.
func (e *exam) tooFew(check string, m *llm.Client, r review.CanaryReport) {
	switch r.Failure() {
	case review.LoneTimeout, review.Timeout:
		e.problem(check, fmt.Sprintf("it judged too few of them in time (%s): a review has %s, a request %s",
			r.Failure(), e.cfg.Sentinel.Timeout, timeout(m)),
			"raise sentinel.timeout and models."+m.Name()+".timeout, or take a faster model or server")
	case review.Length:
		e.problem(check, "it judged too few of them (length): it writes more than an answer may have",
			"take a model that keeps to one line, or set models."+m.Name()+".reasoning if it thinks before it answers")
	default:
		e.problem(check, fmt.Sprintf("it judged too few of them (%s)", r.Failure()),
			"a model that can't judge these can't judge calls either: see sentinel.unjudgeable")
	}
}

// pace warns of a model that takes most of the time that it has: asked by two at
// once, or about a longer call, it would not answer in time.
func (e *exam) pace(g *review.Gate, m *llm.Client, r review.CanaryReport) {
	judged := 0
	for _, a := range r.Answers {
		if a.Failure == "" {
			judged++
		}
	}
	if judged == 0 {
		return
	}
	each := r.Took / time.Duration(len(r.Answers))
	// A chain divides the review's time among its models.
	has := min(e.cfg.Sentinel.Timeout/time.Duration(len(g.Models())), timeout(m))
	if 2*each > has {
		e.warn("pace "+m.Name(), fmt.Sprintf("a question took it %s on average, and %s is what it has", each.Round(10*time.Millisecond), has),
			"raise sentinel.timeout and models."+m.Name()+".timeout: what is not judged in time is unjudgeable")
	}
}

func timeout(m *llm.Client) time.Duration {
	if t := m.Config().Timeout; t > 0 {
		return t
	}
	return llm.DefaultTimeout
}
