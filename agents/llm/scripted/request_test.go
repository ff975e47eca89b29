package scripted

import (
	"errors"
	"testing"
)

// Every refusal of a request is a badRequest, and what is accepted can be viewed.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f",` +
		`"arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":""}],"tools":[{"type":"function","function":{"name":"f"}}],` +
		`"tool_choice":"auto"}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object",` +
		`"properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := parseRequest(body)
		if err != nil {
			var known *badRequest
			if !errors.As(err, &known) {
				t.Fatalf("not a bad request: %v", err)
			}
			return
		}
		v := newView(r)
		if v.Turn < 1 || v.Results < 0 || v.describeRequest() == "" {
			t.Fatalf("odd view %+v", v)
		}
		if !(&when{}).matchesView(v) {
			t.Fatal("a rule without conditions does not match")
		}
	})
}
