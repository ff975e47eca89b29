package agents

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Whatever a model sends, a proposal is either an error or a name and bytes
// that stand in what was sent, as they are or as one JSON string.
func FuzzProposal(f *testing.F) {
	for _, s := range []string{
		`{"skill":"a.b","arguments":{"x":1,"x":2}}`, `{"skill":"a.b","arguments":"{\"x\":1}"}`, `{"skill":"a.b"}`,
		`{"arguments":{},"skill":"\u0061.b"}`, `{"skill":"a","skill":"b"}`, `{"skill":"a","sk\u0069ll":"b"}`, `[]`, ``, `{`, `null`,
		`{"skill":null}`, `{"skill":"a.b","arguments":{"x":"\ud800"}}`, "{\"skill\":\"a.b\",\"arguments\":{\"\xff\":1}}",
		`{"skill":"a","arguments":{}}x`,
		`{"skill":"a","arguments":` + strings.Repeat("[", 20_000),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		skill, args, err := readProposal(raw)
		switch {
		case err != nil:
			if skill != "" || args != nil {
				t.Fatal("an error came with a proposal")
			}
		case skill == "":
			t.Fatal("a proposal without a name")
		case args != nil && !strings.Contains(raw, string(args)):
			if !quoted(raw, args) {
				t.Fatalf("the arguments %q are not in %q", args, raw)
			}
		}
		if h, err := readHelp(raw); err == nil && (h.Reason == "" || len(h.Skills) > maxHelpSkills) {
			t.Fatalf("help without bounds: %+v", h)
		}
	})
}

// quoted reports whether args is the text of a JSON string in raw.
func quoted(raw string, args []byte) bool {
	var doc struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	var s string
	return json.Unmarshal([]byte(raw), &doc) == nil && json.Unmarshal(doc.Arguments, &s) == nil && bytes.Equal([]byte(s), args)
}
