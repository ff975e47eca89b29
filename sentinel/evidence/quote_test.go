package evidence_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// holder keeps a report where fmt can't call its methods.
type holder struct{ report evidence.Report }

// Nothing prints, logs or marshals what a report quotes.
func TestQuotesHide(t *testing.T) {
	in := twoEvas("eva.lumd@kalmia.example")
	in.Arguments = append(in.Arguments, evidence.Argument{Pointer: "/zqpointer", Name: "account", Value: "DE44500105175407324913"})
	in.Request += " by 5 December, zqword"
	in.History = append(in.History, evidence.Step{Number: 2, Skill: "tasks.get", Trust: evidence.Trusted, Result: "T-24 zqword"})
	in.Arguments = append(in.Arguments, argument("task_id", "T-24"))
	r := evidence.Build(in)
	require.Contains(t, r.Question(), "eva.lund@kalmia.example", "there is something to hide")
	require.Contains(t, r.Question(), "zqpointer")
	require.Contains(t, r.Question(), "zqword")

	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("told", "report", r, "pointer", &r, "quote", r.Named[0].Near[0].Value, "named", r.Named, "held", holder{r})
	}
	printed := log.String()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed += fmt.Sprintf(verb, r) + fmt.Sprintf(verb, &r) + fmt.Sprintf(verb, holder{r}) + fmt.Sprintf(verb, r.Named[0].Near[0].Value)
	}
	for _, word := range []string{"kalmia", "zqpointer", "zqword", "DE44", "de44", "6b616c6d6961"} {
		require.NotContains(t, printed, word)
	}
	_, err := json.Marshal(r)
	require.ErrorIs(t, err, evidence.ErrQuote)
	_, err = json.Marshal(r.Named[0].Near[0])
	require.ErrorIs(t, err, evidence.ErrQuote)
	_, err = json.Marshal(map[evidence.Quote]int{r.Named[0].Near[0].Value: 1})
	require.ErrorContains(t, err, evidence.ErrQuote.Error())
	require.False(t, r.Named[0].Near[0].Value.IsZero())
	require.True(t, evidence.Quote{}.IsZero())

	b, err := json.Marshal(r.Findings())
	require.NoError(t, err, "findings are for records")
	require.NotContains(t, string(b), "kalmia")
	require.NotContains(t, string(b), "zq")
}

func TestModes(t *testing.T) {
	in := twoEvas("eva.lumd@kalmia.example")
	in.History = append(in.History, mail(2, "Eva Lund eva.lumd@kalmia.example zqprose"))
	in.Arguments = append(in.Arguments, argument("amount", json.Number("96")))
	in.Request = "Pay Eva 48 EUR twice"
	build := func(m evidence.Mode) evidence.Report {
		in.Mode = m
		return evidence.Build(in)
	}
	records, provenance, off, all := build(evidence.Records), build(evidence.Provenance), build(evidence.Off), build(evidence.All)
	require.Contains(t, records.Question(), "head of department")
	require.NotContains(t, records.Question(), "zqprose")
	require.Contains(t, all.Question(), "zqprose")

	for _, word := range []string{"head of", "eva.lund", "holm", "zqprose", "48"} {
		require.NotContains(t, provenance.Question(), word)
		require.NotContains(t, string(provenance.JournalJSON()), word)
	}
	require.Contains(t, provenance.Question(), `"how":"edited","in":"contacts.lookup#1","trust":"trusted"`)
	require.Contains(t, provenance.Question(), `"made_of":"number * number (request, request)"`)
	require.Empty(t, off.Question())
	require.Nil(t, off.JournalJSON())
	require.Equal(t, records.Findings(), off.Findings(), "near misses are found in every mode")
	require.NotEmpty(t, off.Findings())
	require.Contains(t, string(records.JournalJSON()), "head of department")

	for _, m := range []evidence.Mode{evidence.Records, evidence.Provenance, evidence.Off, evidence.All} {
		got, err := evidence.ParseMode(m.String())
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	m, err := evidence.ParseMode("")
	require.NoError(t, err)
	require.Equal(t, evidence.Records, m)
	_, err = evidence.ParseMode("record")
	require.EqualError(t, err, "evidence: unknown mode; use one of records, provenance, all, off")
}

// Where values are withheld, so is each name that no schema declares.
func TestKeysWithhold(t *testing.T) {
	in := twoEvas("eva.lumd@kalmia.example")
	in.Keys = true
	in.Request = "Tell Eva Holm zqword for 48"
	in.Arguments = append(in.Arguments, evidence.Argument{Pointer: "/zqname/zqinner", Name: "zqinner", Value: "DE44500105175407324913"},
		evidence.Argument{Pointer: "/zqswitch", Name: "can_zqswitch", Value: true}, evidence.Argument{Pointer: "/fields/zqkey", Name: "iban",
			Declared: true,
			Value:    "DE44500105175407324914"}, argument("amount", json.Number("96")))
	in.Carries = []evidence.Carried{{Argument: "/zqcarry", Step: 1, How: "verbatim"}, {Argument: "/body/zqitem", Declared: true, Step: 1,
		How: "verbatim"}}
	r := evidence.Build(in)
	for _, out := range []string{r.Question(), string(r.JournalJSON())} {
		for _, word := range []string{"zq", "eva", "Eva", "kalmia", "holm", "DE44", "de44", "48", "96"} {
			require.NotContains(t, out, word)
		}
		for _, word := range []string{`"arg":"/to"`, `"undeclared"`, `"/fields"`, `"how":"edited"`, "/body verbatim #1"} {
			require.Contains(t, out, word)
		}
	}
}

// No value that is secret or sensitive, and nothing beside one, gets out in any mode.
func TestSecretsAreNeverQuoted(t *testing.T) {
	for _, mode := range []evidence.Mode{evidence.Records, evidence.Provenance, evidence.All} {
		in := twoEvas("eva.lund@kalmia.example")
		in.Mode = mode
		in.Arguments = append(in.Arguments, argument("password", "zq-Tulip-77", skills.Secret),
			argument("target", "zq-secret@kalmia.example", skills.Secret, skills.Target),
			evidence.Argument{Pointer: "/iban", Name: "iban", Value: "DE44500105175407324913", Declared: true, Sensitive: true})
		in.History = []evidence.Step{lookup(1, "Eva Lund, eva.lund@kalmia.example, ZQ-tulip-77\nEva zq-secrets@kalmia.example\n"+
			"Eva DE44500105175407324931, her account"),
			{Number: 2, Skill: "vault.get", Trust: evidence.Trusted, Sensitive: true,
				Result: "Eva zqsensitive eva.lund@kalmia.example eva.holm@kalmia.example"}}
		checkHidesSecrets(t, in)

		in.Full, in.Past = true, slices.Clone(in.History) // the same in an earlier turn
		checkHidesSecrets(t, in)
		for i := range in.Past {
			in.Past[i].Number, in.Past[i].Turn, in.Past[i].Look = i-len(in.Past), -1, true
		}
		in.History[0].Result = "Eva zq-secrets@kalmia.example"
		checkHidesSecrets(t, in)
		in.Past[0].Result = "Eva Lund, eva.lund@kalmia.example, zq-secretz@kalmia.example"
		checkHidesSecrets(t, in)
	}
}

func checkHidesSecrets(t *testing.T, in evidence.Input) {
	t.Helper()
	r := evidence.Build(in)
	out := r.Question() + string(r.JournalJSON()) + fmt.Sprint(r.Findings())
	for _, word := range []string{"zq-", "ZQ-", "zqsensitive", "77", "DE44", "de44", "her account", "eva.holm"} {
		require.NotContains(t, out, word, in.Mode)
	}
	require.Contains(t, out, `"arg":"/target"`, "where it was seen is told")
	require.Contains(t, out, "near_miss_edited")
	require.NotContains(t, out, "/password")
}
