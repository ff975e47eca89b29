package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// builder makes one report.
type builder struct {
	in      Input
	report  Report
	sources []source
	past    []source // results of earlier turns
	own     string   // the user's own words of this turn, folded
	secrets []string // folded values that stand in no quote
	words   []string // of the request, by which records are told apart
	// read, searched and compared count against the bounds.
	read, searched, compared int
	exhausted                bool
	values                   []value
	hits                     [][]hit
	named                    []int // where each value stands in the report; -1 for nowhere
	matches                  []match
	matched                  bool // matches has been filled
}

// Build works out the evidence of a call. It reads nothing but its input and changes nothing of
// it. It needs time in proportion to the history times the values that name something, of which
// at most 64 are looked for.
func Build(in Input) Report {
	b := &builder{in: in}
	b.report.mode, b.report.keys, b.report.reads = in.Mode, in.Keys, in.Effect == skills.Read
	b.gatherSources()
	b.gatherSecrets()
	b.words = contentWords(b.own, in.Skill)
	list, beyond := collectValues(in)
	for i := range list {
		b.hits = append(b.hits, b.findHits(b.sources, &list[i]))
		if b.exhausted { // nothing is known of the rest
			b.exhausted = false
			beyond = append(slices.Clone(list[i:]), beyond...)
			list, b.hits = list[:i], b.hits[:i]
			break
		}
	}
	b.values, b.named = list, make([]int, len(list))
	for _, hidden := range []bool{true, false} { // what is near a secret is known before anything is quoted
		for i := range list {
			if list[i].hidden == hidden {
				had := len(b.report.Named)
				if b.addNamed(i); had == len(b.report.Named) {
					had = -1
				}
				b.named[i] = had
			}
		}
	}
	b.countLeftOut(beyond)
	b.limitRivals()
	if in.Full && in.Mode != Off {
		b.addReviewersPart()
		(&conditions{b}).addCondition()
	}
	b.report.Unasked = listUnasked(in, b.own)
	b.report.Carries = sortCarries(in.Carries)
	return b.report
}

// countLeftOut notes values that were not looked for.
func (b *builder) countLeftOut(beyond []value) {
	for _, v := range beyond {
		b.report.LeftOut++
		b.report.Asks = b.report.Asks || v.kind.isReach() && !b.report.reads
	}
}

// gatherSecrets notes what no quote may hold.
func (b *builder) gatherSecrets() {
	for _, a := range b.in.Arguments {
		if !a.Marks.Has(skills.Secret) && !a.Sensitive {
			continue
		}
		if s := scalarText(a.Value); strings.TrimSpace(s) != "" {
			b.secrets = append(b.secrets, foldText(strings.TrimSpace(s)))
		}
	}
}

// addNamed adds what is known of the i-th value, unless there is nothing to say.
func (b *builder) addNamed(i int) {
	v, hits := &b.values[i], b.hits[i]
	n := Named{Pointed: v.arg.pointTo(), Kind: v.kind, Hidden: v.hidden}
	n.Seen = append(n.Seen, b.placesOf(v, hits)...)
	slices.SortStableFunc(n.Seen, func(x, y Place) int { return int(y.Trust) - int(x.Trust) })
	trust, seen := n.best()
	if v.named && (!seen || trust == User) {
		return
	}
	if !b.report.reads && !v.named && (!seen || trust < Trusted) {
		if v.kind == Amount || v.kind == Count {
			n.Made = (&amounts{b, v}).findMade()
		}
		n.Near = (&neighbours{b, v, seen}).findNear()
	}
	if m, ok := b.exceedsLimit(v); ok {
		n.Near = append(n.Near, m)
	}
	for _, m := range n.Near {
		b.report.findings = append(b.report.findings, newFinding(&n, m))
	}
	b.addRivals(&n, v, hits)
	if !seen && v.kind.isReach() {
		b.report.Nowhere = append(b.report.Nowhere, n.Pointed)
	}
	if !seen && len(n.Near) == 0 && v.saysNothing() {
		return
	}
	b.report.Named = append(b.report.Named, n)
}

// saysNothing reports whether it tells a reader nothing that the value was seen nowhere: days are
// computed more often than they are written, and words such as "primary" are the skill's own.
func (v *value) saysNothing() bool {
	return v.kind == Date || v.kind == Reference && !v.arg.Marks.Has(skills.Target) && !hasDigit(v.fold)
}

// exceedsLimit reports whether an amount is beyond what the user stated, wherever it comes from.
func (b *builder) exceedsLimit(v *value) (NearMiss, bool) {
	if b.report.reads || v.kind != Amount {
		return NearMiss{}, false
	}
	limit, ok := readLimit(b.own)
	return NearMiss{How: HowLimit, Place: Place{Name: "request", Trust: User}}, ok && math.Abs(v.number.value) > limit+cent/2
}

// placesOf returns at most three places: the user's words, the best result, and a stranger's.
func (b *builder) placesOf(v *value, hits []hit) []Place {
	var words, best, strange *hit
	for i := range hits {
		h := &hits[i]
		switch {
		case h.source.place.Step == 0:
			if words == nil || h.trust > words.trust {
				words = h
			}
		case h.trust == Stranger:
			if strange == nil {
				strange = h
			}
		case best == nil || h.trust > best.trust:
			best = h
		}
	}
	var out []Place
	for _, h := range []*hit{words, best, strange} {
		if h != nil {
			out = append(out, b.placeOf(v, *h))
		}
	}
	return out
}

// placeOf describes a place, with the record there where it may be quoted.
func (b *builder) placeOf(v *value, h hit) Place {
	s := h.source
	p := s.place
	p.Trust = h.trust
	if h.at < 0 || p.Step == 0 || v.hidden || h.trust < Trusted && b.in.Mode != All { // tainted text may be a stranger's
		return p
	}
	p.Field, p.Text = b.quoteRecord(s, h.at, h.want)
	return p
}

// quoteRecord quotes the record at an offset, where mode and source allow it.
func (b *builder) quoteRecord(s *source, at int, want string) (field, text Quote) {
	rec, ok := s.reading.recordAt(at, want)
	if !ok || !b.mayQuote(s, rec) {
		return Quote{}, Quote{}
	}
	return quoteText(rec.field, maxField), quoteText(cutRecord(rec, want), maxQuote)
}

// mayQuote reports whether a record may be shown.
func (b *builder) mayQuote(s *source, rec record) bool {
	switch {
	case b.in.Keys, b.in.Mode != Records && b.in.Mode != All, !s.quotable, rec.strange && b.in.Mode != All:
		return false
	}
	if b.holdsSecret(rec.fold) || s.place.Turn < 0 && b.isNearSecret(rec.fold) {
		return false
	}
	return b.in.Mode == All || !b.isSaidAgain(rec.fold)
}

// isSaidAgain reports whether a record stands in the arguments of a step or in what a stranger
// wrote: then a trusted store only repeats it.
func (b *builder) isSaidAgain(fold string) bool {
	if len(fold) < minRepeated {
		return false
	}
	for _, list := range [][]source{b.sources, b.past} {
		for i := range list {
			s := &list[i]
			if s.place.Step == 0 && s.place.Trust == User {
				continue
			}
			if !b.spend(len(s.asked)+len(s.reading.fold)) || strings.Contains(s.asked, fold) ||
				s.place.Trust < Trusted && strings.Contains(s.reading.fold, fold) {
				return true
			}
		}
	}
	return false
}

// minRepeated is how many bytes of a record are no longer the value alone.
const minRepeated = 40

func (b *builder) holdsSecret(fold string) bool {
	return slices.ContainsFunc(b.secrets, func(secret string) bool { return strings.Contains(fold, secret) })
}

// cutRecord keeps the head of a record, and of a long one what stands before the value too.
func cutRecord(rec record, want string) string {
	text := []rune(strings.Join(strings.Fields(rec.text), " "))
	if len(text) <= maxQuote {
		return string(text)
	}
	i := strings.Index(strings.ToLower(string(text)), want)
	if i < 0 || i > len(string(text)) {
		return string(text)
	}
	at := len([]rune(strings.ToLower(string(text))[:i]))
	if at < maxQuote*3/4 || at > len(text) {
		return string(text)
	}
	const head, around = 70, 84
	return string(text[:head]) + cutMark + string(text[max(head, at-around/2):min(len(text), at+around/2)])
}

// valueQuote quotes a value of a source, where its record could be quoted.
func (b *builder) valueQuote(s *source, fold string, at int) Quote {
	if b.in.Keys || b.in.Mode != Records && b.in.Mode != All || !s.quotable || b.holdsSecret(fold) {
		return Quote{}
	}
	if at >= 0 && s.isStrangeAt(at) && b.in.Mode != All {
		return Quote{}
	}
	return quoteText(fold, maxShown)
}

// numberQuote quotes a number of a source, unless it may stand in a stranger's field.
func (b *builder) numberQuote(s *source, text string) Quote {
	if s.trustUnplaced() < s.place.Trust && b.in.Mode != All {
		return Quote{}
	}
	return b.valueQuote(s, text, -1)
}

// ArgumentsOf returns the scalars of a skill's arguments as Build takes them. walk calls its
// argument for each of them, as skills.Skill.Walk does.
func ArgumentsOf(s *skills.Skill, walk func(func(skills.Arg))) []Argument {
	var out []Argument
	walk(func(a skills.Arg) {
		arg := ArgumentOf(s, a)
		arg.Declared = s.Declares(topName(a.Pointer))
		out = append(out, arg)
	})
	return out
}

// ArgumentOf returns one scalar of a skill's arguments as MayFind takes it: it leaves out whether
// the schema declares it.
func ArgumentOf(s *skills.Skill, a skills.Arg) Argument {
	if !s.Annotated() {
		a.Marks &^= skills.Target // every string has it
	}
	return Argument{Pointer: a.Pointer, Name: a.Name, Value: a.Value, Marks: a.Marks}
}

// pointTo names an argument.
func (a Argument) pointTo() Pointed {
	if !a.Declared {
		return Pointed{Pointer: hideText(a.Pointer)}
	}
	return Pointed{hideText(a.Pointer), topName(a.Pointer)}
}

// keyUnescapes undoes the escapes of a JSON pointer.
var keyUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// topName is the first part of a JSON pointer, without its escapes.
func topName(pointer string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	if strings.IndexByte(name, '~') < 0 {
		return name
	}
	return keyUnescapes.Replace(name)
}

func sortCarries(list []Carried) []Carry {
	var out []Carry
	for _, c := range slices.SortedFunc(slices.Values(list), func(a, b Carried) int {
		return cmp.Or(strings.Compare(a.Argument, b.Argument), a.Step-b.Step, strings.Compare(a.How, b.How))
	}) {
		arg := Argument{Pointer: c.Argument, Declared: c.Declared}
		if out = append(out, Carry{arg.pointTo(), c.Step, c.How}); len(out) == maxCarries {
			break
		}
	}
	return out
}

const maxCarries = 16
