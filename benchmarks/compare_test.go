package benchmarks

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
)

var letter = strings.Repeat("Dear Ada, here is what was said today. ", 256) // 10 KB

// calls are what all three engines answer, and how.
var calls = []struct {
	name, skill, user, args, want string
}{
	{"inside", "email.send", "ada", `{"to":"ada@example.com","body":"the notes"}`, "allow"},
	{"outside", "email.send", "ada", `{"to":"bob@evil.test","body":"the notes"}`, "ask"},
	{"outside, ours within", "email.send", "ada", `{"to":"ada@example.com.evil.test","body":"x"}`, "ask"},
	{"letter", "email.send", "ada", `{"to":"ada@example.com","body":"` + letter + `"}`, "allow"},
	{"guest deletes", "tasks.delete", "guest-7", `{"id":"T-9"}`, "deny"},
	{"staff deletes", "tasks.delete", "ada", `{"id":"T-9"}`, "allow"},
	{"no guest by half a name", "tasks.delete", "guest", `{"id":"T-9"}`, "allow"},
	{"workspace", "fs.write", "ada", `{"path":"/workspace/notes/today.md","text":"milk"}`, "allow"},
	{"elsewhere", "fs.write", "ada", `{"path":"/etc/passwd","text":"milk"}`, "deny"},
	{"neighbour", "fs.write", "ada", `{"path":"/workspace2/a","text":"milk"}`, "deny"},
	{"a little", "pay.send", "ada", `{"to":"ACC-7","amount":20}`, "allow"},
	{"at the bound", "pay.send", "ada", `{"to":"ACC-7","amount":100}`, "allow"},
	{"more", "pay.send", "ada", `{"to":"ACC-7","amount":101}`, "ask"},
	{"too much", "pay.send", "ada", `{"to":"ACC-7","amount":1001}`, "deny"},
	{"negative", "pay.send", "ada", `{"to":"ACC-7","amount":-5}`, "allow"},
	{"in no rule", "calendar.read", "ada", `{"day":"2026-03-04"}`, "deny"},
	{"guest reads", "calendar.read", "guest-7", `{"day":"2026-03-04"}`, "deny"},
}

func marshal(tb testing.TB, skill, user, args string) []byte {
	tb.Helper()
	raw, err := json.Marshal(document{skill, user, json.RawMessage(args)})
	require.NoError(tb, err)
	return raw
}

// The three engines answer each call alike, from prepared input and from
// bytes, and with a hundred rules about other skills.
func TestSameOutcome(t *testing.T) {
	for _, others := range []int{0, 100} {
		ours, o, c := newOffice(t, others), newOPA(t, others), newCedar(t, others)
		for _, tc := range calls {
			t.Run(tc.name, func(t *testing.T) {
				call, err := ours.all.NewCall(sentinel.Proposal{Skill: tc.skill, Args: []byte(tc.args), Grant: grantFor(t, tc.user)})
				require.NoError(t, err)
				v, err := ours.rules.Check(t.Context(), call)
				require.NoError(t, err)
				require.Equal(t, tc.want, v.Outcome.String(), v.Reason)

				raw := marshal(t, tc.skill, tc.user, tc.args)
				in, err := o.parse(raw)
				require.NoError(t, err)
				for _, got := range []func() (string, error){
					func() (string, error) { return o.parsed(t.Context(), in) },
					func() (string, error) { return o.raw(t.Context(), raw) },
					func() (string, error) { return c.raw(raw) },
				} {
					out, err := got()
					require.NoError(t, err)
					require.Equal(t, tc.want, out)
				}
			})
		}
	}
}

// All gates together are never milder than the rules.
func TestGatesAreNoMilder(t *testing.T) {
	ours := newOffice(t, 0)
	for _, tc := range calls {
		call, err := ours.all.NewCall(sentinel.Proposal{Skill: tc.skill, Args: []byte(tc.args), Grant: grantFor(t, tc.user)})
		require.NoError(t, err)
		d, err := ours.all.Decide(t.Context(), call)
		require.NoError(t, err)
		require.LessOrEqual(t, strictness[tc.want], strictness[d.Outcome.String()], "%s: %s after %s", tc.name, d.Outcome, d.Code)
	}
}

var strictness = map[string]int{"allow": 1, "ask": 2, "defer": 3, "deny": 4}

// measured are the calls of the benchmark: one of each outcome, and a long one.
var measured = []string{"inside", "outside", "guest deletes", "workspace", "letter"}

// BenchmarkRules puts each call to the three engines in turns. "rules" is the
// rules alone, all input prepared; "bytes" starts from JSON for all; "gates" is
// Vedette from the arguments' bytes through all gates that work by rules, for
// which the other two have no counterpart.
func BenchmarkRules(b *testing.B) {
	for _, set := range []struct {
		name   string
		others int
	}{{"9 rules", 0}, {"109 rules", 100}} {
		ours, o, c := newOffice(b, set.others), newOPA(b, set.others), newCedar(b, set.others)
		for _, tc := range calls {
			if !slices.Contains(measured, tc.name) {
				continue
			}
			b.Run(set.name+"/"+tc.name, func(b *testing.B) {
				prop := sentinel.Proposal{Skill: tc.skill, Args: []byte(tc.args), Grant: grantFor(b, tc.user)}
				raw := marshal(b, tc.skill, tc.user, tc.args)
				call, err := ours.all.NewCall(prop)
				require.NoError(b, err)
				in, err := o.parse(raw)
				require.NoError(b, err)
				entities, req, err := c.build(raw)
				require.NoError(b, err)
				check := func(call sentinel.Call) (string, error) {
					v, err := ours.rules.Check(b.Context(), call)
					return v.Outcome.String(), err
				}
				inTurns(b, tc.want, []entrant{
					{"rules-vedette", func() (string, error) { return check(call) }},
					{"rules-opa", func() (string, error) { return o.parsed(b.Context(), in) }},
					{"rules-cedar", func() (string, error) { return c.built(entities, req) }},
					{"bytes-vedette", func() (string, error) {
						call, err := ours.all.NewCall(prop)
						if err != nil {
							return "", err
						}
						return check(call)
					}},
					{"bytes-opa", func() (string, error) { return o.raw(b.Context(), raw) }},
					{"bytes-cedar", func() (string, error) { return c.raw(raw) }},
					{"gates-vedette", func() (string, error) {
						call, err := ours.all.NewCall(prop)
						if err != nil {
							return "", err
						}
						d, err := ours.all.Decide(b.Context(), call)
						if err == nil && strictness[d.Outcome.String()] < strictness[tc.want] {
							return d.Outcome.String(), nil
						}
						return tc.want, err
					}},
				})
			})
		}
	}
}

type entrant struct {
	name string
	run  func() (string, error)
}

// inTurns runs all entrants one after the other in each round, so that all
// meet the same machine, and reports the median and the 99th percentile of each.
func inTurns(b *testing.B, want string, all []entrant) {
	b.Helper()
	took := make([][]time.Duration, len(all))
	for b.Loop() {
		for i, e := range all {
			start := time.Now()
			got, err := e.run()
			took[i] = append(took[i], time.Since(start))
			if err != nil || got != want {
				b.Fatal(e.name, got, err)
			}
		}
	}
	for i, e := range all {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds()), e.name+"-p50-ns")
		b.ReportMetric(float64(took[i][len(took[i])*99/100].Nanoseconds()), e.name+"-p99-ns")
	}
	b.ReportMetric(0, "ns/op") // a round of all seven says nothing
}
