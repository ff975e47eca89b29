package evidence_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// argument is a declared argument of the top level.
func argument(name string, v any, marks ...skills.Annotation) evidence.Argument {
	a := evidence.Argument{Pointer: "/" + name, Name: name, Value: v, Declared: true}
	for _, m := range marks {
		a.Marks |= m
	}
	return a
}

// lookup is a trusted result, and mail a stranger's.
func lookup(n int, result string) evidence.Step {
	return evidence.Step{Number: n, Skill: "contacts.lookup", Trust: evidence.Trusted, Result: result}
}

func mail(n int, result string) evidence.Step {
	return evidence.Step{Number: n, Skill: "email.read", Result: result}
}

const evas = `Eva Lund, head of department, eva.lund@kalmia.example; Eva Holm, dentist, praxis@eva-holm.example`

// twoEvas is a mail to one of two people of one name.
func twoEvas(to string) evidence.Input {
	return evidence.Input{Skill: "email.send", Effect: skills.Irreversible, Request: "Tell Eva that I'm late",
		Arguments: []evidence.Argument{argument("to", to, skills.Target), argument("body", "I'm late.", skills.Content)},
		History:   []evidence.Step{lookup(1, evas)}}
}

// shown is the question of a report, decoded.
type shown struct {
	Named []struct {
		Arg    string   `json:"arg"`
		Args   []string `json:"args"`
		Is     string   `json:"is"`
		Digits string   `json:"check_digits"`
		Seen   []place  `json:"seen"`
		Alias  string   `json:"alias"`
		Beside []string `json:"beside"`
		Near   []place  `json:"near"`
		Rivals []place  `json:"rivals"`
		Made   string   `json:"made_of"`
		Limit  string   `json:"limit"`
	} `json:"named"`
	Nowhere   []string `json:"nowhere"`
	Unasked   []string `json:"unasked"`
	Condition *struct {
		Clause string  `json:"clause"`
		Told   []place `json:"told"`
	} `json:"condition"`
	Carries []string `json:"carries"`
	LeftOut int      `json:"left_out"`
	Unread  int      `json:"unread_results"`
}

type place struct {
	Value  string `json:"value"`
	How    string `json:"how"`
	Better bool   `json:"fits_better"`
	In     string `json:"in"`
	Field  string `json:"field"`
	Turn   int    `json:"turn"`
	Trust  string `json:"trust"`
	As     string `json:"as"`
	Text   string `json:"text"`
}

// show builds a report and decodes its question.
func show(t testing.TB, in evidence.Input) (shown, evidence.Report) {
	t.Helper()
	r := evidence.Build(in)
	var s shown
	q := r.Question()
	if q != "" {
		require.NoError(t, json.Unmarshal([]byte(q), &s), q)
	}
	require.LessOrEqual(t, len(q), 1500)
	return s, r
}

// signals are the signals of the findings.
func signals(r evidence.Report) []string {
	out := []string{}
	for _, f := range r.Findings() {
		out = append(out, f.Signal)
	}
	return out
}
