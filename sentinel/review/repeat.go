package review

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// questionDigits is how many hexadecimal digits name a question.
const questionDigits = 32

// nameChain names what holds for every question of the gate: who is asked, and what they are told.
func nameChain(g *Gate) string {
	d := newDigest("chain")
	d.addText(g.version)
	for _, flag := range []bool{g.o.Graded, g.o.Keys, g.o.Reasoning, g.o.Flows > 0} {
		d.addFlag(flag)
	}
	if g.o.Intents { // names of questions without it stay what they were
		d.addText("intents")
	}
	d.addText(strconv.Itoa(g.o.Trace))
	for _, chain := range [][]*model{g.models, g.stronger} {
		for _, m := range chain {
			d.addText(m.name)
			d.addText(m.client.Config().Model)
		}
		d.addText("")
	}
	for _, e := range g.o.Escalate.Rejected {
		d.addText(string(e))
	}
	d.addText("")
	for _, e := range g.o.Escalate.Approved {
		d.addText(string(e))
	}
	sum := d.sumKey()
	return string(sum[:])
}

// nameQuestion names a question: two with one name have the same words, for the same models.
func nameQuestion(g *Gate, document string) string {
	h := sha256.New()
	_, _ = h.Write([]byte(g.chain)) // a hash takes everything
	_, _ = h.Write([]byte(document))
	return hex.EncodeToString(h.Sum(nil))[:questionDigits]
}

// Judgement is what a record has of a review.
type Judgement struct {
	State    sentinel.State
	Outcome  sentinel.Outcome
	Code     string
	Score    int
	HasScore bool
	Meta     map[string]string
	// Question is the verdict's Question.
	Question string
	// SpentDoubts says that doubts of the rules were spent by it.
	SpentDoubts bool
}

// Repeat returns the verdict that Gate.Check would give if the models answered as they did then. It asks no
// model. ok is false where the models were asked otherwise then, or not at all.
func Repeat(g *Gate, c sentinel.Call, was Judgement) (v sentinel.Verdict, ok bool) {
	mode, key := g.o.modeOf(c)
	if mode == Off {
		return sentinel.Verdict{Gate: sentinel.GateReview, State: sentinel.Skipped, Reason: key + " is off"}, true
	}
	if v, skipped := g.o.Profile.skipVerdict(c, g.o.Modes); skipped {
		return v, true
	}
	c = c.WithEvidence(g.o.Evidence)
	doc, fits := describeCall(c, g.o.documentView())
	switch {
	case !fits:
		v = g.unjudgedVerdict(c, []*fault{{kind: TooLong}})
	case was.Question == "" || was.Question != nameQuestion(g, doc):
		return v, false
	default:
		v = repeatVerdict(g, c, was)
	}
	if v.Gate = sentinel.GateReview; mode == ShadowMode && v.State != sentinel.Skipped {
		v = shadowVerdict(v)
	}
	return v, true
}

// repeatVerdict is the verdict that a judgement comes to by the gate's options.
func repeatVerdict(g *Gate, c sentinel.Call, was Judgement) sentinel.Verdict {
	v := sentinel.Verdict{State: was.State, Outcome: was.Outcome, Code: was.Code, Score: was.Score, HasScore: was.HasScore,
		Meta: maps.Clone(was.Meta)}
	if v.Meta == nil {
		v.Meta = map[string]string{}
	}
	if v.State == sentinel.Shadow { // what it would have said
		v.State, v.Code = sentinel.Judged, v.Meta["would_code"]
		v.Outcome, _ = sentinel.ParseOutcome(v.Meta["would"]) // another word is Deny
		delete(v.Meta, "would")
		delete(v.Meta, "would_code")
	}
	switch graded := v.HasScore && (v.Code == "" || v.Code == CodeUnsure); {
	case v.State != sentinel.Judged || v.Meta["first"] != "": // two models were asked, or the rules decided
		return v
	case v.Meta["failure"] != "":
		return g.unjudgedVerdict(c, readFaults(v.Meta))
	case graded && v.Score < g.o.RejectBelow:
		v.Outcome, v.Code = sentinel.Deny, CodeUnsure
	case graded:
		v.Outcome, v.Code = sentinel.Allow, ""
	}
	if was.SpentDoubts && g.o.Doubts != DoubtsCount {
		v = g.o.noteDoubts(c, v)
	}
	return v
}

// readFaults reads back why no model judged.
func readFaults(meta map[string]string) []*fault {
	var out []*fault
	for word := range strings.FieldsSeq(meta["failover"]) {
		if name, kind, ok := strings.Cut(word, "="); ok {
			out = append(out, &fault{model: name, kind: Failure(kind)})
		}
	}
	if len(out) == 0 {
		out = []*fault{{model: meta["model"], kind: Failure(meta["failure"])}}
	}
	return out
}
