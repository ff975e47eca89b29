package evidence

import (
	"cmp"
	"slices"
	"strings"
)

// Bounds of rivals.
const (
	maxRivals    = 4 // of a report
	maxRivalsOf  = 2 // of a value
	maxWords     = 24
	maxMatches   = 256 // records that share a word with the request
	maxPerWord   = 64  // of them for one word in one result
	minWord      = 3
	maxBeside    = 4
	maxRivalForm = 128
)

// plainWords are no names: they tell no records apart.
var plainWords = wordSet(`the and for with from that this these those have has had not are was were will would could should can please
	you your yours him her his hers its our ours their them they what when where which who whom whose why how all any each every some
	send email mail message write reply tell give show find get make put set add new pay transfer move share invite book order buy open
	close delete remove cancel update change create check look about into onto than then there here also just only again after before
	today tomorrow yesterday week month year day time tonight morning monday tuesday wednesday thursday friday saturday sunday yes same
	last next first one two three but out off via per let know needs need want wants like does did done been being both
	der die das den dem des ein eine einen einem einer und oder mit von vom zum zur fur auf aus bei nach uber unter wie was wer wann
	nicht ich wir ist sind kein keine keinen habe hat auch noch mal alle alles
	bitte mir mich dir dich sie ihr ihm ihn uns euch mein meine meinen meiner dein sein seine schick sende schreib antworte zahl bezahle
	les des une pour avec dans sur par que qui est sont mon mes ton tes son ses notre votre leur envoie ecris reponds paie
	los las una unos por para con del que mis tus sus este esta envia manda escribe paga nuestro gli della delle per con che`)

// contentWords returns the words of a request by which records are told apart: no plain word, and
// none of the skill's own name.
func contentWords(fold, skill string) []string {
	own := splitName(skill)
	var out []string
	for _, w := range wordsOf(fold) {
		if len(w) < minWord || plainWords[w] || slices.Contains(own, w) || slices.Contains(out, w) || isDigits(w) && len(w) < 4 {
			continue
		}
		if out = append(out, w); len(out) == maxWords {
			break
		}
	}
	return out
}

// match is a record that shares words with the request.
type match struct {
	source int
	rec    record
	trust  Trust
	words  []string
}

// matchRecords returns the records of quotable results that share a word with the request,
// worked out once.
func (b *builder) matchRecords() []match {
	if b.matched {
		return b.matches
	}
	b.matched = true
	for i := len(b.sources) - 1; i >= 0; i-- {
		s := &b.sources[i]
		if s.place.Step == 0 || s.place.Trust < Tainted {
			continue
		}
		b.matchIn(i, s)
	}
	return b.matches
}

func (b *builder) matchIn(at int, s *source) {
	seen := map[string]bool{}
	for _, w := range b.words {
		if !b.spend(len(s.reading.fold)) {
			return
		}
		for from, n := 0, 0; n < maxPerWord && len(b.matches) < maxMatches; n++ {
			i := indexWord(s.reading.fold, w, from)
			if i < 0 {
				break
			}
			from = i + len(w)
			rec, ok := s.reading.recordAt(i, w)
			if !ok || rec.strange || seen[rec.fold] {
				continue
			}
			seen[rec.fold] = true
			b.matches = append(b.matches, match{at, rec, s.place.Trust, sharedWords(b.words, rec.fold)})
		}
	}
}

// indexWord finds a word by itself: also in names that are joined by signs.
func indexWord(text, w string, from int) int {
	for from <= len(text) {
		i := strings.Index(text[from:], w)
		if i < 0 {
			return -1
		}
		i += from
		if standsAlone(text, i, i+len(w)) {
			return i
		}
		from = i + len(w)
	}
	return -1
}

func sharedWords(words []string, fold string) (out []string) {
	for _, w := range words {
		if indexWord(fold, w, 0) >= 0 {
			out = append(out, w)
		}
	}
	return out
}

// addRivals adds records of the same kind that the user's words could mean, from sources at least
// as trusted as the value's own.
func (b *builder) addRivals(n *Named, v *value, hits []hit) {
	trust, seen := n.best()
	if trust == User || !v.hasRivals(seen) {
		return
	}
	own, guest := b.ownWords(hits)
	if v.kind == Reference || v.kind == Path {
		for _, w := range own[:min(len(own), maxBeside)] {
			n.Beside = append(n.Beside, hideText(w))
		}
	}
	if b.in.Mode == Off {
		return
	}
	n.Rivals = b.findRivals(n, v, own, guest)
	if n.Kind == Recipient && slices.ContainsFunc(n.Rivals, func(r Rival) bool { return r.Better }) {
		b.report.doubts = append(b.report.doubts, Finding{Signal: SignalRival, Arg: n.Declared, Kind: n.Kind})
	}
}

// hasRivals reports whether another record could be meant in place of the value's: a thing that was
// seen nowhere may be new.
func (v *value) hasRivals(seen bool) bool {
	switch {
	case v.hidden || v.named:
		return false
	case v.kind == Reference || v.kind == Path:
		return seen
	}
	return v.kind == Recipient || v.kind == Account
}

// findRivals returns the best rivals of a value. own are the words of the request in its own record,
// and guest says whose that is.
func (b *builder) findRivals(n *Named, v *value, own []string, guest bool) (out []Rival) {
	trust, seen := n.best()
	list := slices.Clone(b.matchRecords())
	slices.SortStableFunc(list, func(x, y match) int {
		return cmp.Or(int(y.trust)-int(x.trust), len(y.words)-len(x.words), x.source-y.source)
	})
	forms := []string{v.form, v.fold}
	for _, m := range n.Near {
		forms = append(forms, m.Value.plainText()) // it is shown already
	}
	// Where the value is a trusted record's that the words don't name, they name it by another way.
	// A guest is named by what he calls himself.
	alike := trust < Trusted || len(own) > 0 || guest
	for _, m := range list {
		if len(out) == maxRivalsOf {
			break
		}
		if seen && m.trust < trust {
			continue
		}
		if form, ok := b.rivalIn(m, v, forms); ok {
			forms = append(forms, form)
			s := &b.sources[m.source]
			p := s.place
			if b.mayQuote(s, m.rec) {
				p.Text = quoteText(cutRecord(m.rec, form), maxQuote)
			}
			out = append(out, Rival{p, b.valueQuote(s, form, -1), seen && alike && len(m.words) > len(own)})
		}
	}
	return out
}

// ownWords are the words of the request in the value's own trusted record. An echo is none: it
// would make a rival fit no better.
// guest says that a guest's record has the value.
func (b *builder) ownWords(hits []hit) (out []string, guest bool) {
	for _, h := range hits {
		if h.at < 0 || h.source.place.Step == 0 || h.trust < Trusted {
			continue
		}
		if rec, ok := h.source.reading.recordAt(h.at, h.want); ok && !rec.strange {
			guest = guest || rec.guest
			if w := sharedWords(b.words, rec.fold); len(w) > len(out) {
				out = w
			}
		}
	}
	return out, guest
}

// rivalIn returns a value of the same kind in a record that is none of the call's own, nor one of
// the known forms.
func (b *builder) rivalIn(m match, v *value, known []string) (string, bool) {
	if holdsWhole(m.rec.fold, v.fold) {
		return "", false
	}
	t := scanTokens(m.rec.fold)
	for _, form := range t.likeOf(v) {
		if len(form) <= maxRivalForm && !slices.Contains(known, form) && !b.isArgument(v.kind, form) {
			return form, true
		}
	}
	return "", false
}

// isArgument reports whether another argument of that kind has the value: both are meant.
func (b *builder) isArgument(kind Kind, form string) bool {
	return slices.ContainsFunc(b.values, func(v value) bool { return v.kind == kind && (v.form == form || v.fold == form) })
}

// likeOf returns the words of the same kind and shape as a value.
func (t *tokens) likeOf(v *value) (out []string) {
	take := func(list []token, fits func(string) bool) {
		for _, w := range list {
			if fits(w.form) {
				out = append(out, w.form)
			}
		}
	}
	switch v.kind {
	case Recipient:
		mail := strings.Contains(v.form, "@")
		take(t.addresses, func(f string) bool { return mail == strings.Contains(f, "@") && isHandle(f) == isHandle(v.form) })
		if !mail {
			take(t.accounts, func(string) bool { return isDigits(v.form) })
		}
	case Account:
		take(t.accounts, func(f string) bool { return isDigits(f) == isDigits(v.form) })
	case Reference:
		shape := shapeOfID(v.form)
		take(t.ids, func(f string) bool { return shape != "" && shapeOfID(f) == shape })
	case Path:
		take(t.files, func(string) bool { return true })
	}
	return out
}

// limitRivals keeps the best rivals of the whole report.
func (b *builder) limitRivals() {
	left := maxRivals
	for i := range b.report.Named {
		n := &b.report.Named[i]
		n.Rivals = n.Rivals[:min(len(n.Rivals), left)]
		left -= len(n.Rivals)
	}
}
