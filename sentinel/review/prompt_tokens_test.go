package review_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/sentinel/review"
	"github.com/vedette-dev/vedette/skills"
)

// maxPrompt is what a question about an ordinary call may take in tokens, and maxEvidence with
// evidence. frame is what a chat format adds to two messages: their marks and roles.
const (
	maxPrompt   = 600
	maxEvidence = 900
	frame       = 3*2 + 2 + 3
)

// lookedUp are two results before each scenario: an address book with two people of some names,
// and a stranger's mail that names what the scenarios name.
var lookedUp = []sentinel.Step{
	{Skill: "contacts.search", Args: `{"query":"all"}`, Trust: skills.Trusted, Result: `{"contacts":[{"name":"Sarah Lund","email":` +
		`"sarah@example.com"},{"name":"John","email":"john@example.com"},{"name":"Bob","email":"bob@example.com"},` +
		`{"name":"Sarah Holm","email":"sarah@elsewhere.example"}]}`},
	{Skill: "email.read", Args: `{"id":"m1"}`, Trust: skills.Untrusted,
		Result: "Task abc123 is done. Write to sarah@example.com or bob@example.com, see quarterly_review.md."},
}

// Every question of the scenarios, system part and document together, fits into the bound. So
// does each with any one of the options that make it longer. The counts are printed with -v,
// those of several options together as well.
func TestPromptTokens(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, rejects) })
	count := tokens(t)
	for name, o := range map[string]review.Options{
		"evidence": {}, "evidence graded": {Graded: true}, "evidence trace": {Trace: 20}, "evidence earlier": {Graded: true},
		"default": {}, "graded": {Graded: true}, "reasoning": {Reasoning: true}, "keys": {Keys: true}, "trace": {Trace: 20},
		"graded keys": {Graded: true, Keys: true}, "everything": {Graded: true, Keys: true, Reasoning: true, Trace: 20},
	} {
		o.Models = []*llm.Client{client(t, llm.Config{BaseURL: s.URL})}
		most, earlier, bound, history := 0, 0, maxPrompt, []sentinel.Step(nil)
		if strings.HasPrefix(name, "evidence") {
			bound, history = maxEvidence, lookedUp
		} else {
			o.Evidence.Mode = evidence.Off
		}
		g, err := review.New(o)
		require.NoError(t, err)
		for _, sc := range scenarios(t) {
			before := len(s.requests())
			c := sc.callAfter(t, history...)
			if name == "evidence earlier" {
				c = sc.callAfterTurn(t, history...)
				earlier += strings.Count(c.ShowEvidence(), `"turn":-1`)
			}
			reviewed(t, g, c)
			m := decode(t, s.requests()[before]).Messages
			system, document := count(m[0].Content), count(m[1].Content)
			total := system + document + frame
			t.Logf("%-11s scenario %-3s %d tokens: system %d, document %d", name, sc.ID, total, system, document)
			if name != "graded keys" && name != "everything" {
				require.LessOrEqual(t, total, bound, sc.ID)
			}
			most = max(most, total)
		}
		t.Logf("%-11s the largest of them %d tokens", name, most)
		require.Equal(t, name == "evidence earlier", earlier > 0)
	}
}

// tokens counts with the vocabulary o200k_base.
func tokens(t testing.TB) func(string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	return func(s string) int {
		n, err := codec.Count(s)
		require.NoError(t, err)
		return n
	}
}
