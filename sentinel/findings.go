package sentinel

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// Findings are what the judge said of a call: codes, numbers, and names of
// signals and of declared arguments. They hold no free text and no value.
type Findings struct {
	Outcome Outcome
	// Code is empty for a plain allow.
	Code string
	// Score is in hundredths; only HasScore makes it count.
	Score    int
	HasScore bool
	Signals  []Evidence
	// Held is set where a gate before the review asks a person.
	Held bool
}

// Findings returns what the judge found, for the gate that comes after it. ok
// is false before the judge has judged, and where it is switched off. They
// follow from the call and are no part of its digest.
func (c Call) Findings() (f Findings, ok bool) {
	if c.findings == nil {
		return Findings{}, false
	}
	return c.findings.clone(), true
}

func (f Findings) clone() Findings {
	f.Signals = slices.Clone(f.Signals)
	for i := range f.Signals {
		f.Signals[i].Args = slices.Clone(f.Signals[i].Args)
	}
	return f
}

// withFindings returns the call as the review is shown it: with what the judge found, and
// with the doubts of the scope gate. Where no judge has judged there are none.
func (c Call) withFindings(verdicts []Verdict) Call {
	var others []Evidence
	held := false
	for _, v := range verdicts {
		held = held || v.Counts() && v.weight() < Allow
		if v.Gate == GateJudge && v.State == Judged {
			f := Findings{Outcome: v.Outcome, Code: v.Code, Score: v.Score, HasScore: v.HasScore, Signals: v.Evidence}.clone()
			c.findings = &f
		} else if v.State == Judged {
			others = append(others, v.Doubts()...)
		}
	}
	if c.findings != nil {
		c.findings.Signals = append(c.findings.Signals, others...)
		c.findings.Held = held
	}
	return c
}

// Evidence tells where the values of the call's arguments were seen: in the user's words, in
// which result, in whose writing, or nowhere. It holds quotes, so it goes into no record. The
// evidence of a call that follows from another, or of an unknown skill, is empty.
func (c Call) Evidence() *evidence.Report {
	e := c.parts().evidence
	if !c.hasEvidence() {
		return &evidence.Report{}
	}
	return e.report.get(func() *evidence.Report {
		r := evidence.Build(c.evidenceInput())
		return &r
	})
}

// ReviewEvidence is Evidence with what a reviewer alone reads: where values stood in trusted
// results of earlier turns, by which name of the request a trusted record has them, and what they
// are in strangers' results. It has the same near misses and doubts. Evidence costs less.
func (c Call) ReviewEvidence() *evidence.Report {
	e := c.parts().evidence
	if !c.hasEvidence() {
		return &evidence.Report{}
	}
	return e.full.get(func() *evidence.Report {
		in := c.evidenceInput()
		in.Full = true
		in.Past, in.PastGone = c.parts().trace.listPastEvidence()
		r := evidence.Build(in)
		return &r
	})
}

// WithEvidence returns the call with evidence that shows what the options say. It is c itself where
// c's evidence does.
func (c Call) WithEvidence(o EvidenceOptions) Call {
	e := c.parts().evidence
	if e == nil || e.options == o {
		return c
	}
	parts := *c.parts()
	parts.evidence = &callEvidence{options: o}
	return Call{&parts, c.findings}
}

func (c Call) hasEvidence() bool {
	p := c.parts()
	return p.evidence != nil && p.skill != nil && p.follows == nil
}

// ShowEvidence returns the evidence as the question to a reviewer holds it: one JSON object,
// or "" where there is none.
func (c Call) ShowEvidence() string {
	if !c.hasEvidence() {
		return ""
	}
	return c.parts().evidence.shown.get(func() string { return c.ReviewEvidence().Question() })
}

// NearMisses returns what the evidence of the call speaks against it: near misses, which are
// hard, and doubts. asks says that a recipient, host or account has no room in the question. A
// call that reads has none of them.
func (c Call) NearMisses() (near, doubts []evidence.Finding, asks bool) {
	if !c.hasEvidence() || c.Effect() == skills.Read {
		return nil, nil, false
	}
	e := c.parts().evidence
	if !e.mayFind.get(c.mayFind) {
		return nil, nil, false
	}
	r := c.Evidence()
	return r.Findings(), r.Doubts(), e.asks.get(r.AsksFor)
}

// mayFind reports whether the arguments and the user's words alone allow for a finding.
func (c Call) mayFind() bool {
	p := c.parts()
	var few [len(p.first)]evidence.Argument // most calls have no more
	args := few[:0]
	if p.seen == 0 || p.seen > len(p.first) {
		args = evidence.ArgumentsOf(p.skill, c.WalkArgs)
	} else {
		for _, a := range p.first[:p.seen] {
			args = append(args, evidence.ArgumentOf(p.skill, a))
		}
	}
	return evidence.MayFind(p.skill.Effect(), p.grant.OwnRequest(), args)
}

// EvidenceDigest is the same for two calls whose ReviewEvidence says the same.
func (c Call) EvidenceDigest() [sha256.Size]byte {
	if !c.hasEvidence() {
		return [sha256.Size]byte{}
	}
	return c.parts().evidence.digest.get(func() [sha256.Size]byte { return c.ReviewEvidence().Digest() })
}

// EvidenceKey is EvidenceDigest in hexadecimal digits.
func (c Call) EvidenceKey() string {
	sum := c.EvidenceDigest()
	return hex.EncodeToString(sum[:])
}

// evidenceInput is all that the evidence is made from.
func (c Call) evidenceInput() evidence.Input {
	p := c.parts()
	own := p.grant.OwnRequest()
	in := evidence.Input{
		Skill: p.name, Effect: p.skill.Effect(), Request: own, Arguments: evidence.ArgumentsOf(p.skill, c.WalkArgs),
		Mode: p.evidence.options.Mode, Keys: p.evidence.options.Keys,
	}
	if whole, _ := p.grant.Request(); whole != own {
		in.Pasted = whole
	}
	in.Earlier = p.grant.EarlierWords()
	slices.Reverse(in.Earlier)
	in.History = p.trace.listEvidence()
	in.Attests = p.trace.attestsWord
	return in
}
