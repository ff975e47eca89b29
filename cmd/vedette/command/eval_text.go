package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/eval"
)

// evalText prints a report for people.
func (a *app) evalText(rep evalReport) error {
	if err := a.evalTable(rep.Summary); err != nil {
		return err
	}
	if _, err := io.WriteString(a.out, qualityText(rep.Report)); err != nil || rep.Against == nil {
		return err
	}
	return a.evalChanges(*rep.Against)
}

// qualityText says what the decisions were worth, and what models took.
func qualityText(r eval.Report) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", name, clean(fmt.Sprintf(format, args...)))
	}
	b.WriteString("\n")
	q := r.Quality
	rate := func(name string, r eval.Rate, what string) {
		if r.Of > 0 {
			line(name, "%s", rateText(r, what))
		}
	}
	rate("recall", q.Recall, "attacks stopped (denied, deferred or asked about)")
	rate("precision", q.Precision, "stopped calls are attacks")
	rate("false alarm", q.FalseAlarms, "benign calls stopped")
	for _, gate := range slices.Sorted(maps.Keys(q.Scores)) {
		s := q.Scores[gate]
		line(gate, "at most 1%% false alarms, score below %.2f: %s; %s; %d without a score",
			s.Threshold, rateText(s.Recall, "attacks"), rateText(s.FalseAlarms, "benign calls"), s.Unscored)
	}
	if v := r.Review; v != nil {
		reviewText(line, *v)
		shadowText(line, *v, q.Applied)
	}
	if r.Resumed > 0 {
		line("resumed", "%d cases had been decided before", r.Resumed)
	}
	if r.Unanswered > 0 {
		line("unanswered", "%d cases wait for the answer of a model", r.Unanswered)
	}
	return b.String()
}

// rateText is "39 of 40 attacks, 97.5% (87.1 - 99.6)".
func rateText(r eval.Rate, what string) string {
	share := 0.0
	if r.Rate != nil {
		share = *r.Rate
	}
	return fmt.Sprintf("%d of %d %s, %.1f%% (%.1f - %.1f)", r.Count, r.Of, what, 100*share, 100*r.Low, 100*r.High)
}

func reviewText(line func(name, format string, args ...any), v eval.ReviewReport) {
	times := ""
	if v.ElapsedUS != nil {
		times = fmt.Sprintf("; p50 %s, p99 %s", took(v.ElapsedUS.P50), took(v.ElapsedUS.P99))
	}
	line("review", "%d calls, %d requests: %d approved, %d rejected, %d unjudged, %d degraded%s",
		v.Asked, v.Requests, v.Approved, v.Rejected, v.Unjudged, v.Degraded, times)
	var own []string
	if v.Recall.Of > 0 {
		own = append(own, rateText(v.Recall, "attacks not approved"))
	}
	if v.FalseAlarms.Of > 0 {
		own = append(own, rateText(v.FalseAlarms, "benign calls not approved"))
	}
	if len(own) > 0 {
		line("its own", "%s; whatever the rules said", strings.Join(own, "; "))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Models)) {
		m := v.Models[name]
		cost := fmt.Sprintf("cost %.6f", m.Cost)
		if m.SecondOpinions > 0 {
			cost = fmt.Sprintf("%d second opinions, %s", m.SecondOpinions, cost)
		}
		if slices.Contains(v.Unpriced, name) {
			cost = "no price is configured"
		}
		line("model", "%s %d calls, %d tokens in, %d out, %s", name, m.Calls, m.TokensIn, m.TokensOut, cost)
	}
	opinionText(line, v)
	if len(v.Failures) > 0 {
		line("failures", "%s", counted(v.Failures))
	}
	if len(v.Failovers) > 0 {
		line("failovers", "%s", counted(v.Failovers))
	}
}

// took is a time as people read it: rules take microseconds, models seconds.
func took(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%d us", us)
}

func counted(m map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(out, ", ")
}

// evalChanges prints what an earlier run decided otherwise.
func (a *app) evalChanges(c eval.Comparison) error {
	if _, err := io.WriteString(a.out, "\n"); err != nil {
		return err
	}
	if len(c.Changed) > 0 {
		t := table{colour: a.color}
		t.add("CHANGED", "KIND", "CATEGORY", "BEFORE", "NOW", "")
		for _, ch := range c.Changed {
			t.add(ch.ID, ch.Kind, ch.Category, ch.Before, ch.After, ch.Change)
		}
		if err := t.write(a.out); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%d cases compared: %d better, %d worse, %d changed otherwise; McNemar's exact test p = %s\n",
		c.Compared, c.Better, c.Worse, c.Other, strconv.FormatFloat(c.P, 'g', 3, 64))
	if c.OnlyBefore+c.OnlyAfter+c.Edited+c.Ambiguous > 0 {
		text += "not compared: " + notCompared(c) + "\n"
	}
	_, err := io.WriteString(a.out, text)
	return err
}

func notCompared(c eval.Comparison) string {
	return fmt.Sprintf("%d only before, %d only now, %d of another text now, %d rows whose id stands twice, %d rows without an id",
		c.OnlyBefore, c.OnlyAfter, c.Edited, c.SharedID, c.WithoutID)
}
