package review_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// memoryRecorder is a recorder and a limiter that keeps records and lets all pass.
type memoryRecorder struct{ records []sentinel.Record }

func (k *memoryRecorder) Record(_ context.Context, r sentinel.Record) error {
	k.records = append(k.records, r)
	return nil
}

func (*memoryRecorder) Reserve(context.Context, sentinel.Slot) (sentinel.Verdict, error) {
	return sentinel.Pass(), nil
}
func (*memoryRecorder) Report(context.Context, string, string, bool) {}
func (*memoryRecorder) Release(context.Context, string, string)      {}

// A decision's record names prompt, model, weaker way and score of the answer, and holds no
// words of the model: its reason is among the sealed values, its reasoning is nowhere.
func TestRecordHoldsMarksAndNoWords(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			callBack(w, "sentinel_decision", `{"CANARY":"CANARY"}`)
			return
		}
		callBack(w, "sentinel_decision", `{"reasoning":"CANARY THOUGHT","decision":"reject","should_run":0.25,"reason":"CANARY REASON"}`)
	})
	g, err := review.New(review.Options{Graded: true, Reasoning: true, Keys: true, Trace: 2,
		Models: []*llm.Client{client(t, llm.Config{BaseURL: s.URL, Schemaless: llm.ViaTool})}})
	require.NoError(t, err)
	gates := []sentinel.Gate{g, sentinel.Skip(sentinel.GateJudge, "")}
	for _, n := range []string{sentinel.GateSchema, sentinel.GateScope, sentinel.GatePermission, sentinel.GateGuard} {
		gates = append(gates, passGate(n))
	}
	sign, _, err := warrant.NewPair(warrant.Options{})
	require.NoError(t, err)
	k := &memoryRecorder{}
	p, err := sentinel.New(sentinel.Options{Registry: registry(t), Gates: gates, Env: touch.Env{NoFS: true}, Recorder: k, Limiter: k,
		Issuer: sign, DigestKey: [32]byte{1}})
	require.NoError(t, err)
	scope, err := skills.NewScope("self.*")
	require.NoError(t, err)
	grant, err := sentinel.NewGrant(sentinel.GrantOptions{ID: "g", User: "u", Conversation: "c", Turn: "t", Agent: "a", Mission: "m",
		Scope: scope})
	require.NoError(t, err)
	_, err = p.Desk(grant).Invoke(t.Context(), "self.modify", json.RawMessage(`{"note":"x"}`))
	var no *skills.Refusal
	require.ErrorAs(t, err, &no)
	require.Equal(t, review.CodeRejected, no.Code)
	require.Len(t, k.records, 1)

	var body struct {
		Gates []struct {
			Gate  string            `json:"gate"`
			Score *int              `json:"score"`
			Meta  map[string]string `json:"meta"`
		} `json:"gates"`
	}
	require.NoError(t, json.Unmarshal(k.records[0].Body, &body))
	for _, v := range body.Gates {
		if v.Gate == sentinel.GateReview {
			require.Equal(t, 25, *v.Score)
			require.Equal(t, map[string]string{"answer": "tool", "model": "fast", "prompt": review.PromptVersion, "repaired": "fields",
				"attempts": "2", "tokens_in": "0", "tokens_out": "0"}, v.Meta)
		}
	}
	require.Len(t, body.Gates, len(sentinel.GateNames()))
	require.NotContains(t, string(k.records[0].Body), "CANARY")
	sealed := ""
	for _, v := range k.records[0].Values {
		sealed += string(v.Data)
	}
	require.Contains(t, sealed, "CANARY REASON")
	require.NotContains(t, sealed, "CANARY THOUGHT")
}
