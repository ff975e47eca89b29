package evidence

import (
	"slices"
	"strings"
)

// Bounds of the history.
const (
	maxHistory = 8 << 20  // bytes that are read, the newest first
	maxSearch  = 96 << 20 // bytes that are compared for all values together
	maxSteps   = 512
	maxSkill   = 64
)

// source is one text in which values are looked for.
type source struct {
	place   Place
	reading *Reading
	asked   string // folded arguments of the step
	// raw is the result as it came, look and strangers are as the Step has them.
	raw       string
	look      bool
	strangers []string
	// quotable: its records may be shown.
	quotable bool
	clock    bool
}

// gatherSources returns the user's words, the newest first, and then the steps in their order.
func (b *builder) gatherSources() {
	own, pasted := SplitOwnWords(b.in.Request)
	b.own = foldText(own)
	b.addWords("request", 0, User, own)
	for i := len(b.in.Earlier) - 1; i >= 0 && i >= len(b.in.Earlier)-maxEarlier; i-- {
		said, forwarded := SplitOwnWords(b.in.Earlier[i])
		b.addWords("earlier", i-len(b.in.Earlier), User, said)
		pasted += "\n" + forwarded
	}
	if b.in.Pasted != "" {
		pasted += "\n" + b.in.Pasted
	}
	b.addWords("pasted", 0, Stranger, pasted)
	for _, s := range b.in.newestSteps() {
		src := b.readStep(s)
		if b.read += len(src.reading.text); b.read > maxHistory {
			b.report.Unread++
			continue
		}
		if src.reading.unread {
			b.report.Unread++
		}
		b.sources = append(b.sources, src)
	}
	slices.SortStableFunc(b.sources, func(x, y source) int { return x.place.Step - y.place.Step })
}

func (b *builder) readStep(s Step) source {
	r := s.Read
	if r == nil {
		r = ReadResult(s.Result, s.StrangerFields...)
	}
	trust := min(s.Trust, Trusted)
	return source{
		place: Place{Step: s.Number, Name: cleanSkill(s.Skill), Turn: min(s.Turn, 0), Trust: trust}, reading: r,
		asked: b.foldArgs(s.Args), quotable: !s.Sensitive && (trust >= Trusted || b.in.Mode == All), clock: s.Clock || isClock(s.Skill),
		raw: s.Result, look: s.Look, strangers: s.StrangerFields,
	}
}

// maxEarlier is how many earlier requests are read.
const maxEarlier = 16

func (b *builder) addWords(name string, turn int, t Trust, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	b.sources = append(b.sources, source{place: Place{Name: name, Turn: turn, Trust: t}, reading: readWords(text), quotable: t == User})
}

func readWords(text string) *Reading {
	w := &lineWriter{}
	w.addText(text[:min(len(text), maxText)], "", false)
	return &Reading{text: w.text.String(), fold: w.fold.String(), lines: w.lines}
}

// newestSteps returns the steps by their numbers, the newest first; at most maxSteps.
func (in Input) newestSteps() []Step {
	list := slices.Clone(in.History)
	slices.SortStableFunc(list, func(a, b Step) int { return b.Number - a.Number })
	return list[:min(len(list), maxSteps)]
}

// foldArgs folds the arguments of a step; what is beyond the bound counts as anything.
func (b *builder) foldArgs(args string) string {
	if len(args) > maxText {
		args = args[:maxText]
	}
	return foldText(args)
}

// cleanSkill keeps what the name of a skill may have: it stands in questions and findings.
func cleanSkill(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && isWordRune(r) || strings.ContainsRune("._-", r) {
			return r
		}
		return -1
	}, name)
	return name[:min(len(name), maxSkill)]
}

var clockNames = wordSet("clock time now today date")

// isClock reports whether a skill's name says that it tells the time.
func isClock(skill string) bool { return hasAny(lastOf(splitName(skill)), clockNames) }

// byTrust are the sources, those first that may be believed most, and the newest of them.
func (b *builder) byTrust() []int {
	out := make([]int, len(b.sources))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(x, y int) int {
		if d := int(b.sources[y].place.Trust) - int(b.sources[x].place.Trust); d != 0 {
			return d
		}
		return b.sources[y].place.Step - b.sources[x].place.Step
	})
	return out
}

// hit is one place of a value in a source.
type hit struct {
	source *source
	at     int // in the folded text; -1 where only the form was found
	trust  Trust
	want   string // the spelling that was found
}

// findHits returns those of the sources that hold a value, and how far each may be believed: the
// first trusted result grounds it, and nothing that comes after a stranger or an argument of the
// agent.
func (b *builder) findHits(sources []source, v *value) []hit {
	var out []hit
	touched, grounded := false, false
	wants := v.spellings()
	for i := range sources {
		s := &sources[i]
		words := s.place.Step == 0
		if !words && !touched && len(s.asked) > 2 && b.spend(len(s.asked)) && holdsAny(s.asked, wants) {
			touched = true
		}
		h, ok := b.findIn(s, v, wants)
		if !ok {
			continue
		}
		h.source, h.trust = s, s.place.Trust
		if h.at < 0 {
			h.trust = s.trustUnplaced()
		} else if s.isStrangeAt(h.at) {
			h.trust = Stranger
		}
		switch {
		case words:
		case h.trust == Stranger:
			touched = true
		case h.trust == Trusted && touched && !grounded, h.trust == Trusted && b.in.Attests != nil && !b.in.Attests(v.fold):
			h.trust = Tainted
		case h.trust == Trusted:
			grounded = true
		}
		out = append(out, h)
	}
	return out
}

func (s *source) isStrangeAt(at int) bool {
	i := s.reading.lineAt(at)
	return i >= 0 && s.reading.lines[i].strange
}

// trustUnplaced is how far a value may be believed that stands at an unknown place of the source:
// it may be in a field that its subject writes.
func (s *source) trustUnplaced() Trust {
	if slices.ContainsFunc(s.reading.lines, func(l line) bool { return l.strange }) {
		return Stranger
	}
	return s.place.Trust
}

// placeOfNumbers is the place of the source's numbers, of which each may be a stranger's.
func (s *source) placeOfNumbers() Place {
	p := s.place
	p.Trust = s.trustUnplaced()
	return p
}

// spend takes bytes off what may be compared and reports whether there were any left.
func (b *builder) spend(n int) bool {
	b.searched += n
	return b.searched <= maxSearch
}

// spellings are the texts by which a value is known where it stands.
func (v *value) spellings() []string {
	switch v.kind {
	case Host:
		return []string{v.form}
	case Path:
		if f := fileOf(v.form); f != v.form && len(f) > 3 {
			return []string{v.form, f}
		}
	case Recipient:
		if bare := strings.TrimLeft(v.fold, "#@"); bare != v.fold && bare != "" {
			return []string{v.fold, bare}
		}
	case Amount, Count, Date:
		return nil
	}
	return []string{strings.Trim(v.fold, `"'`)}
}

func holdsAny(text string, wants []string) bool {
	return slices.ContainsFunc(wants, func(w string) bool { return holdsWhole(text, w) })
}

// findIn looks for a value in one source, by its spellings or by its form.
func (b *builder) findIn(s *source, v *value, wants []string) (hit, bool) {
	switch v.kind {
	case Amount, Count:
		fits := func(n number) bool { return sameSum(n.value, v.number.value) }
		return v.hitWritten(s), !s.clock && slices.ContainsFunc(s.reading.tokensOf().numbers, fits)
	case Date:
		return v.hitWritten(s), slices.ContainsFunc(s.reading.tokensOf().days, v.day.isSame)
	}
	for _, w := range wants {
		if !b.spend(len(s.reading.fold)) {
			b.exhausted = true
			return hit{}, false
		}
		if i := indexWhole(s.reading.fold, w, 0); i >= 0 {
			return hit{at: i, want: w}, true
		}
	}
	if v.kind.isReach() {
		if i, ok := s.reading.tokensOf().known[v.form]; ok && (v.kind != Host || strings.Contains(v.form, ".")) {
			return hit{at: int(i), want: v.form}, true
		}
	}
	return hit{}, false
}

// hitWritten is where a number or a day stands as the call writes it; at is -1 where it is written
// in another way.
func (v *value) hitWritten(s *source) hit {
	return hit{at: indexWhole(s.reading.fold, v.fold, 0), want: v.fold}
}
