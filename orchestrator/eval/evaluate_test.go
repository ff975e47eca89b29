package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/orchestrator/eval"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

const granted = `"granted_skills":["email.*","num.add"]`

// varying is what differs between two runs, or is a gate's own to tune: times,
// and how much the judge scores.
var (
	varying = regexp.MustCompile(`"(elapsed_us|score)":[0-9.]+`)
	written = regexp.MustCompile(`"ts":"[0-9TZ:.-]+"`)
)

// The output for a corpus of good and bad lines is what the golden file holds,
// times and scores aside. UPDATE=1 writes it again.
func TestGolden(t *testing.T) {
	var out strings.Builder
	err := evaluator(t).Each(t.Context(), strings.NewReader(readFile(t, "../cases/testdata/check.jsonl")), 1,
		func(_ int, r eval.Result) error {
			line := varying.ReplaceAllString(string(r.JSON()), `"$1":0`)
			out.WriteString(written.ReplaceAllString(line, `"ts":""`) + "\n")
			return nil
		})
	require.NoError(t, err)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("../cases/testdata/check.golden.jsonl", []byte(out.String()), 0o644))
	}
	want := strings.Split(readFile(t, "../cases/testdata/check.golden.jsonl"), "\n")
	got := strings.Split(out.String(), "\n")
	require.Len(t, got, len(want))
	for i := range want {
		if want[i] == "" {
			require.Empty(t, got[i])
			continue
		}
		require.JSONEq(t, want[i], got[i], "line %d", i+1)
	}
}

// A line that is no case gives an error of its kind, under its id where that
// could be read, and no value of the line.
func TestNoCase(t *testing.T) {
	ok := `"proposed_action":{"skill_name":"email.search","arguments":{}}`
	for _, tc := range []struct{ name, line, code, id string }{
		{"empty", ``, cases.CodeSyntax, ""},
		{"blank", `   `, cases.CodeSyntax, ""},
		{"binary", "\x00\x01\xff\xfe", cases.CodeSyntax, ""},
		{"cut off", `{"id":"CANARY","proposed_action":{`, cases.CodeSyntax, ""},
		{"two objects", `{"id":"1",` + ok + `}{}`, cases.CodeSyntax, ""},
		{"trailing comma", `{"id":"1",` + ok + `,}`, cases.CodeSyntax, ""},
		{"list", `["CANARY"]`, cases.CodeType, ""},
		{"text", `"CANARY"`, cases.CodeType, ""},
		{"id is an object", `{"id":{},` + ok + `}`, cases.CodeType, ""},
		{"id twice", `{"id":"1","id":"2",` + ok + `}`, cases.CodeDuplicate, ""},
		{"grant twice", `{"id":"1","granted_skills":[],"granted_skills":["email.*"],` + ok + `}`, cases.CodeDuplicate, ""},
		{"escaped twin", `{"id":"1","user":"a","us\u0065r":"b",` + ok + `}`, cases.CodeDuplicate, ""},
		{"no action", `{"id":"7"}`, cases.CodeMissing, "7"},
		{"null action", `{"id":"7","proposed_action":null}`, cases.CodeMissing, "7"},
		{"action is a list", `{"id":"7","proposed_action":[]}`, cases.CodeType, "7"},
		{"no skill", `{"id":"7","proposed_action":{"arguments":{}}}`, cases.CodeMissing, "7"},
		{"skill is a number", `{"id":"7","proposed_action":{"skill_name":1}}`, cases.CodeType, "7"},
		{"unknown key of the action", `{"id":"7","proposed_action":{"skill_name":"email.search","argument":{"a":"CANARY"}}}`, cases.CodeUnknown,
			"7"},
		{"other case in the action", `{"id":"7","proposed_action":{"Skill_name":"email.search"}}`, cases.CodeUnknown, "7"},
		{"arguments twice", `{"id":"7","proposed_action":{"skill_name":"email.search","arguments":{},"arguments":{}}}`, cases.CodeDuplicate, "7"},
		{"grants are a text", `{"id":"7","granted_skills":"email.search",` + ok + `}`, cases.CodeType, "7"},
		{"a grant is null", `{"id":"7","granted_skills":[null],` + ok + `}`, cases.CodeType, "7"},
		{"a grant of all", `{"id":"7","granted_skills":["*"],` + ok + `}`, cases.CodeValue, "7"},
		{"a grant is a pattern", `{"id":"7","granted_skills":["email.s*CANARY"],` + ok + `}`, cases.CodeValue, "7"},
		{"request is a list", `{"id":"7","original_request":[],` + ok + `}`, cases.CodeType, "7"},
		{"broken text", "{\"id\":\"7\",\"original_request\":\"\xff\"," + ok + `}`, cases.CodeUTF8, "7"},
		{"half a surrogate", `{"id":"7","agent_mission":"\ud800",` + ok + `}`, cases.CodeUTF8, "7"},
		{"agent too long", `{"id":"7","agent_id":"` + strings.Repeat("x", 300) + `",` + ok + `}`, cases.CodeValue, "7"},
		{"history is an object", `{"id":"7","history":{},` + ok + `}`, cases.CodeType, "7"},
		{"unknown key of the history", `{"id":"7","history":[{"skill_name":"a.b","trusted":true}],` + ok + `}`, cases.CodeUnknown, "7"},
		{"history without a skill", `{"id":"7","history":[{}],` + ok + `}`, cases.CodeMissing, "7"},
		{"unknown trust", `{"id":"7","history":[{"skill_name":"a.b","trust":"CANARY"}],` + ok + `}`, cases.CodeValue, "7"},
		{"arguments of the history", `{"id":"7","history":[{"skill_name":"a.b","arguments":{"a":"CANARY","a":2}}],` + ok + `}`, cases.CodeValue,
			"7"},
		{"turn to come", `{"id":"7","history":[{"skill_name":"a.b","turn":1}],` + ok + `}`, cases.CodeValue, "7"},
		{"half a turn", `{"id":"7","history":[{"skill_name":"a.b","turn":-0.5}],` + ok + `}`, cases.CodeValue, "7"},
		{"turn beyond all", `{"id":"7","history":[{"skill_name":"a.b","turn":-10001}],` + ok + `}`, cases.CodeValue, "7"},
		{"turn is a word", `{"id":"7","history":[{"skill_name":"a.b","turn":"CANARY"}],` + ok + `}`, cases.CodeType, "7"},
		{"earlier request is one", `{"id":"7","earlier_requests":"CANARY",` + ok + `}`, cases.CodeType, "7"},
		{"earlier request is null", `{"id":"7","earlier_requests":[null],` + ok + `}`, cases.CodeType, "7"},
		{"earlier request is a number", `{"id":"7","earlier_requests":["CANARY",1],` + ok + `}`, cases.CodeType, "7"},
		{"earlier requests twice", `{"id":"1","earlier_requests":[],"earlier_requests":[],` + ok + `}`, cases.CodeDuplicate, ""},
		{"result of the history", `{"id":"7","history":[{"skill_name":"a.b","result":{}}],` + ok + `}`, cases.CodeType, "7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := evaluate(t, evaluator(t), tc.line)
			require.NotNil(t, r.Err)
			require.Equal(t, tc.code, r.Err.Code, r.Err.Message)
			require.NotContains(t, r.Err.Message, "CANARY")
			var out struct {
				ID    string
				Error struct{ Code, Message string }
			}
			require.NoError(t, json.Unmarshal(r.JSON(), &out))
			require.Equal(t, tc.id, out.ID)
			require.Equal(t, tc.code, out.Error.Code)
			require.Equal(t, string(r.JSON()), string(r.LabelledJSON()))
		})
	}
}

// A key in a message is escaped and cut, so that it can't write to a terminal.
func TestShownKey(t *testing.T) {
	r := evaluate(t, evaluator(t), `{"proposed_action":{"skill_name":"a.b","\u001b[31m`+strings.Repeat("é", 100)+`":1}}`)
	require.Equal(t, cases.CodeUnknown, r.Err.Code)
	require.Contains(t, r.Err.Message, `"\x1b[31m\u00e9`)
	require.Less(t, len(r.Err.Message), 300)
}

// Arguments that can't become a call are denied by parse: no gate was reached
// and there is no digest. The bytes are those of the line, so nothing was
// repaired on the way.
func TestRefused(t *testing.T) {
	deep := strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100)
	abyss := strings.Repeat(`{"a":[`, 50_000) + `"]}"` + strings.Repeat(`]}`, 50_000)
	for _, tc := range []struct{ name, args, code string }{
		{"duplicate key", `{"to":"a","to":"b"}`, sentinel.CodeDuplicate},
		{"duplicate key inside", `{"a":[{"b":1,"b":2}]}`, sentinel.CodeDuplicate},
		{"escaped duplicate", `{"to":"a","t\u006f":"b"}`, sentinel.CodeDuplicate},
		{"folded key", `{"to":"a","To":"b"}`, sentinel.CodeFolded},
		{"number", `{"a":9007199254740993}`, sentinel.CodeNumber},
		{"huge number", `{"a":1e999}`, sentinel.CodeNumber},
		{"deep", `{"a":` + deep + `}`, sentinel.CodeTooDeep},
		{"deeper than parsers go", `{"a":` + abyss + `}`, sentinel.CodeTooDeep},
		{"large", `{"a":"` + strings.Repeat("x", sentinel.MaxArgs) + `"}`, sentinel.CodeTooLarge},
		{"broken text", "{\"a\":\"\xff\"}", sentinel.CodeUTF8},
		{"half a surrogate", `{"a":"\ud800"}`, sentinel.CodeSyntax},
		{"list", `[]`, sentinel.CodeNotObject},
		{"null", `null`, sentinel.CodeNotObject},
		{"text", `"{}"`, sentinel.CodeNotObject},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := evaluate(t, evaluator(t), `{"id":"7",`+granted+`,"proposed_action":{"skill_name":"num.add","arguments":`+tc.args+`}}`)
			require.Nil(t, r.Err)
			l := r.Decision.Line(r.Case.ID)
			require.Equal(t, "deny", l.Decision)
			require.Equal(t, "parse", *l.BlockedBy)
			require.Equal(t, tc.code, l.Code)
			require.Nil(t, l.Digest)
			require.Len(t, l.Gates, len(sentinel.GateNames()))
			for _, g := range l.Gates {
				require.Equal(t, "not_reached", g.Outcome)
			}
		})
	}
	t.Run("no skill name", func(t *testing.T) {
		r := evaluate(t, evaluator(t), `{"proposed_action":{"skill_name":"","arguments":{}}}`)
		require.Nil(t, r.Err)
		require.Equal(t, sentinel.CodeNoSkill, r.Decision.Code)
	})
}

// spy keeps the proposal that a line became.
type spy struct {
	eval.Decider
	last sentinel.Proposal
}

func (s *spy) NewCall(p sentinel.Proposal) (sentinel.Call, error) {
	s.last = p
	return s.Decider.NewCall(p)
}

// What the line says of its grant, and nothing else, is the grant; what it
// leaves out grants nothing and is trusted in nothing.
func TestProposal(t *testing.T) {
	s := &spy{Decider: checkpoint(t)}
	e := eval.NewEvaluator(eval.Options{Decider: s})

	t.Run("defaults", func(t *testing.T) {
		r := evaluate(t, e, `{"proposed_action":{"skill_name":"email.search"},"note":{"a":1,"a":2}}`)
		require.Nil(t, r.Err)
		g := s.last.Grant
		_, asked := g.Request()
		require.False(t, asked)
		require.Equal(t, []any{"agent", "", "check", "", true, false},
			[]any{g.Agent(), g.User(), g.Conversation(), g.Mission(), g.Scope().Empty(), g.Tainted()})
		require.Equal(t, sentinel.ByOrchestrator, g.MissionBy())
		require.Equal(t, "scope", r.Decision.BlockedBy)
	})
	t.Run("everything", func(t *testing.T) {
		evaluate(t, e,
			`{"id":12,"original_request":"","agent_mission":"find it","agent_id":"email_agent","user":"u1","granted_skills":["email.search"],
			"proposed_action":{"skill_name":"email.search","arguments":{ "query" : "1.0" }},
			"history":[{"skill_name":"email.read","arguments":{"b":1.0,"a":2},"result":"words","trust":"trusted"}]}`)
		g := s.last.Grant
		req, asked := g.Request()
		require.True(t, asked)
		require.Empty(t, req)
		require.Equal(t, []any{"email_agent", "u1", "find it", false}, []any{g.Agent(), g.User(), g.Mission(), g.Tainted()})
		require.Equal(t, `{ "query" : "1.0" }`, string(s.last.Args))
		require.Equal(t, 1, s.last.Trace.Len())
		require.Equal(t, sentinel.Step{Skill: "email.read", CallID: "history-1", Args: `{"a":2,"b":1}`, Result: "words", Trust: skills.Trusted},
			s.last.Trace.Step(0))
	})
	t.Run("a step of a known skill has its effect", func(t *testing.T) {
		evaluate(t, e,
			`{"proposed_action":{"skill_name":"email.search"},"history":[{"skill_name":"email.search","result":"x","trust":"trusted"}]}`)
		require.Equal(t, skills.Read, s.last.Trace.Step(0).Effect)
	})
	t.Run("history without trust taints", func(t *testing.T) {
		evaluate(t, e,
			`{"proposed_action":{"skill_name":"email.search"},"history":[{"skill_name":"a.b","trust":"trusted"},{"skill_name":"a.b"}]}`)
		require.True(t, s.last.Grant.Tainted())
	})
	t.Run("all grants", func(t *testing.T) {
		wide := eval.NewEvaluator(eval.Options{Decider: s, AllGrants: true})
		evaluate(t, wide,
			`{"granted_skills":["email.search"],"granted_skills_all":["email.search","email.send"],"proposed_action":{"skill_name":"email.search"}}`)
		require.Equal(t, []string{"email.search", "email.send"}, s.last.Grant.Scope().List())
		evaluate(t, wide, `{"granted_skills":["email.search"],"proposed_action":{"skill_name":"email.search"}}`)
		require.Equal(t, []string{"email.search"}, s.last.Grant.Scope().List())
		evaluate(t, e, `{"granted_skills":["email.search"],"granted_skills_all":["email.send"],"proposed_action":{"skill_name":"email.search"}}`)
		require.Equal(t, []string{"email.search"}, s.last.Grant.Scope().List())
	})
}

// A digest repeats for the same line and changes with every field of the grant,
// with the skill and with the arguments.
func TestDigest(t *testing.T) {
	e := evaluator(t)
	line := func(request, mission, agent, user, scope, trust, args string) string {
		return fmt.Sprintf(`{"original_request":%s,"agent_mission":%q,"agent_id":%q,"user":%q,"granted_skills":[%q],`+
			`"history":[{"skill_name":"a.b","trust":%q}],
			"proposed_action":{"skill_name":"email.search","arguments":%s}}`, request, mission, agent, user, scope, trust, args)
	}
	digest := func(s string) string { return evaluate(t, e, strings.ReplaceAll(s, "\n", "")).Decision.Digest }
	base := digest(line(`"r"`, "m", "a", "u", "email.*", "trusted", `{"query":"q"}`))
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, base)
	require.Equal(t, base, digest(line(`"r"`, "m", "a", "u", "email.*", "trusted", `{ "query" : "\u0071" }`)))
	seen := map[string]bool{base: true}
	for _, other := range []string{
		line(`null`, "m", "a", "u", "email.*", "trusted", `{"query":"q"}`), line(`""`, "m", "a", "u", "email.*", "trusted", `{"query":"q"}`),
		line(`"r"`, "n", "a", "u", "email.*", "trusted", `{"query":"q"}`), line(`"r"`, "m", "b", "u", "email.*", "trusted", `{"query":"q"}`),
		line(`"r"`, "m", "a", "v", "email.*", "trusted", `{"query":"q"}`), line(`"r"`, "m", "a", "u", "email.search", "trusted", `{"query":"q"}`),
		line(`"r"`, "m", "a", "u", "email.*", "untrusted", `{"query":"q"}`), line(`"r"`, "m", "a", "u", "email.*", "trusted", `{"query":"p"}`),
	} {
		d := digest(other)
		require.False(t, seen[d], "a digest repeats")
		seen[d] = true
	}
}

type broken struct{ eval.Decider }

func (broken) NewCall(sentinel.Proposal) (sentinel.Call, error) { panic("CANARY") }

// A panic is an error line; it ends nothing and tells no value.
func TestPanic(t *testing.T) {
	e := eval.NewEvaluator(eval.Options{Decider: broken{}})
	r := evaluate(t, e, `{"id":"7","proposed_action":{"skill_name":"a.b"}}`)
	require.Equal(t, cases.CodeInternal, r.Err.Code)
	require.NotContains(t, string(r.JSON()), "CANARY")
	require.Equal(t, "7", r.Case.ID)
}

// The time of a decision counts the making of the call as well.
func TestElapsed(t *testing.T) {
	var ticks atomic.Int64
	now := func() time.Time { return time.Unix(0, ticks.Add(int64(time.Millisecond))) }
	e := eval.NewEvaluator(eval.Options{Decider: checkpoint(t), Now: now})
	r := evaluate(t, e, `{"proposed_action":{"skill_name":"num.add"}}`)
	require.Equal(t, int64(1000), r.Decision.Line("").ElapsedUS)
}

// Lines are told in their order, whatever the number of jobs, and a line that
// is too long is one error.
func TestEachOrder(t *testing.T) {
	var in strings.Builder
	for i := range 500 {
		if i == 77 {
			in.WriteString(`{"id":"` + strings.Repeat("x", cases.MaxLine) + "\"}\r\n")
			continue
		}
		fmt.Fprintf(&in, `{"id":"%d",%s,"proposed_action":{"skill_name":"num.add","arguments":{"a":%d}}}`+"\n", i, granted, i)
	}
	text := strings.TrimSuffix(in.String(), "\n")
	for _, jobs := range []int{0, 1, 7} {
		t.Run(fmt.Sprintf("%d jobs", jobs), func(t *testing.T) {
			next := 0
			err := evaluator(t).Each(t.Context(), iotest.HalfReader(strings.NewReader(text)), jobs, func(n int, r eval.Result) error {
				require.Equal(t, next+1, n)
				if next == 77 {
					require.Equal(t, cases.CodeTooLong, r.Err.Code)
				} else {
					require.Nil(t, r.Err)
					require.Equal(t, fmt.Sprint(next), r.Case.ID)
				}
				next++
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 500, next)
		})
	}
}

// What ends the work is returned, and nothing goes on after it.
func TestEachErrors(t *testing.T) {
	good := `{"proposed_action":{"skill_name":"num.add"}}` + "\n"
	for _, jobs := range []int{1, 4} {
		t.Run(fmt.Sprintf("fn, %d jobs", jobs), func(t *testing.T) {
			want, calls := errors.New("full"), 0
			err := evaluator(t).Each(t.Context(), strings.NewReader(strings.Repeat(good, 200)), jobs, func(int, eval.Result) error {
				calls++
				return want
			})
			require.ErrorIs(t, err, want)
			require.Equal(t, 1, calls)
		})
		t.Run(fmt.Sprintf("input, %d jobs", jobs), func(t *testing.T) {
			want := errors.New("unplugged")
			err := evaluator(t).Each(t.Context(), io.MultiReader(strings.NewReader(good), iotest.ErrReader(want)), jobs,
				func(int, eval.Result) error { return nil })
			require.ErrorIs(t, err, want)
		})
		t.Run(fmt.Sprintf("context, %d jobs", jobs), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			err := evaluator(t).Each(ctx, strings.NewReader(strings.Repeat(good, 200)), jobs, func(int, eval.Result) error {
				cancel()
				return nil
			})
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// Whatever a line holds, there is one line for it, it is JSON, and where it is a
// decision the line was JSON of one object.
func FuzzEvaluate(f *testing.F) {
	for _, s := range strings.Split(readFile(f, "../cases/testdata/check.jsonl"), "\n") {
		f.Add([]byte(s))
	}
	f.Add([]byte("\x00\xff"))
	f.Add([]byte(`{"proposed_action":{"skill_name":"num.add","arguments":` + strings.Repeat("[", 2000)))
	e := evaluator(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := e.Evaluate(t.Context(), line)
		require.NoError(t, err)
		out := r.JSON()
		require.True(t, json.Valid(out))
		require.NotContains(t, string(out), "\n")
		if r.Err == nil {
			require.True(t, json.Valid(line) || r.Decision.Code == sentinel.CodeTooDeep)
			require.NotEqual(t, cases.CodeInternal, r.Decision.Code)
		} else {
			require.NotEqual(t, cases.CodeInternal, r.Err.Code)
		}
	})
}
