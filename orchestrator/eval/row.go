package eval

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
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

// LabelledJSON returns the result as a row: with the case's labels, without the gates
// and the line's end.
func (r Result) LabelledJSON() []byte {
	if r.Err != nil {
		return r.JSON()
	}
	l, m := r.Decision.Line(r.Case.ID), r.measureResult()
	return marshalPlain(Row{
		ID: l.ID, Kind: r.Case.Kind, Category: r.Case.Category, Expected: r.Case.Expected, Decision: l.Decision, BlockedBy: l.BlockedBy,
		Code: l.Code, Reason: l.Reason, Degraded: l.Degraded, Digest: l.Digest, ElapsedUS: l.ElapsedUS,
		Line: r.Line, JudgeScore: toFraction(m.judge), ReviewScore: toFraction(m.reviewScore), Review: m.review,
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
	res.fromRow = &measure{toHundredths(w.JudgeScore), toHundredths(w.ReviewScore), w.Review}
	return res
}

func toFraction(hundredths *int) *float64 {
	if hundredths == nil {
		return nil
	}
	f := float64(*hundredths) / 100
	return &f
}

func toHundredths(f *float64) *int {
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

func (r Result) measureResult() measure {
	if r.fromRow != nil {
		return *r.fromRow
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

// waitedFor returns how long the requests of the last decision waited for their turn.
func (r Result) waitedFor() time.Duration {
	m := r.measureResult()
	if m.review == nil {
		return 0
	}
	return time.Duration(m.review.WaitedUS) * time.Microsecond
}
