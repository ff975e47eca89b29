package detect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/textcut"
	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

// Mode is what becomes of a family's hits.
type Mode string

// The modes.
const (
	ModeBlock  Mode = "block"
	ModeFlag   Mode = "flag"
	ModeIgnore Mode = "ignore"
)

// Verdict is what a report comes to.
type Verdict string

// The verdicts, from the mildest on.
const (
	Pass  Verdict = "pass"
	Flag  Verdict = "flag"
	Block Verdict = "block"
)

// Defaults of Options, in hundredths.
const (
	DefaultBlockAt = 80
	DefaultFlagAt  = 40
)

// Options shape a Detector. The zero value has the modes of DefaultModes.
type Options struct {
	// Families are the modes by family; one that is left out has that of DefaultModes.
	Families map[Family]Mode
	// BlockAt is the score from which on a hit of a family in ModeBlock blocks. Zero is DefaultBlockAt.
	BlockAt int
	// FlagAt is the score from which on a hit flags. Zero is DefaultFlagAt.
	FlagAt int
}

// DefaultModes are the modes of families that an operator says nothing of: what people don't write to an
// assistant by accident blocks, and what they may is flagged. docs/intent.md has what that was measured on.
func DefaultModes() map[Family]Mode {
	return map[Family]Mode{
		Command: ModeBlock, SQL: ModeBlock, Script: ModeBlock, Path: ModeBlock, Cloud: ModeBlock, Injection: ModeFlag,
	}
}

// Hit is one rule that a text meets.
type Hit struct {
	// ID is the rule's, "family.what".
	ID     string `json:"id"`
	Family Family `json:"family"`
	// Score is in hundredths.
	Score int `json:"score"`
	// Evidence are the words that the rule met, folded, at most 80 bytes. It is a value.
	Evidence string `json:"evidence,omitempty"`
	// Via are the encodings in which they stood, outermost first: "base64".
	Via []string `json:"via,omitempty"`
}

// Report is what a Detector found.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Score is the greatest of the hits, in hundredths.
	Score int `json:"score"`
	// Hits are in the order of their scores, the greatest first; each rule is there once.
	Hits []Hit `json:"hits,omitempty"`
}

// Detector looks for attacks. It is safe for concurrent use.
type Detector struct {
	o     Options
	rules []rule
	words *automaton
	rule  []int // of each word
	size  []int // of each word, in bytes
}

// New returns a Detector. The error names a family or a mode that isn't one, or a score out of range.
func New(o Options) (*Detector, error) {
	modes := DefaultModes()
	for f, m := range o.Families {
		if _, known := modes[f]; !known {
			return nil, fmt.Errorf("families: %q is no family; use %v", f, Families())
		}
		if m != ModeBlock && m != ModeFlag && m != ModeIgnore {
			return nil, fmt.Errorf("families.%s: %q is none of block, flag and ignore", f, m)
		}
		modes[f] = m
	}
	o.Families = modes
	for _, at := range []*struct {
		value *int
		def   int
	}{{&o.BlockAt, DefaultBlockAt}, {&o.FlagAt, DefaultFlagAt}} {
		if *at.value == 0 {
			*at.value = at.def
		}
		if *at.value < 1 || *at.value > 100 {
			return nil, fmt.Errorf("a bound of %d: use 1 to 100 hundredths", *at.value)
		}
	}
	all, err := readRules(rulesText)
	if err != nil {
		return nil, err
	}
	d := &Detector{o: o}
	d.rules = slices.DeleteFunc(all, func(r rule) bool { return modes[r.family] == ModeIgnore })
	var words []string
	for i, r := range d.rules {
		for _, w := range r.words {
			words, d.rule, d.size = append(words, w), append(d.rule, i), append(d.size, len(w))
		}
	}
	d.words = newAutomaton(words)
	return d, nil
}

// Bounds of one Detect.
const (
	// maxLooks is how many places of one text patterns are tried at. Prose of 10 KB has some fifty.
	maxLooks = 400
	// roomPerByte and leastRoom bound the bytes of a text with all that it stands for.
	roomPerByte = 4
	leastRoom   = 4 << 10
	maxEvidence = 80
)

// Detect looks for attacks in a text of any size, in time linear in it.
func (d *Detector) Detect(text string) Report {
	s := search{d: d, met: make([]bool, len(d.rules)), looks: maxLooks}
	all := readViews(fold.Visible(text), max(leastRoom, roomPerByte*len(text)))
	for _, v := range all.list {
		plain := collapseSpaces(fold.Plain(v.text))
		s.look(plain, v.via)
		if like := fold.SkeletonOf(plain); like != plain { // letters of other scripts may be others in disguise
			s.look(like, v.via)
		}
	}
	if d.o.Families[Injection] != ModeIgnore {
		s.hits = append(s.hits, findDisguise(text)...)
		if all.spent || s.looks <= 0 {
			s.hits = append(s.hits, Hit{ID: Unread, Family: Injection, Score: scoreUnread})
		}
	}
	return d.report(s.hits)
}

// search is one look through the readings of a text.
type search struct {
	d     *Detector
	met   []bool // by rule
	looks int    // that are left
	hits  []Hit
}

// look tries the rules on one reading of the text.
func (s *search) look(text string, via []string) {
	d := s.d
	d.words.scan(text, func(word, end int) bool {
		n := d.rule[word]
		if s.met[n] {
			return true
		}
		if s.looks--; s.looks < 0 {
			return false
		}
		r := &d.rules[n]
		from := max(end-d.size[word]-r.back, 0)
		window := text[from:min(end+ahead, len(text))]
		at := r.pattern.FindStringSubmatchIndex(window)
		if at == nil {
			return true
		}
		s.met[n] = true
		found := strings.ToValidUTF8(window[at[2]:at[3]], "")
		s.hits = append(s.hits, Hit{ID: r.id, Family: r.family, Score: r.score, Evidence: textcut.Head(found, maxEvidence), Via: via})
		return true
	})
}

// collapseSpaces makes one space of several, and leaves line ends.
func collapseSpaces(s string) string {
	if !strings.Contains(s, "  ") && !strings.ContainsAny(s, "\t\r\v\f") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for i := range len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\r', '\v', '\f':
			if !space {
				b.WriteByte(' ')
			}
			space = true
		default:
			b.WriteByte(c)
			space = false
		}
	}
	return b.String()
}

// report puts hits into words.
func (d *Detector) report(hits []Hit) Report {
	r := Report{Verdict: Pass, Hits: hits}
	slices.SortStableFunc(r.Hits, func(a, b Hit) int { return b.Score - a.Score })
	for _, h := range r.Hits {
		r.Score = max(r.Score, h.Score)
		r.Verdict = Graver(r.Verdict, d.verdictOf(h))
	}
	return r
}

// verdictOf is what one hit comes to.
func (d *Detector) verdictOf(h Hit) Verdict {
	switch {
	case d.o.Families[h.Family] == ModeBlock && h.Score >= d.o.BlockAt:
		return Block
	case h.Score >= d.o.FlagAt:
		return Flag
	}
	return Pass
}

// Raise returns the report as it is with a classifier's score, which can only raise it: from FlagAt on it flags,
// from BlockAt on it blocks. name stands in the hit.
func (d *Detector) Raise(r Report, name string, score int) Report {
	score = min(max(score, 0), 100)
	if score <= r.Score || score < d.o.FlagAt {
		return r
	}
	out := Report{Verdict: Flag, Score: score, Hits: append([]Hit{{ID: "classifier." + name, Score: score}}, r.Hits...)}
	if score >= d.o.BlockAt {
		out.Verdict = Block
	}
	out.Verdict = Graver(out.Verdict, r.Verdict)
	return out
}

// Graver returns the graver of two verdicts. One that is none of them is Block.
func Graver(a, b Verdict) Verdict {
	order := []Verdict{Pass, Flag, Block}
	i, j := slices.Index(order, a), slices.Index(order, b)
	if i < 0 || j < 0 {
		return Block
	}
	return order[max(i, j)]
}
