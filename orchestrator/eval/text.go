package eval

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// WriteText writes the report for people.
func (r RunReport) WriteText(w io.Writer, colour bool) error {
	if err := writeSummary(w, colour, r.Summary); err != nil {
		return err
	}
	if _, err := io.WriteString(w, qualityText(r.Report)); err != nil {
		return err
	}
	if r.Signals != nil {
		if err := writeSignals(w, colour, *r.Signals); err != nil {
			return err
		}
	}
	if r.Against == nil {
		return nil
	}
	return writeChanges(w, colour, *r.Against)
}

// textLine adds a line with a name to a text.
type textLine func(name, format string, args ...any)

// qualityText says what the decisions were worth, and what models took.
func qualityText(r Report) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-11s %s\n", name, terminal.Clean(fmt.Sprintf(format, args...)))
	}
	b.WriteString("\n")
	q := r.Quality
	rate := func(name string, r Rate, what string) {
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
func rateText(r Rate, what string) string {
	share := 0.0
	if r.Rate != nil {
		share = *r.Rate
	}
	return fmt.Sprintf("%d of %d %s, %.1f%% (%.1f - %.1f)", r.Count, r.Of, what, 100*share, 100*r.Low, 100*r.High)
}

func reviewText(line textLine, v ReviewReport) {
	times := ""
	if v.ElapsedUS != nil {
		times = fmt.Sprintf("; p50 %s, p99 %s", formatTime(v.ElapsedUS.P50), formatTime(v.ElapsedUS.P99))
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
		line("failures", "%s", formatCounts(v.Failures))
	}
	if len(v.Failovers) > 0 {
		line("failovers", "%s", formatCounts(v.Failovers))
	}
}

// formatTime formats microseconds as people read them: rules take microseconds, models seconds.
func formatTime(us int64) string {
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

func formatCounts(m map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(out, ", ")
}

// writeChanges writes what an earlier run decided otherwise.
func writeChanges(w io.Writer, colour bool, c Comparison) error {
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	if len(c.Changed) > 0 {
		t := terminal.Table{Colour: colour}
		t.Add("CHANGED", "KIND", "CATEGORY", "BEFORE", "NOW", "")
		for _, ch := range c.Changed {
			t.Add(ch.ID, ch.Kind, ch.Category, ch.Before, ch.After, ch.Change)
		}
		if err := t.Write(w); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%d cases compared: %d better, %d worse, %d changed otherwise; McNemar's exact test p = %s\n",
		c.Compared, c.Better, c.Worse, c.Other, strconv.FormatFloat(c.P, 'g', 3, 64))
	if c.OnlyBefore+c.OnlyAfter+c.Edited+c.Ambiguous > 0 {
		text += "not compared: " + listNotCompared(c) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

func listNotCompared(c Comparison) string {
	return fmt.Sprintf("%d only before, %d only now, %d of another text now, %d rows whose id stands twice, %d rows without an id",
		c.OnlyBefore, c.OnlyAfter, c.Edited, c.SharedID, c.WithoutID)
}

// opinionText says what else there was than one model's verdict that counts.
func opinionText(line textLine, v ReviewReport) {
	if v.SecondOpinions > 0 {
		line("second", "%d second opinions: %d disagreements, which are asked about and among the rejected", v.SecondOpinions, v.Disagreements)
	}
	if len(v.SecondFailures) > 0 {
		line("", "second opinions that could not be had: %s", formatCounts(v.SecondFailures))
	}
	if v.AskedAgain > 0 {
		line("asked again", "%d cases, because a model was away", v.AskedAgain)
	}
}

// shadowText says what a review in shadow would have done, and been worth.
func shadowText(line textLine, v ReviewReport, q *Applied) {
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

// writeSummary writes the counts by category, kind and gate.
func writeSummary(w io.Writer, colour bool, s Summary) error {
	t := terminal.Table{Colour: colour, Right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}}
	t.Add("CATEGORY", "KIND", "CASES", "ALLOWED", "ASKED", "DEFERRED", "DENIED", "ALLOWED %", "95% INTERVAL")
	row := func(name, kind string, c Count) {
		n := c.Total()
		low, high := Wilson(c.Allow, n)
		share := "-"
		if n > 0 {
			share = fmt.Sprintf("%.1f", 100*float64(c.Allow)/float64(n))
		}
		t.Add(name, kind, strconv.Itoa(n), strconv.Itoa(c.Allow), strconv.Itoa(c.Ask), strconv.Itoa(c.Defer), strconv.Itoa(c.Deny),
			share, fmt.Sprintf("%5.1f - %5.1f", 100*low, 100*high))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		row(name, s.Categories[name].Kind, s.Categories[name].Count)
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Kinds)) {
		if s.Kinds[kind].Total() > 0 {
			row("all", kind, s.Kinds[kind])
		}
	}
	if err := t.Write(w); err != nil {
		return err
	}
	var by []string
	for _, gate := range slices.Sorted(maps.Keys(s.BlockedBy)) {
		by = append(by, fmt.Sprintf("%s %d", gate, s.BlockedBy[gate]))
	}
	if len(by) == 0 {
		by = []string{"nothing"}
	}
	_, err := io.WriteString(w, fmt.Sprintf("\nblocked by  %s\ntime        p50 %s, p99 %s\n%d cases, %d errors\n",
		strings.Join(by, ", "), formatTime(s.ElapsedUS.P50), formatTime(s.ElapsedUS.P99), s.Cases, s.Errors))
	return err
}
