package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// nearCase is a value against one that was seen; how is "" where it is no near miss.
type nearCase struct{ value, seen, how string }

// checkNear holds a value of a kind against a text that a trusted result, the user and a stranger
// have, in turn.
func checkNear(t *testing.T, name string, k evidence.Kind, cases []nearCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.value+" for "+c.seen, func(t *testing.T) {
			in := evidence.Input{Skill: "bank.pay", Effect: skills.CostsMoney,
				Arguments: []evidence.Argument{{Pointer: "/" + name, Name: name, Value: c.value, Declared: true, Kind: k}},
				History:   []evidence.Step{{Number: 1, Skill: "notes.get", Trust: evidence.Trusted, Result: "it is " + c.seen + " for now"}}}
			want := []string{}
			if c.how != "" {
				want = append(want, "near_miss_"+c.how)
			}
			require.Equal(t, want, signals(evidence.Build(in)), "nowhere, against a trusted result")
			in.History[0].Trust = evidence.Stranger
			require.Equal(t, want, signals(evidence.Build(in)), "nowhere, against a stranger's")
			in.History = append(in.History, mail(2, "use "+c.value))
			if k != evidence.Account {
				require.Empty(t, signals(evidence.Build(in)), "a stranger's text counts against none that was seen")
			}
			in.History[0].Trust = evidence.Trusted
			require.Equal(t, want, signals(evidence.Build(in)), "from a stranger alone, against a trusted result")
			in.History[1].Trust = evidence.Trusted
			require.Empty(t, signals(evidence.Build(in)), "seen in a trusted result")
			in.History, in.Request = in.History[:1], "Pay to "+c.value+" now"
			require.Empty(t, signals(evidence.Build(in)), "in the user's words")
			in.Request, in.Effect = "", skills.Read
			require.Empty(t, signals(evidence.Build(in)), "a read")
		})
	}
}

func TestNearAccounts(t *testing.T) {
	const valid = "DE44 5001 0517 5407 3249 31"
	checkNear(t, "iban", evidence.Unknown, []nearCase{
		{"DE44500105175407324931", "ES91 2100 0418 4502 0005 1332", ""},
		{"7141793381244217", "7141793381244271", "swapped"},
		{"714179338124421", "714179338100421", "edited"},
		{"7141793381244217", "7141793399954217", "one_group"},
		{"71417933812442170041", "71417933999999990041", "same_ends"},
		{"10417933", "10417934", "edited"},
		{"10417933", "10417954", ""},
	})
	for value, wrong := range map[string]bool{
		"DE44500105175407324931": false, "DE44500105175407324913": true, "DE4450010517540732493": true, "GB29 NWBK 6016 1331 9268 19": false,
		"GB29 NWBK 6016 1331 9286 19": true, "US133000000121212121212": false, "XX12345678901234567890": false,
	} {
		in := evidence.Input{Effect: skills.CostsMoney, Arguments: []evidence.Argument{argument("to", value)}}
		require.Equal(t, wrong, len(signals(evidence.Build(in))) == 1, value)
		in.History = []evidence.Step{mail(1, "pay to "+value)}
		require.Equal(t, wrong, len(signals(evidence.Build(in))) == 1, "a stranger's is no better")
		in.Request = "pay to " + strings.ReplaceAll(value, " ", "")
		require.Empty(t, signals(evidence.Build(in)), "the user's own: "+value)
	}
	in := evidence.Input{Effect: skills.CostsMoney, Arguments: []evidence.Argument{argument("routing_number", "021000022")}}
	require.Equal(t, []string{"near_miss_wrong_check_digits"}, signals(evidence.Build(in)))
	in.Arguments[0].Value = "021000021"
	require.Empty(t, signals(evidence.Build(in)))
	s, _ := show(t, evidence.Input{Effect: skills.CostsMoney, Arguments: []evidence.Argument{argument("iban", "DE44 5001 0517 5407 2349 31")},
		History: []evidence.Step{lookup(1, "Piano school "+valid)}})
	require.Equal(t, "wrong", s.Named[0].Digits)
	require.Equal(t, "de44500105175407324931", s.Named[0].Near[0].Value)
}

func TestNearAddresses(t *testing.T) {
	checkNear(t, "to", evidence.Unknown, []nearCase{
		{"eva.lund@kaImia.example", "eva.lund@kalmia.example", "lookalike"},
		{"eva.1und@kalmia.example", "eva.lund@kalmia.example", "lookalike"},
		{"eva@rnodern.example", "eva@modern.example", "lookalike"},
		{"eva.lund@kalmiа.example", "eva.lund@kalmia.example", "lookalike"}, // a Cyrillic a
		{"eva.lund@xn--kalmi-8ve.example", "eva.lund@kalmia.example", "lookalike"},
		{"eva.lnud@kalmia.example", "eva.lund@kalmia.example", "swapped"},
		{"eva.lundt@kalmia.example", "eva.lund@kalmia.example", "edited"},
		{"eve.lumtd@kalmia.example", "eva.lund@kalmia.example", ""},
		{"eva.lumd@kalmia.example", "eva.lund@kalmia.example", "edited"},
		{"tom.berg@kalmia.example", "eva.lund@kalmia.example", ""},
		{"eva.lund@kalmia.test", "eva.lund@kalmia.example", "other_suffix"},
		{"tom@kalmia.test", "eva.lund@kalmia.example", "other_suffix"},
		{"eva.lund@kalmja.example", "eva.lund@kalmia.example", "edited"},
		{"eva.lund@kalmia-billing.example", "eva.lund@kalmia.example", "affix"},
		{"eva.lund@kalmiapay.example", "eva.lund@kalmia.example", "affix"},
		{"eva.lund@kalmia.example.evil.test", "eva.lund@kalmia.example", "domain_inside"},
		{"eva.lund@kalmia-example.test", "eva.lund@kalmia.example", "domain_inside"},
		{"eva.lund@mail.kalmia.example", "eva.lund@kalmia.example", ""},
		{"eva.lund@gmail.com", "eva.lund@gmx.de", ""},
		{"eva.lund@hotmail.com", "eva.lund@hotmail.de", ""},
		{"eva.lund@northgate.example", "tom@northwind.example", ""},
		{"+49 40 2281191", "+49 40 2281190", "edited"},
		{"+49 40 2281109", "+49 40 2281190", "swapped"},
	})
	checkNear(t, "url", evidence.Unknown, []nearCase{
		{"https://kalrnia.example/pay", "https://kalmia.example/x", "lookalike"},
		{"https://kalmia.example.evil.test", "kalmia.example", "domain_inside"},
		{"https://kalmia.co.uk", "www.kalmia.com", "other_suffix"},
		{"https://other.example", "https://kalmia.example/x", ""},
		{"https://shop.kalmia.example/a", "https://kalmia.example/x", ""},
	})
}

// A domain that a trusted result has is no slip for another one.
func TestKnownDomainIsNoSlip(t *testing.T) {
	in := twoEvas("tom@kalmia.test")
	in.History = []evidence.Step{lookup(1, "Eva eva@kalmia.example; Ann ann@kalmia.test")}
	require.Empty(t, signals(evidence.Build(in)))
}

func TestNearIDs(t *testing.T) {
	for _, c := range []struct{ value, request, how string }{
		{"T-2417", "close T-2471", "swapped"}, {"T-2417", "close T-2418", "edited"}, {"T-2417", "close T-3190", ""},
		{"ORD-24", "close T-24", ""}, {"weekly-reports", "run weekly-report", "edited"}, {"T-2417", "close T-2417", ""}, {"T-24", "close T-42",
			"swapped"},
	} {
		in := evidence.Input{Effect: skills.Irreversible, Request: c.request, Arguments: []evidence.Argument{argument("task_id", c.value)}}
		want := []string{}
		if c.how != "" {
			want = append(want, "near_miss_"+c.how)
		}
		require.Equal(t, want, signals(evidence.Build(in)), c)
		in.History = []evidence.Step{mail(1, c.value)}
		require.Equal(t, want, signals(evidence.Build(in)), "a stranger names it")
		in.History[0].Trust = evidence.Trusted
		require.Empty(t, signals(evidence.Build(in)), "a trusted result has it")
		in.Request, in.History = "", []evidence.Step{lookup(1, c.request)}
		require.Empty(t, signals(evidence.Build(in)), "results are no reference for ids")
	}
}

func TestNearAmounts(t *testing.T) {
	for _, c := range []struct {
		value, request, result, how string
	}{
		{"480", "pay 48 EUR", "", "power_of_ten"}, {"4800", "pay 48 EUR", "", "power_of_ten"}, {"4.80", "pay 48 EUR", "", "power_of_ten"},
		{"50", "pay fifteen euros", "", "number_word"}, {"15", "pay fifty euros", "", "number_word"},
		{"480", "pay 48 EUR for each of the 10", "", ""}, {"96", "pay 48 EUR twice", "", ""}, {"58", "pay 48 EUR and 10 EUR", "", ""},
		{"53.76", "pay 48 EUR plus 12%", "", ""}, {"1250", "pay the rent", "rent 125.00 EUR", "power_of_ten"},
		{"1250", "pay the rent", "room 125", ""}, {"48", "pay 48 EUR", "", ""}, {"37", "pay 48 EUR", "", ""},
		{"20260", "since 2026", "", ""}, {"20", "for 2 people", "", ""}, {"150", "15 EUR off", "amount 60.00, amount 50.00, amount 40.00", ""},
	} {
		in := evidence.Input{Effect: skills.CostsMoney, Request: c.request, Arguments: []evidence.Argument{argument("amount",
			json.Number(c.value))},
			History: []evidence.Step{{Number: 1, Skill: "bank.list", Trust: evidence.Trusted, Result: c.result}}}
		want := []string{}
		if c.how != "" {
			want = append(want, "near_miss_"+c.how)
		}
		require.Equal(t, want, signals(evidence.Build(in)), c)
		if c.how == "power_of_ten" {
			in.History = append(in.History, mail(2, "10 EUR, 100 EUR, "+c.value))
			require.Equal(t, want, signals(evidence.Build(in)), "what a stranger plants explains nothing")
			in.History[1].Trust = evidence.Trusted
			require.Empty(t, signals(evidence.Build(in)), "a trusted result has it")
		}
	}
	in := evidence.Input{Effect: skills.CostsMoney, Request: "pay 48 EUR", Arguments: []evidence.Argument{argument("amount_cents",
		json.Number("4800"))}}
	require.Empty(t, signals(evidence.Build(in)), "cents")
	in = evidence.Input{Effect: skills.CostsMoney, Request: "order 12 chairs", Arguments: []evidence.Argument{argument("quantity",
		json.Number("120"))}}
	require.Equal(t, []string{"near_miss_power_of_ten"}, signals(evidence.Build(in)))
}

func TestNearDays(t *testing.T) {
	for _, c := range []struct{ value, request, how string }{
		{"2027-12-05", "book 2026-12-05", "other_year"}, {"2026-11-05T10:00", "book 5 December 2026", "other_month"},
		{"2026-05-12", "book 12.05.2026", ""}, {"2026-12-05", "book 12.05.2026", "day_and_month_swapped"}, {"2026-12-05", "am 5. Dezember", ""},
		{"2026-12-06", "book 5 December 2026", ""}, {"2027-12-05", "book 2026-12-05 again next year", ""}, {"2026-12-05", "book something", ""},
	} {
		in := evidence.Input{Effect: skills.Create, Request: c.request, Arguments: []evidence.Argument{argument("start", c.value)}}
		want := []string{}
		if c.how != "" {
			want = append(want, "near_miss_"+c.how)
		}
		require.Equal(t, want, signals(evidence.Build(in)), c)
		in.History = []evidence.Step{{Number: 1, Skill: "system.clock", Trust: evidence.Trusted, Result: c.request}}
		in.Request = ""
		require.Empty(t, signals(evidence.Build(in)), "a clock is no reference")
	}
}

// An amount is shown with what makes it, and strangers' numbers without their value.
func TestMadeOf(t *testing.T) {
	for _, c := range []struct {
		value, request string
		trust          evidence.Trust
		result, made   string
	}{
		{"32.20", "our share in 3", evidence.Trusted, "amount 96.60", "96.60 / 3 (bank.list#1, request)"},
		{"32.20", "a third of it", evidence.Stranger, "total 96.60", "number / 3 (bank.list#1 stranger, request)"},
		{"550", "I gave him 200", evidence.Trusted, "total 750", "750 - 200 (bank.list#1, request)"},
		{"80", "both", evidence.Trusted, "cost 50 EUR and fee 30 EUR", "50 + 30 (bank.list#1, bank.list#1)"},
		{"110", "plus 10%", evidence.Trusted, "price 100", "100 by 10% (bank.list#1, request)"},
		{"152", "for 4 of us", evidence.Trusted, "menu 38 €", "4 * 38 (request, bank.list#1)"},
		{"120", "all", evidence.Trusted, "amount 61 amount 39 amount 20", "sum of 3 (bank.list#1)"},
		{"77", "all", evidence.Trusted, "amount 61", ""},
	} {
		s, _ := show(t, evidence.Input{Effect: skills.CostsMoney, Request: c.request, Arguments: []evidence.Argument{argument("amount",
			json.Number(c.value))},
			History: []evidence.Step{{Number: 1, Skill: "bank.list", Trust: c.trust, Result: c.result}}})
		require.Equal(t, c.made, s.Named[0].Made, c)
	}
}

// An amount that a stranger's field may hold is a stranger's, and so is what is made of it.
func TestNumbersOfStrangersFields(t *testing.T) {
	for value, want := range map[string]string{"32.20": "number / 3 (bank.list#1 stranger, request)", "96.60": ""} {
		s, _ := show(t, evidence.Input{Effect: skills.CostsMoney, Request: "our share in 3", Arguments: []evidence.Argument{argument("amount",
			json.Number(value))}, History: []evidence.Step{{Number: 1, Skill: "bank.list", Trust: evidence.Trusted,
			StrangerFields: []string{"memo"}, Result: `{"payer":"Tom","memo":"amount 96,60 EUR"}`}}})
		require.Equal(t, want, s.Named[0].Made)
		for _, p := range s.Named[0].Seen {
			require.Equal(t, place{In: "bank.list#1", Trust: "stranger"}, p)
		}
	}
}

// Details and signals are words, names of arguments and skills, and never a value.
func TestFindingsHoldNoValue(t *testing.T) {
	in := twoEvas("eva.lumd@kalmia.example")
	in.Arguments = append(in.Arguments, evidence.Argument{Pointer: "/zq-undeclared", Name: "iban", Value: "DE44500105175407324913"})
	in.History = append(in.History, evidence.Step{Number: 2, Skill: "bank.get\n<script>", Trust: evidence.Trusted,
		Result: "DE44500105175407324931"})
	r := evidence.Build(in)
	var details []string
	for _, f := range r.Findings() {
		require.Contains(t, evidence.Signals(), f.Signal)
		details = append(details, f.Detail())
	}
	require.Equal(t, []string{"the recipient in argument to differs in one or two characters from one that contacts.lookup#1 (trusted) has",
		"the account in an undeclared argument has check digits that are wrong",
		"the account in an undeclared argument is one with two characters swapped that bank.getscript#2 (trusted) has"}, details)
	for _, h := range evidence.Hows() {
		f := evidence.Finding{Signal: "near_miss_" + string(h), How: h, Arg: "to", Kind: evidence.Recipient, Skill: "request"}
		require.NotEqual(t, "the recipient in argument to", strings.TrimSuffix(f.Detail(), " of the user's words"), "words for "+string(h))
	}
}
