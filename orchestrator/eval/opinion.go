package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// Spent is what one model took of a Review, with its own price.
type Spent struct {
	Model     string  `json:"model"`
	Requests  int     `json:"requests"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Cost      float64 `json:"cost"`
}

// millionths of the prices' currency, as they are added up.
func millionths(cost float64) int64 { return int64(math.Round(cost * 1e6)) }

// currency is the other way about.
func currency(millionths int64) float64 { return float64(millionths) / 1e6 }

// opinions reads of a verdict's Meta who else judged, what each model cost and
// what a review in shadow would have done.
func (r *Review) opinions(meta map[string]string) {
	r.First, r.Second, r.SecondModel = meta["first"], meta["second"], meta["second_model"]
	r.SecondFailure, r.SecondFailover = meta["second_failure"], meta["second_failover"]
	if o, err := sentinel.ParseOutcome(meta["would"]); err == nil {
		r.Would = o.String()
	}
	if n, err := strconv.ParseInt(meta["cost"], 10, 64); err == nil && n > 0 {
		cost := currency(n)
		r.Cost = &cost
	}
	r.Models = parseSpent(meta["spent"])
	if n, err := strconv.ParseInt(meta["waited_us"], 10, 64); err == nil && n > 0 {
		r.WaitedUS = n
		r.ElapsedUS = max(r.ElapsedUS-n, 0)
	}
}

// parseSpent reads "fast=1/100/10/140 strong=…": requests, tokens in, tokens out,
// and millionths. What is no such word is left out.
func parseSpent(meta string) []Spent {
	var out []Spent
	for _, word := range strings.Fields(meta) {
		name, numbers, _ := strings.Cut(word, "=")
		parts := strings.Split(numbers, "/")
		var n [4]int64
		ok := name != "" && len(parts) == len(n)
		for i := 0; ok && i < len(n); i++ {
			v, err := strconv.ParseInt(parts[i], 10, 64)
			n[i], ok = v, err == nil && v >= 0
		}
		if ok {
			out = append(out, Spent{name, int(n[0]), n[1], n[2], currency(n[3])})
		}
	}
	return out
}

// waited is how long the requests of the last decision waited for their turn.
func (r Result) waited() time.Duration {
	m := r.measure()
	if m.review == nil {
		return 0
	}
	return time.Duration(m.review.WaitedUS) * time.Microsecond
}

// disagreed reports whether two models judged, each otherwise.
func (r Review) disagreed() bool { return r.First != "" && r.Second != "" && r.First != r.Second }

// shares is what each model took. Rows of earlier versions say it of the one that
// judged alone, and no cost.
func (r Review) shares() []Spent {
	if len(r.Models) > 0 {
		return r.Models
	}
	s := Spent{Model: r.Model, Requests: r.Requests, TokensIn: r.TokensIn, TokensOut: r.TokensOut}
	if r.Cost != nil {
		s.Cost = *r.Cost
	}
	return []Spent{s}
}

// plus adds what another try took.
func (r *Review) plus(o Review) {
	r.Requests, r.TokensIn, r.TokensOut = r.Requests+o.Requests, r.TokensIn+o.TokensIn, r.TokensOut+o.TokensOut
	if o.Cost != nil {
		sum := *o.Cost
		if r.Cost != nil {
			sum += *r.Cost
		}
		r.Cost = &sum
	}
	r.Models = slices.Clone(r.Models)
	for _, s := range o.shares() {
		i := slices.IndexFunc(r.Models, func(m Spent) bool { return m.Model == s.Model })
		if i < 0 {
			r.Models = append(r.Models, s)
			continue
		}
		m := &r.Models[i]
		*m = Spent{m.Model, m.Requests + s.Requests, m.TokensIn + s.TokensIn, m.TokensOut + s.TokensOut, m.Cost + s.Cost}
	}
}

// spending is what a tally knows of one model.
type spending struct {
	millionths        int64
	looseIn, looseOut int64 // tokens of reviews that don't say what they cost
}

// spend counts what a review took, for each model.
func (t *reviewTally) spend(r Review) {
	if t.spent == nil {
		t.spent = map[string]spending{}
	}
	priced := r.Cost != nil || len(r.Models) > 0
	for _, s := range r.shares() {
		m, p := t.Models[s.Model], t.spent[s.Model]
		m.TokensIn, m.TokensOut = m.TokensIn+s.TokensIn, m.TokensOut+s.TokensOut
		if p.millionths += millionths(s.Cost); !priced {
			p.looseIn, p.looseOut = p.looseIn+s.TokensIn, p.looseOut+s.TokensOut
		}
		t.Models[s.Model], t.spent[s.Model] = m, p
	}
	m := t.Models[r.Model]
	m.Calls++
	t.Models[r.Model] = m
	t.second(r)
}

// second counts second opinions, and what else a review says beside its outcome.
func (t *reviewTally) second(r Review) {
	if r.SecondModel != "" {
		t.SecondOpinions++
		m := t.Models[r.SecondModel]
		m.SecondOpinions++
		t.Models[r.SecondModel] = m
	}
	t.Disagreements += count(r.disagreed())
	t.AskedAgain += count(r.Tries > 1)
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

// cost is what a model's share comes to, in millionths.
func (s spending) cost(p Price) int64 {
	return s.millionths + (s.looseIn*p.Input+s.looseOut*p.Output+500_000)/1_000_000
}

// Applied is the quality that a review in shadow would have had if its verdicts
// had been applied.
type Applied struct {
	Attack      AttackCount `json:"attack"`
	Benign      BenignCount `json:"benign"`
	Recall      Rate        `json:"recall"`
	Precision   Rate        `json:"precision"`
	FalseAlarms Rate        `json:"false_alarms"`
}

// apply counts a result as it would be with the review's verdict applied: of
// several gates the strictest decides.
func (q *quality) apply(kind string, o sentinel.Outcome, r *Review) {
	if q.applied == nil {
		q.applied = map[string]*Count{}
	}
	if r != nil && r.Would != "" {
		would, _ := sentinel.ParseOutcome(r.Would) // of the reader, or of opinions
		o, q.shadow = min(o, would), true
	}
	if q.applied[kind] == nil {
		q.applied[kind] = &Count{}
	}
	q.applied[kind].add(o)
}

// appliedReport is nil where no review was in shadow.
func (q *quality) appliedReport() *Applied {
	if !q.shadow {
		return nil
	}
	var attack, benign Count
	if c := q.applied[Attack]; c != nil {
		attack = *c
	}
	if c := q.applied[Benign]; c != nil {
		benign = *c
	}
	hits, alarms := attack.Total()-attack.Allow, benign.Total()-benign.Allow
	return &Applied{
		Attack: AttackCount{attack.Deny + attack.Defer, attack.Ask, attack.Allow},
		Benign: BenignCount{benign.Allow, benign.Ask, benign.Deny + benign.Defer},
		Recall: stopped(attack), FalseAlarms: stopped(benign), Precision: NewRate(hits, hits+alarms),
	}
}
