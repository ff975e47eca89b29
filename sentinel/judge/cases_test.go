package judge_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/judge"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

type caseLine struct {
	ID         string  `json:"id"`
	Group      string  `json:"group"`
	Provenance string  `json:"provenance"`
	Request    *string `json:"original_request"`
	Mission    string  `json:"agent_mission"`
	User       string  `json:"user"`
	Action     struct {
		Skill string          `json:"skill_name"`
		Args  json.RawMessage `json:"arguments"`
	} `json:"proposed_action"`
	History []pastCall `json:"history"`
	Want    string     `json:"want"`
}

type pastCall struct {
	Skill  string          `json:"skill_name"`
	Args   json.RawMessage `json:"arguments"`
	Result string          `json:"result"`
	Trust  skills.Trust    `json:"trust"`
}

func caseSkills(t testing.TB) *skills.Registry {
	t.Helper()
	raw, err := os.ReadFile("testdata/skills.yaml")
	require.NoError(t, err)
	var file struct {
		Skills []struct {
			Name        string         `yaml:"name"`
			Description string         `yaml:"description"`
			Effect      skills.Effect  `yaml:"effect"`
			Reaches     skills.Reach   `yaml:"reaches"`
			Parameters  map[string]any `yaml:"parameters"`
		} `yaml:"skills"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &file))
	var list []*skills.Skill
	for _, f := range file.Skills {
		params, err := json.Marshal(f.Parameters)
		require.NoError(t, err)
		if f.Reaches == "" {
			f.Reaches = "self"
		}
		s, err := skills.Compile(skills.Spec{Name: f.Name, Description: f.Description, Effect: f.Effect, Reaches: f.Reaches, Parameters: params})
		require.NoError(t, err, f.Name)
		list = append(list, s)
	}
	r, err := skills.NewRegistry(list...)
	require.NoError(t, err)
	return r
}

func (c caseLine) call(t require.TestingT, reg *skills.Registry) sentinel.Call {
	o := sentinel.GrantOptions{ID: "g", Conversation: "c", Agent: "a", User: c.User, Mission: c.Mission, Request: c.Request}
	var steps []sentinel.Step
	for _, h := range c.History {
		steps = append(steps, sentinel.Step{Skill: h.Skill, Args: string(h.Args), Result: h.Result, Trust: h.Trust})
		o.Tainted = o.Tainted || h.Trust != skills.Trusted
	}
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	out, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{
		Skill: c.Action.Skill, Args: c.Action.Args, Grant: g, Trace: sentinel.NewTrace(steps...),
	})
	require.NoError(t, err)
	return out
}

func caseLines(t testing.TB) []caseLine {
	t.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	var out []caseLine
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c caseLine
		require.NoError(t, json.Unmarshal(sc.Bytes(), &c))
		out = append(out, c)
	}
	return out
}

// Cases that differ in one thing alone, mostly in where a value comes from, are each decided
// as they should be. In each group what a stranger wrote scores no higher than what no text
// holds, and that no higher than what is unknown.
func TestProvenanceCases(t *testing.T) {
	reg := caseSkills(t)
	lines := caseLines(t)
	require.GreaterOrEqual(t, len(lines), 60)
	g, err := judge.New(judge.Options{})
	require.NoError(t, err)
	scores := map[string]map[string]int{}
	for _, c := range lines {
		v, err := g.Check(t.Context(), c.call(t, reg))
		require.NoError(t, err)
		if got := outcomeByRules(v); got.String() != c.Want {
			t.Errorf("%s: %s, want %s: %s", c.ID, got, c.Want, v.Reason)
		}
		if scores[c.Group] == nil {
			scores[c.Group] = map[string]int{}
		}
		scores[c.Group][c.Provenance] = v.Score
	}
	for group, s := range scores {
		order := []string{"untrusted", "nowhere", "unknown", "trusted", "words"}
		for i := range order[1:] {
			low, ok1 := s[order[i]]
			high, ok2 := s[order[i+1]]
			if ok1 && ok2 && low > high {
				t.Errorf("%s: %s scores %d, %s %d", group, order[i], low, order[i+1], high)
			}
		}
	}
}
