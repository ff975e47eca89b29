package eval

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/vedette-dev/vedette/orchestrator/cases"
	"github.com/vedette-dev/vedette/sentinel"
)

// Row is one line of eval's file of results. A line that is no case has only
// ID and Error.
//
// The keys up to elapsed_us are what every reader of results may rely on; those
// after it are there so that a run can be gone on with, and its counts be the
// same as if it had not been interrupted.
type Row struct {
	ID        string  `json:"id"`
	Kind      string  `json:"kind"`
	Category  string  `json:"category"`
	Expected  string  `json:"expected"`
	Decision  string  `json:"decision"`
	BlockedBy *string `json:"blocked_by"`
	Code      string  `json:"code"`
	Reason    string  `json:"reason"`
	Degraded  bool    `json:"degraded"`
	Digest    *string `json:"digest"`
	ElapsedUS int64   `json:"elapsed_us"`
	// Line is the digest of the case's line.
	Line string `json:"line,omitempty"`
	// JudgeScore and ReviewScore are the gates' scores, 0 to 1.
	JudgeScore  *float64 `json:"judge_score,omitempty"`
	ReviewScore *float64 `json:"review_score,omitempty"`
	// Review is there where the review asked a model, or would have.
	Review *Review `json:"review,omitempty"`
	// Error says why the line is no case.
	Error *cases.Error `json:"error,omitempty"`
}

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
	// First and Second are the words, approve or reject, of two models that
	// judged, SecondModel the one that was asked after Model. SecondFailure names
	// why it gave no judgement.
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

// LabelledJSON returns the result with the case's labels and without the gates,
// as eval writes it (see Row), without the line's end.
func (r Result) LabelledJSON() []byte {
	if r.Err != nil {
		return r.JSON()
	}
	l, m := r.Decision.Line(r.Case.ID), r.measure()
	return marshal(Row{
		ID: l.ID, Kind: r.Case.Kind, Category: r.Case.Category, Expected: r.Case.Expected, Decision: l.Decision, BlockedBy: l.BlockedBy,
		Code: l.Code, Reason: l.Reason, Degraded: l.Degraded, Digest: l.Digest, ElapsedUS: l.ElapsedUS,
		Line: r.Line, JudgeScore: fraction(m.judge), ReviewScore: fraction(m.reviewScore), Review: m.review,
	})
}

// Result is what the row was written from, as far as it is counted.
func (w Row) Result() Result {
	if w.Error != nil {
		return Result{Case: cases.Case{ID: w.ID}, Err: w.Error}
	}
	res := Result{Case: cases.Case{ID: w.ID, Kind: w.Kind, Category: w.Category, Expected: w.Expected}, Line: w.Line, Resumed: true}
	o, _ := sentinel.ParseOutcome(w.Decision) // ReadRows has seen to it
	res.Decision = sentinel.Decision{
		Outcome: o, Code: w.Code, Reason: w.Reason, Degraded: w.Degraded, Elapsed: time.Duration(w.ElapsedUS) * time.Microsecond,
	}
	if w.BlockedBy != nil {
		res.Decision.BlockedBy = *w.BlockedBy
	}
	if w.Digest != nil {
		res.Decision.Digest = *w.Digest
	}
	res.measured = &measure{hundredths(w.JudgeScore), hundredths(w.ReviewScore), w.Review}
	return res
}

func fraction(hundredths *int) *float64 {
	if hundredths == nil {
		return nil
	}
	f := float64(*hundredths) / 100
	return &f
}

func hundredths(f *float64) *int {
	if f == nil {
		return nil
	}
	n := int(math.Round(100 * *f))
	return &n
}

// measure is what a decision says of its quality and price.
type measure struct {
	judge, reviewScore *int // in hundredths
	review             *Review
}

func (r Result) measure() measure {
	if r.measured != nil {
		return *r.measured
	}
	m := measure{}
	for _, v := range r.Decision.Verdicts {
		switch v.Gate {
		case sentinel.GateJudge:
			m.judge = scoreOf(v)
		case sentinel.GateReview:
			m.reviewScore, m.review = scoreOf(v), reviewOf(v)
		}
	}
	return m
}

func scoreOf(v sentinel.Verdict) *int {
	if !v.HasScore {
		return nil
	}
	return &v.Score
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
	r.opinions(v.Meta)
	return r
}

// lineDigest identifies a case's line: an edited case has another digest.
func lineDigest(line []byte) string {
	sum := sha256.Sum256(line)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Rows are the lines of a file of results.
type Rows struct {
	List []Row
	// Whole is how many bytes the lines in List take. Bytes behind them are a line
	// without an end, whose writer was killed.
	Whole int64
}

// ReadRows reads a file of results. A last line without an end is left out; any
// other line that is no result is an error with its number, and without any of
// its values.
func ReadRows(r io.Reader) (Rows, error) {
	var out Rows
	in := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		w, msg := readRow(line)
		if msg != "" {
			return out, fmt.Errorf("line %d %s", n, msg)
		}
		out.List = append(out.List, w)
		out.Whole += int64(len(line))
	}
}

func readRow(line []byte) (Row, string) {
	var w Row
	// The parser's own words are left out: they may quote the line.
	if json.Unmarshal(line, &w) != nil {
		return Row{}, "is no result that eval wrote"
	}
	if w.Error != nil {
		return w, ""
	}
	if _, err := sentinel.ParseOutcome(w.Decision); err != nil {
		return Row{}, "holds no decision"
	}
	return w, ""
}

// Earlier are the results of a run that is gone on with: an Evaluator that has
// them decides no line again that is in them. It is safe for concurrent use.
type Earlier struct {
	mu      sync.Mutex
	decided map[string][]kept // by line
	errors  map[fault][]int   // places of rows
	rows    []Row
	anew    map[string]int // results that are in no row, by id
}

// kept is a row and its place among the rows.
type kept struct {
	row Row
	at  int
}

// fault is a line that was no case: it is read again, which costs nothing, and
// known by what was wrong with it.
type fault struct {
	id string
	cases.Error
}

// NewEarlier returns the Earlier of a file's rows. A line that stands in the
// cases more often than in the rows is decided for the rest.
func NewEarlier(rows []Row) *Earlier {
	e := &Earlier{decided: map[string][]kept{}, errors: map[fault][]int{}, rows: rows, anew: map[string]int{}}
	for i, w := range rows {
		switch {
		case w.Error != nil:
			f := fault{w.ID, *w.Error}
			e.errors[f] = append(e.errors[f], i)
		case w.Line != "":
			e.decided[w.Line] = append(e.decided[w.Line], kept{w, i})
		}
	}
	return e
}

// Has reports whether a result stands in the rows, once for each row. The caller
// that writes the other results leaves this one out. A nil Earlier has no results.
func (e *Earlier) Has(r Result) bool {
	if e == nil || r.Err == nil {
		return r.Resumed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f := fault{r.Case.ID, *r.Err}
	if len(e.errors[f]) == 0 {
		return false
	}
	e.errors[f] = e.errors[f][1:]
	return true
}

// take returns the result of a line, once for each row. The line's digest holds
// its id too. Nil has none.
func (e *Earlier) take(line string) (Result, bool) {
	if e == nil {
		return Result{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	left := e.decided[line]
	if len(left) == 0 {
		return Result{}, false
	}
	e.decided[line] = left[1:]
	return left[0].row.Result(), true
}
