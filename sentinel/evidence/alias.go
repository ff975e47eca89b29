package evidence

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// entry is an object of a trusted JSON result with a name that the request has.
type entry struct {
	name  string   // as the entry has it, or the words of it that the request has
	words []string // of the name, folded
	holds bool     // the value is how its owner is reached
}

// findAlias returns the record of a trusted result by which a name of the request is the value.
// It returns nil where another entry has that name too, and where the agent wrote it.
func findAlias(b *builder, v *value, hits []hit) *NameRecord {
	if v.kind != Recipient && v.kind != Account || v.hidden || b.in.Keys || b.in.Mode != Records && b.in.Mode != All {
		return nil
	}
	var found *NameRecord
	var own []string
	for _, h := range hits {
		s := h.source
		if h.trust != Trusted || s.place.Step == 0 || !s.look || !s.quotable {
			continue
		}
		for _, e := range entriesOf(b, s, v) {
			if e.holds && found == nil && !isSecondHand(b, e) {
				found, own = &NameRecord{quoteText(e.name, maxShown), s.place}, e.words
			}
		}
	}
	if found == nil || isShared(b, own, v) {
		return nil
	}
	return found
}

// isShared reports whether an entry of somebody else has the words of a name, too.
func isShared(b *builder, words []string, v *value) bool {
	for i := range b.sources {
		s := &b.sources[i]
		if s.place.Step == 0 || s.place.Trust < Tainted {
			continue
		}
		for _, e := range entriesOf(b, s, v) {
			if !e.holds && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(e.words, w) }) {
				return true
			}
		}
	}
	return false
}

// isSecondHand reports whether a name stands in what the agent sent to a skill that doesn't just
// look: the book may repeat it.
func isSecondHand(b *builder, e entry) bool {
	name := strings.Join(e.words, " ")
	for _, list := range [][]source{b.sources, b.past} {
		for i := range list {
			if s := &list[i]; s.place.Step != 0 && !s.look && (!b.spend(len(s.asked)) || holdsWhole(s.asked, name)) {
				return true
			}
		}
	}
	return b.holdsSecret(name)
}

// entriesOf returns the entries of a result with a name of the request, and without what their
// subjects write. A guest's is none.
func entriesOf(b *builder, s *source, v *value) []entry {
	if !b.spend(len(s.raw)) {
		return nil
	}
	root, _, ok := readNodes(s.raw)
	if !ok {
		return nil
	}
	w := &lineWriter{strangers: s.strangers}
	var out []entry
	var visit func(n *node)
	visit = func(n *node) {
		if e, ok := readEntry(b, n, v, w); ok {
			out = append(out, e)
		}
		for _, c := range n.children {
			if !w.isStrange(c.name) {
				visit(c)
			}
		}
	}
	visit(root)
	return out
}

var (
	// calledNames are fields that hold what people call an entry.
	calledNames = wordSet(`name names display full first last nickname nick alias relation label company organisation organization nombre
		nom vorname nachname nome naam firma empresa parentesco`)
	// contactNames are fields that hold how somebody is reached, besides recipientNames.
	contactNames = wordSet("mail tel telephone telefon mobile address contact handle login correo bank")
	guestWords   = wordSet("guest guests external externals extern contractor vendor partner unverified")
)

func readEntry(b *builder, n *node, v *value, w *lineWriter) (entry, bool) {
	var e entry
	reached := false
	for _, c := range n.cellsOfLine() {
		last := lastOf(splitName(c.name))
		switch {
		case w.isStrange(c.name):
		case c.marksOutsider() || c.isGuest():
			return entry{}, false
		case c.kind != jsontext.KindString:
		case hasAny(last, contactNames) || hasAny(last, recipientNames) || hasAny(last, accountNames):
			reached = true
			e.holds = e.holds || c.reaches(v)
		case hasAny(last, calledNames):
			if name, words := nameIn(b, c.text); len(words) > len(e.words) {
				e.name, e.words = name, words
			}
		}
	}
	return e, reached && len(e.words) > 0
}

// isGuest reports whether a field says that its subject was let in from outside.
func (c cell) isGuest() bool {
	on := foldText(strings.TrimSpace(c.text))
	return hasAny(splitName(c.name), guestWords) && on != "false" && on != "no" && on != "0" || guestWords[on]
}

// reaches reports whether a field holds a value, however it is grouped.
func (c cell) reaches(v *value) bool {
	fold := host.UnicodeHost(foldText(strings.TrimSpace(c.text)))
	return len(fold) <= maxAuthor && (holdsWhole(fold, v.fold) || v.form != "" && strings.TrimPrefix(dropGroups(fold), "00") == v.form)
}

// nameIn returns the part of a name that the request has: all of it, or the words that tell
// records apart.
func nameIn(b *builder, name string) (shown string, words []string) {
	fold := foldText(strings.TrimSpace(name))
	all := wordsOf(fold)
	if len(all) == 0 || len(fold) > maxShown {
		return "", nil
	}
	if len(fold) > 1 && !plainWords[fold] && holdsWhole(b.own, fold) {
		return strings.TrimSpace(name), all
	}
	shared := sharedWords(b.words, fold)
	for w := range strings.FieldsFuncSeq(name, func(r rune) bool { return !isWordRune(r) }) {
		if f := foldText(w); slices.Contains(shared, f) && !slices.Contains(words, f) {
			words = append(words, f)
			shown = strings.TrimSpace(shown + " " + w)
		}
	}
	return shown, words
}
