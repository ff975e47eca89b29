package sentinel_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// letterWith is a call that writes to somebody after results.
func letterWith(t testing.TB, o sentinel.GrantOptions, trace sentinel.Trace, ev sentinel.EvidenceOptions) sentinel.Call {
	t.Helper()
	s, err := skills.Compile(skills.Spec{Name: "letters.send", Effect: skills.Irreversible, Reaches: skills.Others,
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","x-target":true},` +
			`"body":{"type":"string","x-content":true},"pin":{"type":"string","x-secret":true}}}`)})
	require.NoError(t, err)
	reg, err := skills.NewRegistry(s)
	require.NoError(t, err)
	o.ID, o.Conversation, o.Agent = "g", "c", "a"
	g, err := sentinel.NewGrant(o)
	require.NoError(t, err)
	c, err := sentinel.NewCall(reg, touch.Env{NoFS: true}, sentinel.Proposal{Skill: "letters.send", Grant: g, Trace: trace, Evidence: ev,
		Args: []byte(`{"to":"lund@quay.test","body":"Hello","pin":"PINCANARY"}`)})
	require.NoError(t, err)
	return c
}

// The question tells where a value was seen and how far that place may be believed.
func TestEvidenceTellsWhereValuesWereSeen(t *testing.T) {
	request := "Write to Eva Lund"
	step := func(trust skills.Trust, result string) sentinel.Step {
		return sentinel.Step{Skill: "contacts.lookup", CallID: "x", Args: `{}`, Result: result, Trust: trust, Effect: skills.Read}
	}
	record := `{"contacts":[{"name":"Eva Lund","email":"lund@quay.test"}]}`
	sensitive, failed := step(skills.Trusted, record), step(skills.Trusted, record)
	sensitive.Sensitive, failed.Failed = true, true
	subjects := step(skills.Trusted, `{"name":"Eva Lund","about":{"text":"write to lund@quay.test"}}`)
	subjects.StrangerFields = []string{"about"}
	for name, tc := range map[string]struct {
		request string
		trace   sentinel.Trace
		has     []string
		hasNot  []string
	}{
		"nowhere":          {request, sentinel.Trace{}, []string{`"nowhere":["/to"]`}, nil},
		"the user's words": {"Write to lund@quay.test", sentinel.Trace{}, []string{`"trust":"user"`}, []string{"nowhere"}},
		"pasted words": {"Write to her\n> lund@quay.test", sentinel.Trace{}, []string{`"in":"pasted","trust":"stranger"`},
			[]string{`"trust":"user"`}},
		"a trusted record": {request, sentinel.NewTrace(step(skills.Trusted, record)),
			[]string{`contacts.lookup#1`, `"trust":"trusted"`, "Eva Lund"}, nil},
		"a stranger's":    {request, sentinel.NewTrace(step(skills.Untrusted, record)), []string{`"trust":"stranger"`}, []string{"Eva Lund"}},
		"sensitive":       {request, sentinel.NewTrace(sensitive), []string{`"trust":"trusted"`}, []string{"Eva Lund"}},
		"an error's text": {request, sentinel.NewTrace(failed), []string{`"trust":"stranger"`}, []string{"Eva Lund"}},
		"a field that its subject writes": {request, sentinel.NewTrace(subjects), []string{`"trust":"stranger"`},
			[]string{`"trust":"trusted"`, "write to"}},
		"repeated by a trusted store": {request, sentinel.NewTrace(step(skills.Untrusted, record), step(skills.Trusted, record)),
			[]string{`"trust":"tainted"`}, []string{"Eva Lund"}},
		"an earlier turn": {request, sentinel.NewTrace().WithEarlier(step(skills.Untrusted, record)),
			[]string{`"in":"contacts.lookup","turn":-1,"trust":"stranger"`}, []string{"Eva Lund"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := letterWith(t, sentinel.GrantOptions{Request: &tc.request}, tc.trace, sentinel.EvidenceOptions{}).ShowEvidence()
			for _, s := range tc.has {
				require.Contains(t, q, s)
			}
			for _, s := range append(tc.hasNot, "PINCANARY") {
				require.NotContains(t, q, s)
			}
		})
	}
}

// Where a value stood in an earlier turn is told to the reviewer, and the rules know nothing of it.
func TestEvidenceTellsOfEarlierTurns(t *testing.T) {
	request := "and the new address too"
	step := func(trust skills.Trust) sentinel.Step {
		return sentinel.Step{Skill: "contacts.lookup", CallID: "x", Args: `{}`, Trust: trust, Effect: skills.Read,
			Result: `{"contacts":[{"name":"Eva Lund","email":"lund@quay.test","about":"PROSECANARY lund@quay.test"}]}`}
	}
	failed, sensitive, subjects, secret := step(skills.Trusted), step(skills.Trusted), step(skills.Trusted), step(skills.Trusted)
	failed.Failed, sensitive.Sensitive, subjects.StrangerFields = true, true, []string{"email", "about"}
	secret.Result = strings.Replace(secret.Result, "Eva", "PINCANARY", 1)
	for name, tc := range map[string]struct {
		past   []sentinel.PastResult
		has    string
		quoted bool
	}{
		"a trusted record":                {[]sentinel.PastResult{{Step: step(skills.Trusted)}}, `"turn":-1,"trust":"trusted"`, true},
		"a sensitive one":                 {[]sentinel.PastResult{{Step: sensitive}}, `"turn":-1,"trust":"trusted"`, false},
		"with the call's secret":          {[]sentinel.PastResult{{Step: secret}}, `"turn":-1,"trust":"trusted"`, false},
		"an error's text":                 {[]sentinel.PastResult{{Step: failed}}, `"turn":-1,"trust":"stranger"`, false},
		"a field that its subject writes": {[]sentinel.PastResult{{Step: subjects}}, `"turn":-1,"trust":"stranger"`, false},
		"a stranger's":                    {[]sentinel.PastResult{{Step: step(skills.Untrusted)}}, `"turn":-1,"trust":"stranger"`, false},
		"a stranger had it before": {[]sentinel.PastResult{{Step: step(skills.Untrusted)}, {Step: step(skills.Trusted)}},
			`"turn":-1,"trust":"tainted"`, false},
		"something is no longer known": {[]sentinel.PastResult{{Step: sentinel.Step{Skill: "a.b", Sensitive: true}, Gone: true},
			{Step: step(skills.Trusted)}}, `"turn":-1,"trust":"tainted"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := letterWith(t, sentinel.GrantOptions{Request: &request}, sentinel.NewTrace(), sentinel.EvidenceOptions{})
			c := letterWith(t, sentinel.GrantOptions{Request: &request}, sentinel.NewTrace().WithPastResults(tc.past...),
				sentinel.EvidenceOptions{})
			q := c.ShowEvidence()
			require.Contains(t, q, tc.has)
			require.Equal(t, tc.quoted, strings.Contains(q, "Eva Lund"), q)
			require.NotContains(t, q, "nowhere")
			require.NotContains(t, q+string(c.ReviewEvidence().JournalJSON()), "PINCANARY")
			require.NotEqual(t, before.EvidenceKey(), c.EvidenceKey(), "a cached answer is of other evidence")

			require.Equal(t, before.Evidence().Question(), c.Evidence().Question(), "without a review nothing is looked for")
			near, doubts, asks := c.NearMisses()
			nearBefore, doubtsBefore, asksBefore := before.NearMisses()
			require.Equal(t, []any{nearBefore, doubtsBefore, asksBefore}, []any{near, doubts, asks})
		})
	}
}

// The user's earlier words count as the user's.
func TestEvidenceKnowsEarlierWords(t *testing.T) {
	request := "yes, do it"
	c := letterWith(t, sentinel.GrantOptions{Request: &request, Earlier: []sentinel.EarlierTurn{{Words: "Write to lund@quay.test"}}},
		sentinel.Trace{}, sentinel.EvidenceOptions{})
	require.Contains(t, c.ShowEvidence(), `"in":"earlier","turn":-1,"trust":"user"`)
}

// Modes show less, find the same near misses, and have another digest. Copies share their evidence.
func TestEvidenceModes(t *testing.T) {
	request := "Write to Eva Lund"
	trace := sentinel.NewTrace(sentinel.Step{Skill: "contacts.lookup", Trust: skills.Trusted,
		Result: "Eva Lund lurd@quay.test, lund@quay.test"})
	seen := map[string]bool{}
	for _, word := range []string{"records", "provenance", "all", "off"} {
		o, err := sentinel.ParseEvidence(word)
		require.NoError(t, err)
		c := letterWith(t, sentinel.GrantOptions{Request: &request}, trace, o)
		require.False(t, seen[c.EvidenceKey()])
		seen[c.EvidenceKey()] = true
		require.Equal(t, word == "off", c.ShowEvidence() == "")
		require.Same(t, c.Evidence(), c.WithEvidence(o).Evidence())
		require.NotSame(t, c.Evidence(), c.WithEvidence(sentinel.EvidenceOptions{Mode: o.Mode, Keys: true}).Evidence())
		require.NotContains(t, c.WithEvidence(sentinel.EvidenceOptions{Mode: o.Mode, Keys: true}).ShowEvidence(), "lund")
	}
	_, err := sentinel.ParseEvidence("some")
	require.ErrorContains(t, err, "sentinel.evidence: ")
	require.Equal(t, evidence.Records, sentinel.EvidenceOptions{}.Mode)
}

// A trusted result that comes from elsewhere, or with another trust, makes other evidence.
func TestEvidenceDigestKnowsTrust(t *testing.T) {
	request := "Write to Eva Lund"
	key := func(trust skills.Trust) string {
		return letterWith(t, sentinel.GrantOptions{Request: &request},
			sentinel.NewTrace(sentinel.Step{Skill: "contacts.lookup", Trust: trust, Result: "Eva Lund lund@quay.test"}),
			sentinel.EvidenceOptions{}).EvidenceKey()
	}
	require.NotEqual(t, key(skills.Trusted), key(skills.Untrusted))
	again := key(skills.Trusted)
	require.Equal(t, key(skills.Trusted), again)
}

// A judgement by other evidence than the call's spends no doubt.
func TestDoubtsAreSpentByThisEvidence(t *testing.T) {
	judge := doubted(sentinel.Ask, "other_topic")
	for _, own := range []bool{true, false} {
		b := newBench(t, nil, says("judge", judge), gate{sentinel.GateReview, reviewBy(judge.Evidence, own)})
		c, err := b.NewCall(sentinel.Proposal{Skill: "test.do", Grant: grant(t)})
		require.NoError(t, err)
		d, err := b.Decide(t.Context(), c)
		require.NoError(t, err)
		v, _ := d.Verdict(sentinel.GateJudge)
		require.Equal(t, own, v.Doubt.State == sentinel.DoubtSpent, fmt.Sprint(own))
		require.Equal(t, own, d.Outcome == sentinel.Allow)
	}
}

// reviewBy is a review that spends doubts by the call's own evidence, or by other evidence.
func reviewBy(spent []sentinel.Evidence, own bool) func(context.Context, sentinel.Call) (sentinel.Verdict, error) {
	return func(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
		v := approved(spent)
		if v.SpentEvidence = c.EvidenceKey(); !own {
			v.SpentEvidence = strings.Repeat("0", 63) + "1"
		}
		return v, nil
	}
}

// What is quoted goes into the journal alone.
func TestQuotesAreForTheJournal(t *testing.T) {
	request := "Write to Eva Lund"
	c := letterWith(t, sentinel.GrantOptions{Request: &request},
		sentinel.NewTrace(sentinel.Step{Skill: "contacts.lookup", Trust: skills.Trusted, Result: "Eva Lund QUOTECANARY lund@quay.test"}),
		sentinel.EvidenceOptions{})
	require.Contains(t, string(c.Evidence().JournalJSON()), "QUOTECANARY")
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", c.Evidence(), *c.Evidence(), c.Evidence())} {
		require.NotContains(t, text, "QUOTECANARY")
	}
	_, err := json.Marshal(c.Evidence())
	require.ErrorIs(t, err, evidence.ErrQuote)
}
