package flow

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
)

// maxTries is how many places Find compares for one call.
const maxTries = 4 << 20

// finder is one comparison on its way.
type finder struct {
	in     Input
	out    *outgoing
	budget int
	bodies int // bytes of bodies that may still be read
	report Report
	// Texts that aren't private: the user's, and those that results had before.
	asked, public known
}

// known is a text in which nothing counts, read where it is needed.
type known struct {
	texts   []string
	results []*reading
	plain   string
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
	k.plain = string(b)
}

// has reports whether a word stands there, however it is written.
func (k *known) has(plain string, number string) bool {
	k.read()
	return k.words[plain] || number != "" && k.numbers[number] || len(plain) >= gram && strings.Contains(k.plain, plain)
}

// Find reports what the call carries. Find is linear in the results and in what goes out,
// within the bounds of the package.
func Find(in Input) Report {
	f := &finder{in: in, budget: maxTries, bodies: maxBodies, report: Report{Leaves: true}}
	f.asked.texts = in.Known
	f.listSources()
	if f.hasNothing() {
		return f.report
	}
	f.out = newOutgoing(in)
	for i := range in.Sources {
		f.searchSource(&in.Sources[i])
	}
	f.report.Unread = f.report.Unread || f.out.cut && len(f.report.Private) > 0
	return f.report
}

// listSources names what was read, and takes what wasn't private first as known.
func (f *finder) listSources() {
	f.public.texts = f.in.Known
	for _, s := range f.in.Sources {
		if s.Private {
			f.report.Private = addOnce(f.report.Private, s.Skill)
		} else if len(f.report.Private) == 0 {
			f.public.results = append(f.public.results, s.read)
		}
		if s.Strange {
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
	f.searchBody(s, sec.body, own)
	f.searchShort(s, sec.short)
	if !s.Private {
		return
	}
	b := s.read.whole()
	f.bodies -= len(b.text)
	if f.bodies < 0 || b.cut {
		f.report.Unread = true
	}
	if f.bodies >= 0 {
		f.searchBody(s, b, own)
	}
}

// ownLinks lists the texts that are links of the result: what stands in its own link goes
// where it came from.
func (f *finder) ownLinks(s *Source) map[int]bool {
	var out map[int]bool
	for i, t := range f.in.Now.Texts {
		if strings.Contains(t.Value, "://") && !strings.ContainsAny(t.Value, " \n\t") && strings.Contains(s.read.meant(), t.Value) {
			if out == nil {
				out = map[int]bool{}
			}
			out[i] = true
		}
	}
	return out
}

// counts reports whether what a text carries of a source is carried out.
func (f *finder) counts(s *Source, text int, isSecret bool) bool {
	t := f.in.Now.Texts[text]
	if isSecret {
		return true
	}
	return !t.Target && !(t.Refers && domainOf(s.Skill) == f.in.Now.Domain)
}

func (f *finder) add(found Found) {
	for i, old := range f.report.Found {
		if old.Kind == found.Kind && old.Skill == found.Skill && old.Step == found.Step && old.Arg == found.Arg {
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
func (f *finder) searchShort(s *Source, list []string) {
	for _, short := range list {
		if f.asked.has(short, "") {
			continue
		}
		at, there := f.out.wordAt(short)
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
