package flow

import (
	"bytes"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// maxSteps is how many bytes Find reads or looks up for one call.
const maxSteps = 32 << 20

// finder is one comparison on its way.
type finder struct {
	in     Input
	out    *outgoing
	steps  int // that are left
	source int // that is searched
	pieces int // words that were looked for as a whole
	bodies int // bytes of bodies that may still be read
	report Report
	// Indexes of what goes out by what counts in it, and of earlier calls.
	indexes map[string]*index
	before  *index
	// Texts that aren't private: the user's, and those that results had before.
	asked, public known
}

// known is a text in which nothing counts, read where it is needed.
type known struct {
	texts   []string
	results []*reading
	plain   string
	grams   *gramSet
	words   map[string]bool
	numbers map[string]bool
	ready   bool
}

// maxKnown bounds what is read of known texts in bytes.
const maxKnown = 64 << 10

func (k *known) read() {
	if k.ready {
		return
	}
	k.ready, k.words, k.numbers = true, map[string]bool{}, map[string]bool{}
	left := maxKnown
	var b []byte
	texts := slices.Clone(k.texts)
	for _, r := range k.results {
		texts = append(texts, r.meant())
	}
	for _, t := range texts {
		t = sentinel.FoldText(t[:min(len(t), left)])
		left -= min(len(t), left)
		eachWord(t, func(w string) {
			b = appendPlain(b, w)
			k.words[string(appendPlain(nil, w))] = true
			for part := range strings.FieldsFuncSeq(w, func(r rune) bool { return !isPlain(r) }) {
				k.words[part] = true
			}
			if digits, ok := normalizeNumber(w); ok {
				k.numbers[digits] = true
			}
		})
		b = append(b, 0)
	}
	k.plain, k.grams = string(b), newGramSet(gram, len(b))
	for part := range bytes.SplitSeq(b, []byte{0}) {
		k.grams.addPiece(part, 0)
	}
}

// has reports whether a word stands there, however it is written. Beyond the steps it counts
// as not known.
func (k *known) has(plain, number string, steps *int) bool {
	k.read()
	if k.words[plain] || number != "" && k.numbers[number] {
		return true
	}
	if len(plain) < gram || *steps <= 0 {
		return false
	}
	b := []byte(plain)
	for i := 0; i+gram <= len(b); i++ {
		if k.grams.find(b[i:]) == 0 {
			return false
		}
	}
	*steps -= len(k.plain)
	return strings.Contains(k.plain, plain)
}

// Find reports what the call carries. Find is linear in the results and in what goes out,
// within the bounds of the package. Beyond them Report.Unread is set.
func Find(in Input) Report {
	f := newFinder(in)
	f.run()
	return f.report
}

func newFinder(in Input) *finder {
	f := &finder{in: in, steps: maxSteps, bodies: maxBodies, report: Report{Leaves: true}}
	f.asked.texts = in.Known
	return f
}

func (f *finder) run() {
	f.listSources()
	if f.hasNothing() {
		return
	}
	f.out, f.indexes = newOutgoing(f.in), map[string]*index{}
	f.before = f.newIndex(nil, f.out.now, len(f.out.pieces))
	for i := range f.in.Sources {
		if s := &f.in.Sources[i]; s.mayCount() {
			f.source = i
			f.searchSource(s)
		}
	}
	f.report.Unread = f.report.Unread || f.out.cut || f.steps < 0
}

// listSources names what was read, and takes what wasn't private first as known.
func (f *finder) listSources() {
	f.public.texts = f.in.Known
	private := false
	for _, s := range f.in.Sources {
		switch {
		case !s.Private && !private:
			f.public.results = append(f.public.results, s.read)
		case s.Private && !s.Earlier:
			f.report.Private = addOnce(f.report.Private, s.Skill)
			if !s.read.secrets().hasNone() {
				f.report.Secretive = addOnce(f.report.Secretive, s.Skill)
			}
		}
		private = private || s.Private
		if s.Strange && !s.Earlier {
			f.report.Strange = addOnce(f.report.Strange, s.Skill)
		}
	}
}

func (f *finder) hasNothing() bool {
	return len(f.in.Now.Texts) == 0 || !slices.ContainsFunc(f.in.Sources, Source.mayCount)
}

func (f *finder) searchSource(s *Source) {
	own := f.ownLinks(s)
	sec := s.read.secrets()
	f.report.Unread = f.report.Unread || sec.cut || s.Private && s.Gone
	all := f.indexWithout(s, own, true)
	f.searchBody(s, sec.body, all)
	f.searchShort(s, sec.short, all)
	if !s.Private {
		return
	}
	b := s.read.whole()
	f.bodies -= len(b.text)
	if f.bodies < 0 || b.cut {
		f.report.Unread = true
	}
	if f.bodies >= 0 {
		f.searchBody(s, b, f.indexWithout(s, own, false))
	}
}

// ownLinks tells the texts that are links of the result: what stands in its own link goes
// where it came from.
func (f *finder) ownLinks(s *Source) []bool {
	var out []bool
	for i, t := range f.in.Now.Texts {
		if !strings.Contains(t.Value, "://") || strings.ContainsAny(t.Value, " \n\t") {
			continue
		}
		meant := s.read.meant()
		if f.steps -= len(meant) / 4; f.steps < 0 { //nolint:mnd // it is found faster than it is read
			return out
		}
		if strings.Contains(meant, t.Value) {
			if out == nil {
				out = make([]bool, len(f.in.Now.Texts))
			}
			out[i] = true
		}
	}
	return out
}

// indexWithout returns the index of those texts in which what they carry of a source is
// carried out. A text that doesn't count hides none that does.
func (f *finder) indexWithout(s *Source, own []bool, isSecret bool) *index {
	skip, key := make([]bool, len(f.in.Now.Texts)), make([]byte, len(f.in.Now.Texts))
	f.steps -= len(skip)
	for i, t := range f.in.Now.Texts {
		if own != nil && own[i] || !isSecret && (t.Target || t.Refers && domainOf(s.Skill) == f.in.Now.Domain) {
			skip[i], key[i] = true, 1
		}
	}
	x := f.indexes[string(key)]
	if x == nil {
		x = f.newIndex(skip, 0, f.out.now)
		f.indexes[string(key)] = x
	}
	return x
}

func (f *finder) newIndex(skip []bool, from, to int) *index {
	return &index{f.out, skip, from, to, map[int]*gramSet{}, &f.steps}
}

func (f *finder) add(found Found) {
	found.source = f.source
	for i, old := range f.report.Found {
		if old.Kind == found.Kind && old.source == f.source && old.Arg == found.Arg {
			f.report.Found[i].Disguised = old.Disguised && found.Disguised
			f.report.Found[i].United = old.United && found.United
			return
		}
	}
	if len(f.report.Found) < maxFound {
		f.report.Found = append(f.report.Found, found)
	}
}

func (f *finder) addAt(s *Source, kind Kind, at int, united bool) {
	p := f.out.pieces[at]
	f.add(Found{Kind: kind, Skill: s.Skill, Step: s.Step, Arg: f.in.Now.Texts[p.text].Arg, Disguised: p.disguised, United: united})
}

// searchShort looks for secrets that are too short to be found within other text.
func (f *finder) searchShort(s *Source, list []string, x *index) {
	for _, short := range list {
		if f.asked.has(short, "", &f.steps) {
			continue
		}
		at, there := f.out.wordAt(short, x)
		if there && (len(short) >= gram && !isYear(short) || f.isNamed(short, at)) {
			f.addAt(s, Secret, at, false)
		}
	}
}

// isNamed reports whether so short a secret isn't there by chance: it has letters and digits,
// or the text says nothing else or names it as a secret again.
func (f *finder) isNamed(short string, at int) bool {
	letters := strings.Trim(short, "0123456789") != ""
	if letters && hasDigit(short) {
		return true
	}
	t := f.in.Now.Texts[f.out.pieces[at].text]
	if string(appendPlain(nil, t.Value)) == short {
		return true
	}
	for _, again := range findSecrets(t.Value).short {
		if again == short {
			return true
		}
	}
	return false
}
