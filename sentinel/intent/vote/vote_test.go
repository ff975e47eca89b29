package vote_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/vote"
)

func vocabulary(t require.TestingT) *intent.Vocabulary {
	v, err := intent.NewVocabulary(intent.VocabularyOptions{
		Actions: map[string]intent.Risk{"find": intent.Low, "pay": intent.High, "sum": intent.Medium}, Expertise: []string{"law", "math",
			"art"},
		Entities: map[string][]string{"region": {"emea", "apac"}},
	})
	require.NoError(t, err)
	return v
}

// make builds an intent of lines such as "find", "topic=a b", "expertise=law,art", "budget=100 EUR".
func makeIntent(t require.TestingT, parts ...string) intent.Intent {
	d := intent.Draft{Action: parts[0]}
	for _, p := range parts[1:] {
		key, value, _ := strings.Cut(p, "=")
		switch key {
		case "topic":
			d.Topic = value
		case "expertise":
			d.Expertise = strings.Split(value, ",")
		case "references":
			d.References = strings.Split(value, ",")
		case "budget":
			amount, currency, _ := strings.Cut(value, " ")
			d.Constraints.Budget = &intent.DraftMoney{Amount: intent.Decimal(amount), Currency: currency}
		case "results":
			n := intent.Decimal(value)
			d.Constraints.MaxResults = &n
		case "deadline":
			d.Constraints.Deadline = &value
		case "region":
			d.Constraints.Entities = []intent.DraftEntity{{Kind: "region", Name: value}}
		default:
			t.Errorf("no field %q", key)
		}
	}
	i, err := vocabulary(t).Build(d)
	require.NoError(t, err)
	return i
}

func TestSimilarity(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []string
		want float64
	}{
		"equal":         {[]string{"find", "topic=a b"}, []string{"find", "topic=a b"}, 1},
		"actions alone": {[]string{"find"}, []string{"find"}, 1},
		"other actions": {[]string{"find"}, []string{"pay"}, 0},
		"other action, all else equal": {[]string{"find", "topic=a", "expertise=law", "results=3"}, []string{"pay", "topic=a",
			"expertise=law", "results=3"}, 5.5 / 8.5},
		"half of the words":            {[]string{"find", "topic=a b"}, []string{"find", "topic=b c"}, (3 + 2*0.5) / 5},
		"topic on one side":            {[]string{"find", "topic=a"}, []string{"find"}, 3.0 / 5},
		"one expertise of two":         {[]string{"find", "expertise=law,art"}, []string{"find", "expertise=law"}, (3 + 2*0.5) / 5},
		"the order of expertise":       {[]string{"find", "expertise=law,art"}, []string{"find", "expertise=art,law"}, 1},
		"numbers within a tenth":       {[]string{"find", "results=100"}, []string{"find", "results=90"}, 1},
		"numbers beyond a tenth":       {[]string{"find", "results=100"}, []string{"find", "results=89"}, 3 / 4.5},
		"a constraint on one side":     {[]string{"find", "results=100"}, []string{"find"}, (3 + 1.5*0.5) / 4.5},
		"budgets within a tenth":       {[]string{"find", "budget=1000 EUR"}, []string{"find", "budget=1100 EUR"}, 1},
		"budgets of two currencies":    {[]string{"find", "budget=1000 EUR"}, []string{"find", "budget=1000 USD"}, 3 / 4.5},
		"a budget of nothing and none": {[]string{"find", "budget=0 EUR"}, []string{"find"}, (3 + 1.5*0.5) / 4.5},
		"another day":                  {[]string{"find", "deadline=2026-12-31"}, []string{"find", "deadline=2026-12-30"}, 3 / 4.5},
		"another document":             {[]string{"sum", "references=doc_1"}, []string{"sum", "references=doc_2"}, 3 / 4.5},
		"another region, the same count": {[]string{"find", "region=emea", "results=3"}, []string{"find", "region=apac", "results=3"}, (3 +
			1.5*0.5) / 4.5},
		"the document's own example of weights": {
			[]string{"find", "topic=supply chain", "expertise=law,art", "budget=100 EUR"},
			[]string{"find", "topic=supply chain risk", "expertise=law", "budget=105 EUR"}, (3 + 2*0.8 + 2*0.5 + 1.5) / 8.5},
	} {
		a, b := makeIntent(t, c.a...), makeIntent(t, c.b...)
		require.InDelta(t, c.want, vote.Similarity(a, b, vote.Options{}), 1e-9, name)
		require.InDelta(t, c.want, vote.Similarity(b, a, vote.Options{}), 1e-9, name)
	}
}

func TestTopicsByEmbedding(t *testing.T) {
	a, b := makeIntent(t, "find", "topic=car"), makeIntent(t, "find", "topic=automobile")
	asked := 0
	o := vote.Options{Topics: func(intent.Topic, intent.Topic) (float64, bool) { asked++; return 0.9, true }}
	require.InDelta(t, (3+2*0.9)/5, vote.Similarity(a, b, o), 1e-9)
	require.InDelta(t, 1, vote.Similarity(a, a, o), 1e-9)
	require.Equal(t, 1, asked, "equal topics are not asked about")
	o.Topics = func(intent.Topic, intent.Topic) (float64, bool) { return 0, false }
	require.InDelta(t, 3.0/5, vote.Similarity(a, b, o), 1e-9, "without an answer words are compared")
	o.Topics = func(intent.Topic, intent.Topic) (float64, bool) { return 7, true }
	require.InDelta(t, 1, vote.Similarity(a, b, o), 1e-9, "no similarity is beyond 1")
}

func rules(i intent.Intent) vote.Ballot {
	return vote.Ballot{Parser: "grammar", Trust: 100, Confidence: 100, Rules: true, Intent: i}
}

func model(id string, trust, confidence int, i intent.Intent) vote.Ballot {
	return vote.Ballot{Parser: id, Trust: trust, Confidence: confidence, Intent: i}
}

func TestCount(t *testing.T) {
	find, near := makeIntent(t, "find", "topic=supply chain", "results=100"), makeIntent(t, "find", "topic=supply chain", "results=95")
	loose := makeIntent(t, "find", "topic=supply chain risk", "results=100")
	other, pay := makeIntent(t, "find", "topic=weather"), makeIntent(t, "pay", "topic=supply chain", "results=100")
	for name, c := range map[string]struct {
		ballots   []vote.Ballot
		level     vote.Level
		agreement vote.Agreement
		parser    string
		disputed  bool
	}{
		"all agree": {[]vote.Ballot{rules(find), model("a", 75, 90, find), model("b", 80, 90, near)}, vote.High,
			vote.Full, "grammar", false},
		"two agree":      {[]vote.Ballot{rules(find), model("a", 75, 90, near)}, vote.High, vote.Full, "grammar", false},
		"roughly":        {[]vote.Ballot{rules(find), model("a", 75, 90, loose)}, vote.Low, vote.Minor, "grammar", false},
		"not at all":     {[]vote.Ballot{rules(find), model("a", 75, 90, other)}, vote.Conflict, vote.Major, "grammar", false},
		"another action": {[]vote.Ballot{rules(find), model("a", 75, 90, pay)}, vote.Conflict, vote.Major, "grammar", true},
		"rules alone":    {[]vote.Ballot{rules(find)}, vote.Low, vote.Minor, "grammar", false},
		"a model alone":  {[]vote.Ballot{model("a", 80, 100, find)}, vote.Conflict, vote.Minor, "a", false},
		"models agree":   {[]vote.Ballot{model("a", 75, 90, find), model("b", 80, 90, near)}, vote.High, vote.Full, "b", false},
		"models agree roughly": {[]vote.Ballot{model("a", 75, 90, find), model("b", 80, 90, loose)}, vote.Conflict, vote.Minor, "b",
			false},
		"the surer model":               {[]vote.Ballot{model("a", 75, 100, find), model("b", 80, 90, near)}, vote.High, vote.Full, "a", false},
		"as sure, more trusted":         {[]vote.Ballot{model("a", 60, 80, find), model("b", 80, 60, near)}, vote.High, vote.Full, "b", false},
		"as sure and trusted, first id": {[]vote.Ballot{model("b", 80, 60, find), model("a", 80, 60, near)}, vote.High, vote.Full, "a", false},
		"two collude against the rules": {[]vote.Ballot{rules(find), model("a", 75, 100, pay), model("b", 80, 100, pay)}, vote.Conflict,
			vote.Major, "grammar", true},
		"one of three lies about the action": {[]vote.Ballot{rules(find), model("a", 75, 100, find), model("b", 80, 100, pay)},
			vote.Conflict, vote.Major, "grammar", true},
	} {
		r, err := vote.Count(c.ballots, vote.Options{})
		require.NoError(t, err, name)
		require.Equal(t, c.level, r.Level, "%s: %s", name, r.Explanation)
		require.Equal(t, c.agreement, r.Agreement, name)
		require.Equal(t, c.parser, r.Parser, name)
		require.Equal(t, c.disputed, r.Disputed, name)
		require.Equal(t, c.level == vote.Conflict, r.RequiresReview, name)
		require.Len(t, r.Pairs, len(c.ballots)*(len(c.ballots)-1)/2, name)
		require.NotContains(t, r.Explanation, "supply", "an explanation holds no value")
	}
}

// By the document's weights a majority can carry a low vote over a disputed action: the result says that it is disputed.
func TestDisputedActionInALowVote(t *testing.T) {
	all := []string{"topic=a", "expertise=law", "results=3"}
	find, pay := makeIntent(t, append([]string{"find"}, all...)...), makeIntent(t, append([]string{"pay"}, all...)...)
	r, err := vote.Count([]vote.Ballot{rules(find), model("a", 75, 90, find), model("b", 75, 90, pay)}, vote.Options{})
	require.NoError(t, err)
	require.Equal(t, vote.Low, r.Level)
	require.True(t, r.Disputed)
	require.Equal(t, "3 parsers agree roughly: the mean similarity is 76%, the least 64%. They differ in action. "+
		"The intent of grammar is taken, since it goes by fixed rules.", r.Explanation)
}

// What speaks against a text beside the parsers makes a high vote low, and a conflict where no fixed rule read it.
func TestLower(t *testing.T) {
	find := makeIntent(t, "find", "topic=taxes")
	for name, row := range map[string]struct {
		ballots []vote.Ballot
		before  vote.Level
		after   vote.Level
	}{
		"with rules":    {[]vote.Ballot{rules(find), model("a", 75, 90, find)}, vote.High, vote.Low},
		"without rules": {[]vote.Ballot{model("a", 75, 90, find), model("b", 75, 90, find)}, vote.High, vote.Conflict},
		"rules alone":   {[]vote.Ballot{rules(find)}, vote.Low, vote.Low},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := vote.Count(row.ballots, vote.Options{})
			require.NoError(t, err)
			require.Equal(t, row.before, r.Level)
			low := r.Lower("It was flagged.")
			require.Equal(t, row.after, low.Level)
			require.Equal(t, row.after == vote.Conflict, low.RequiresReview)
			require.Equal(t, row.before == vote.High, strings.HasSuffix(low.Explanation, "It was flagged."))
			require.Equal(t, r.Canonical, low.Canonical)
		})
	}
}

func TestCountRefuses(t *testing.T) {
	_, err := vote.Count(nil, vote.Options{})
	require.ErrorIs(t, err, vote.ErrNone)
	i := makeIntent(t, "find")
	_, err = vote.Count([]vote.Ballot{model("a", 75, 90, i), model("a", 75, 90, i)}, vote.Options{})
	require.Error(t, err)
	_, err = vote.Count([]vote.Ballot{{Parser: "a"}}, vote.Options{})
	require.Error(t, err)
}

func drawIntent(t *rapid.T, label string) intent.Intent {
	parts := []string{rapid.SampledFrom([]string{"find", "pay", "sum"}).Draw(t, label+" action")}
	for _, p := range []struct {
		key    string
		values []string
	}{
		{"topic", []string{"", "a", "a b", "b c", "c d e"}}, {"expertise", []string{"", "law", "law,art", "math"}},
		{"results", []string{"", "1", "95", "100", "1000"}}, {"budget", []string{"", "0 EUR", "100 EUR", "105 EUR", "100 USD"}},
		{"deadline", []string{"", "2026-12-31", "2027-01-01"}}, {"region", []string{"", "emea", "apac"}},
		{"references", []string{"", "doc_1", "doc_1,doc_2"}},
	} {
		if v := rapid.SampledFrom(p.values).Draw(t, label+" "+p.key); v != "" {
			parts = append(parts, p.key+"="+v)
		}
	}
	return makeIntent(t, parts...)
}

// Similarity is symmetric, within 0 and 1, 1 for itself, and another action is never near.
func TestSimilarityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawIntent(t, "a"), drawIntent(t, "b")
		s := vote.Similarity(a, b, vote.Options{})
		require.Equal(t, s, vote.Similarity(b, a, vote.Options{})) //nolint:testifylint // exactly
		require.True(t, s >= 0 && s <= 1)
		require.InDelta(t, 1, vote.Similarity(a, a, vote.Options{}), 1e-9)
		if a.Action() != b.Action() {
			require.Less(t, s, vote.LeastLow)
		}
	})
}

// A vote doesn't depend on the order of its ballots, takes the rules' intent where there is one, and is high only
// where every pair is near.
func TestCountProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "n")
		var ballots []vote.Ballot
		for i := range n {
			ballots = append(ballots, model(fmt.Sprintf("m%d", i), rapid.IntRange(1, 99).Draw(t, "trust"),
				rapid.IntRange(0, 100).Draw(t, "confidence"), drawIntent(t, fmt.Sprint(i))))
		}
		withRules := rapid.Bool().Draw(t, "rules")
		if withRules {
			ballots = append(ballots, rules(drawIntent(t, "rules")))
		}
		r, err := vote.Count(ballots, vote.Options{})
		require.NoError(t, err)
		again, err := vote.Count(rapid.Permutation(ballots).Draw(t, "order"), vote.Options{})
		require.NoError(t, err)
		require.Equal(t, r, again)
		if withRules {
			require.Equal(t, "grammar", r.Parser)
		} else {
			require.NotEqual(t, vote.Low, r.Level, "low needs the rules")
		}
		require.Equal(t, r.Level == vote.High, len(ballots) > 1 && !slices.ContainsFunc(r.Pairs, func(p vote.Pair) bool {
			return p.Similarity < vote.LeastHigh-1e-9
		}))
		if r.Level == vote.High {
			require.False(t, r.Disputed)
		}
	})
}
