package testprovider

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// Ending is what a client's own helper ends up with.
type Ending struct {
	Scenario string
	Streamed bool
	// Text has a notice where a call was blocked.
	Text string
	// Calls are names and arguments, in order.
	Calls []string
	// Finish is the reason to end, in the client's words.
	Finish string
	// Error is its type and its message: the helper ended up with nothing else.
	Error string
}

// AskAgain is the scenario of a request that is sent again once a person has approved its call.
const AskAgain = "ask_again"

// Endings are what one client ended up with.
type Endings map[string]Ending

// MakeEndings collects endings by their scenarios.
func MakeEndings(list []Ending) Endings {
	m := Endings{}
	for _, e := range list {
		m[nameEnding(e.Scenario, e.Streamed)] = e
	}
	return m
}

// Get returns the ending of a scenario.
func (m Endings) Get(scenario string, streamed bool) Ending { return m[nameEnding(scenario, streamed)] }

func nameEnding(scenario string, streamed bool) string { return fmt.Sprint(scenario, " ", streamed) }

// Expect says what a client ends up with behind the proxy, by what it ends up with without one. goesOn says that the
// proxy's on_block is continue. Notices are as Ending.Plain has them.
func (m Endings) Expect(scenario string, streamed, goesOn bool) Ending {
	s, _ := Find([]byte("scenario: " + scenario))
	direct := m.Get(scenario, streamed)
	switch {
	case scenario == AskAgain:
		want := m.Get("ask", streamed)
		want.Scenario = AskAgain
		return want
	case direct.Error != "":
		return direct
	}
	want := Ending{Scenario: scenario, Streamed: streamed, Finish: direct.Finish}
	n := 0
	for i, p := range s.Parts {
		reason := p.block(streamed, s.isCut(i))
		switch {
		case p.Name == "":
			want.Text += p.Text
			continue
		case n == len(direct.Calls): // the provider left out what it had cut
			continue
		case reason == "":
			want.Calls = append(want.Calls, direct.Calls[n])
		default:
			want.Text += "[notice: " + reason + "]"
		}
		n++
		if reason != "" && !goesOn {
			break
		}
	}
	if s.hasCalls() && len(want.Calls) == 0 {
		want.Finish = m.Get("text", streamed).Finish
	}
	return want
}

// block is why the proxy blocks a part, if it does.
func (p Part) block(streamed, cut bool) string {
	switch {
	case cut:
		return "stream"
	case strings.Contains(p.Args, "forbidden"):
		return "permission"
	case strings.Contains(p.Args, "careful") && !streamed:
		return "approval"
	}
	return ""
}

// noticeForm is a notice: its gate, and the id of a decision or an approval.
var noticeForm = regexp.MustCompile(`\[The call of run was blocked by policy: [^\[\]]* ` +
	`\((permission|approval|stream), (?:no decision|[0-9a-f-]{36})\)\]`)

// Plain is an ending with notices that are the same each time.
func (e Ending) Plain() Ending {
	e.Text = noticeForm.ReplaceAllString(e.Text, "[notice: $1]")
	if len(e.Calls) == 0 {
		e.Calls = nil
	}
	return e
}

// show says in a few words what an ending is.
func (e Ending) show() string {
	if e.Error != "" {
		name, _, _ := strings.Cut(e.Error, ":")
		return "`" + name + "`"
	}
	var parts []string
	if n := len(e.Calls); n == 1 {
		parts = append(parts, "1 call")
	} else if n > 1 {
		parts = append(parts, fmt.Sprint(n, " calls"))
	}
	if n := strings.Count(e.Plain().Text, "[notice: "); n == 1 {
		parts = append(parts, "notice")
	} else if n > 1 {
		parts = append(parts, fmt.Sprint(n, " notices"))
	}
	return cmp.Or(strings.Join(parts, ", "), "text") + ", `" + e.Finish + "`"
}

// Show says in a few words what the endings of a scenario are: streamed and whole.
func (m Endings) Show(scenario string) string {
	streamed, whole := m.Get(scenario, true).show(), m.Get(scenario, false).show()
	if again, ok := m[nameEnding(AskAgain, false)]; ok && scenario == "ask" {
		whole += ", then " + again.show()
	}
	if streamed == whole {
		return streamed
	}
	return streamed + "; whole: " + whole
}
