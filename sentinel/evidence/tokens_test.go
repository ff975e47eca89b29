package evidence_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// maxTokens is what a question about an ordinary call may take with evidence; frame is what a
// chat format adds to two messages, as package review counts it.
const (
	maxTokens = 900
	frame     = 3*2 + 2 + 3
)

// asked is a question of package review's ten scenarios, as it is sent.
type asked struct {
	Messages []struct {
		Content string `json:"content"`
	} `json:"messages"`
}

// describedCall is what of such a question's document evidence is made from.
type describedCall struct {
	Request   string         `json:"original_request"`
	Arguments map[string]any `json:"arguments"`
	Skill     struct {
		Name   string        `json:"name"`
		Effect skills.Effect `json:"effect"`
	} `json:"skill"`
}

// readScenarios reads the questions of the ten scenarios.
func readScenarios(t *testing.T) (list []asked) {
	t.Helper()
	f, err := os.Open("../review/testdata/requests.golden.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a asked
		require.NoError(t, json.Unmarshal(lines.Bytes(), &a))
		require.Len(t, a.Messages, 2)
		list = append(list, a)
	}
	require.NoError(t, lines.Err())
	require.GreaterOrEqual(t, len(list), 10)
	return list
}

// Each question of the ten scenarios fits into its bound with evidence and with the words on how to
// read it: with an empty history, and with the largest evidence that there may be.
func TestScenarioTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	count := func(s string) int {
		n, err := codec.Count(s)
		require.NoError(t, err)
		return n
	}
	words := count(evidence.Instructions)
	require.LessOrEqual(t, words, 200)
	most := 0
	for _, a := range readScenarios(t) {
		var d describedCall
		require.NoError(t, json.Unmarshal([]byte(a.Messages[1].Content), &d))
		in := evidence.Input{Skill: d.Skill.Name, Effect: d.Skill.Effect, Request: d.Request}
		for name, v := range d.Arguments {
			in.Arguments = append(in.Arguments, argument(name, v))
		}
		in.History = []evidence.Step{lookup(1, `{"contacts":[{"name":"Sarah Lund","email":"sarah@example.com"},`+
			`{"name":"John","email":"john@example.com"},`+
			`{"name":"Bob","email":"bob@example.com"},{"name":"Sarah Holm","email":"sarah@elsewhere.example"}]}`), mail(2, "abc123")}
		r := evidence.Build(in)
		total := count(a.Messages[0].Content) + count(a.Messages[1].Content) + frame + words + count(`,"evidence":`+r.Question())
		require.LessOrEqual(t, total, maxTokens)
		most = max(most, total)
	}
	t.Logf("words on reading %d, the largest question %d tokens", words, most)
	require.False(t, strings.Contains(evidence.Instructions, "\n\n"), "one paragraph")
}
