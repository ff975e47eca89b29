package sentinel

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// EvidenceOptions say what the evidence of a call shows: see Call.Evidence. The zero value
// quotes the records of trusted results.
type EvidenceOptions struct {
	Mode evidence.Mode
	// Keys withholds every value, and each name that no schema declares.
	Keys bool
}

// ParseEvidence reads sentinel.evidence of a configuration: records, provenance, off or all.
// Empty is records. Any other word is a *skills.PathError.
func ParseEvidence(word string) (EvidenceOptions, error) {
	mode, err := evidence.ParseMode(word)
	if err != nil {
		return EvidenceOptions{}, &skills.PathError{Path: "sentinel.evidence", Msg: err.Error()}
	}
	return EvidenceOptions{Mode: mode}, nil
}

// callEvidence is the evidence of one call. Each part is worked out when it is first asked
// for, and once for all copies of the call.
type callEvidence struct {
	options EvidenceOptions
	report  lazy[*evidence.Report]
	mayFind lazy[bool]
	shown   lazy[shownEvidence]
	digest  lazy[[sha256.Size]byte]
}

// shownEvidence is the evidence as the question to a reviewer holds it.
type shownEvidence struct {
	question string
	asks     bool
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
func (c Call) ShowEvidence() string { return c.showEvidence().question }

// NearMisses returns what the evidence of the call speaks against it: near misses, which are
// hard, and doubts. asks says that a recipient, host or account has no room in the question. A
// call that reads has none of them.
func (c Call) NearMisses() (near, doubts []evidence.Finding, asks bool) {
	if !c.hasEvidence() || c.Effect() == skills.Read {
		return nil, nil, false
	}
	e := c.parts().evidence
	if !e.mayFind.get(func() bool { return evidence.MayFind(c.evidenceInput()) }) {
		return nil, nil, false
	}
	r := c.Evidence()
	return r.Findings(), r.Doubts(), c.showEvidence().asks
}

// EvidenceDigest is the same for two calls whose evidence says the same.
func (c Call) EvidenceDigest() [sha256.Size]byte {
	if !c.hasEvidence() {
		return [sha256.Size]byte{}
	}
	return c.parts().evidence.digest.get(func() [sha256.Size]byte { return c.Evidence().Digest() })
}

// EvidenceKey is EvidenceDigest in hexadecimal digits.
func (c Call) EvidenceKey() string {
	sum := c.EvidenceDigest()
	return hex.EncodeToString(sum[:])
}

func (c Call) showEvidence() shownEvidence {
	if !c.hasEvidence() {
		return shownEvidence{}
	}
	return c.parts().evidence.shown.get(func() shownEvidence {
		question, asks := c.Evidence().Show()
		return shownEvidence{question, asks}
	})
}

// evidenceInput is all that the evidence is made from.
func (c Call) evidenceInput() evidence.Input {
	p := c.parts()
	own := p.grant.OwnRequest()
	in := evidence.Input{
		Skill: p.name, Effect: p.skill.Effect(), Request: own, Arguments: evidence.ArgumentsOf(p.skill, p.parsed),
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

// listEvidence lists the results that the agent may have learnt of, numbered from 1 as in
// LearntSteps. Untrusted ones of earlier turns come before them and have no number.
func (t Trace) listEvidence() []evidence.Step {
	var out []evidence.Step
	for i, s := range t.earlier {
		e := s.describeForEvidence(i - len(t.earlier))
		e.Turn = -1
		out = append(out, e)
	}
	n := 0
	for _, e := range t.heardEntries() {
		if e.by != "" && e.step.CallID == "" { // it never ran
			continue
		}
		n++
		s := e.step.describeForEvidence(n)
		if e.by != "" { // what another agent heard attests nothing
			s.Trust = min(s.Trust, evidence.Tainted)
		}
		out = append(out, s)
	}
	return out
}

func (s Step) describeForEvidence(number int) evidence.Step {
	e := evidence.Step{Number: number, Skill: s.Skill, Args: s.Args, Result: s.Result, Sensitive: s.Sensitive}
	if s.Trust == skills.Trusted && !s.Failed {
		e.Trust = evidence.Trusted
	}
	e.Read = s.readingOf().evidence.get(func() *evidence.Reading { return evidence.ReadResult(s.Result) })
	return e
}

// attestsWord reports whether a trusted result attests a folded value. Of a value that no
// trusted result spells so, such as an account in groups, it knows nothing: the evidence's own
// rule stands.
func (t Trace) attestsWord(value string) bool {
	fits := func(s *Said) bool { return containsWord(s.Fold(), value) }
	if !slices.ContainsFunc(t.steps, func(s Step) bool { return s.Trust == skills.Trusted && fits(s.Said()) }) {
		return true
	}
	return t.Attests(value, fits)
}
