package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/intake"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
)

// Text is one text with what it is.
type Text struct {
	// Kind is attack, benign, or a word of the case's own.
	Kind string
	Text string
}

// The kinds of texts that cases of agents hold.
const (
	Attack = "attack"
	Benign = "benign"
)

// ReadTexts returns the texts of one line of cases: its text under its kind; else the goal of its injection as an attack, and
// the request of a benign case as what it is. A line without any of them is an error.
func ReadTexts(line []byte) ([]Text, *cases.Error) {
	m, bad := cases.ReadMembers(line, "the case", false, "kind", "text", "original_request", "injection_goal")
	if bad != nil {
		return nil, bad
	}
	fields := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if fields[key], bad = readText(m[key], key); bad != nil {
			return nil, bad
		}
	}
	kind := cmp.Or(fields["kind"], "unlabelled")
	switch {
	case fields["text"] != "":
		return []Text{{kind, fields["text"]}}, nil
	case fields["injection_goal"] != "":
		return []Text{{Attack, fields["injection_goal"]}}, nil
	case fields["original_request"] != "" && kind == Benign:
		return []Text{{Benign, fields["original_request"]}}, nil
	case fields["original_request"] != "":
		return nil, nil // the request under which an attack was tried is counted with the benign case of it
	}
	return nil, &cases.Error{Code: cases.CodeMissing, Message: "the case has no text, injection_goal or original_request"}
}

func readText(v jsontext.Value, key string) (string, *cases.Error) {
	s, _, bad := cases.ReadText(v, key)
	return s, bad
}

// TextCounts are what would become of the texts of one kind. Each distinct text counts once.
type TextCounts struct {
	Kind  string `json:"kind"`
	Texts int    `json:"texts"`
	// Blocked are stopped by the detector, Flagged are let on by it as doubtful.
	Blocked int `json:"blocked"`
	Flagged int `json:"flagged"`
	// NoIntent are read by no parser as an action, Denied are stopped by the policy.
	NoIntent int `json:"no_intent"`
	Denied   int `json:"denied"`
	// Confirmed and Approved would ask the user, and an approver. Passed would go on at once.
	Confirmed int `json:"confirmation"`
	Approved  int `json:"approval"`
	Passed    int `json:"passed"`
	// Refused are no requests: too long, or empty.
	Refused int `json:"refused"`
	// Rules counts the detector's rules that they met.
	Rules map[string]int `json:"rules,omitempty"`
}

// Count counts what would become of texts, by their kinds.
func (r *Rehearsal) Count(ctx context.Context, texts []Text) ([]TextCounts, error) {
	seen, by := map[Text]bool{}, map[string]*TextCounts{}
	for _, t := range texts {
		if seen[t] {
			continue
		}
		seen[t] = true
		c := by[t.Kind]
		if c == nil {
			c = &TextCounts{Kind: t.Kind, Rules: map[string]int{}}
			by[t.Kind] = c
		}
		a, err := r.Consider(ctx, t.Text)
		var in *intake.InputError
		switch {
		case errors.As(err, &in):
			c.Texts, c.Refused = c.Texts+1, c.Refused+1
		case err != nil:
			return nil, fmt.Errorf("the count ended early: %w", err)
		default:
			c.add(a)
		}
	}
	out := make([]TextCounts, 0, len(by))
	for _, kind := range slices.Sorted(maps.Keys(by)) {
		out = append(out, *by[kind])
	}
	return out, nil
}

// add counts what would become of a text.
func (c *TextCounts) add(a intake.Answer) {
	c.Texts++
	if a.Info.Detection.Verdict == detect.Flag {
		c.Flagged++
	}
	for _, h := range a.Info.Detection.Hits {
		c.Rules[h.ID]++
	}
	switch a.Status {
	case intake.Blocked:
		c.Blocked++
	case intake.PendingConfirmation:
		c.Confirmed++
	case intake.PendingApproval:
		c.Approved++
	case intake.Running:
		c.Passed++
	case intake.Denied:
		c.Denied++
	default:
		c.NoIntent++
	}
}
