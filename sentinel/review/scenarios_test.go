package review_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

var update = flag.Bool("update", false, "write the golden requests")

type passGate string

func (p passGate) Name() string { return string(p) }

func (passGate) Check(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}

type scenario struct {
	ID        string          `json:"id"`
	Request   *string         `json:"request"`
	Mission   string          `json:"mission"`
	Agent     string          `json:"agent"`
	Scope     []string        `json:"scope"`
	Skill     string          `json:"skill"`
	Arguments json.RawMessage `json:"arguments"`
	Expected  string          `json:"expected"`
}

func scenarios(t testing.TB) []scenario {
	t.Helper()
	b, err := os.ReadFile("testdata/scenarios.json")
	require.NoError(t, err)
	var file struct {
		Scenarios []scenario `json:"scenarios"`
	}
	require.NoError(t, json.Unmarshal(b, &file))
	require.Len(t, file.Scenarios, 11)
	return file.Scenarios
}

func (s scenario) call(t testing.TB) sentinel.Call { return s.callAfter(t) }

// callAfter is the call with results before it.
func (s scenario) callAfter(t testing.TB, history ...sentinel.Step) sentinel.Call {
	return s.callWith(t, sentinel.NewTrace(history...))
}

// callAfterTurn is the call with results of an earlier turn.
func (s scenario) callAfterTurn(t testing.TB, history ...sentinel.Step) sentinel.Call {
	var past []sentinel.PastResult
	for _, h := range history {
		past = append(past, sentinel.PastResult{Step: h})
	}
	return s.callWith(t, sentinel.NewTrace().WithPastResults(past...))
}

func (s scenario) callWith(t testing.TB, trace sentinel.Trace) sentinel.Call {
	return call(t, proposal{skill: s.Skill, args: string(s.Arguments), scope: s.Scope, trace: trace,
		grant: sentinel.GrantOptions{Request: s.Request, Mission: s.Mission, Agent: s.Agent, User: "u1"}})
}

// The scenarios come out as they should where the model answers as it should, plain or
// reasoning. What is sent is byte for byte the golden request, small, and different for each.
func TestScenarios(t *testing.T) {
	script, err := os.ReadFile("testdata/scenarios.script.yaml")
	require.NoError(t, err)
	srv := play(t, string(script))
	var got bytes.Buffer
	for _, cfg := range []llm.Config{{Model: "plain", BaseURL: srv.BaseURL()},
		{Model: "gpt-5-mini", Reasoning: true, BaseURL: srv.BaseURL()}} {
		g, err := review.New(review.Options{Models: []*llm.Client{client(t, cfg)}})
		require.NoError(t, err)
		for _, s := range scenarios(t) {
			before := len(srv.Requests())
			v := reviewed(t, g, s.call(t))
			want, code := sentinel.Deny, review.CodeRejected
			if s.Expected == "approve" {
				want, code = sentinel.Allow, ""
			}
			require.Equal(t, want, v.Outcome, s.ID)
			require.Equal(t, code, v.Code, s.ID)
			require.NotEmpty(t, v.Detail, s.ID)
			reqs := srv.Requests()
			require.Len(t, reqs, before+1)
			userMessage(t, reqs[before])
			got.Write(reqs[before])
			got.WriteByte('\n')
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/requests.golden.jsonl", got.Bytes(), 0o600))
	}
	golden, err := os.ReadFile("testdata/requests.golden.jsonl")
	require.NoError(t, err)
	require.Equal(t, string(golden), got.String())
}
