package query

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Statistics count decisions. Records of other kinds count in Records alone.
type Statistics struct {
	Records   int64     `json:"records"`
	Decisions int64     `json:"decisions"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	// Asked is how many of the decisions a person was asked about, and Degraded how many the model
	// could not judge.
	Asked    int64 `json:"asked"`
	Degraded int64 `json:"degraded"`
	Tainted  int64 `json:"tainted"`
	// By what and by which value of it the decisions have which outcome: "gate" is the one that decided.
	By map[string]map[string]*OutcomeCounts `json:"by"`
	// Scores counts the judge's scores in tenths: the last of the ten holds 0.9 to 1.
	Scores [10]int64 `json:"judge_scores"`
	// Checks are the times that all gates took together, and Reviews those that the model took.
	Checks  Times `json:"checks"`
	Reviews Times `json:"reviews"`
	// TokensIn and TokensOut are what the model read and wrote.
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// Labels count what reviewers said of the decisions, by what was decided: see ReadLabels.
	Labels map[string]*LabelCounts `json:"labels"`

	opinions map[string]label.Opinion // by record
}

// OutcomeCounts count decisions by their outcome.
type OutcomeCounts struct {
	Allow int64 `json:"allow"`
	Ask   int64 `json:"ask"`
	Defer int64 `json:"defer"`
	Deny  int64 `json:"deny"`
}

func (c *OutcomeCounts) add(outcome string) {
	switch outcome {
	case "allow":
		c.Allow++
	case "ask":
		c.Ask++
	case "defer":
		c.Defer++
	default:
		c.Deny++
	}
}

func (c *OutcomeCounts) sum() int64 { return c.Allow + c.Ask + c.Defer + c.Deny }

// Times are times in microseconds. The percentiles are at most 5% too high.
type Times struct {
	Count int64 `json:"count"`
	P50   int64 `json:"p50_us"`
	P99   int64 `json:"p99_us"`
	Most  int64 `json:"most_us"`

	buckets map[int]int64 // by powers of bucketWidth
}

// bucketWidth is how far apart two times lie that are counted apart.
const bucketWidth = 1.05

func (t *Times) add(us int64) {
	if t.buckets == nil {
		t.buckets = map[int]int64{}
	}
	t.Count, t.Most = t.Count+1, max(t.Most, us)
	t.buckets[int(math.Ceil(math.Log(float64(max(us, 1)))/math.Log(bucketWidth)))]++
}

// sumUp computes the percentiles.
func (t *Times) sumUp() {
	find := func(share float64) int64 {
		left := int64(math.Ceil(share * float64(t.Count)))
		for _, b := range slices.Sorted(maps.Keys(t.buckets)) {
			if left -= t.buckets[b]; left <= 0 {
				return min(t.Most, int64(math.Ceil(math.Pow(bucketWidth, float64(b)))))
			}
		}
		return t.Most
	}
	t.P50, t.P99 = find(0.5), find(0.99)
}

// maxNames is how many values of one kind are counted apart. What comes later counts as otherNames.
const maxNames = 10_000

const otherNames = "(others)"

// NewStatistics returns statistics that have counted nothing.
func NewStatistics() *Statistics {
	s := &Statistics{By: map[string]map[string]*OutcomeCounts{}, Labels: map[string]*LabelCounts{}}
	for _, name := range statisticNames {
		s.By[name] = map[string]*OutcomeCounts{}
	}
	return s
}

// statisticNames are what decisions are counted by, in the order of the text.
var statisticNames = []string{"outcome", "gate", "effect", "skill", "agent", "user", "hour"}

// Add counts one record. Percentiles are computed by SumUp.
func (s *Statistics) Add(r *ledger.Record) {
	s.Records++
	if s.First.IsZero() || r.Time.Before(s.First) {
		s.First = r.Time
	}
	if r.Time.After(s.Last) {
		s.Last = r.Time
	}
	if r.Kind != sentinel.RecordDecision && r.Kind != sentinel.RecordRefused {
		return
	}
	b := openBody(r)
	s.Decisions++
	s.addOpinion(r)
	s.Asked += countIf(!b.AskedAt.IsZero())
	s.Degraded += countIf(b.Degraded)
	s.Tainted += countIf(b.Tainted)
	for name, value := range map[string]string{
		"outcome": r.Outcome, "gate": r.Gate, "effect": b.Effect, "skill": r.Skill, "agent": r.Agent, "user": r.User,
		"hour": r.Time.UTC().Truncate(time.Hour).Format("2006-01-02T15Z"),
	} {
		s.addTo(name, value, r.Outcome)
	}
	if b.ElapsedUS != nil {
		s.Checks.add(*b.ElapsedUS)
	}
	for _, g := range b.Gates {
		s.addGate(g)
	}
}

func (s *Statistics) addTo(name, value, outcome string) {
	if value == "" {
		return
	}
	counts := s.By[name]
	if counts[value] == nil {
		if len(counts) >= maxNames {
			value = otherNames
		}
		counts[value] = cmp.Or(counts[value], &OutcomeCounts{})
	}
	counts[value].add(outcome)
}

// SumUp computes the percentiles of what was counted.
func (s *Statistics) SumUp() {
	s.Checks.sumUp()
	s.Reviews.sumUp()
}

// addGate counts what is counted of single gates.
func (s *Statistics) addGate(g gateBody) {
	if g.Gate == sentinel.GateJudge && g.Score != nil {
		s.Scores[min(max(*g.Score, 0)/10, len(s.Scores)-1)]++
	}
	if g.Gate != sentinel.GateReview || g.Meta["tokens_in"] == "" {
		return
	}
	s.Reviews.add(g.ElapsedUS)
	for key, into := range map[string]*int64{"tokens_in": &s.TokensIn, "tokens_out": &s.TokensOut} {
		if n, err := strconv.ParseInt(g.Meta[key], 10, 64); err == nil && n > 0 {
			*into += n
		}
	}
}

func countIf(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// maxShown is how many values of one kind the text shows, those with the most decisions.
const maxShown = 15

// WriteText writes the statistics for people.
func (s *Statistics) WriteText(w io.Writer, colour bool) error {
	head := &terminal.Table{Colour: colour}
	span := strconv.FormatInt(s.Records, 10)
	if s.Records > 0 {
		span += ", " + s.First.Format(timeLayout) + " to " + s.Last.Format(timeLayout)
	}
	head.Add("records", span)
	head.Add("decisions", fmt.Sprintf("%d; a person was asked about %d, %d tainted, %d degraded", s.Decisions, s.Asked, s.Tainted, s.Degraded))
	head.Add("gates took", describeTimes(s.Checks))
	head.Add("model took", describeTimes(s.Reviews))
	head.Add("model's tokens", fmt.Sprintf("%d in, %d out", s.TokensIn, s.TokensOut))
	err := head.Write(w)
	for _, name := range statisticNames {
		err = errors.Join(err, terminal.WriteSection(w, "by "+name, s.countsTable(name, colour)))
	}
	scores := &terminal.Table{Colour: colour, Right: map[int]bool{1: true}}
	for i, n := range s.Scores {
		if n > 0 {
			scores.Add(fmt.Sprintf("  %.1f to %.1f", float64(i)/10, float64(i+1)/10), strconv.FormatInt(n, 10))
		}
	}
	return errors.Join(err, terminal.WriteSection(w, "judge's scores", scores), terminal.WriteSection(w, "labels", s.labelsTable(colour)))
}

func describeTimes(t Times) string {
	if t.Count == 0 {
		return "nothing was measured"
	}
	show := func(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
	return fmt.Sprintf("p50 %s, p99 %s, at most %s", show(t.P50), show(t.P99), show(t.Most))
}

// countsTable is the table of one kind of value: hours in their order, others by their number.
func (s *Statistics) countsTable(name string, colour bool) *terminal.Table {
	counts := s.By[name]
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if name == "hour" {
			return cmp.Compare(b, a)
		}
		return cmp.Or(cmp.Compare(counts[b].sum(), counts[a].sum()), cmp.Compare(a, b))
	})
	t := &terminal.Table{Colour: colour, Right: map[int]bool{1: true, 2: true, 3: true, 4: true}}
	if len(keys) > 0 {
		t.Add("  "+name, "allow", "ask", "defer", "deny")
	}
	for i, k := range keys {
		if i == maxShown {
			t.Add(fmt.Sprintf("  … %d more: --json has them", len(keys)-i))
			break
		}
		c := counts[k]
		t.Add("  "+k, strconv.FormatInt(c.Allow, 10), strconv.FormatInt(c.Ask, 10), strconv.FormatInt(c.Defer, 10), strconv.FormatInt(c.Deny, 10))
	}
	return t
}

// timeLayout is how times are written for people.
const timeLayout = "2006-01-02T15:04:05.000Z"
