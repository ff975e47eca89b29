package evidence_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/runes"
	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// randomInput makes a call whose parts are drawn from few words, so that they meet often. Every text
// of a stranger has "zqstranger" beside each word, every secret "zqsecret".
func randomInput(r *rand.Rand) evidence.Input {
	words := []string{"Eva Lund", "eva.lund@kalmia.example", "eva.lumd@kalmia.example", "praxis@eva-holm.example", "DE44500105175407324931",
		"DE44 5001 0517 5407 3249 13", "T-24", "T-42", "budget.xlsx", "/docs/budget-old.xlsx", "48", "480 EUR", "2026-12-05", "5 December", "Eva",
		"https://kalmia.example/x", "https://kalmia-pay.example", "guest", "budget", "+49 40 2281190", "#team", "at most 40", "editor"}
	pick := func() string { return words[r.IntN(len(words))] }
	say := func(mark string) string {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(mark + pick() + mark + []string{" ", "; ", "\n", " | ", ", "}[r.IntN(5)])
		}
		return b.String()
	}
	in := evidence.Input{Skill: "bank.pay", Effect: skills.Effects()[r.IntN(len(skills.Effects()))], Request: say(""),
		Earlier: []string{say("")},
		Mode:    []evidence.Mode{evidence.Records, evidence.Provenance, evidence.Off}[r.IntN(3)], Keys: r.IntN(4) == 0}
	names := []string{"to", "iban", "path", "amount", "task_id", "url", "start", "note", "role", "quantity"}
	for i, name := range names[:1+r.IntN(len(names))] {
		a := evidence.Argument{Pointer: fmt.Sprintf("/%s/%d", name, i), Name: name, Value: pick(), Declared: r.IntN(3) > 0}
		if r.IntN(5) == 0 {
			a.Marks, a.Value = skills.Secret|skills.Target, "zqsecret"+pick()
		}
		in.Arguments = append(in.Arguments, a)
	}
	for i := range r.IntN(6) {
		s := evidence.Step{Number: i + 1, Skill: "mail.read", Turn: -r.IntN(2), Trust: evidence.Trust(r.IntN(4)), Args: `{"q":"` + pick() + `"}`}
		s.Result = say("")
		switch {
		case s.Trust < evidence.Trusted:
			s.Result = say(" zqstranger ")
		case r.IntN(4) == 0:
			s.Result, s.Sensitive = say(" zqsecret "), true
		case r.IntN(3) == 0:
			b, _ := json.Marshal([]map[string]any{{"name": pick(), "bio": say(" zqstranger "), "mail": pick()}})
			s.Result, s.StrangerFields = string(b), []string{"bio"}
		}
		in.History = append(in.History, s)
	}
	if in.Full = r.IntN(2) == 0; in.Full {
		in.PastGone = r.IntN(5) == 0
		in.Past = randomPast(r, pick, say)
	}
	return in
}

// randomPast makes results of earlier turns as randomInput makes those of this one.
func randomPast(r *rand.Rand, pick func() string, say func(string) string) (out []evidence.Step) {
	n := r.IntN(5)
	for i := range n {
		s := evidence.Step{Number: i - n, Skill: "mail.list", Turn: -1, Trust: evidence.Trust(r.IntN(4)), Args: `{"q":"` + pick() + `"}`,
			Look: r.IntN(2) == 0}
		s.Result = say("")
		switch {
		case s.Trust < evidence.Trusted:
			s.Result = say(" zqstranger ")
		case r.IntN(4) == 0:
			s.Result, s.Sensitive = say(" zqsecret "), true
		case r.IntN(3) == 0:
			b, _ := json.Marshal([]map[string]any{{"name": pick(), "bio": say(" zqstranger "), "mail": pick()}})
			s.Result, s.StrangerFields = string(b), []string{"bio"}
		}
		out = append(out, s)
	}
	return out
}

// What a reviewer alone reads changes nothing of what the rules read: no finding, no doubt, no
// question to a person, and no trust. Only what was seen nowhere may turn out to have been seen.
func TestReviewersPartCountsForNothing(t *testing.T) {
	told := 0
	for i := range uint64(600) {
		in := randomInput(rand.New(rand.NewPCG(16, i))) //nolint:gosec // cases that repeat
		if !in.Full {
			continue
		}
		full := evidence.Build(in)
		plain := in
		plain.Full, plain.Past, plain.PastGone = false, nil, false
		base := evidence.Build(plain)
		require.Equal(t, base.Findings(), full.Findings())
		require.Equal(t, base.Doubts(), full.Doubts())
		require.Equal(t, base.AsksFor(), full.AsksFor())
		for j, n := range base.Named {
			m := full.Named[j]
			require.Equal(t, n.Declared, m.Declared)
			require.Len(t, m.Seen, len(n.Seen))
			for k := range n.Seen {
				require.Equal(t, n.Seen[k].Trust, m.Seen[k].Trust)
			}
			require.Equal(t, n.Rivals, m.Rivals)
			told += len(m.Also)
		}
		require.LessOrEqual(t, len(full.Nowhere), len(base.Nowhere))
	}
	require.Greater(t, told, 50)
}

// checkReport holds a report against what is true of every report.
func checkReport(t testing.TB, in evidence.Input) {
	t.Helper()
	r := evidence.Build(in)
	q, j := r.Question(), string(r.JournalJSON())
	require.LessOrEqual(t, len(q), 1500)
	require.LessOrEqual(t, len(j), 32<<10)
	for _, out := range []string{q, j} {
		require.True(t, out == "" || json.Valid([]byte(out)))
		require.True(t, utf8.ValidString(out))
		require.False(t, strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) || runes.IsInvisible(r) }))
	}
	b, err := json.Marshal(r.Findings())
	require.NoError(t, err)
	out := q + j + string(b) + fmt.Sprintf("%+v", r)
	for _, f := range append(r.Findings(), r.Doubts()...) {
		require.Contains(t, evidence.Signals(), f.Signal)
		out += f.Detail()
	}
	if in.Mode != evidence.All {
		require.NotContains(t, out, "zqstranger", "a stranger's prose")
	}
	require.NotContains(t, out, "zqsecret", "a secret value")
	if in.Effect == skills.Read {
		require.Empty(t, r.Findings())
		require.False(t, r.AsksFor())
	}
	again := evidence.Build(in)
	require.Equal(t, r.Digest(), again.Digest())
	require.Equal(t, q, again.Question())
}

// Evidence of a stranger is never quoted, no secret gets out, and two reports of one call agree.
func TestEveryReport(t *testing.T) {
	for i := range uint64(400) {
		r := rand.New(rand.NewPCG(14, i)) //nolint:gosec // cases that repeat
		in := randomInput(r)
		checkReport(t, in)
	}
}

// Text of a stranger never takes a near miss or a bad origin from a value: with more such text, a
// value that was seen nowhere is nowhere or a stranger's, and what was trusted stays.
func TestStrangersRaiseNoTrust(t *testing.T) {
	for i := range uint64(150) {
		r := rand.New(rand.NewPCG(15, i)) //nolint:gosec // cases that repeat
		in := randomInput(r)
		in.Mode, in.Keys = evidence.Records, false
		before, after := evidence.Build(in), in
		after.History = append(after.History[:len(after.History):len(after.History)], mail(99, randomInput(r).Request))
		more := evidence.Build(after)
		for _, n := range before.Named {
			for _, m := range more.Named {
				if len(n.Seen) == 0 && len(m.Seen) > 0 && n.Kind == m.Kind && n.Declared == m.Declared && n.Declared != "" {
					require.Equal(t, evidence.Stranger, m.Seen[0].Trust)
				}
				if len(n.Seen) > 0 && len(m.Seen) > 0 && n.Kind == m.Kind && n.Declared == m.Declared && n.Declared != "" {
					require.Equal(t, n.Seen[0].Trust, m.Seen[0].Trust)
				}
			}
		}
	}
}

func FuzzBuild(f *testing.F) {
	for _, s := range hostileSeeds() {
		f.Add(s.request, s.value, s.trusted, s.stranger)
	}
	f.Fuzz(func(t *testing.T, request, value, trusted, stranger string) {
		if len(request)+len(value)+len(trusted)+len(stranger) > 1<<16 || strings.Contains(request+value+trusted, "zq") {
			return
		}
		for _, name := range []string{"to", "iban", "amount", "url", "path", "start", "task_id", "note"} {
			checkReport(t, evidence.Input{Skill: "bank.pay", Effect: skills.CostsMoney, Request: request,
				Arguments: []evidence.Argument{argument(name, value), argument("password", "zqsecret", skills.Secret)},
				Full:      name != "note", Past: []evidence.Step{{Number: -2, Skill: "notes.get", Turn: -1, Trust: evidence.Trusted, Look: true,
					Result: trusted}, {Number: -1, Skill: "mail.read", Turn: -1, Result: "zqstranger " + stranger}},
				History: []evidence.Step{{Number: 1, Skill: "notes.get", Trust: evidence.Trusted, Result: trusted, Look: true},
					{Number: 2, Skill: "bank.list", Look: true, Result: "zqstranger " + strings.ReplaceAll(stranger, " ", " zqstranger ")}}})
		}
	})
}

type seed struct{ request, value, trusted, stranger string }

func hostileSeeds() []seed {
	return []seed{
		{"Tell Eva that I'm late", "eva.lumd@kalmia.example", evas, "Eva Lund eva.lund@kalmia.test"},
		{"Pay 48 EUR, at most 50", "DE44 5001 0517 5407 3249 13", `{"iban":"DE44500105175407324931","sum":48}`, "480"},
		{"> From: x\n“" + strings.Repeat("a", 200) + "”", "https://xn--kalmi-8ve.example/x", `[{"a":{"b":[1,true,null,"x\ny"]}}] tail`, `{"a":`},
		{"5 December\u202e", "2026-12-05", "eva;|; / ；|\u0301é\u200b", "\xff\xfe"},
		{"fifteen", "50", "amount 60 amount 40 10%", "1'000,50 € +49 40 2281190 DE44 5001"},
		{"", "T-24", strings.Repeat("eva ", 600), strings.Repeat("[", 100)},
	}
}

func FuzzReadResult(f *testing.F) {
	for _, s := range hostileSeeds() {
		f.Add(s.trusted)
		f.Add(s.stranger)
	}
	f.Fuzz(func(t *testing.T, result string) {
		r := evidence.ReadResult(result, "bio")
		require.NotNil(t, r)
		in := twoEvas("eva.lund@kalmia.example")
		in.History = []evidence.Step{{Number: 1, Skill: "a.b", Trust: evidence.Trusted, Result: result, Read: r}}
		report := evidence.Build(in)
		require.True(t, report.Question() == "" || json.Valid([]byte(report.Question())))
	})
}
