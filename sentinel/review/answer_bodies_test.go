package review_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// An approval counts where the API says that an answer stands, and nowhere else:
// what stands beside it in other letters neither replaces nor hides it.
func TestBodies(t *testing.T) {
	yes, no := `"{\"decision\":\"approve\",\"reason\":\"x\"}"`, `"{\"decision\":\"reject\",\"reason\":\"x\"}"`
	message := func(content, more string) string { return `{"role":"assistant","content":` + content + more + `}` }
	choice := func(content, more string) string {
		return `{"index":0,"finish_reason":"stop","message":` + message(content, more) + `}`
	}
	only := func(choice string) string { return `{"choices":[` + choice + `]}` }
	begun := func(fields string) string { return only(`{` + fields + `,"message":` + message(yes, "") + `}`) }
	const calls = `,"tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{}"}}]`
	rows := []struct {
		name, body string
		outcome    sentinel.Outcome
		failure    review.Failure
	}{
		{"an approval", only(choice(yes, "")), sentinel.Allow, ""},
		{"an approval without an end", begun(`"index":0`), sentinel.Allow, ""},
		{"an approval whose end is null", begun(`"finish_reason":null`), sentinel.Allow, ""},
		{"an approval in two parts",
			only(choice(`[{"type":"text","text":"{\"decision\":\"app"},{"type":"text","text":"rove\",\"reason\":\"x\"}"}]`, "")),
			sentinel.Allow, ""},
		{"usage beyond all numbers", `{"choices":[` + choice(yes, "") + `],"usage":{"prompt_tokens":1e400}}`, sentinel.Allow, ""},
		{"usage below zero", `{"choices":[` + choice(yes, "") + `],"usage":{"prompt_tokens":-5,"total_tokens":-9223372036854775808}}`,
			sentinel.Allow, ""},
		{"a name that only looks like refusal", only(choice(yes, `,"refuſal":"no"`)), sentinel.Allow, ""},
		{"a rejection and choices with a long s", `{"choices":[` + choice(no, "") + `],"choiceſ":[` + choice(yes, "") + `]}`, sentinel.Deny, ""},
		{"a rejection and a message with a long s", only(`{"finish_reason":"stop","message":` + message(no, "") + `,"meſsage":` + message(yes,
			"") + `}`), sentinel.Deny, ""},
		{"an end hidden by a long s", begun(`"finish_reason":"length","finiſh_reason":"stop"`), sentinel.Ask, review.Length},
		{"a refusal hidden by a long s", only(choice(yes, `,"refusal":"no","refuſal":""`)), sentinel.Ask, review.Refusal},
		{"a refusal of white space", only(choice(yes, `,"refusal":" "`)), sentinel.Ask, review.Refusal},
		{"a refusal beside an approval, in parts", only(choice(`[{"type":"text","text":`+yes+`},{"type":"refusal","refusal":"no"}]`, "")),
			sentinel.Ask, review.Refusal},
		{"a call hidden by a long s", only(choice(yes, calls+`,"tool_callſ":[]`)), sentinel.Ask, review.BadShape},
		{"a legacy call", only(choice(yes, `,"function_call":{"name":"x","arguments":"{}"}`)), sentinel.Ask, review.BadShape},
		{"an image beside an approval", only(choice(`[{"type":"text","text":`+yes+`},{"type":"image_url","image_url":{"url":"x"}}]`, "")),
			sentinel.Ask, review.BadShape},
		{"choices in capitals", `{"Choices":[` + choice(yes, "") + `]}`, sentinel.Ask, review.BadShape},
		{"content in capitals", only(`{"finish_reason":"stop","message":{"role":"assistant","CONTENT":` + yes + `}}`), sentinel.Ask,
			review.Empty},
		{"a field of a library", only(choice(`""`, `,"MultiContent":[{"type":"text","text":`+yes+`}]`)), sentinel.Ask, review.Empty},
		{"an approval over two fields",
			only(choice(`"{\"decision\":\"app"`, `,"multicontent":[{"type":"text","text":"rove\",\"reason\":\"x\"}"}]`)), sentinel.Ask,
			review.NotJSON},
		{"an error in escapes", `{"\u0065rror":{"code":"server_error"},"choices":[` + choice(yes, "") + `]}`, sentinel.Ask, review.BadShape},
		{"an error in the choice", begun(`"error":{"code":502}`), sentinel.Ask, review.BadShape},
		{"another index", begun(`"index":5`), sentinel.Ask, review.BadShape},
		{"an index below zero", begun(`"index":-1`), sentinel.Ask, review.BadShape},
		{"another role", only(`{"finish_reason":"stop","message":{"role":"user","content":` + yes + `}}`), sentinel.Ask, review.BadShape},
		{"two choices", `{"choices":[` + choice(yes, "") + `,` + choice(no, "") + `]}`, sentinel.Ask, review.BadShape},
		{"choices twice", `{"choices":[` + choice(no, "") + `],"choices":[` + choice(yes, "") + `]}`, sentinel.Ask, review.NotJSON},
		{"a byte order mark", "\ufeff" + only(choice(yes, "")), sentinel.Ask, review.NotJSON},
		{"an approval in what may be read", only(choice(yes, `,"reasoning_content":"`+strings.Repeat("a", 200<<10)+`"`)), sentinel.Allow, ""},
		{"an approval in more than may be read", only(choice(yes, `,"reasoning_content":"`+strings.Repeat("a", 256<<10)+`"`)), sentinel.Ask,
			review.BadShape},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, row.body)
			})
			v := check(t, gate(t, review.Options{}, s.URL), call(t, proposal{skill: "self.irreversible"}))
			require.Equal(t, row.outcome, v.Outcome)
			require.Equal(t, string(row.failure), v.Meta["failure"])
		})
	}
}
