// Package vote compares what several parsers made of one text and takes one of their intents, or says that they are in
// conflict. It is a pure function of its ballots.
//
//	r, err := vote.Count(ballots, vote.Options{})
//	if r.Level == vote.Conflict { … }   // a person decides
//
// # Similarity
//
// Two intents are compared by four fields with the weights of the seed document: action 3, topic 2, expertise 2 and
// constraints 1.5. Actions are equal or not. Topics that are equal count 1, others by Dice's coefficient over their
// words, or by Options.Topics. Expertise counts by Jaccard's index. Constraints count by the mean of those that either
// intent has: 1 where numbers are within 10% of the greater one, lists by Jaccard's index, others 1 where they are
// equal, and 0.5 where one intent alone has it. A field that neither has is left out.
//
// # Levels
//
// High where the least similarity is 95% or more; low where the mean is 75% or more; else conflict. One ballot alone is
// low. What is low goes on with the parser of fixed rules; without its ballot low is conflict. Recorded agreement is
// full, minor and major.
//
// What not to do: don't take Canonical of a conflict for what the user wants. Don't give a model's ballot Rules.
//
// The package isn't stable: docs/api.md lists those that are.
package vote

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/intent"
)

// Ballot is one parser's intent.
type Ballot struct {
	// Parser is the parser's id; no two ballots have the same.
	Parser string
	// Trust and Confidence are in hundredths: how far the parser is believed, and how sure it is.
	Trust, Confidence int
	// Rules is set for the parser of fixed rules.
	Rules  bool
	Intent intent.Intent
}

// Level is how sure the vote is.
type Level string

// The levels.
const (
	High     Level = "high"
	Low      Level = "low"
	Conflict Level = "conflict"
)

// Agreement is how a vote is recorded.
type Agreement string

// The agreements.
const (
	Full  Agreement = "full"
	Minor Agreement = "minor"
	Major Agreement = "major"
)

// Bounds of similarity.
const (
	LeastHigh = 0.95
	LeastLow  = 0.75
)

// Pair is how similar two parsers' intents are, from 0 to 1, as a whole and by field. A field that neither has is nil.
type Pair struct {
	One         string   `json:"one"`
	Other       string   `json:"other"`
	Similarity  float64  `json:"similarity"`
	Action      float64  `json:"action"`
	Topic       *float64 `json:"topic,omitempty"`
	Expertise   *float64 `json:"expertise,omitempty"`
	Constraints *float64 `json:"constraints,omitempty"`
}

// Result is what a vote came to.
type Result struct {
	// Canonical is the intent that is taken, and Parser whose it is. Of a conflict it is what a person is shown first.
	Canonical intent.Intent
	Parser    string
	// Rules is set where that parser goes by fixed rules.
	Rules bool
	// Level is how sure the vote is, Agreement how it is recorded.
	Level     Level
	Agreement Agreement
	// RequiresReview is set where a person must decide.
	RequiresReview bool
	// Average and Minimum are over all pairs; 0 where there is none.
	Average, Minimum float64
	// Pairs are sorted by the parsers' ids.
	Pairs []Pair
	// Disputed is set where two parsers name different actions.
	Disputed bool
	// Explanation says in words how it came about, without any value of an intent.
	Explanation string
}

// Options change how topics are compared.
type Options struct {
	// Topics returns how similar two topics are, from 0 to 1; ok is false where it can't say, and then their words are
	// compared. Equal topics are not asked about. Nil compares words.
	Topics func(a, b intent.Topic) (similarity float64, ok bool)
}

// ErrNone is returned where no parser gave an intent.
var ErrNone = errors.New("no parser gave an intent")

// Count compares ballots. The order of the ballots changes nothing. The error is ErrNone, or says that a parser voted
// twice or has no intent.
func Count(ballots []Ballot, o Options) (Result, error) {
	if len(ballots) == 0 {
		return Result{}, ErrNone
	}
	sorted := slices.Clone(ballots)
	slices.SortFunc(sorted, func(a, b Ballot) int { return cmp.Compare(a.Parser, b.Parser) })
	for i, b := range sorted {
		if b.Intent.IsZero() || i > 0 && sorted[i-1].Parser == b.Parser {
			return Result{}, fmt.Errorf("the ballot of parser %q has no intent or is its second", b.Parser)
		}
	}
	taken := chooseCanonical(sorted)
	r := Result{Canonical: taken.Intent, Parser: taken.Parser, Rules: taken.Rules}
	r.comparePairs(sorted, o)
	r.setLevel(len(sorted), taken)
	r.explain(len(sorted), taken)
	return r, nil
}

// chooseCanonical returns the ballot that is taken: that of fixed rules, else the greatest product of trust and
// confidence, then the greatest trust, then the first id.
func chooseCanonical(sorted []Ballot) Ballot {
	return slices.MinFunc(sorted, func(a, b Ballot) int {
		if a.Rules != b.Rules {
			if a.Rules {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Trust*b.Confidence, a.Trust*a.Confidence), cmp.Compare(b.Trust, a.Trust), cmp.Compare(a.Parser, b.Parser))
	})
}

// comparePairs compares each ballot with each other.
func (r *Result) comparePairs(sorted []Ballot, o Options) {
	sum := 0.0
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			p := compare(a.Intent, b.Intent, o)
			p.One, p.Other = a.Parser, b.Parser
			if len(r.Pairs) == 0 || p.Similarity < r.Minimum {
				r.Minimum = p.Similarity
			}
			sum += p.Similarity
			r.Disputed = r.Disputed || p.Action == 0
			r.Pairs = append(r.Pairs, p)
		}
	}
	if len(r.Pairs) > 0 {
		r.Average = sum / float64(len(r.Pairs))
	}
}

// rounding is what sums of fractions may be off by.
const rounding = 1e-9

// setLevel says how sure the vote is.
func (r *Result) setLevel(n int, taken Ballot) {
	switch {
	case n > 1 && r.Minimum >= LeastHigh-rounding:
		r.Level, r.Agreement = High, Full
	case (n == 1 || r.Average >= LeastLow-rounding) && taken.Rules:
		r.Level, r.Agreement = Low, Minor
	case n == 1 || r.Average >= LeastLow-rounding:
		r.Level, r.Agreement = Conflict, Minor
	default:
		r.Level, r.Agreement = Conflict, Major
	}
	r.RequiresReview = r.Level == Conflict
}

// explain says how the vote came about.
func (r *Result) explain(n int, taken Ballot) {
	var s []string
	switch {
	case n == 1:
		s = append(s, fmt.Sprintf("Parser %s alone gave an intent, so there is nothing to compare it with.", taken.Parser))
	case r.Level == High:
		s = append(s, fmt.Sprintf("%d parsers agree: the least similarity of two is %s, and %s is needed.",
			n, percent(r.Minimum), percent(LeastHigh)))
	case r.Agreement == Minor:
		s = append(s, fmt.Sprintf("%d parsers agree roughly: the mean similarity is %s, the least %s.",
			n, percent(r.Average), percent(r.Minimum)))
	default:
		s = append(s, fmt.Sprintf("%d parsers disagree: the mean similarity is %s, and %s is needed.", n, percent(r.Average), percent(LeastLow)))
	}
	if fields := r.listDisputed(); len(fields) > 0 {
		s = append(s, "They differ in "+strings.Join(fields, ", ")+".")
	}
	switch {
	case r.Level == Conflict && r.Agreement == Minor:
		s = append(s, "The parser of fixed rules gave none, so a person decides.")
	case r.Level == Conflict:
		s = append(s, "A person decides.")
	case taken.Rules:
		s = append(s, fmt.Sprintf("The intent of %s is taken, since it goes by fixed rules.", taken.Parser))
	default:
		s = append(s, fmt.Sprintf("The intent of %s is taken: its trust times its confidence is the greatest.", taken.Parser))
	}
	r.Explanation = strings.Join(s, " ")
}

// listDisputed names the fields in which any two differ.
func (r *Result) listDisputed() (out []string) {
	for _, f := range []struct {
		name string
		of   func(Pair) float64
	}{
		{"action", func(p Pair) float64 { return p.Action }}, {"topic", func(p Pair) float64 { return orOne(p.Topic) }},
		{"expertise", func(p Pair) float64 { return orOne(p.Expertise) }},
		{"constraints", func(p Pair) float64 { return orOne(p.Constraints) }},
	} {
		if slices.ContainsFunc(r.Pairs, func(p Pair) bool { return f.of(p) < 1 }) {
			out = append(out, f.name)
		}
	}
	return out
}

func orOne(f *float64) float64 {
	if f == nil {
		return 1
	}
	return *f
}

// percent writes a similarity as whole percent, rounded down so that none looks better than it is.
func percent(f float64) string { return fmt.Sprintf("%d%%", int(f*100+rounding)) }

// Lower returns the result as it is where something beside the parsers speaks against the text: high becomes low, and
// conflict where no parser of fixed rules gave the intent. why joins the explanation.
func (r Result) Lower(why string) Result {
	if r.Level != High {
		return r
	}
	r.Level = Low
	if !r.Rules {
		r.Level, r.RequiresReview = Conflict, true
	}
	r.Explanation += " " + why
	return r
}
