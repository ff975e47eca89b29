package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/vedette-dev/vedette/cmd/vedette/setup"
	"github.com/vedette-dev/vedette/internal/terminal"
)

// intentText writes a request for people. Every text goes through a table, which escapes it.
type intentText struct {
	setup.IntentAnswer
	colour bool
}

// writeReading writes what detector and parsers say.
func (x intentText) writeReading(w io.Writer) error {
	return writeSections(w, []section{{"detector", x.detectorTable()}, {"parsers", x.parsersTable()}})
}

// writeAll writes what every stage says.
func (x intentText) writeAll(w io.Writer) error {
	if err := x.headTable().Write(w); err != nil {
		return err
	}
	return writeSections(w, []section{
		{"detector", x.detectorTable()}, {"parsers", x.parsersTable()}, {"vote", x.voteTable()}, {"comparison", x.comparisonTable()},
		{"confirmation", x.confirmationTable()},
	})
}

// writeEnd writes what became of the request.
func (x intentText) writeEnd(w io.Writer) error {
	if err := x.headTable().Write(w); err != nil {
		return err
	}
	list := []section{{"confirmation", x.confirmationTable()}}
	if x.Result != nil {
		t := &terminal.Table{}
		t.Add(string(x.Result))
		list = append(list, section{"result", t})
	}
	return writeSections(w, list)
}

// writeQuestion writes what the user is asked.
func (x intentText) writeQuestion(w io.Writer) error {
	return writeSections(w, []section{{"understood", x.confirmationTable()}})
}

// section is a table under a heading.
type section struct {
	name  string
	table *terminal.Table
}

func writeSections(w io.Writer, list []section) error {
	for _, s := range list {
		if err := terminal.WriteSection(w, s.name, s.table); err != nil {
			return err
		}
	}
	return nil
}

func (x intentText) headTable() *terminal.Table {
	t := &terminal.Table{Colour: x.colour}
	t.Add("request", x.RequestID)
	t.Add("status", string(x.Status))
	if x.Code != "" {
		t.Add("code", x.Code)
	}
	if x.Message != "" {
		t.Add("message", x.Message)
	}
	if x.Approval != "" {
		t.Add("approval", x.Approval)
	}
	return t
}

func (x intentText) detectorTable() *terminal.Table {
	t := &terminal.Table{}
	d := x.Info.Detection
	t.Add("verdict", string(d.Verdict), fmt.Sprintf("%d", d.Score))
	for _, h := range d.Hits {
		t.Add(h.ID, fmt.Sprintf("%d", h.Score), h.Evidence, strings.Join(h.Via, ", "))
	}
	if c := x.Info.Classifier; c != nil {
		says := fmt.Sprintf("%d", c.Score)
		if c.Failed {
			says = "failed"
		}
		t.Add("classifier "+c.Name, says)
	}
	return t
}

func (x intentText) parsersTable() *terminal.Table {
	t := &terminal.Table{}
	for _, p := range x.Info.Parsers {
		says := cmp.Or(p.Failure, string(p.Intent))
		t.Add(p.Parser, fmt.Sprintf("trust %.2f", float64(p.Trust)/100), fmt.Sprintf("%.1f ms", float64(p.TookUS)/1000), says)
	}
	return t
}

func (x intentText) voteTable() *terminal.Table {
	t := &terminal.Table{}
	v := x.Info.Vote
	if v == nil {
		return t
	}
	t.Add("level", string(v.Level))
	t.Add("agreement", string(v.Agreement))
	t.Add("intent of", v.Parser)
	t.Add("why", v.Explanation)
	for _, p := range v.Pairs {
		t.Add(p.One+" and "+p.Other, fmt.Sprintf("%.3f", p.Similarity))
	}
	return t
}

func (x intentText) comparisonTable() *terminal.Table {
	t := &terminal.Table{}
	c := x.Info.Comparison
	if c == nil {
		return t
	}
	t.Add("verdict", string(c.Verdict))
	for _, m := range c.Mismatches {
		t.Add(m.Field, string(m.Verdict), m.Code, m.Reason)
	}
	return t
}

func (x intentText) confirmationTable() *terminal.Table {
	t := &terminal.Table{}
	if x.Confirmation == nil {
		return t
	}
	for _, f := range x.Confirmation.Fields {
		t.Add(f.Name, f.Value)
	}
	for _, r := range x.Confirmation.Reasons {
		t.Add("why", r)
	}
	return t
}
