package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

const (
	// chartDays is how far back charts go.
	chartDays = 7
	// chartFirst is how many records a view of the whole page counts, which a person waits for; chartMore what the page
	// asks for by itself.
	chartFirst = 2_000
	chartMore  = 20_000
	chartPage  = 1000
)

// counter counts the ledger for the charts, a part each time: from the newest record of its first time on, and back
// from there.
type counter struct {
	mu      sync.Mutex
	series  query.Series
	begun   bool
	newest  int64 // counted up to here
	oldest  int64 // and back to here
	reached time.Time
	whole   bool // all that charts show is counted
}

// count counts some more records.
func (c *counter) count(ctx context.Context, r *ledger.Reader, now time.Time, most int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		first, err := r.List(ctx, ledger.Query{Newest: true, Limit: 1})
		if err != nil {
			return err
		}
		c.newest, c.oldest, c.begun = -1, 0, true
		if len(first) > 0 {
			c.newest, c.oldest = first[0].Index, first[0].Index+1
		}
	}
	c.series.Forget(now.AddDate(0, 0, -chartDays-1))
	left, err := c.countForward(ctx, r, most)
	if err != nil {
		return err
	}
	return c.countBack(ctx, r, now.AddDate(0, 0, -chartDays), left)
}

// countForward counts what came since.
func (c *counter) countForward(ctx context.Context, r *ledger.Reader, most int) (left int, err error) {
	for most > 0 {
		last := c.newest
		page, err := r.List(ctx, ledger.Query{AfterIndex: &last, Limit: chartPage})
		if err != nil {
			return 0, err
		}
		for i := range page {
			c.series.Add(&page[i])
			c.newest = page[i].Index
		}
		most -= len(page)
		if len(page) < chartPage {
			break
		}
	}
	return most, nil
}

// countBack counts what was there at the first time, back to a time.
func (c *counter) countBack(ctx context.Context, r *ledger.Reader, until time.Time, most int) error {
	for most > 0 && !c.whole {
		before := c.oldest
		page, err := r.List(ctx, ledger.Query{Newest: true, AfterIndex: &before, Limit: chartPage})
		if err != nil {
			return err
		}
		for i := range page {
			c.series.Add(&page[i])
			c.oldest, c.reached = page[i].Index, page[i].Time
		}
		most -= len(page)
		c.whole = len(page) < chartPage || c.reached.Before(until)
	}
	return nil
}

// read returns the hours that a page shows, and back to when they are counted; zero says all of them.
func (c *counter) read(now time.Time, hours int) (list []query.Hour, reached time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.whole {
		reached = c.reached
	}
	return c.series.Hours(now, hours), reached
}

// chartsView are the charts of a page.
type chartsView struct {
	Range   string
	Follow  string
	Charts  []chart
	Hours   []query.Hour
	Reached time.Time
	// Every is when the page asks again.
	Every string
}

// onCharts shows the charts, or for a page that follows them the charts alone.
func (s logs) onCharts(w http.ResponseWriter, r *http.Request, v *visitor) {
	out, hours := chartsView{Range: "24h", Every: "30s"}, 24
	if r.URL.Query().Get("range") == "7d" {
		out.Range, hours = "7d", chartDays*24
	}
	most := chartFirst
	if isPart(r) {
		most = chartMore
	}
	if err := s.counter.count(r.Context(), s.reader(), s.o.Now(), most); err != nil {
		if r.Context().Err() == nil {
			s.showBroken(w, r, v, err)
		}
		return
	}
	out.Hours, out.Reached = s.counter.read(s.o.Now(), hours)
	if out.Follow = "/log/charts?range=" + out.Range; !out.Reached.IsZero() {
		out.Every = "1s"
	}
	out.Charts = drawCharts(out.Hours)
	if isPart(r) {
		s.show(w, http.StatusOK, "chartlist", out)
		return
	}
	page := viewFor(v, "charts", "Charts", out)
	page.Refresh = 30
	s.show(w, http.StatusOK, "charts", page)
}

// The places of a chart, in its own units.
const (
	chartWidth  = 720
	chartHeight = 150
	// barShare is how much of its hour's width a bar has.
	barShare = 0.86
)

// chart is a drawing of hours, with numbers alone.
type chart struct {
	Title, Unit string
	// Most is the greatest value, as text.
	Most   string
	Bars   []chartBar
	Lines  []chartLine
	Legend []chartLine
}

// chartBar is a box, with what it says to who points at it.
type chartBar struct {
	X, Y, Width, Height string
	Class, Tip          string
}

// chartLine is a line, or an entry of the legend.
type chartLine struct{ Points, Class, Name string }

// part is a number of an hour that charts show.
type part struct {
	class, name string
	of          func(*query.Hour) int64
}

// drawCharts draws what the page shows.
func drawCharts(hours []query.Hour) []chart {
	whole := func(n int64) string { return fmt.Sprint(n) }
	micros := func(n int64) string { return (time.Duration(n) * time.Microsecond).String() }
	out := []chart{
		drawBars("Outcomes", "decisions an hour", hours, whole,
			part{"allow", "allowed", func(h *query.Hour) int64 { return h.Allow }},
			part{"ask", "asked", func(h *query.Hour) int64 { return h.Ask }},
			part{"defer", "deferred", func(h *query.Hour) int64 { return h.Defer }},
			part{"deny", "denied", func(h *query.Hour) int64 { return h.Deny }}),
		drawLines("Latency of all gates", "at p50 and p99", hours, micros,
			part{"p50", "p50", func(h *query.Hour) int64 { return h.Checks.P50 }},
			part{"p99", "p99", func(h *query.Hour) int64 { return h.Checks.P99 }}),
		drawBars("Degradation", "decisions that the model could not judge", hours, whole,
			part{"deny", "degraded", func(h *query.Hour) int64 { return h.Degraded }}),
		drawBars("Cost", "the model's tokens an hour", hours, whole,
			part{"p50", "tokens", func(h *query.Hour) int64 { return h.Tokens }}),
	}
	cost := part{"p50", "cost", func(h *query.Hour) int64 { return h.Cost }}
	if findMost(hours, cost) > 0 {
		out = append(out, drawBars("Price", "in the currency of the configured prices", hours,
			func(n int64) string { return fmt.Sprintf("%.2f", float64(n)/1e6) }, cost))
	}
	return out
}

// findMost is the greatest sum of the parts in an hour.
func findMost(hours []query.Hour, parts ...part) (most int64) {
	for i := range hours {
		sum := int64(0)
		for _, p := range parts {
			sum += p.of(&hours[i])
		}
		most = max(most, sum)
	}
	return most
}

// drawBars draws the parts of each hour on top of each other.
func drawBars(title, unit string, hours []query.Hour, say func(int64) string, parts ...part) chart {
	most := findMost(hours, parts...)
	out := chart{Title: title, Unit: unit, Most: say(most), Legend: listLegend(parts)}
	step := float64(chartWidth) / float64(len(hours))
	for i := range hours {
		base := float64(chartHeight)
		for _, p := range parts {
			n := p.of(&hours[i])
			if n == 0 {
				continue
			}
			tall := float64(n) / float64(most) * chartHeight
			base -= tall
			out.Bars = append(out.Bars, chartBar{
				X: formatPlace(float64(i) * step), Y: formatPlace(base), Width: formatPlace(step * barShare), Height: formatPlace(tall),
				Class: p.class, Tip: fmt.Sprintf("%s: %s %s", hours[i].Begin.Format("2006-01-02 15:04"), say(n), p.name),
			})
		}
	}
	return out
}

// drawLines draws each part as a line, which breaks where an hour has none.
func drawLines(title, unit string, hours []query.Hour, say func(int64) string, parts ...part) chart {
	most := int64(0)
	for _, p := range parts {
		most = max(most, findMost(hours, p))
	}
	out := chart{Title: title, Unit: unit, Most: say(most), Legend: listLegend(parts)}
	step := float64(chartWidth) / float64(len(hours))
	for _, p := range parts {
		var points []string
		flush := func() {
			if len(points) > 0 {
				out.Lines = append(out.Lines, chartLine{strings.Join(points, " "), p.class, p.name})
			}
			points = nil
		}
		for i := range hours {
			n := p.of(&hours[i])
			if n == 0 {
				flush()
				continue
			}
			height := "," + formatPlace(chartHeight-float64(n)/float64(most)*chartHeight)
			points = append(points, formatPlace(float64(i)*step)+height, formatPlace((float64(i)+barShare)*step)+height)
		}
		flush()
	}
	return out
}

// listLegend are the parts for the legend.
func listLegend(parts []part) (out []chartLine) {
	for _, p := range parts {
		out = append(out, chartLine{Class: p.class, Name: p.name})
	}
	return out
}

// formatPlace is a place in a drawing.
func formatPlace(n float64) string { return fmt.Sprintf("%.1f", n) }
