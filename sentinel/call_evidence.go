package sentinel

import (
	"crypto/sha256"
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
	full    lazy[*evidence.Report] // with what a reviewer alone reads
	asks    lazy[bool]
	mayFind lazy[bool]
	shown   lazy[string]
	digest  lazy[[sha256.Size]byte]
}

func (s Step) describeForEvidence(number int) evidence.Step {
	e := evidence.Step{Number: number, Skill: s.Skill, Args: s.Args, Result: s.Result, Sensitive: s.Sensitive,
		StrangerFields: s.StrangerFields}
	if s.Trust == skills.Trusted && !s.Failed {
		e.Trust = evidence.Trusted
	}
	e.Look = !s.Failed && (s.Effect == "" || s.Effect == skills.Read) && !slices.Contains(s.Marks, MarkInstructions)
	e.Read = s.readingOf().evidence.get(func() *evidence.Reading { return evidence.ReadResult(s.Result, s.StrangerFields...) })
	return e
}
