package intent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
)

func newVocabulary(t testing.TB) *intent.Vocabulary {
	t.Helper()
	v, err := intent.NewVocabulary(intent.VocabularyOptions{
		Actions:   map[string]intent.Risk{"find_experts": intent.Low, "draft_proposal": intent.Medium, "pay": intent.High},
		Expertise: []string{"security", "machine_learning", "law"},
		Entities:  map[string][]string{"region": {"emea", "apac"}},
	})
	require.NoError(t, err)
	return v
}

const whole = `{"action":"find_experts","topic":"Supply Chain Risk Analysis @@#!","expertise":["security","law","security"],
"references":["doc_1234","doc-77","doc_1234"],"confidence":0.9,"constraints":{"budget":{"amount":1200.5,"currency":"EUR"},
"max_results":3,"max_length":200,"deadline":"2026-12-31","domains":["Example.COM"],"entities":[{"kind":"region","name":"emea"}]}}`

func build(t testing.TB, v *intent.Vocabulary, raw string) intent.Intent {
	t.Helper()
	d, err := intent.ReadDraft([]byte(raw))
	require.NoError(t, err)
	i, err := v.Build(d)
	require.NoError(t, err)
	return i
}

// The normal form of the seed document, field by field, and the canonical JSON of it.
func TestBuild(t *testing.T) {
	v := newVocabulary(t)
	i := build(t, v, whole)
	require.Equal(t, "find_experts", i.Action().String())
	require.Equal(t, "supply_chain_risk_analysis", i.Topic().String())
	require.Equal(t, []string{"supply", "chain", "risk", "analysis"}, i.Topic().Words())
	require.Len(t, i.Expertise(), 2, "what stands twice stands once")
	require.Equal(t, "security", i.Expertise()[0].String(), "in its order")
	require.Len(t, i.References(), 2)
	c := i.Constraints()
	m, ok := c.Budget()
	require.True(t, ok)
	require.Equal(t, "1200.50 EUR", m.String())
	require.EqualValues(t, 120050, m.Minor())
	require.Equal(t, 3, c.MaxResults())
	require.Equal(t, 200, c.MaxLength())
	require.Equal(t, "2026-12-31", c.Deadline().String())
	require.Equal(t, "example.com", c.Domains()[0].String())
	require.Equal(t, "emea", c.Entities()[0].Name())
	want := `{"action":"find_experts","constraints":{"deadline":"2026-12-31","domains":["example.com"],` +
		`"entities":[{"kind":"region","name":"emea"}],"max_budget":{"currency":"EUR","minor":120050},"max_length":200,"max_results":3},` +
		`"content_refs":["doc_1234","doc-77"],"expertise":["security","law"],"topic_id":"supply_chain_risk_analysis"}`
	require.Equal(t, want, string(i.Canonical()))
	rfc8785, _, err := sentinel.CanonicalArgs(i.Canonical())
	require.NoError(t, err)
	require.Equal(t, rfc8785, string(i.Canonical()), "the form is that of RFC 8785")
	again, err := v.Build(i.Draft())
	require.NoError(t, err)
	require.True(t, i.Equal(again))
	require.Equal(t, i.Digest(), again.Digest())
	require.Empty(t, i.Diff(again))
	least := build(t, v, `{"action":"pay","constraints":{},"confidence":1}`)
	require.Equal(t, `{"action":"pay"}`, string(least.Canonical()))
	require.Len(t, i.Diff(least), len(intent.FieldNames()))
	require.True(t, intent.Intent{}.IsZero())
}

// What a parser may say and is no intent.
func TestBuildRefuses(t *testing.T) {
	v := newVocabulary(t)
	many := strings.Repeat(`"doc_1",`, 3)
	for i := range 11 {
		many += `"d` + string(rune('a'+i)) + `",`
	}
	for name, c := range map[string]struct {
		fields string
		want   error
	}{
		"unknown action":    {`"action":"find_expert"`, &intent.UnknownError{What: "action", Near: "find_experts"}},
		"unknown expertise": {`"action":"pay","expertise":["magic"]`, &intent.UnknownError{What: "expertise"}},
		"unknown kind": {`"action":"pay","constraints":{"entities":[{"kind":"city","name":"emea"}]}`,
			&intent.UnknownError{What: "entity"}},
		"unknown currency": {`"action":"pay","constraints":{"budget":{"amount":1,"currency":"XYZ"}}`,
			&intent.UnknownError{What: "currency"}},
		"a topic of nothing":    {`"action":"pay","topic":"@@#!"`, intent.ErrTopic},
		"a topic of two faces":  {`"action":"pay","topic":"pаypal"`, intent.ErrTopic},
		"a reference in words":  {`"action":"pay","references":["the first document"]`, intent.ErrReference},
		"a reference of lines":  {`"action":"pay","references":["doc_1\ndoc_2"]`, intent.ErrReference},
		"a long reference":      {`"action":"pay","references":["` + strings.Repeat("a", 101) + `"]`, intent.ErrReference},
		"a path":                {`"action":"pay","references":["../doc"]`, intent.ErrReference},
		"eleven references":     {`"action":"pay","references":[` + strings.TrimSuffix(many, ",") + `]`, intent.ErrTooMany},
		"a negative budget":     {`"action":"pay","constraints":{"budget":{"amount":-5,"currency":"EUR"}}`, intent.ErrRange},
		"a huge budget":         {`"action":"pay","constraints":{"budget":{"amount":999999999999,"currency":"EUR"}}`, intent.ErrRange},
		"thousandths":           {`"action":"pay","constraints":{"budget":{"amount":1.005,"currency":"EUR"}}`, intent.ErrRange},
		"no results":            {`"action":"pay","constraints":{"max_results":0}`, intent.ErrRange},
		"half a result":         {`"action":"pay","constraints":{"max_results":1.5}`, intent.ErrRange},
		"the 30th of February":  {`"action":"pay","constraints":{"deadline":"2026-02-30"}`, intent.ErrDate},
		"a date in words":       {`"action":"pay","constraints":{"deadline":"tomorrow"}`, intent.ErrDate},
		"an address for a host": {`"action":"pay","constraints":{"domains":["https://example.com/x"]}`, intent.ErrDomain},
	} {
		raw := `{` + c.fields + `,"confidence":1}`
		if !strings.Contains(c.fields, "constraints") {
			raw = `{` + c.fields + `,"constraints":{},"confidence":1}`
		}
		d, err := intent.ReadDraft([]byte(raw))
		require.NoError(t, err, name)
		got, err := v.Build(d)
		require.True(t, got.IsZero(), name)
		var unknown *intent.UnknownError
		if errors.As(c.want, &unknown) {
			require.ErrorAs(t, err, &unknown, name)
			require.Equal(t, c.want, unknown, name)
			continue
		}
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := (&intent.Vocabulary{}).Build(intent.Draft{Action: "pay"})
	require.Error(t, err, "the zero vocabulary knows nothing")
}

// Answers of another schema are no drafts.
func TestReadDraftRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"nothing": ``, "no JSON": `find_experts`, "a list": `[]`, "no action": `{"constraints":{},"confidence":1}`,
		"a field too many":    `{"action":"pay","constraints":{},"confidence":1,"note":"x"}`,
		"additional":          `{"action":"pay","constraints":{"additional":{"x":"y"}},"confidence":1}`,
		"twice":               `{"action":"pay","action":"find_experts","constraints":{},"confidence":1}`,
		"another case":        `{"Action":"pay","constraints":{},"confidence":1}`,
		"a number for a text": `{"action":1,"constraints":{},"confidence":1}`,
		"an exponent":         `{"action":"pay","constraints":{"budget":{"amount":1e9,"currency":"EUR"}},"confidence":1}`,
		"a text for a number": `{"action":"pay","constraints":{"max_results":"3"},"confidence":1}`,
		"beyond sure":         `{"action":"pay","constraints":{},"confidence":1.5}`,
		"two":                 `{"action":"pay","constraints":{},"confidence":1}{"action":"pay","constraints":{},"confidence":1}`,
		"no text":             "{\"action\":\"pay\xff\",\"constraints\":{},\"confidence\":1}",
		"too long":            `{"action":"pay","topic":"` + strings.Repeat("a", intent.MaxDraft) + `","constraints":{},"confidence":1}`,
	} {
		_, err := intent.ReadDraft([]byte(raw))
		require.ErrorIs(t, err, intent.ErrDraft, name)
	}
	d, err := intent.ReadDraft([]byte(`{"action":"pay","topic":"","expertise":null,"references":[],"constraints":{"budget":null},` +
		`"confidence":0}`))
	require.NoError(t, err, "what is null is not set")
	require.Nil(t, d.Constraints.Budget)
}

func TestTopics(t *testing.T) {
	for in, want := range map[string]string{
		"Supply Chain Risk Analysis @@#!": "supply_chain_risk_analysis",
		"  spaces   and\ttabs ":           "spaces_and_tabs",
		"3D printing":                     "_3d_printing",
		"_already_an_id":                  "already_an_id",
		"Zürich & Köln":                   "zurich_koln",
		"Маркетинг план":                  "маркетинг_план",
		"供应链 风险":                          "供应链_风险",
		"a\u200bb\u202ec":                 "abc",
		"x'; DROP TABLE users; --":        "x_drop_table_users",
		"../../etc/passwd":                "etc_passwd",
		strings.Repeat("ab ", 80):         strings.Repeat("ab_", 33) + "a",
		"ｗｉｄｅ":                            "wide",
	} {
		got, err := intent.NewTopic(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got.String(), in)
	}
	for _, in := range []string{"", " ", "!!!", "\u200b", "pаypal login", "\xff\xfe"} {
		_, err := intent.NewTopic(in)
		require.ErrorIs(t, err, intent.ErrTopic, "%q", in)
	}
}

// A topic is its own topic, and holds nothing that ends a text, a query or a path.
func TestTopicIsAnID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, err := intent.NewTopic(rapid.String().Draw(t, "text"))
		if err != nil {
			return
		}
		id := got.String()
		require.LessOrEqual(t, utf8.RuneCountInString(id), intent.MaxTopic)
		for i, r := range id {
			digit := r >= '0' && r <= '9'
			require.True(t, r == '_' || unicode.IsLetter(r) || digit && i > 0, "%q", id)
		}
		require.False(t, strings.HasSuffix(id, "_") || strings.Contains(id, "__"))
		again, err := intent.NewTopic(id)
		require.NoError(t, err)
		require.Equal(t, id, again.String())
	})
}

func TestVocabulary(t *testing.T) {
	v := newVocabulary(t)
	pay, err := v.Action("pay")
	require.NoError(t, err)
	require.Equal(t, intent.High, v.Risk(pay))
	require.Equal(t, intent.High, v.Risk(intent.Action{}), "what is unknown is of high risk")
	require.True(t, intent.High.AtLeast(intent.Medium) && intent.Medium.AtLeast(intent.Low) && !intent.Low.AtLeast(intent.Medium))
	for _, r := range []intent.Risk{intent.Low, intent.Medium, intent.High} {
		got, err := intent.ParseRisk(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	_, err = intent.ParseRisk("none")
	require.Error(t, err)
	_, err = intent.NewVocabulary(intent.VocabularyOptions{
		Actions: map[string]intent.Risk{"Find Experts": intent.Low}, Expertise: []string{""}, Entities: map[string][]string{"Region": {"E M"}},
		Currencies: []string{"euro"},
	})
	require.ErrorContains(t, err, "actions.Find Experts")
	require.ErrorContains(t, err, "currencies[0]")
	require.ErrorContains(t, err, "entities.Region")
}

// Whatever a parser writes is an intent of the vocabulary, which reads the same again, or an error.
func FuzzBuild(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"action":"pay","constraints":{"budget":{"amount":0.10,"currency":"USD"}},"confidence":0}`))
	v := newVocabulary(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := intent.ReadDraft(raw)
		if err != nil {
			return
		}
		i, err := v.Build(d)
		if err != nil {
			require.True(t, i.IsZero())
			return
		}
		require.True(t, json.Valid(i.Canonical()))
		require.Contains(t, v.Actions(), i.Action().String())
		again, err := v.Build(i.Draft())
		require.NoError(t, err)
		require.Equal(t, string(i.Canonical()), string(again.Canonical()))
	})
}
