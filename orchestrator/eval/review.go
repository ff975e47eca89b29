package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// Review is what asking models about one call came to.
type Review struct {
	Outcome string `json:"outcome"`
	// Model is the one that judged, or whose failure decided.
	Model string `json:"model"`
	// Failure names why there is no judgement; empty where there is one.
	Failure string `json:"failure,omitempty"`
	// Failover are the models that failed, "fast=connect primary=refusal".
	Failover  string `json:"failover,omitempty"`
	Requests  int    `json:"requests"`
	TokensIn  int64  `json:"tokens_in"`
	TokensOut int64  `json:"tokens_out"`
	ElapsedUS int64  `json:"elapsed_us"`
	// Cost is that of all requests, each with the price of its model. It is
	// left out where it is nothing, and in rows of earlier versions.
	Cost *float64 `json:"cost,omitempty"`
	// Models is what each took, where more than one was asked.
	Models []Spent `json:"models,omitempty"`
	// First and Second are the words, approve or reject, of two models that judged.
	// SecondModel was asked after Model. SecondFailure names why it gave no judgement.
	First          string `json:"first,omitempty"`
	Second         string `json:"second,omitempty"`
	SecondModel    string `json:"second_model,omitempty"`
	SecondFailure  string `json:"second_failure,omitempty"`
	SecondFailover string `json:"second_failover,omitempty"`
	// Would is the outcome of a review in shadow, which was not applied.
	Would string `json:"would,omitempty"`
	// WaitedUS is how long requests waited for their turn; no other time holds
	// it. Tries are how often the case was decided because a model was away.
	WaitedUS int64 `json:"waited_us,omitempty"`
	Tries    int   `json:"tries,omitempty"`
}

// Spent is what one model took of a Review, with its own price.
type Spent struct {
	Model     string  `json:"model"`
	Requests  int     `json:"requests"`
	TokensIn  int64   `json:"tokens_in"`
	TokensOut int64   `json:"tokens_out"`
	Cost      float64 `json:"cost"`
}

// reviewOf reads what the review leaves in its verdict for the record. Nil
// where it was left out or not reached.
func reviewOf(v sentinel.Verdict) *Review {
	if v.Meta["model"] == "" && v.Meta["failure"] == "" {
		return nil
	}
	number := func(key string) int64 {
		n, err := strconv.ParseInt(v.Meta[key], 10, 64)
		if err != nil {
			return 0
		}
		return max(n, 0)
	}
	r := &Review{
		Outcome: v.Outcome.String(), Model: v.Meta["model"], Failure: v.Meta["failure"], Failover: v.Meta["failover"],
		Requests: int(number("attempts")), TokensIn: number("tokens_in"), TokensOut: number("tokens_out"), ElapsedUS: v.Elapsed.Microseconds(),
	}
	r.readOpinions(v.Meta)
	return r
}

// readOpinions reads of a verdict's Meta who else judged and what each model cost. It
// also reads what a review in shadow would have done.
func (r *Review) readOpinions(meta map[string]string) {
	r.First, r.Second, r.SecondModel = meta["first"], meta["second"], meta["second_model"]
	r.SecondFailure, r.SecondFailover = meta["second_failure"], meta["second_failover"]
	if o, err := sentinel.ParseOutcome(meta["would"]); err == nil {
		r.Would = o.String()
	}
	if n, err := strconv.ParseInt(meta["cost"], 10, 64); err == nil && n > 0 {
		cost := toCurrency(n)
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
			out = append(out, Spent{name, int(n[0]), n[1], n[2], toCurrency(n[3])})
		}
	}
	return out
}

// toMillionths turns a cost into millionths of the currency, as costs are added up.
func toMillionths(cost float64) int64 { return int64(math.Round(cost * 1e6)) }

// toCurrency turns millionths into a cost.
func toCurrency(millionths int64) float64 { return float64(millionths) / 1e6 }

// isDisagreement reports whether two models judged and differ.
func (r Review) isDisagreement() bool { return r.First != "" && r.Second != "" && r.First != r.Second }

// modelShares returns what each model took. Rows of earlier versions say it of the one that
// judged alone, and no cost.
func (r Review) modelShares() []Spent {
	if len(r.Models) > 0 {
		return r.Models
	}
	s := Spent{Model: r.Model, Requests: r.Requests, TokensIn: r.TokensIn, TokensOut: r.TokensOut}
	if r.Cost != nil {
		s.Cost = *r.Cost
	}
	return []Spent{s}
}

// addCosts adds what another try took.
func (r *Review) addCosts(o Review) {
	r.Requests, r.TokensIn, r.TokensOut = r.Requests+o.Requests, r.TokensIn+o.TokensIn, r.TokensOut+o.TokensOut
	if o.Cost != nil {
		sum := *o.Cost
		if r.Cost != nil {
			sum += *r.Cost
		}
		r.Cost = &sum
	}
	r.Models = slices.Clone(r.Models)
	for _, s := range o.modelShares() {
		i := slices.IndexFunc(r.Models, func(m Spent) bool { return m.Model == s.Model })
		if i < 0 {
			r.Models = append(r.Models, s)
			continue
		}
		m := &r.Models[i]
		*m = Spent{m.Model, m.Requests + s.Requests, m.TokensIn + s.TokensIn, m.TokensOut + s.TokensOut, m.Cost + s.Cost}
	}
}

// absentModel names the failure, and its model, of a review that a model's absence
// ended. Empty where there is none. Whether the case may have brought it about is
// left out: other cases show that, see ownFailures.
func (r *Review) absentModel() (model, failure string) {
	if r == nil {
		return "", ""
	}
	for _, f := range []struct{ model, failure string }{{r.SecondModel, r.SecondFailure}, {r.Model, r.Failure}} {
		switch failure := strings.TrimPrefix(f.failure, lonePrefix); failure {
		case "connect", "server", "rate_limited", quota, auth, breakerOpen, busy:
			return f.model, failure
		}
	}
	return "", ""
}

// NotJudged names why no model said anything of the case, where that says nothing of
// the case itself. The model was away, busy or too slow, its key or budget was no good,
// or its server refused the request as it would any. Empty where a model judged, or was
// asked and gave no usable answer.
func (r *Review) NotJudged() string {
	if r == nil {
		return ""
	}
	if _, failure := r.absentModel(); failure != "" {
		if f := r.SecondFailure; strings.TrimPrefix(f, lonePrefix) == failure {
			return f
		}
		return r.Failure
	}
	for _, f := range []string{r.Failure, r.SecondFailure} {
		switch f {
		case "timeout", "lone_timeout", "budget", badRequest:
			return f
		}
	}
	return ""
}

// lone begins the names of failures that a case may have brought about itself.
const lonePrefix = "lone_"
