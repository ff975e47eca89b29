package labelled

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// testCall and testStep are the parts of a case in the words of a configuration.
type testCall struct {
	Skill string          `json:"skill"`
	Args  json.RawMessage `json:"args,omitempty"`
}

type testStep struct {
	Skill  string          `json:"skill"`
	Args   json.RawMessage `json:"args,omitempty"`
	Result string          `json:"result"`
	Trust  string          `json:"trust"`
}

// WriteExpectation returns a case as an item of a configuration's tests, in YAML, and whether all of the case is in
// it: a test knows no request of an earlier turn. It holds values. What a configuration would replace, such as
// ${NAME}, is written so that it stands for itself.
func WriteExpectation(raw json.RawMessage) (text string, whole bool, err error) {
	var c caseLine
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", false, fmt.Errorf("a case can't be read: %w", err)
	}
	var b strings.Builder
	add := func(key string, value any) {
		line, merr := plainjson.Marshal(value)
		if merr != nil && err == nil {
			err = merr
		}
		fmt.Fprintf(&b, "%s: %s\n", key, strings.ReplaceAll(string(line), "${", "$${"))
	}
	add("  - name", "decision "+c.ID+": "+c.Action.Skill)
	add("    call", testCall{c.Action.Skill, c.Action.Args})
	for _, one := range []struct{ key, value string }{{"user", c.User}, {"agent", c.Agent}, {"mission", c.Mission}} {
		if one.value != "" {
			add("    "+one.key, one.value)
		}
	}
	if c.Request != nil && *c.Request != "" {
		add("    request", *c.Request)
	}
	steps := []testStep{}
	for _, h := range c.History {
		if h.Turn == 0 {
			steps = append(steps, testStep{h.Skill, h.Args, h.Result, h.Trust})
		}
	}
	if len(steps) > 0 {
		add("    history", steps)
	}
	add("    expect", c.Category)
	return b.String(), len(steps) == len(c.History) && len(c.Earlier) == 0 && len(c.Lacks) == 0, err
}
