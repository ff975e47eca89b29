package sentinel

import (
	"iter"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
)

// PastResult is what a call of an earlier turn sent and brought. The model may still have it
// before it, so package sentinel/flow looks for it in what goes out. It is no Step of a Trace: it
// attests nothing and taints nothing.
type PastResult struct {
	Step
	// Gone says that the result, or a part of it, fell out of the bounds.
	Gone bool
}

// Bounds of what a Trace holds of results of earlier turns.
const (
	MaxPastResults = 256
	// MaxPastBytes is of the arguments and results of all of them, MaxPastArgs of the
	// arguments of one.
	MaxPastBytes = 256 << 10
	MaxPastArgs  = 16 << 10

	maxPastSecrets = 64      // of one result that is cut to them
	beforeSecret   = 32      // bytes, with its label
	maxSecretBytes = 4 << 10 // of them all
)

// KeepPastResults returns results of earlier turns within the bounds, oldest first. Sensitive ones
// are kept before others, and new ones before old ones. Of another that falls out its
// secrets are kept. What is lost of a sensitive result is told once for each skill, by Gone.
func KeepPastResults(list []PastResult) []PastResult {
	k := pastKeeper{left: MaxPastBytes, room: MaxPastResults, keep: make([]*PastResult, len(list)), gone: map[string]bool{}}
	for _, sensitive := range []bool{true, false} {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Sensitive == sensitive {
				k.keepResult(i, list[i])
			}
		}
	}
	var out []PastResult
	for _, r := range k.keep {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out
}

// pastKeeper chooses what is kept.
type pastKeeper struct {
	left, room int
	keep       []*PastResult
	gone       map[string]bool // what was told of a skill
}

func (k *pastKeeper) keepResult(i int, r PastResult) {
	r.read = nil
	if len(r.Args) > MaxPastArgs { // as a text: half a JSON object is none
		r.Args = string(encodeJSON(strings.ToValidUTF8(r.Args[:MaxPastArgs], "")))
	}
	if n := len(r.Args) + len(r.Result); !r.Gone && k.room > 0 && n <= k.left {
		k.left, k.room, k.keep[i] = k.left-n, k.room-1, &r
		return
	}
	r.Args, r.Gone = "", true
	if !r.Sensitive {
		secrets, all := cutToSecrets(r.Result)
		r.Result, r.Sensitive = secrets, !all
	} else {
		r.Result = ""
	}
	if len(r.Result) > k.left || k.room <= 0 {
		r.Sensitive, r.Result = true, "" // a secret was lost
	}
	told := r.Skill + "\n" + string(r.Trust)
	if r.Sensitive {
		told += "\nsensitive"
	}
	if r.Result == "" && k.gone[told] {
		return
	}
	k.gone[told] = k.gone[told] || r.Result == ""
	k.left, k.keep[i] = k.left-len(r.Result), &r
}

// cutToSecrets returns the secrets of a text with what stands before them, a line each, and
// whether these are all.
func cutToSecrets(text string) (lines string, all bool) {
	list := scrub.Find(text, maxPastSecrets)
	var b strings.Builder
	for _, f := range list {
		b.WriteString(strings.ToValidUTF8(text[max(0, f.From-beforeSecret):f.To], ""))
		b.WriteByte('\n')
	}
	if len(list) == maxPastSecrets || b.Len() > maxSecretBytes {
		return "", false
	}
	return b.String(), true
}

// WithPastResults returns a Trace that knows results of earlier turns, oldest first, within
// the bounds of KeepPastResults.
func (t Trace) WithPastResults(list ...PastResult) Trace {
	t.past = nil
	for _, r := range KeepPastResults(list) {
		r.read = &readings{}
		t.past = append(t.past, r)
		t.digest = r.chainDigest(t.digest)
	}
	return t
}

// PastResults returns the results of earlier turns, oldest first.
func (t Trace) PastResults() iter.Seq2[PastResult, *Memo] {
	return func(yield func(PastResult, *Memo) bool) {
		for _, r := range t.past {
			memo := &r.read.memo
			r.read = nil
			if !yield(r, memo) {
				return
			}
		}
	}
}

// HasPastResults reports whether PastResults has one.
func (t Trace) HasPastResults() bool { return len(t.past) > 0 }

// ListResults returns what the desk returned itself, as a later turn knows it.
func (t Trace) ListResults() []PastResult {
	out := make([]PastResult, 0, len(t.steps))
	for _, s := range slices.Clone(t.steps) {
		s.read, s.CallID, s.Marks = nil, "", nil
		out = append(out, PastResult{Step: s})
	}
	return out
}

// ListedEarlier reports whether a trusted result of an earlier turn lists a value: lists finds it
// in what the skill vouches for, and no argument had it up to then. It is told apart from what a
// result of this turn attests, for it grounds nothing. Where a result has fallen out of the
// bounds before, nothing is known of its arguments, and none lists the value. See Attests for
// value and fits.
func (t Trace) ListedEarlier(value string, fits func(*Said) bool, lists func(result string) bool) bool {
	if len(t.past) == 0 {
		return false
	}
	v := soughtOf(value, fits)
	for _, r := range t.past {
		if r.Gone || r.asksFor(v) {
			return false
		}
		if r.Trust == skills.Trusted && !r.Failed && (r.Effect == skills.Read || r.Effect == "") && lists(r.trustedText()) {
			return true
		}
	}
	return false
}
