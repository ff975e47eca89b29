package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// WriteText writes the report for people. Names of tools are a client's: they are made safe to show.
func (r *Report) WriteText(w io.Writer, colour bool) error {
	_, err := fmt.Fprintf(w, "from %s to %s the proxy watched %s\n", r.Since.Format("2006-01-02 15:04"), r.Until.Format("2006-01-02 15:04"),
		countWord(r.Calls, "call"))
	if err != nil || r.Calls+r.Refused == 0 {
		return err
	}
	_, err = fmt.Fprintf(w, "enforcing would have let %s through, asked a person %s, and stopped %s\n", share(r.Allowed, r.Calls),
		share(r.Asked, r.Calls), share(r.Denied+r.Deferred, r.Calls))
	if err == nil && r.Refused > 0 {
		_, err = fmt.Fprintf(w, "%s could not have been judged\n", countWord(r.Refused, "call"))
	}
	if err != nil {
		return err
	}
	stops := &terminal.Table{Colour: colour, Right: map[int]bool{0: true}}
	for _, s := range r.Stops {
		stops.Add(fmt.Sprint(s.Calls), s.Outcome, s.Tool, s.Code, s.Reason, strings.Join(s.Examples, " "))
	}
	if err := terminal.WriteSection(w, "what would have been stopped", stops); err != nil {
		return err
	}
	called := &terminal.Table{Colour: colour, Right: map[int]bool{0: true, 1: true}}
	for _, t := range r.Tools {
		called.Add(fmt.Sprint(t.Calls), fmt.Sprint(t.Stops), t.Name, t.Effect)
	}
	if err := terminal.WriteSection(w, "tools: calls, of them stopped or asked about", called); err != nil {
		return err
	}
	lines := &terminal.Table{}
	for _, s := range r.Suggestions {
		lines.Add(s.Key+":", s.Line, "# "+s.Why)
	}
	return terminal.WriteSection(w, "lines to think about", lines)
}

// share is a number with its share of all.
func share(n, all int) string {
	if all == 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d (%.1f%%)", n, 100*float64(n)/float64(all))
}

func countWord(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
