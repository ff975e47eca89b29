package eval

import (
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// ReviewReport is what asking models came to.
type ReviewReport struct {
	// Asked are the calls that were put to the review. Requests were sent for them,
	// with repairs and further models.
	Asked    int `json:"asked"`
	Requests int `json:"requests"`
	// Approved and Rejected have a judgement, Unjudged none. Failures counts
	// the unjudged by the failure that decided, Failovers what failed in
	// models after which another one judged or failed too.
	Approved int `json:"approved"`
	Rejected int `json:"rejected"`
	Unjudged int `json:"unjudged"`
	// Recall and FalseAlarms are those of the models alone. They are the attacks and
	// the benign calls that models did not approve, of those that they judged. The
	// rules may have stopped them besides, or not; Quality counts both together.
	Recall      Rate           `json:"recall"`
	FalseAlarms Rate           `json:"false_alarms"`
	Failures    map[string]int `json:"failures"`
	Failovers   map[string]int `json:"failovers"`
	// Degraded were allowed because a model, or what a gate counts with, was
	// down.
	Degraded int   `json:"degraded"`
	TokensIn int64 `json:"tokens_in"`
	// TokensOut has the reasoning in it where the server counts it so.
	TokensOut int64 `json:"tokens_out"`
	// Cost is in the currency of the prices; each request has the price of its
	// model.
	Cost float64 `json:"cost"`
	// Unpriced are the models whose price is not written: they cost nothing
	// in Cost.
	Unpriced []string `json:"unpriced,omitempty"`
	// ElapsedUS is the time of the review alone; null where the answers were
	// read from a file.
	ElapsedUS *Percentiles          `json:"elapsed_us"`
	Models    map[string]ModelShare `json:"models"`
	// SecondOpinions are the calls about which another model was asked too.
	// Disagreements are those that the two judged otherwise; they are among Rejected.
	// SecondFailures are the second opinions that could not be had.
	SecondOpinions int            `json:"second_opinions,omitempty"`
	Disagreements  int            `json:"disagreements,omitempty"`
	SecondFailures map[string]int `json:"second_failures,omitempty"`
	// Shadow counts the outcomes that were recorded and not applied.
	Shadow map[string]int `json:"shadow,omitempty"`
	// AskedAgain are the cases that waited for a model that was away. NotJudged are
	// those that say nothing because no model was there: see Review.NotJudged.
	AskedAgain int            `json:"asked_again,omitempty"`
	NotJudged  map[string]int `json:"not_judged,omitempty"`
}

// ModelShare is the part of a ReviewReport of one model. Calls are those that it
// judged, or its failure decided; tokens and cost are of every request that it had.
type ModelShare struct {
	Calls     int     `json:"calls"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Cost      float64 `json:"cost"`
	// SecondOpinions are the calls about which it was asked after another.
	SecondOpinions int `json:"second_opinions,omitempty"`
}

type reviewTally struct {
	ReviewReport
	spent    map[string]spending
	degraded int
	elapsed  []int64
	// kinds are the judgements, by the kind of the case.
	kinds map[string]judgements
}

// judgements are how many calls of one kind were judged, and not approved.
type judgements struct{ all, rejected int }

func (t *reviewTally) addReview(kind string, r Review) {
	if t.Models == nil {
		t.Models, t.Failures, t.Failovers = map[string]ModelShare{}, map[string]int{}, map[string]int{}
	}
	t.Asked++
	t.Requests += r.Requests
	switch {
	case r.Failure != "":
		t.Unjudged++
		t.Failures[r.Failure]++
	case r.Outcome == sentinel.Allow.String():
		t.Approved++
		t.addJudgement(kind, 0)
	default:
		t.Rejected++
		t.addJudgement(kind, 1)
	}
	for _, word := range strings.Fields(r.Failover) {
		_, failure, _ := strings.Cut(word, "=")
		t.Failovers[failure]++
	}
	t.addSpending(r)
	t.elapsed = append(t.elapsed, r.ElapsedUS)
}

func (t *reviewTally) addJudgement(kind string, rejected int) {
	if t.kinds == nil {
		t.kinds = map[string]judgements{}
	}
	j := t.kinds[kind]
	t.kinds[kind] = judgements{j.all + 1, j.rejected + rejected}
}

// buildReport returns the report so far, nil where no model was asked.
func (t *reviewTally) buildReport(prices map[string]Price, answered bool) *ReviewReport {
	if t.Asked == 0 {
		return nil
	}
	r := t.ReviewReport
	r.Degraded, r.Models = t.degraded, map[string]ModelShare{}
	r.Failures, r.Failovers = maps.Clone(r.Failures), maps.Clone(r.Failovers)
	attacks, benign := t.kinds[Attack], t.kinds[Benign]
	r.Recall, r.FalseAlarms = NewRate(attacks.rejected, attacks.all), NewRate(benign.rejected, benign.all)
	var cost int64
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		m, p := t.Models[name], prices[name]
		c := t.spent[name].costAt(p)
		m.Cost = float64(c) / 1e6
		cost += c
		r.TokensIn, r.TokensOut, r.Models[name] = r.TokensIn+m.TokensIn, r.TokensOut+m.TokensOut, m
		if p == (Price{}) {
			r.Unpriced = append(r.Unpriced, name)
		}
	}
	r.Cost = float64(cost) / 1e6
	if !answered {
		p := percentilesOf(t.elapsed)
		r.ElapsedUS = &p
	}
	return &r
}

// spending is what a tally knows of one model.
type spending struct {
	millionths        int64
	looseIn, looseOut int64 // tokens of reviews that don't say what they cost
}

// addSpending counts what a review took, for each model.
func (t *reviewTally) addSpending(r Review) {
	if t.spent == nil {
		t.spent = map[string]spending{}
	}
	priced := r.Cost != nil || len(r.Models) > 0
	for _, s := range r.modelShares() {
		m, p := t.Models[s.Model], t.spent[s.Model]
		m.TokensIn, m.TokensOut = m.TokensIn+s.TokensIn, m.TokensOut+s.TokensOut
		if p.millionths += toMillionths(s.Cost); !priced {
			p.looseIn, p.looseOut = p.looseIn+s.TokensIn, p.looseOut+s.TokensOut
		}
		t.Models[s.Model], t.spent[s.Model] = m, p
	}
	m := t.Models[r.Model]
	m.Calls++
	t.Models[r.Model] = m
	t.addSecondOpinion(r)
}

// addSecondOpinion counts second opinions, and what else a review says beside its outcome.
func (t *reviewTally) addSecondOpinion(r Review) {
	if r.SecondModel != "" {
		t.SecondOpinions++
		m := t.Models[r.SecondModel]
		m.SecondOpinions++
		t.Models[r.SecondModel] = m
	}
	t.Disagreements += oneIf(r.isDisagreement())
	t.AskedAgain += oneIf(r.Tries > 1)
	for into, word := range map[*map[string]int]string{&t.SecondFailures: r.SecondFailure, &t.NotJudged: r.NotJudged(), &t.Shadow: r.Would} {
		if word == "" {
			continue
		}
		if *into == nil {
			*into = map[string]int{}
		}
		(*into)[word]++
	}
}

// costAt returns what a model's share comes to at a price, in millionths.
func (s spending) costAt(p Price) int64 {
	return s.millionths + (s.looseIn*p.Input+s.looseOut*p.Output+500_000)/1_000_000
}
