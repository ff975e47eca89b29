package sentinel

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"strconv"
	"strings"

	"iter"

	"github.com/vedette-dev/vedette/skills"
)

// Step is one thing that a Desk returned: part of a Trace.
type Step struct {
	Skill  string
	CallID string
	Args   string // canonical JSON
	Result string
	Trust  skills.Trust
	// Marks say what the result looks like: see TextMarks. A caller that builds a Trace
	// may leave Marks out.
	Marks []string
	// Effect is the skill's; empty if the skill is no longer known.
	Effect skills.Effect
	// Sensitive says that the skill's results are private: see skills.Spec.
	Sensitive bool
	// StrangerFields are the names of fields that their subject writes: see skills.Spec. They are
	// a stranger's, whatever the trust of the result.
	StrangerFields []string
	// Failed says that Result is an error's text: the call failed, or its end
	// is unknown.
	Failed bool

	read *readings // what values are looked for in; a Trace makes it
	kept string    // the call whose result in the journal is Result; empty where it is none
	hide bool      // Args are of an unknown skill, and may hold secrets of the grant's
}

// Trace is what a Desk has returned so far, oldest first. The Desk keeps it;
// an agent can't add to it. A Trace is an immutable snapshot.
type Trace struct {
	steps   []Step
	refused []PastRefusal
	digest  [sha256.Size]byte // of the steps, each added to those before it
	// heard are the steps of other desks, and tried the arguments of calls that never
	// ran: they attest nothing, and keep later results from it.
	heard  []heard
	tried  []tried
	blocks *heardBlocks // of heard
	pieces *pieces
	// earlier are untrusted results of earlier turns: what stands in them is a stranger's.
	earlier []Step
	// past are results of earlier turns: what flows may carry.
	past []PastResult
}

// NewTrace returns a Trace of the steps.
func NewTrace(steps ...Step) Trace {
	t := Trace{steps: slices.Clone(steps), pieces: &pieces{}}
	for i := range t.steps {
		t.steps[i] = t.steps[i].withMarks()
		t.steps[i].read = &readings{}
		t.digest = t.steps[i].chainDigest(t.digest)
	}
	return t
}

// Bounds of what a Trace holds of earlier turns: the newest results.
const (
	MaxEarlierResults = 48
	// MaxEarlierBytes is of all of them, MaxEarlierResult of one.
	MaxEarlierBytes  = 256 << 10
	MaxEarlierResult = 64 << 10
)

// KeepNewestResults returns the newest steps within the bounds, oldest first. Of a long
// result the beginning is kept.
func KeepNewestResults(steps []Step) []Step {
	if len(steps) == 0 {
		return nil
	}
	out := slices.Clone(steps[max(0, len(steps)-MaxEarlierResults):])
	left, from := MaxEarlierBytes, len(out)
	for ; from > 0; from-- {
		s := &out[from-1]
		if len(s.Result) > MaxEarlierResult {
			s.Result = strings.ToValidUTF8(s.Result[:MaxEarlierResult], "")
		}
		if left -= len(s.Result); left < 0 {
			break
		}
	}
	return out[from:]
}

// WithEarlier returns a Trace that knows untrusted results of earlier turns, oldest first.
// What stands in them is a stranger's, and they are no steps: they neither taint nor attest.
// Trusted ones among them are left out, and those beyond the bounds of KeepNewestResults.
func (t Trace) WithEarlier(steps ...Step) Trace {
	t.earlier = nil
	for _, s := range KeepNewestResults(steps) {
		if s.Trust == skills.Trusted {
			continue
		}
		s = s.withMarks()
		s.read = &readings{}
		t.earlier = append(t.earlier, s)
		t.digest = s.chainDigest(t.digest)
	}
	return t
}

// Earlier returns the untrusted results of earlier turns, oldest first.
func (t Trace) Earlier() []Step { return slices.Clone(t.earlier) }

// Len returns the number of steps.
func (t Trace) Len() int { return len(t.steps) }

// Step returns the i-th step, the oldest first.
func (t Trace) Step(i int) Step {
	s := t.steps[i]
	s.read = nil // what was worked out of it is the Trace's
	return s
}

// Said returns the result of the i-th step as values are looked for in it.
func (t Trace) Said(i int) *Said { return t.steps[i].Said() }

// Untrusted reports whether any step returned something that a stranger wrote.
func (t Trace) Untrusted() bool {
	return slices.ContainsFunc(t.steps, Step.HasStrangers)
}

// Digest is the same for two Traces with the same steps: skill, arguments,
// result and trust of each and whether it failed, in order. Refusals are not in
// it.
func (t Trace) Digest() [sha256.Size]byte { return t.digest }

// chainDigest chains the step to what came before it. Each part is preceded by its
// length, so that no two steps read alike.
func (s Step) chainDigest(before [sha256.Size]byte) (sum [sha256.Size]byte) {
	h := sha256.New()
	h.Write(before[:])
	for _, part := range append([]string{s.Skill, s.Args, s.Result, string(s.Trust), strconv.FormatBool(s.Failed)}, s.StrangerFields...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		_, _ = io.WriteString(h, part) // a hash takes everything
	}
	h.Sum(sum[:0])
	return sum
}

// withStep returns a Trace with one more step. The capacity is clipped so that two
// snapshots never share what comes after them.
func (t Trace) withStep(s Step) Trace {
	s.read = &readings{}
	t.digest = s.chainDigest(t.digest)
	t.steps, t.pieces = append(slices.Clip(t.steps), s), &pieces{}
	return t
}

// PastRefusal is a call that a Desk refused for what it was: part of a Trace. It
// holds no argument (those the Trace keeps for itself), and taints nothing, for nothing came back.
type PastRefusal struct {
	Skill string
	// Digest is the refused call's own; empty where it was refused before a
	// restart.
	Digest string
	// Gate and Code say who refused it and why.
	Gate, Code string
}

// MaxRefusals is how many refusals a Trace holds: the newest.
const MaxRefusals = 32

// Refusals returns what was refused so far, oldest first, MaxRefusals at most.
func (t Trace) Refusals() []PastRefusal { return slices.Clone(t.refused) }

// WithRefusal returns a Trace with one more refusal; beyond MaxRefusals the
// oldest are dropped.
func (t Trace) WithRefusal(r PastRefusal) Trace {
	from := max(0, len(t.refused)+1-MaxRefusals)
	t.refused = append(slices.Clone(t.refused[from:]), r)
	return t
}

// RefusedBefore reports whether any call of the skill was refused.
func (t Trace) RefusedBefore(skill string) bool {
	return slices.ContainsFunc(t.refused, func(r PastRefusal) bool { return r.Skill == skill })
}

// withMarks returns the step with the marks of its result.
func (s Step) withMarks() Step {
	if s.Marks == nil {
		s.Marks = TextMarks(s.Result)
	}
	return s
}

// LearntSteps returns every step that the agent may have learnt of, in order: those of its
// desk, and those of other desks whose results came up. Calls that never ran are none.
func (t Trace) LearntSteps() iter.Seq2[Step, *Memo] {
	return func(yield func(Step, *Memo) bool) {
		h := 0
		for i := 0; i <= len(t.steps); i++ {
			for ; h < len(t.heard) && t.heard[h].at <= i; h++ {
				if e := t.heard[h].entry; e.step.CallID != "" && !yieldStep(e.step, yield) {
					return
				}
			}
			if i < len(t.steps) && !yieldStep(t.steps[i], yield) {
				return
			}
		}
	}
}

// LearntSomething reports whether LearntSteps has a step.
func (t Trace) LearntSomething() bool { return len(t.steps)+len(t.heard) > 0 }

// StrangersText returns what strangers wrote in the trusted result of the i-th step: see
// Step.StrangerFields. It is empty for any other step, whose result Said has.
func (t Trace) StrangersText(i int) string { return t.steps[i].strangersText() }
