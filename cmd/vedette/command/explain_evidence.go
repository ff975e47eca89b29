package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// shownEvidence is the evidence of a call as the review's question has it.
type shownEvidence struct {
	Named []struct {
		Arg    string       `json:"arg"`
		Args   []string     `json:"args"`
		Is     string       `json:"is"`
		Digits string       `json:"check_digits"`
		Seen   []shownPlace `json:"seen"`
		Alias  string       `json:"alias"`
		Near   []shownPlace `json:"near"`
		Rivals []shownPlace `json:"rivals"`
		Made   string       `json:"made_of"`
		Limit  string       `json:"limit"`
	} `json:"named"`
	Nowhere []string `json:"nowhere"`
	Unasked []string `json:"unasked"`
	LeftOut int      `json:"left_out"`
}

type shownPlace struct {
	Value  string `json:"value"`
	How    string `json:"how"`
	Better bool   `json:"fits_better"`
	In     string `json:"in"`
	Turn   int    `json:"turn"`
	Trust  string `json:"trust"`
	As     string `json:"as"`
	Text   string `json:"text"`
}

// evidenceTable is what the review is shown of where the call's values were seen.
func (e explanationText) evidenceTable() *terminal.Table {
	t := &terminal.Table{Colour: e.colour}
	var ev shownEvidence
	if len(e.Evidence) == 0 || json.Unmarshal(e.Evidence, &ev) != nil {
		return t
	}
	for _, n := range ev.Named {
		arg := strings.Join(append(n.Args, n.Arg), " ")
		if len(n.Seen) == 0 {
			t.Add("  "+strings.TrimSpace(arg), n.Is, "seen nowhere")
		}
		for _, p := range n.Seen {
			t.Add("  "+strings.TrimSpace(arg), n.Is, p.describePlace("seen"))
		}
		for _, p := range n.Near {
			t.Add("", "", p.describePlace("near, "+strings.ReplaceAll(p.How, "_", " ")+","))
		}
		for _, p := range n.Rivals {
			word := "rival"
			if p.Better {
				word = "rival that fits better"
			}
			t.Add("", "", p.describePlace(word))
		}
		for _, line := range []struct{ word, text string }{
			{"alias", n.Alias}, {"check digits", n.Digits}, {"made of", n.Made}, {"limit", n.Limit},
		} {
			if line.text != "" {
				t.Add("", "", line.word+" "+line.text)
			}
		}
	}
	if len(ev.Nowhere) > 0 {
		t.Add("  nowhere", "", strings.Join(ev.Nowhere, ", "))
	}
	if len(ev.Unasked) > 0 {
		t.Add("  unasked", "", strings.Join(ev.Unasked, ", "))
	}
	if ev.LeftOut > 0 {
		t.Add("  left out", "", fmt.Sprint(ev.LeftOut))
	}
	return t
}

// describePlace is "rival praxis@eva-holm.example in contacts.lookup#1 (trusted): Eva Holm, dentist".
func (p shownPlace) describePlace(word string) string {
	out := word
	if p.Value != "" {
		out += " " + p.Value
	}
	about := p.Trust
	if p.As != "" {
		about += ", as " + p.As
	}
	if p.Turn < 0 {
		about += ", of an earlier turn"
	}
	out += " in " + p.In + " (" + about + ")"
	if p.Text != "" {
		out += ": " + p.Text
	}
	return out
}
