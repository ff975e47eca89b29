package grammar_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/grammar"
)

// saturday is the day by which the tests count.
var saturday = time.Date(2026, 11, 28, 15, 0, 0, 0, time.UTC)

func options() grammar.Options {
	return grammar.Options{
		Languages: []string{"en", "de", "es", "fr"},
		Actions: map[string][]string{
			"find_experts": {"find * experts", "find * expert", "find experts", "suche * experten", "finde * experten", "busca * expertos",
				"trouve * experts", "trouvez * experts", "найди * экспертов"},
			"summarize":      {"summari*", "zusammenfass*", "fasse * zusammen", "resume", "resumez"},
			"draft_proposal": {"draft * proposal", "write * proposal", "entwirf * angebot"},
			"pay":            {"pay", "transfer * money"},
		},
		Expertise: map[string][]string{"security": {"security", "sicherheit*", "seguridad", "securite"},
			"machine_learning": {"machine learning", "ml"}},
		Topics:   map[string][]string{"supply_chain": {"supply chain", "lieferkette*", "cadena de suministro"}},
		Entities: map[string]map[string][]string{"region": {"emea": {"europe", "europa"}, "apac": {"asia", "asien"}}},
		Currency: "EUR", References: []string{"doc_", "REF-"},
	}
}

func compile(t testing.TB, o grammar.Options) *grammar.Grammar {
	t.Helper()
	g, err := grammar.Compile(o)
	require.NoError(t, err)
	return g
}

// want is what a draft holds, as text.
func show(d intent.Draft) string {
	out := []string{d.Action}
	add := func(name, value string) {
		if value != "" {
			out = append(out, name+"="+value)
		}
	}
	add("topic", d.Topic)
	add("expertise", strings.Join(d.Expertise, ","))
	add("refs", strings.Join(d.References, ","))
	c := d.Constraints
	if c.Budget != nil {
		add("budget", string(c.Budget.Amount)+" "+c.Budget.Currency)
	}
	if c.MaxResults != nil {
		add("results", string(*c.MaxResults))
	}
	if c.MaxLength != nil {
		add("length", string(*c.MaxLength))
	}
	if c.Deadline != nil {
		add("deadline", *c.Deadline)
	}
	add("domains", strings.Join(c.Domains, ","))
	for _, e := range c.Entities {
		add(e.Kind, e.Name)
	}
	return strings.Join(out, " ")
}

func TestRead(t *testing.T) {
	g := compile(t, options())
	for _, row := range [][2]string{
		{"Find experts", "find_experts"},
		{"FIND  me some\tEXPERTS!", "find_experts"},
		{
			"Find me three security experts for the supply chain under 5,000 €",
			"find_experts topic=supply_chain expertise=security budget=5000 EUR results=3",
		},
		{
			"find 12 machine learning experts about drone swarms, by Friday",
			"find_experts topic=drone swarms expertise=machine_learning results=12 deadline=2026-12-04",
		},
		{"Find experts on ocean plastics with a budget of 1.5k", "find_experts topic=ocean plastics budget=1500 EUR"},
		{"Find experts for five thousand two hundred euros", "find_experts budget=5200 EUR"},
		{"find experts, $ 20 million at most", "find_experts budget=20000000 USD"},
		{"find experts for EUR 1.200,50", "find_experts budget=1200.50 EUR"},
		{"find experts for 1,200.50 dollars", "find_experts budget=1200.50 USD"},
		{"find experts for £99", "find_experts budget=99 GBP"},
		{"find experts for 1'000'000 CHF", "find_experts budget=1000000 CHF"},
		{"find experts for 0 euros", "find_experts budget=0 EUR"},
		{"find the top 5 experts", "find_experts results=5"},
		{"find a dozen experts", "find_experts results=12"},
		{"find twenty-one experts", "find_experts results=21"},
		{"find one hundred and five experts", "find_experts results=105"},
		{"find an expert", "find_experts"},
		{"find experts in Europe by 2026-12-31", "find_experts deadline=2026-12-31 region=emea"},
		{"find experts by 31.12.2026", "find_experts deadline=2026-12-31"},
		{"find experts by 31.12.", "find_experts deadline=2026-12-31"},
		{"find experts by December 31st, 2026", "find_experts deadline=2026-12-31"},
		{"find experts by 31st of December", "find_experts deadline=2026-12-31"},
		{"find experts by 1 February", "find_experts deadline=2027-02-01"},
		{"find experts by 12/31/2026", "find_experts deadline=2026-12-31"},
		{"find experts by 3/4/2027", "find_experts deadline=2027-04-03"},
		{"find experts within two weeks", "find_experts deadline=2026-12-12"},
		{"find experts until tomorrow", "find_experts deadline=2026-11-29"},
		{"find experts by next Saturday", "find_experts deadline=2026-12-05"},
		{"Summarise doc_1234 and doc_77 in at most 200 words", "summarize refs=doc_1234,doc_77 length=200"},
		{"summarize REF-9a, then doc_1234", "summarize refs=REF-9a,doc_1234"},
		{"summarize mydoc_1", "summarize"},
		{"find experts, site example.com only", "find_experts domains=example.com"},
		{
			"Suche drei Experten für Sicherheit in der Lieferkette, höchstens zweitausendfünfhundert Euro, bis Freitag",
			"find_experts topic=supply_chain expertise=security budget=2500 EUR results=3 deadline=2026-12-04",
		},
		{"Finde dreiundzwanzig Experten in Asien", "find_experts results=23 region=apac"},
		{"Fasse doc_1 in fünfzig Wörtern zusammen", "summarize refs=doc_1 length=50"},
		{
			"Busca dos expertos en seguridad sobre cadena de suministro por quinientos euros",
			"find_experts topic=supply_chain expertise=security budget=500 EUR results=2",
		},
		{"Trouve quatre-vingt-dix experts avant le 3 mars", "find_experts results=90 deadline=2027-03-03"},
		{"Trouvez deux cents experts en sécurité", "find_experts expertise=security results=200"},
		{"Найди 3 экспертов", "find_experts results=3"},
		{"Write a proposal about \"solar roofs\"", "draft_proposal"},
		{"Write a proposal about solar roofs. Thanks, it is for Ann", "draft_proposal topic=solar roofs"},
		{
			"draft the proposal regarding R&D of batteries below 9000 euros",
			"draft_proposal topic=r & d of batteries budget=9000 EUR",
		},
		{"Find experts for me about 3D printing", "find_experts topic=3 d printing"},
		{"find exp\u200berts", "find_experts"},
		{"ｆｉｎｄ ｅｘｐｅｒｔｓ", "find_experts"},
	} {
		text, want := row[0], row[1]
		d, err := g.Read(text, saturday)
		require.NoError(t, err, text)
		require.Equal(t, want, show(d), text)
		require.InDelta(t, 1, d.Confidence, 0)
	}
}

func TestReadRefuses(t *testing.T) {
	g := compile(t, options())
	for text, want := range map[string]error{
		"":                          grammar.ErrNoAction,
		"hello there":               grammar.ErrNoAction,
		"the expert finds me":       grammar.ErrNoAction,
		"find. experts":             grammar.ErrNoAction,
		"find experts and pay them": grammar.ErrAmbiguous,
		"Find experts. No, rather summarise doc_1": grammar.ErrAmbiguous,
		`find experts {"action":"pay"}`:            grammar.ErrAmbiguous,
		"don't find experts":                       grammar.ErrNegated,
		"Do not pay":                               grammar.ErrNegated,
		"Bitte nicht zusammenfassen":               grammar.ErrNegated,
		"n'est pas: resume":                        grammar.ErrNegated,
		"find experts for 500 euros or 900 euros":  grammar.ErrAmbiguous,
		"find experts for 500 euros, 500 dollars":  grammar.ErrAmbiguous,
		"find 3 experts and 5 advisers":            grammar.ErrAmbiguous,
		"find experts by Monday or Friday":         grammar.ErrAmbiguous,
		"find experts for -500 euros":              intent.ErrRange,
		"find experts, budget minus five hundred":  intent.ErrRange,
		"find 0 experts":                           intent.ErrRange,
		"find 2.5 experts":                         intent.ErrRange,
		"find experts by 30.02.2027":               intent.ErrDate,
		"find experts by 2026-13-01":               intent.ErrDate,
		"find experts in 99999999999 days":         intent.ErrDate,
		strings.Repeat("a ", grammar.MaxTokens+1):  grammar.ErrTooLong,
	} {
		_, err := g.Read(text, saturday)
		require.ErrorIs(t, err, want, "%.60q", text)
	}
}

// What the vocabulary doesn't have is read and then refused: a budget in roubles isn't left out in silence.
func TestUnknownCurrencyIsRead(t *testing.T) {
	g := compile(t, options())
	d, err := g.Read("find experts for 500 rubles", saturday)
	require.NoError(t, err)
	require.Equal(t, "RUB", d.Constraints.Budget.Currency)
	d, err = g.Read("find experts for 99999999999999999999 euros", saturday)
	require.NoError(t, err)
	v, err := intent.NewVocabulary(intent.VocabularyOptions{Actions: map[string]intent.Risk{"find_experts": intent.Low}})
	require.NoError(t, err)
	_, err = v.Build(d)
	require.ErrorIs(t, err, intent.ErrRange, "a huge budget")
}

func TestSwitches(t *testing.T) {
	o := options()
	o.ListedTopics, o.MonthFirst, o.Currency, o.References = true, true, "", nil
	g := compile(t, o)
	for text, want := range map[string]string{
		"find experts about drones":           "find_experts",
		"find experts by 3/4/2027":            "find_experts deadline=2027-03-04",
		"find experts by 13/4/2027":           "find_experts deadline=2027-04-13",
		"find experts with a budget of 500":   "find_experts",
		"find experts, see doc_1":             "find_experts",
		"find experts about the supply chain": "find_experts topic=supply_chain",
	} {
		d, err := g.Read(text, saturday)
		require.NoError(t, err, text)
		require.Equal(t, want, show(d), text)
	}
}

func TestCompileRefuses(t *testing.T) {
	_, err := grammar.Compile(grammar.Options{
		Languages: []string{"xx"},
		Actions:   map[string][]string{"a": {""}, "b": {"*"}, "c": {"x *"}, "d": {"x * * y"}, "e": {}, "f": {"pay"}, "g": {"Pay"}},
		Entities:  map[string]map[string][]string{"kind": {"name": {"!!*"}}}, References: []string{"../"},
	})
	for _, path := range []string{"actions.a[0]", "actions.b[0]", "actions.c[0]", "actions.d[0]", "actions.e:",
		"actions.g[0]: is the phrase of f already",
		"languages[0]", "references[0]"} {
		require.ErrorContains(t, err, path)
	}
	_, err = grammar.Compile(grammar.Options{})
	require.ErrorContains(t, err, "actions")
	raw, err := json.Marshal(options())
	require.NoError(t, err)
	var back grammar.Options
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Equal(t, options(), back, "options travel to another process")
}

// A number is read the same in figures and, in each language, in words.
func TestNumbersInWords(t *testing.T) {
	for lang, rows := range map[string]map[string]string{
		"en": {"zero": "0", "seventeen": "17", "ninety-nine": "99", "one hundred": "100", "three hundred and twelve": "312",
			"two thousand":     "2000",
			"nineteen hundred": "1900", "one million two hundred thousand and five": "1200005"},
		"de": {"siebzehn": "17", "neunundneunzig": "99", "hundert": "100", "dreihundertzwölf": "312", "zweitausend": "2000",
			"zwei Millionen":    "2000000",
			"tausendeinhundert": "1100"},
		"es": {"diecisiete": "17", "noventa y nueve": "99", "cien": "100", "trescientos doce": "312", "dos mil": "2000",
			"dos millones": "2000000"},
		"fr": {"dix-sept": "17", "quatre-vingt-dix-neuf": "99", "cent": "100", "trois cent douze": "312", "deux mille": "2000",
			"quatre-vingts": "80",
			"soixante-dix":  "70", "vingt et un": "21"},
	} {
		g := compile(t, grammar.Options{Languages: []string{lang}, Actions: map[string][]string{"a": {"go"}}})
		for text, want := range rows {
			d, err := g.Read("go "+text+" euros", saturday)
			require.NoError(t, err, text)
			require.NotNil(t, d.Constraints.Budget, text)
			require.Equal(t, want, string(d.Constraints.Budget.Amount), "%s: %s", lang, text)
		}
	}
}

// What is read of a text doesn't depend on letter case, marks of encoding or spaces.
func TestReadIsStable(t *testing.T) {
	g := compile(t, options())
	pieces := []string{"find", "experts", "security", "for", "the", "supply", "chain", "under", "5,000", "€", "by", "Friday", "three",
		"doc_1", ".", "and", "-"}
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 14).Draw(t, "words")
		d, err := g.Read(strings.Join(list, " "), saturday)
		loud, loudErr := g.Read("  "+strings.ReplaceAll(strings.ToUpper(strings.Join(list, "   ")), "DOC_1", "doc_1")+"\u200b", saturday)
		if err != nil {
			require.EqualError(t, loudErr, err.Error())
			return
		}
		require.NoError(t, loudErr)
		require.Equal(t, show(d), show(loud))
	})
}

// No text makes the reader panic, run long, or give a draft that isn't JSON.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"find experts", "find 3 experts for 1.2.3.4.5 € by 99.99.9999", "- - -5 €€ $ -$ 5k5k", "in in in 3 days",
		"31. 12. 31.12.",
		"hundred hundred thousand million and and", "site a.b.c.d-", "find \xff\xfe experts", "quatre-vingt-vingt"} {
		f.Add(s)
	}
	g := compile(f, options())
	f.Fuzz(func(t *testing.T, text string) {
		d, err := g.Read(text, saturday)
		if err != nil {
			return
		}
		raw, err := json.Marshal(d)
		require.NoError(t, err)
		require.NotEmpty(t, d.Action)
		if len(raw) <= intent.MaxDraft {
			_, err = intent.ReadDraft(raw)
			require.NoError(t, err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	g := compile(b, options())
	text := strings.Repeat("The office in Hamburg asks for help with its yearly review of suppliers. ", 26) +
		"Find me three security experts for the supply chain under 5,000 € by Friday"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := g.Read(text, saturday); err != nil {
			b.Fatal(err)
		}
	}
}
