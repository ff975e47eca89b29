package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Way is one request's way through the stages, as its records tell of it. It holds no value.
type Way struct {
	Summary Summary
	Stages  []WayStage
}

// WayStage is one stage that a request has reached.
type WayStage struct {
	// Name is the stage: detector, parsers, vote, comparison, approval, confirmation, intent or action.
	Name    string
	Outcome string
	// Code says why the request went no further, where that is so.
	Code  string
	Lines []string
	At    time.Time
	// Took is zero where it isn't known.
	Took time.Duration
}

// Show returns the way of one request. The error is ErrUnknownRequest or the ledger's.
func (a Archive) Show(ctx context.Context, request string) (Way, error) {
	chain, err := a.Chain(ctx, request)
	if err != nil {
		return Way{}, err
	}
	s := readChain(chain)
	if s == nil {
		return Way{}, ErrUnknownRequest
	}
	var w Way
	for _, r := range chain {
		if r.Kind == RecordRequest {
			w.Summary = summarize(r, s)
		}
		w.Stages = append(w.Stages, stagesOf(r)...)
	}
	return w, nil
}

// summarize is one request as its records tell of it; r is the first of them.
func summarize(r ledger.Record, s *state) Summary {
	return Summary{
		Index: r.Index, Request: r.Call, At: r.Time, User: r.User, Session: r.Conversation, Outcome: r.Outcome, Gate: r.Gate,
		Status: s.status, Code: s.code, Elevated: s.elevation, Intent: s.intentID,
	}
}

// stagesOf are the stages that a record tells of. One whose body can't be read tells its outcome alone.
func stagesOf(r ledger.Record) []WayStage {
	one := WayStage{Outcome: r.Outcome, Code: r.Code, At: r.Time}
	switch r.Kind {
	case RecordRequest:
		var b requestBody
		_ = json.Unmarshal(r.Body, &b)
		return stagesOfRequest(r, b)
	case RecordElevation:
		var b recordedElevation
		_ = json.Unmarshal(r.Body, &b)
		one.Name = gateApproval
		if b.By != "" {
			one.Lines = append(one.Lines, fmt.Sprintf("by %s, via %s", b.By, b.Via))
		}
		if b.Chosen != "" {
			one.Lines = append(one.Lines, "the approver chose what "+b.Chosen+" read")
		}
	case RecordConfirmation:
		one.Name = gateConfirmation
	case RecordTrusted:
		var b trustedBody
		_ = json.Unmarshal(r.Body, &b)
		one.Name, one.Lines = "intent", []string{fmt.Sprintf("%s as %s, until %s", b.Action, b.Intent, b.Expires.UTC().Format(time.RFC3339))}
	case RecordEnd:
		var b endBody
		_ = json.Unmarshal(r.Body, &b)
		one.Name, one.Took = gateAction, time.Duration(b.TookUS)*time.Microsecond
		if b.Call != "" {
			one.Lines = append(one.Lines, "call "+b.Call)
		}
	default:
		return nil
	}
	return []WayStage{one}
}

// stagesOfRequest are the stages that read the text, and the question that it waits with.
func stagesOfRequest(r ledger.Record, b requestBody) []WayStage {
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	first := WayStage{Name: gateDetector, Outcome: string(b.Detector.Verdict), At: r.Time, Took: us(b.Took.Detect)}
	first.Lines = append(first.Lines, fmt.Sprintf("score %d", b.Detector.Score))
	for _, h := range b.Detector.Hits {
		first.Lines = append(first.Lines, strings.TrimSpace(fmt.Sprintf("%s, score %d %s", h.ID, h.Score, strings.Join(h.Via, " "))))
	}
	out := []WayStage{first}
	if len(b.Parsers) > 0 {
		one := WayStage{Name: gateParsers, Outcome: fmt.Sprintf("%d asked", len(b.Parsers)), At: r.Time, Took: us(b.Took.Parse)}
		for _, p := range b.Parsers {
			said := fmt.Sprintf("%s, confidence %d", p.Action, p.Confidence)
			if p.Failure != "" {
				said = "failed: " + p.Failure
			}
			one.Lines = append(one.Lines, fmt.Sprintf("%s (trust %d): %s", p.Parser, p.Trust, said))
		}
		out = append(out, one)
	}
	if v := b.Vote; v != nil {
		out = append(out, WayStage{Name: gateVote, Outcome: string(v.Level), At: r.Time, Took: us(b.Took.Vote), Lines: []string{
			fmt.Sprintf("agreement %s, similarity %.2f at least and %.2f on average; %s counts", v.Agreement, v.Minimum, v.Average, v.Parser),
		}})
	}
	if c := b.Comparison; c != nil {
		one := WayStage{Name: gateComparison, Outcome: string(c.Verdict), At: r.Time, Took: us(b.Took.Compare)}
		for _, m := range c.Mismatches {
			one.Lines = append(one.Lines, fmt.Sprintf("%s: %s (%s)", m.Field, m.Code, m.Verdict))
		}
		out = append(out, one)
	}
	switch {
	case b.Elevation != nil:
		why := []string{b.Elevation.Reason}
		out = append(out, WayStage{Name: gateApproval, Outcome: b.Elevation.Status, Code: r.Code, At: r.Time, Lines: why})
	case b.Confirm != nil:
		until := "until " + b.Confirm.Expires.UTC().Format(time.RFC3339)
		out = append(out, WayStage{Name: gateConfirmation, Outcome: "pending", Code: r.Code, At: r.Time, Lines: []string{until}})
	default:
		out[len(out)-1].Code = r.Code
	}
	return out
}
