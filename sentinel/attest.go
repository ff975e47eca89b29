package sentinel

import (
	"slices"
	"strings"
	"sync"

	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// Said is a text of a Trace in the spellings in which values are looked for in it. Of
// JSON it holds the scalars and keys as they are meant, a line each, and not as they
// are escaped. It is safe for concurrent use.
type Said struct {
	text, fold string
	once       sync.Once
	exact      string
}

func newSaid(text string) *Said { return &Said{text: text, fold: FoldText(text)} }

// Fold returns the text in small letters, with compatibility forms and accents folded.
func (s *Said) Fold() string { return s.fold }

// Exact returns the text in small letters and one form for each of them, with its
// accents: two hosts that differ in an accent are two hosts.
func (s *Said) Exact() string {
	s.once.Do(func() { s.exact = exactText(s.text, s.fold) })
	return s.exact
}

// readings are a step's texts as values are looked for in them, worked out once for
// all calls that have the step behind them.
type readings struct {
	answer, asked lazy[*Said]
	// The same as a receiver may read them that decodes more.
	looseAnswer, looseAsked lazy[*Said]
	squeezed                lazy[string] // of the arguments
	parts                   lazy[parts]
	memo                    Memo
	evidence                lazy[*evidence.Reading]
	// The names under which the step is kept with premises, and the block of steps that it is the last of.
	part, block keptName
}

type lazy[T any] struct {
	once  sync.Once
	value T
}

func (l *lazy[T]) get(build func() T) T {
	l.once.Do(func() { l.value = build() })
	return l.value
}

func (s Step) readingOf() *readings {
	if s.read == nil {
		return &readings{} // a step that is in no Trace
	}
	return s.read
}

// Said returns the step's result.
func (s Step) Said() *Said {
	return s.readingOf().answer.get(func() *Said { return newSaid(decodeScalars(s.trustedText())) })
}

// Asked returns the step's arguments.
func (s Step) Asked() *Said {
	return s.readingOf().asked.get(func() *Said { return newSaid(decodeScalars(s.Args)) })
}

// answersWith reports whether the result has what fits looks for, however it is encoded.
func (s Step) answersWith(fits func(*Said) bool) bool {
	if s.Result == "" {
		return false
	}
	said := s.Said()
	loose := s.readingOf().looseAnswer.get(func() *Said { return undoEscapes(said.text, false) })
	return fits(said) || loose != nil && fits(loose)
}

// asksFor reports whether the arguments have the value, however they are encoded, broken
// up or embedded in other text.
func (s Step) asksFor(v sought) bool {
	if len(s.Args) <= len("{}") {
		return false
	}
	said := s.Asked()
	if v.fits(said) {
		return true
	}
	if l := s.readingOf().looseAsked.get(func() *Said { return undoEscapes(said.text, true) }); l != nil && v.fits(l) {
		return true
	}
	return v.telling && strings.Contains(s.readingOf().squeezed.get(func() string { return keepLettersAndDigits(said.text) }), v.squeezed)
}

// sought is a value that is looked for.
type sought struct {
	fits     func(*Said) bool
	squeezed string
	// telling values are found in other text too: they are long, and have a digit or a
	// sign, so that no plain word holds one by chance.
	telling bool
}

const minTelling = 6

func soughtOf(value string, fits func(*Said) bool) sought {
	v := sought{fits: fits, squeezed: keepLettersAndDigits(value)}
	v.telling = len(v.squeezed) >= minTelling && strings.ContainsAny(value, "@.-_/:#+0123456789")
	return v
}

// Attests reports whether a trusted result attests a value: whether one of this desk's
// has what fits looks for, and nothing before it that a stranger or the agent itself
// could have put there. An untrusted result is such, and an argument, also of a call
// that was refused, and both also where they are those of another agent whose results
// came up. Once a trusted result had it first, later ones take nothing away.
//
// value is the text that fits looks for; it tells where arguments hold it broken up or
// encoded. Attests needs time in proportion to the Trace.
func (t Trace) Attests(value string, fits func(*Said) bool) bool {
	if !slices.ContainsFunc(t.steps, func(s Step) bool { return s.Trust == skills.Trusted && fits(s.Said()) }) {
		return false
	}
	v := soughtOf(value, fits)
	attested := false
	for n, e := range t.heardEntries() {
		if e.step.asksFor(v) || e.step.isStrange(fits) {
			return false
		}
		if e.step.Trust == skills.Trusted && fits(e.step.Said()) {
			attested = !t.isComposed(v, n)
			break
		}
	}
	return attested
}

// FindListing returns the place of the first trusted result of this desk that lists a value:
// that has what fits looks for, and no argument before it had. A stranger may have named the
// value before: what no argument took there, no stranger put there through this agent. It
// returns -1 where there is none. See Attests for value, and for the time it needs.
func (t Trace) FindListing(value string, fits func(*Said) bool) int {
	if !slices.ContainsFunc(t.steps, func(s Step) bool { return s.Trust == skills.Trusted && fits(s.Said()) }) {
		return -1
	}
	v := soughtOf(value, fits)
	for n, e := range t.heardEntries() {
		if e.step.asksFor(v) {
			return -1
		}
		if e.by == "" && e.step.Trust == skills.Trusted && !e.step.Failed && fits(e.step.Said()) {
			if t.isComposed(v, n) {
				return -1
			}
			return e.n
		}
	}
	return -1
}

// CountUnprompted returns how many of the first steps were asked for before anything untrusted
// was read: in this turn, in an earlier one, or by another agent whose results came up.
func (t Trace) CountUnprompted() int {
	if len(t.earlier) > 0 {
		return 0
	}
	n := slices.IndexFunc(t.steps, Step.HasStrangers)
	if n++; n == 0 {
		n = len(t.steps)
	}
	for _, h := range t.heard {
		if h.step.HasStrangers() {
			n = min(n, h.at)
		}
	}
	return n
}

// Strange reports whether an untrusted result has what fits looks for: one of this
// desk's, of another agent whose results came up, or of an earlier turn.
func (t Trace) Strange(fits func(*Said) bool) bool {
	strange := func(s Step) bool { return s.isStrange(fits) }
	return slices.ContainsFunc(t.steps, strange) || slices.ContainsFunc(t.earlier, strange) ||
		slices.ContainsFunc(t.heard, func(h heard) bool { return strange(h.step) })
}

// heard is a step of another desk whose results came up, and after how many steps of
// this one that was.
type heard struct {
	entry
	at int
}

// entry is one step in the order in which an agent may have learnt of it. by and n
// name it among all desks.
type entry struct {
	by   string
	n    int
	step Step
}

// tried are the arguments of a call that never ran, after so many steps.
type tried struct {
	step Step
	at   int
}

// Bounds of what is kept of calls that never ran: what was never run is in no store,
// so that what is left out attests nothing either.
const (
	maxTried      = 64
	maxTriedBytes = 1 << 20
)

// heardEntries returns all that was heard, tried and returned, in order.
func (t Trace) heardEntries() []entry {
	out := make([]entry, 0, len(t.steps)+len(t.heard)+len(t.tried))
	h, r := 0, 0
	for i := 0; i <= len(t.steps); i++ {
		for ; h < len(t.heard) && t.heard[h].at <= i; h++ {
			out = append(out, t.heard[h].entry)
		}
		for ; r < len(t.tried) && t.tried[r].at <= i; r++ {
			out = append(out, entry{by: "?", n: r, step: t.tried[r].step})
		}
		if i < len(t.steps) {
			out = append(out, entry{n: i, step: t.steps[i]})
		}
	}
	return out
}

// withTried returns a Trace with the arguments of a call that never ran.
func (t Trace) withTried(s Step) Trace {
	size := len(s.Args)
	for _, r := range t.tried {
		size += len(r.step.Args)
	}
	if len(t.tried) >= maxTried || size > maxTriedBytes || len(s.Args) <= len("{}") {
		return t
	}
	s.read = &readings{}
	t.tried = append(slices.Clip(t.tried), tried{s, len(t.steps)})
	t.pieces = &pieces{}
	return t
}

// withHeard returns the Trace of the desk self once its agent was told of the results of
// the desk by. What self said itself, and what it heard before, isn't heard again.
func (t Trace) withHeard(self, by string, other Trace) Trace {
	seen := map[string]int{}
	for _, h := range t.heard {
		seen[h.by] = max(seen[h.by], h.n+1)
	}
	t.heard = slices.Clip(t.heard)
	if t.blocks == nil {
		t.blocks = &heardBlocks{}
	}
	for _, e := range other.heardEntries() {
		switch e.by {
		case "":
			e.by = by
		case "?":
			e.by = by + "?"
		}
		if e.by != self && e.by != self+"?" && e.n >= seen[e.by] {
			t.heard = append(t.heard, heard{e, len(t.steps)})
		}
	}
	t.pieces = &pieces{}
	return t
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

// listPastEvidence lists the results of earlier turns, oldest first. gone says that some of what was
// sent or brought is no longer known.
func (t Trace) listPastEvidence() (list []evidence.Step, gone bool) {
	for i, r := range t.past {
		if gone = gone || r.Gone; r.Gone {
			continue
		}
		e := r.describeForEvidence(i - len(t.past))
		e.Turn = -1
		list = append(list, e)
	}
	return list, gone
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

// isComposed reports whether the arguments of the first entries, up to the last-th, have
// the value in pieces: "billing@" and "evil.test" may come back as one. Short values
// and plain words are only made of whole scalars. Of a value that is too long to try,
// arguments of any kind could be pieces.
func (t Trace) isComposed(v sought, last int) bool {
	if t.pieces == nil || v.squeezed == "" {
		return false
	}
	t.pieces.once.Do(func() { t.pieces.gatherFrom(t.heardEntries()) })
	known := t.pieces.whole
	if v.telling {
		known = t.pieces.words
	}
	switch size := len(v.squeezed); {
	case t.pieces.full, size > maxComposed && t.pieces.first <= last, size > maxPiece && t.pieces.long <= last:
		return true
	case size > maxComposed:
		return false
	}
	made := make([]bool, len(v.squeezed)+1)
	made[0] = true
	for i := range v.squeezed {
		if !made[i] {
			continue
		}
		for j := i + 1; j <= min(len(v.squeezed), i+maxPiece); j++ {
			if at, ok := known[v.squeezed[i:j]]; ok && at <= last {
				made[j] = true
			}
		}
	}
	return made[len(v.squeezed)]
}
