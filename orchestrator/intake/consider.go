package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/compare"
	"github.com/vedette-dev/vedette/sentinel/intent/detect"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
	"github.com/vedette-dev/vedette/sentinel/intent/vote"
)

// considered is a request after the stages that read it: what they found, and how it goes on.
type considered struct {
	request Request
	at      time.Time
	info    Info
	vote    vote.Result
	// canonical is the intent that goes on.
	canonical intent.Intent
	// status is Running where it goes on at once, or where it ended or waits. gate and code say why.
	status     Status
	gate, code string
	message    string
	// text is the journal's id of the text that is kept while the request waits.
	text int64
	// reasons are told to the person who is asked.
	reasons []string
	expires time.Time // of the user's confirmation
	// retryAfter is set where the rate of the action's risk is used up.
	retryAfter time.Duration
}

// The gates of records: the stage that decided.
const (
	gateDetector     = "detector"
	gateParsers      = "parsers"
	gateVote         = "vote"
	gateComparison   = "comparison"
	gateConfirmation = "confirmation"
	gateApproval     = "approval"
	gateAction       = "action"
	gateRate         = "rate"
)

// stop ends the consideration.
func (c *considered) stop(status Status, gate, code, message string) {
	c.status, c.gate, c.code, c.message = status, gate, code, message
}

// stages read a text and decide how its request goes on.
type stages struct{ o *Options }

// consider takes a request through detector, parsers, vote and comparison. It changes nothing.
func (s *stages) consider(ctx context.Context, r Request) *considered {
	c := &considered{request: r, at: s.o.Now(), status: Running}
	for _, stage := range []func(context.Context, *considered){s.detect, s.parse, s.count, s.compare, s.resolve, s.route} {
		if stage(ctx, c); c.status != Running {
			break
		}
	}
	return c
}

// detect is the first stage. A classifier can only raise what the rules found; one that fails changes nothing.
func (s *stages) detect(ctx context.Context, c *considered) {
	began := time.Now()
	defer func() { c.info.Took.Detect = time.Since(began).Microseconds() }()
	report := s.o.Detector.Detect(c.request.Text)
	if report.Verdict != detect.Block && s.o.Classifier != nil {
		info := &ClassifierInfo{Name: s.o.Classifier.Name()}
		score, err := s.o.Classifier.Score(parse.WithCaller(ctx, inputOf(c.request), "classifier"), c.request.Text)
		if info.Failed = err != nil; err == nil {
			info.Score = score
			report = s.o.Detector.Raise(report, info.Name, score)
		}
		c.info.Classifier = info
	}
	c.info.Detection = report
	if report.Verdict == detect.Block {
		c.stop(Blocked, gateDetector, CodeDetected, "The text looks like an attack, so nothing was done with it.")
	}
}

// inputOf is a request's text for parsers.
func inputOf(r Request) parse.Input {
	return parse.Input{Text: r.Text, User: r.User, Session: r.Session, Request: r.ID}
}

// parse is the second stage.
func (s *stages) parse(ctx context.Context, c *considered) {
	began := time.Now()
	defer func() { c.info.Took.Parse = time.Since(began).Microseconds() }()
	found := false
	for _, o := range s.o.Parsers.Parse(ctx, inputOf(c.request)) {
		one := ParserInfo{Parser: o.Parser, Trust: o.Trust, TookUS: o.Took.Microseconds(), rules: o.Rules}
		if o.Failure != nil {
			one.Failure = string(o.Failure.Code)
		} else {
			one.Confidence, one.built, one.Intent = o.Confidence, o.Intent, o.Intent.Canonical()
			found = true
		}
		c.info.Parsers = append(c.info.Parsers, one)
	}
	if !found {
		c.stop(Failed, gateParsers, CodeNoIntent, "The text asks for no action that is known here, or for several at once.")
	}
}

// count is the vote. What the detector flagged is low at best.
func (s *stages) count(ctx context.Context, c *considered) {
	began := time.Now()
	defer func() { c.info.Took.Vote = time.Since(began).Microseconds() }()
	var ballots []vote.Ballot
	for _, i := range c.info.Parsers {
		if i.Failure == "" {
			ballots = append(ballots, vote.Ballot{Parser: i.Parser, Trust: i.Trust, Confidence: i.Confidence, Rules: i.rules, Intent: i.built})
		}
	}
	r, err := vote.Count(ballots, vote.Options{Topics: s.topicsOf(ctx, ballots)})
	if err != nil { // there is a ballot, and each parser has one
		c.stop(Failed, gateVote, CodeNoIntent, "The parsers' intents could not be compared.")
		return
	}
	if c.info.Detection.Verdict == detect.Flag {
		r = r.Lower("The detector flagged the text.")
	}
	if c.readsTwoWays() {
		r = r.Lower("The fixed rules can read the text in two ways, or negated.")
	}
	c.vote, c.canonical = r, r.Canonical
	c.info.Vote = &VoteInfo{
		Canonical: r.Canonical.Canonical(), Parser: r.Parser, Level: r.Level, Agreement: r.Agreement, RequiresReview: r.RequiresReview,
		Average: r.Average, Minimum: r.Minimum, Disputed: r.Disputed, Explanation: r.Explanation, Pairs: r.Pairs,
	}
}

// readsTwoWays reports whether fixed rules found a text contradictory: models that agree about it may all be misled.
func (c *considered) readsTwoWays() bool {
	return slices.ContainsFunc(c.info.Parsers, func(i ParserInfo) bool {
		return i.rules && slices.Contains([]string{string(parse.Ambiguous), string(parse.Negated), string(parse.Number)}, i.Failure)
	})
}

// topicsOf returns how the topics of ballots are compared by their meaning; nil where words are compared.
func (s *stages) topicsOf(ctx context.Context, ballots []vote.Ballot) func(a, b intent.Topic) (float64, bool) {
	if s.o.Similar == nil || len(ballots) < 2 {
		return nil
	}
	return func(a, b intent.Topic) (float64, bool) {
		list, err := s.o.Similar.Compare(ctx, spell(a), []string{spell(b)})
		if err != nil || len(list) != 1 {
			return 0, false
		}
		return list[0], true
	}
}

// spell writes a topic as words.
func spell(t intent.Topic) string { return strings.Join(t.Words(), " ") }

// compare is the comparison with the policy.
func (s *stages) compare(ctx context.Context, c *considered) {
	began := time.Now()
	defer func() { c.info.Took.Compare = time.Since(began).Microseconds() }()
	c.setComparison(s.o.Policy.Compare(ctx, c.canonical, compare.Facts{
		User: c.request.User, Today: intent.NewDay(c.at), Alike: s.alikeOf(ctx, c.canonical.Topic()),
	}))
	if c.info.Comparison.Verdict == compare.Blocked {
		c.stop(Denied, gateComparison, CodeForbidden, c.info.Comparison.Explanation)
	}
}

func (c *considered) setComparison(r compare.Result) {
	c.info.Comparison = &ComparisonInfo{Verdict: r.Verdict, Mismatches: r.Mismatches, Elevation: r.Verdict == compare.Hard,
		Explanation: r.Explanation()}
}

// alikeOf returns how similar a topic is to the policy's examples, which are all compared at once.
func (s *stages) alikeOf(ctx context.Context, t intent.Topic) func(string) (float64, bool) {
	examples := s.o.Policy.Examples()
	if s.o.Similar == nil || len(examples) == 0 || t == (intent.Topic{}) {
		return nil
	}
	var found map[string]float64
	return func(example string) (float64, bool) {
		if found == nil {
			found = map[string]float64{}
			list, err := s.o.Similar.Compare(ctx, spell(t), examples)
			if err == nil && len(list) == len(examples) {
				for i, e := range examples {
					found[e] = list[i]
				}
			}
		}
		score, ok := found[example]
		return score, ok
	}
}

// resolve looks the references up. One that the user may not use ends the request: no approver can give what isn't theirs.
func (s *stages) resolve(ctx context.Context, c *considered) {
	for _, r := range c.canonical.References() {
		err := ErrNoReference
		if s.o.References != nil {
			err = s.o.References.Resolve(ctx, c.request.User, r)
		}
		switch {
		case err == nil:
		case errors.Is(err, ErrNoReference):
			c.stop(Denied, gateComparison, CodeReference, "A reference names nothing that you may use.")
			return
		default:
			s.o.Log.Error("the store of references failed", "request", c.request.ID)
			c.stop(Failed, gateComparison, CodeStore, "What the text refers to could not be looked up; try again later.")
			return
		}
	}
}

// route says how a request goes on that nothing has ended: at once, by the user's word, or by an approver's.
func (s *stages) route(_ context.Context, c *considered) {
	action, supported := s.o.Actions[c.canonical.Action().String()]
	hard := c.info.Comparison.Verdict == compare.Hard
	switch {
	case hard && s.o.BlockHard:
		c.stop(Denied, gateComparison, CodeMismatch, c.info.Comparison.Explanation)
		return
	case !supported || action.isForTurns() && !c.request.turn || c.request.turn && len(action.Grants) == 0:
		c.stop(Failed, gateAction, CodeUnsupported, fmt.Sprintf("Nothing here does %s.", c.canonical.Action()))
		return
	}
	ask := s.reasonsToConfirm(c)
	askUser := len(ask) > 0 && !c.request.NoConfirm && !c.request.turn // a turn has no user who waits for a question
	toApprover := func(gate, code, reason string) {
		c.stop(PendingApproval, gate, code, "The request waits for a person's approval.")
		c.reasons = append([]string{reason}, c.explanations()...)
	}
	switch {
	case c.vote.Level == vote.Conflict:
		toApprover(gateVote, CodeConflict, ReasonConflict)
	case hard:
		toApprover(gateComparison, CodeMismatch, ReasonPolicy)
	case s.o.ApproveAlways || action.Approve:
		toApprover(gateApproval, CodeAlways, ReasonAlways)
	case len(ask) > 0 && !askUser:
		toApprover(gateVote, CodeConflict, ReasonConflict)
	case askUser:
		code := CodeUnsure
		if c.info.Comparison.Verdict == compare.Soft {
			code = CodeSoft
		}
		c.stop(PendingConfirmation, gateConfirmation, code, "Please confirm that this is what you want.")
		c.reasons, c.expires = ask, c.at.Add(s.o.ConfirmTimeout)
	}
}

// reasonsToConfirm are why the user is asked; none where they need not be.
func (s *stages) reasonsToConfirm(c *considered) (out []string) {
	risky := s.o.Vocabulary.Risk(c.canonical.Action()).AtLeast(s.o.ConfirmFrom)
	switch {
	case c.vote.Level == vote.Low && (risky || c.vote.Disputed):
		out = append(out, c.vote.Explanation)
	case risky && !c.vote.Rules:
		out = append(out, "No fixed rule read the text.")
	}
	if c.info.Comparison.Verdict == compare.Soft {
		out = append(out, c.info.Comparison.Explanation)
	}
	return out
}

// explanations are what vote and comparison say.
func (c *considered) explanations() (out []string) {
	out = append(out, c.vote.Explanation)
	if c.info.Comparison.Verdict != compare.Approved {
		out = append(out, c.info.Comparison.Explanation)
	}
	return out
}

// answer is where the request stands.
func (c *considered) answer() Answer {
	info := c.info
	a := Answer{RequestID: c.request.ID, Status: c.status, Code: c.code, Message: c.message, RetryAfter: c.retryAfter, Info: &info}
	if c.status == PendingConfirmation {
		a.Confirmation = &Confirmation{Digest: c.canonical.Digest(), Fields: setFields(c.canonical), Reasons: c.reasons, Expires: c.expires}
	}
	return a
}

// setFields are the fields that an intent has.
func setFields(i intent.Intent) (out []intent.Field) {
	for _, f := range i.Fields() {
		if f.Value != "" {
			out = append(out, f)
		}
	}
	return out
}
