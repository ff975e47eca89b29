package compare_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
)

func vocabulary(t require.TestingT) *intent.Vocabulary {
	v, err := intent.NewVocabulary(intent.VocabularyOptions{
		Actions:   map[string]intent.Risk{"find": intent.Low, "pay": intent.High, "sum": intent.Medium},
		Expertise: []string{"law", "math", "weapons"}, Entities: map[string][]string{"region": {"emea", "apac"}},
	})
	require.NoError(t, err)
	return v
}

func options(t require.TestingT) compare.Options {
	return compare.Options{
		Vocabulary: vocabulary(t), Actions: []string{"find", "sum"}, Expertise: []string{"law", "math"},
		Budgets: map[string]string{"EUR": "5000"}, MaxResults: 100, MaxLength: 1000, Earliest: 2, Latest: 90,
		Domains: []string{"*.example.com", "example.org"},
		Topics:  compare.Topics{Allow: []string{"Supply Chain"}, Patterns: []string{"risk_*"}, Like: []string{"logistics"}},
		Forbid:  compare.Forbid{Actions: []string{"pay"}, Expertise: []string{"weapons"}, Topics: []string{"*bomb*"}},
		Constraints: []compare.Constraint{
			{ID: "law-is-dear", When: "'law' in expertise && has_budget && budget < 100.0", Then: "soft", Reason: "Law costs 100 at least."},
			{ID: "no-guests", When: "user.startsWith('guest-') && risk != 'low'", Then: "hard"},
			{ID: "apac", When: "'region' in entities && 'apac' in entities['region']", Then: "blocked", Reason: "APAC is closed."},
			{ID: "breaks", When: "action == 'sum' && references[0] == 'x'", Then: "soft"},
		},
	}
}

func facts() compare.Facts {
	return compare.Facts{User: "ann", Today: intent.NewDay(time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC))}
}

func newIntent(t require.TestingT, action string, change func(*intent.Draft)) intent.Intent {
	d := intent.Draft{Action: action}
	if change != nil {
		change(&d)
	}
	i, err := vocabulary(t).Build(d)
	require.NoError(t, err)
	return i
}

func budget(amount, currency string) func(*intent.Draft) {
	return func(d *intent.Draft) {
		d.Constraints.Budget = &intent.DraftMoney{Amount: intent.Decimal(amount), Currency: currency}
	}
}

func results(n string) func(*intent.Draft) {
	return func(d *intent.Draft) { c := intent.Decimal(n); d.Constraints.MaxResults = &c }
}

func deadline(day string) func(*intent.Draft) {
	return func(d *intent.Draft) { d.Constraints.Deadline = &day }
}

func topic(text string) func(*intent.Draft) { return func(d *intent.Draft) { d.Topic = text } }

func TestCompare(t *testing.T) {
	p, err := compare.New(options(t))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		action string
		change func(*intent.Draft)
		user   string
		want   compare.Verdict
		codes  []string
	}{
		"all fits":                {"find", topic("supply chain"), "ann", compare.Approved, nil},
		"an action not listed":    {"pay", nil, "ann", compare.Blocked, []string{compare.CodeForbidden, compare.CodeAction}},
		"expertise minus allowed": {"find", func(d *intent.Draft) { d.Expertise = []string{"law", "math"} }, "ann", compare.Approved, nil},
		"forbidden expertise": {"find", func(d *intent.Draft) { d.Expertise = []string{"law", "weapons"} }, "ann", compare.Blocked,
			[]string{compare.CodeForbidden, compare.CodeExpertise}},
		"budget at the maximum":  {"find", budget("5000", "EUR"), "ann", compare.Approved, nil},
		"budget 10% above":       {"find", budget("5500", "EUR"), "ann", compare.Soft, []string{compare.CodeBudget}},
		"budget a cent beyond":   {"find", budget("5500.01", "EUR"), "ann", compare.Hard, []string{compare.CodeBudget}},
		"budget huge":            {"find", budget("99999999999", "EUR"), "ann", compare.Hard, []string{compare.CodeBudget}},
		"budget of another coin": {"find", budget("1", "USD"), "ann", compare.Hard, []string{compare.CodeCurrency}},
		"results above":          {"find", results("110"), "ann", compare.Soft, []string{compare.CodeResults}},
		"results beyond":         {"find", results("111"), "ann", compare.Hard, []string{compare.CodeResults}},
		"deadline yesterday":     {"find", deadline("2026-11-27"), "ann", compare.Hard, []string{compare.CodeDeadline}},
		"deadline tomorrow":      {"find", deadline("2026-11-29"), "ann", compare.Soft, []string{compare.CodeDeadline}},
		"deadline in time":       {"find", deadline("2026-11-30"), "ann", compare.Approved, nil},
		"deadline far":           {"find", deadline("2027-12-01"), "ann", compare.Hard, []string{compare.CodeDeadline}},
		"domain below": {"find", func(d *intent.Draft) { d.Constraints.Domains = []string{"a.example.com"} }, "ann",
			compare.Approved, nil},
		"domain that only ends so": {"find", func(d *intent.Draft) { d.Constraints.Domains = []string{"evilexample.org"} }, "ann",
			compare.Hard, []string{compare.CodeDomain}},
		"topic by pattern":  {"find", topic("Risk of fire"), "ann", compare.Approved, nil},
		"topic by example":  {"find", topic("freight"), "ann", compare.Approved, nil},
		"topic not allowed": {"find", topic("horoscopes"), "ann", compare.Hard, []string{compare.CodeTopic}},
		"topic forbidden":   {"find", topic("risk of bombs"), "ann", compare.Blocked, []string{compare.CodeForbidden}},
		"a constraint, soft": {"find", func(d *intent.Draft) { d.Expertise = []string{"law"}; budget("50", "EUR")(d) }, "ann", compare.Soft,
			[]string{compare.CodeConstraint}},
		"a constraint about the user": {"sum", func(d *intent.Draft) { d.References = []string{"y"} }, "guest-1", compare.Hard,
			[]string{compare.CodeConstraint}},
		"a constraint that blocks": {"find", func(d *intent.Draft) {
			d.Constraints.Entities = []intent.DraftEntity{{Kind: "region",
				Name: "apac"}}
		}, "ann",
			compare.Blocked, []string{compare.CodeConstraint}},
		"a constraint that breaks": {"sum", nil, "ann", compare.Hard, []string{compare.CodeError}},
		"every reason is told": {"find", func(d *intent.Draft) { budget("5400", "EUR")(d); results("500")(d); topic("horoscopes")(d) }, "ann",
			compare.Hard,
			[]string{compare.CodeBudget, compare.CodeResults, compare.CodeTopic}},
	} {
		f := facts()
		f.User = c.user
		f.Alike = func(example string) (float64, bool) {
			return 0.81, example == "logistics" && strings.Contains(name, "by example")
		}
		r := p.Compare(t.Context(), newIntent(t, c.action, c.change), f)
		require.Equal(t, c.want, r.Verdict, "%s: %v", name, r)
		var codes []string
		for _, m := range r.Mismatches {
			codes = append(codes, m.Code)
			require.NotEmpty(t, m.Reason)
			require.NotContains(t, m.Reason, "horoscopes", "a reason holds no value")
			require.Contains(t, compare.Codes(), m.Code)
		}
		require.Equal(t, c.codes, codes, name)
		require.NotEmpty(t, r.Explanation())
	}
}

func TestSeverity(t *testing.T) {
	require.Equal(t, []string{"none", "minor", "critical", "critical"},
		[]string{compare.Approved.Severity(), compare.Soft.Severity(), compare.Hard.Severity(), compare.Blocked.Severity()})
	require.Equal(t, compare.Blocked, compare.Graver("nonsense", compare.Approved))
}

// Nothing is allowed that no list names, and the zero policy allows nothing.
func TestDenyByDefault(t *testing.T) {
	i := newIntent(t, "find", nil)
	for _, p := range []*compare.Policy{nil, {}} {
		require.Equal(t, compare.Hard, p.Compare(t.Context(), i, facts()).Verdict)
	}
	bare, err := compare.New(compare.Options{Vocabulary: vocabulary(t)})
	require.NoError(t, err)
	require.Equal(t, compare.Hard, bare.Compare(t.Context(), i, facts()).Verdict)
	one, err := compare.New(compare.Options{Vocabulary: vocabulary(t), Actions: []string{"find"}})
	require.NoError(t, err)
	require.Equal(t, compare.Approved, one.Compare(t.Context(), i, facts()).Verdict)
	for _, change := range []func(*intent.Draft){budget("0", "EUR"), func(d *intent.Draft) { d.Expertise = []string{"law"} },
		func(d *intent.Draft) { d.Constraints.Domains = []string{"example.com"} }} {
		require.Equal(t, compare.Hard, one.Compare(t.Context(), newIntent(t, "find", change), facts()).Verdict)
	}
}

func TestTolerance(t *testing.T) {
	o := options(t)
	o.SoftTolerance = -1
	p, err := compare.New(o)
	require.NoError(t, err)
	require.Equal(t, compare.Hard, p.Compare(t.Context(), newIntent(t, "find", budget("5000.01", "EUR")), facts()).Verdict)
	o.SoftTolerance = 50
	p, err = compare.New(o)
	require.NoError(t, err)
	require.Equal(t, compare.Soft, p.Compare(t.Context(), newIntent(t, "find", budget("7500", "EUR")), facts()).Verdict)
}

// Every mistake is told, with its place.
func TestNewRefuses(t *testing.T) {
	_, err := compare.New(compare.Options{
		Vocabulary: vocabulary(t), Actions: []string{"fnd"}, Expertise: []string{"lwa"}, Budgets: map[string]string{"XYZ": "1", "EUR": "-1"},
		MaxResults: -1, Earliest: 9, Latest: 3, Domains: []string{"["}, SoftTolerance: 200,
		Topics: compare.Topics{Allow: []string{"!"}, Patterns: []string{""}}, Forbid: compare.Forbid{Actions: []string{"x"}},
		Constraints: []compare.Constraint{{When: "budgt > 1.0", Then: "soft"}, {When: "budget", Then: "hard"}, {When: "true", Then: "maybe"},
			{ID: "a", When: "true", Then: "soft"}, {ID: "a", When: "true", Then: "soft"}, {When: "", Then: "soft"}},
	})
	for _, want := range []string{
		`policy.actions[0]: no action is called "fnd"; did you mean "find"?`, "policy.expertise[0]", "policy.budget.XYZ", "policy.budget.EUR",
		"policy.max_results", "policy.deadline.earliest", "policy.domains[0]", "policy.soft_tolerance", "policy.topics.allow[0]",
		"policy.topics.patterns[0]", "policy.forbid.actions[0]",
		`policy.constraints[0].when: is no valid condition: undeclared reference to 'budgt'`,
		`did you mean "budget"?`, "policy.constraints[1].when: is a double", "policy.constraints[2].then", "policy.constraints[4].id",
		"policy.constraints[5].when",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = compare.New(compare.Options{})
	require.Error(t, err)
}

// A condition that costs too much is a mismatch, and a context that has ended too.
func TestCostlyConstraint(t *testing.T) {
	o := compare.Options{Vocabulary: vocabulary(t), Actions: []string{"find"}, Constraints: []compare.Constraint{{
		When: "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, " +
			"[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a + b + c + d + e > max_results)))))", Then: "soft"}}}
	p, err := compare.New(o)
	require.NoError(t, err)
	r := p.Compare(t.Context(), newIntent(t, "find", nil), facts())
	require.Equal(t, compare.CodeError, r.Mismatches[0].Code)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, compare.Hard, p.Compare(ended, newIntent(t, "find", nil), facts()).Verdict)
}

// Adding to what is forbidden, or taking from what is allowed, never makes a verdict milder.
func TestPolicyIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options(t)
		o.Constraints = nil
		d := intent.Draft{Action: rapid.SampledFrom([]string{"find", "pay", "sum"}).Draw(t, "action"),
			Topic: rapid.SampledFrom([]string{"", "supply chain", "risk a", "bomb", "x"}).Draw(t, "topic")}
		if rapid.Bool().Draw(t, "expertise") {
			d.Expertise = []string{rapid.SampledFrom([]string{"law", "math", "weapons"}).Draw(t, "which")}
		}
		if rapid.Bool().Draw(t, "budget") {
			budget(rapid.SampledFrom([]string{"0", "5000", "5400", "6000"}).Draw(t, "amount"), "EUR")(&d)
		}
		i, err := o.Vocabulary.Build(d)
		require.NoError(t, err)
		wide, err := compare.New(o)
		require.NoError(t, err)
		switch rapid.IntRange(0, 4).Draw(t, "narrower") {
		case 0:
			o.Actions = o.Actions[:1]
		case 1:
			o.Expertise = nil
		case 2:
			o.Budgets = map[string]string{"EUR": "4000"}
		case 3:
			o.Forbid.Topics = append(o.Forbid.Topics, "supply*")
		case 4:
			o.Topics.Patterns = nil
		}
		narrow, err := compare.New(o)
		require.NoError(t, err)
		a, b := wide.Compare(t.Context(), i, facts()).Verdict, narrow.Compare(t.Context(), i, facts()).Verdict
		require.Equal(t, b, compare.Graver(a, b), "%s became %s", a, b)
	})
}

func BenchmarkCompare(b *testing.B) {
	p, err := compare.New(options(b))
	require.NoError(b, err)
	i, f := newIntent(b, "find", topic("supply chain")), facts()
	for b.Loop() {
		p.Compare(context.Background(), i, f)
	}
}
