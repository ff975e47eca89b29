package command

import (
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/orchestrator/policy"
)

// touchTable is what the call would touch.
func (e explanationText) touchTable() *terminal.Table {
	t := &terminal.Table{}
	v := e.Touch
	if v == nil {
		return t
	}
	for _, p := range v.Paths {
		text := p.Path
		if p.Real != "" {
			text += " -> " + p.Real
		}
		if p.Recursive {
			text += " and all below"
		}
		t.Add("  path", p.Arg, strings.Join(p.Access, ", "), text)
	}
	for _, c := range v.Commands {
		how := ""
		if c.Dynamic || c.Opaque {
			how = "not all known"
		}
		t.Add("  command", c.Arg, how, strings.TrimSpace(orQuestionMark(c.Name)+" "+strings.Join(c.Args, " ")))
	}
	for _, l := range []struct {
		name string
		list []policy.ValueView
	}{{"host", v.Hosts}, {"recipient", v.Recipients}, {"amount", v.Amounts}, {"danger", v.Dangers}, {"doubt", v.Doubts}} {
		for _, x := range l.list {
			t.Add("  "+l.name, x.Arg, "", x.Value)
		}
	}
	for _, x := range v.Unparsed {
		t.Add("  unreadable", x, "", "a command line that can't be read")
	}
	for _, x := range v.Incomplete {
		t.Add("  incomplete", x, "", "a command line that ends too early")
	}
	return t
}

func orQuestionMark(name string) string {
	if name == "" {
		return "?"
	}
	return name
}
