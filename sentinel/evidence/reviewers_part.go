package evidence

import (
	"slices"
	"strings"
)

// addReviewersPart adds what only a reviewer reads: places of earlier turns, aliases, and what
// values are in strangers' results. All of it counts for nothing.
func (b *builder) addReviewersPart() {
	for _, s := range b.in.Past[max(0, len(b.in.Past)-maxSteps):] {
		b.past = append(b.past, b.readStep(s))
	}
	for i := range b.values {
		v := &b.values[i]
		if b.named[i] < 0 {
			b.addLate(v, b.hits[i])
			continue
		}
		n := &b.report.Named[b.named[i]]
		trust, seen := n.best()
		if p, ok := b.findEarlier(v); ok && (!seen || p.Trust > trust && trust < Trusted) {
			n.Also = append(n.Also, p)
		} else if p, ok := b.findArgument(v); ok && !seen {
			n.Also = append(n.Also, p)
		}
		if seen && trust == Stranger {
			tellStanding(b, n, v, b.hits[i])
			b.addWordsBeside(n, v, b.hits[i])
			b.addStrangersRivals(n, v, b.hits[i])
		}
		n.Alias = findAlias(b, v, b.hits[i])
	}
	b.report.Nowhere = nil
	for _, n := range b.report.Named {
		if n.Kind.isReach() && len(n.Seen)+len(n.Also) == 0 {
			b.report.Nowhere = append(b.report.Nowhere, n.Pointed)
		}
	}
}

// addWordsBeside adds the words of the request that stand in a stranger's record of an id or a path.
// They are the user's own; of the record nothing is shown.
func (b *builder) addWordsBeside(n *Named, v *value, hits []hit) {
	if v.kind != Reference && v.kind != Path || v.hidden || len(n.Beside) > 0 {
		return
	}
	var most []string
	for _, h := range hits {
		if h.at < 0 || h.source.place.Step == 0 {
			continue
		}
		if rec, ok := h.source.reading.recordAt(h.at, h.want); ok {
			if w := sharedWords(b.words, rec.fold); len(w) > len(most) {
				most = w
			}
		}
	}
	for _, w := range most[:min(len(most), maxBeside)] {
		n.Beside = append(n.Beside, hideText(w))
	}
}

// addStrangersRivals tells of strangers' records with another value of the kind, where strangers alone
// have the call's and no record shares more words with the request than theirs. It counts for
// nothing: a planted record gets no value refused by the rules. Its value is not shown.
func (b *builder) addStrangersRivals(n *Named, v *value, hits []hit) {
	if v.hidden || v.named || len(n.Rivals) > 0 || b.report.reads || !mayHaveStrangersRivals(v) || b.isOneOfSeveral(v) {
		return
	}
	own, words := 0, b.wantedWords()
	for _, h := range hits {
		if rec, ok := h.recordOf(); ok {
			own = max(own, len(sharedWords(words, rec.fold)))
		}
	}
	best, most := Place{}, 0
	for i := range b.sources {
		s := &b.sources[i]
		if s.place.Step == 0 || s.place.Trust != Stranger || !b.spend(len(s.reading.fold)) {
			continue
		}
		for at := range s.reading.lines {
			fold := s.reading.foldOf(at)
			shared := len(sharedWords(words, fold))
			if shared > most && shared >= own && !holdsWhole(fold, v.fold) && b.holdsOther(fold, v) {
				best, most = s.place, shared
			}
		}
	}
	if most > 0 && (own > 0 || v.kind != Reference) {
		n.Rivals = append(n.Rivals, Rival{Place: best, Better: most > own})
	}
}

// wantedWords are the words by which records are told apart, without numbers and without those
// that the request says no to.
func (b *builder) wantedWords() []string {
	var out []string
	fields := wordsOf(b.own)
	for _, w := range b.words {
		i := slices.Index(fields, w)
		if isDigits(w) || countingWords[w] || i >= 0 && hasAny(fields[max(0, i-maxDenied):i], denials) {
			continue
		}
		out = append(out, w)
	}
	return out
}

// maxDenied is how many words before a word may deny it.
const maxDenied = 4

var (
	countingWords = wordSet(`two three four five six ten zwei drei vier funf deux trois quatre dos tres cuatro dois duas tre due
		quattro twee drie
		first second third last primero segundo ultimo premier erste zweite letzte primo`)
	// priceNames are amounts that go with what is bought.
	priceNames = wordSet("price unit rate fee preis prix precio prezzo")
	denials    = wordSet(`no not without except doesn don isn nicht kein keine ohne ausser pas sans sauf sin salvo excepto nao sem non senza
		niet geen zonder`)
)

// isOneOfSeveral reports whether the argument is a list of such values: then several records are meant.
func (b *builder) isOneOfSeveral(v *value) bool {
	list := v.arg.Pointer[:strings.LastIndexByte(v.arg.Pointer, '/')+1]
	return list != "/" && v.kind == Reference && slices.ContainsFunc(b.values, func(o value) bool {
		return o.kind == v.kind && o.arg.Pointer != v.arg.Pointer && strings.HasPrefix(o.arg.Pointer, list)
	})
}

func mayHaveStrangersRivals(v *value) bool {
	switch v.kind {
	case Reference, Account, Recipient:
		return true
	case Amount:
		return !hasAny(splitName(v.arg.Name), priceNames)
	}
	return false
}

// recordOf is the record of a result that holds the value.
func (h hit) recordOf() (record, bool) {
	if h.at < 0 || h.source.place.Step == 0 {
		return record{}, false
	}
	return h.source.reading.recordAt(h.at, h.want)
}

// holdsOther reports whether a line has another value of the kind and shape.
func (b *builder) holdsOther(fold string, v *value) bool {
	t := scanTokens(fold)
	if v.kind == Amount {
		return slices.ContainsFunc(t.numbers, func(n number) bool { return n.money && !sameSum(n.value, v.number.value) })
	}
	return slices.ContainsFunc(t.likeOf(v), func(form string) bool {
		return form != v.form && form != v.fold && !b.isArgument(v.kind, form)
	})
}

// addLate adds a value of which this turn knows nothing and an earlier one does.
func (b *builder) addLate(v *value, hits []hit) {
	if len(hits) > 0 {
		return
	}
	if p, ok := b.findEarlier(v); ok && p.Trust == Trusted {
		b.report.Named = append(b.report.Named, Named{Pointed: v.arg.pointTo(), Kind: v.kind, Hidden: v.hidden, Also: []Place{p}, late: true})
	}
}

// findEarlier returns the best place of a value in the results of earlier turns, the newest of
// those alike.
func (b *builder) findEarlier(v *value) (Place, bool) {
	var best *hit
	if v.kind == Count { // small numbers stand everywhere
		return Place{}, false
	}
	hits := b.findHits(b.past, v)
	b.exhausted = false
	for i := range hits {
		h := &hits[i]
		if b.in.PastGone {
			h.trust = min(h.trust, Tainted)
		}
		if best == nil || h.trust >= best.trust {
			best = h
		}
	}
	if best == nil {
		return Place{}, false
	}
	return b.placeOf(v, *best), true
}

// findArgument returns the newest read that answered and had an address or a phone's number among its arguments.
func (b *builder) findArgument(v *value) (Place, bool) {
	if v.kind != Recipient || v.hidden || !isEmail(v.fold) && !isPhone(v.fold) {
		return Place{}, false
	}
	for _, list := range [][]source{b.sources, b.past} {
		for i := len(list) - 1; i >= 0; i-- {
			s := &list[i]
			if s.look && s.place.Step != 0 && strings.TrimSpace(s.raw) != "" && b.spend(len(s.asked)) && holdsAny(s.asked, v.spellings()) {
				p := s.place
				p.Trust, p.As = Stranger, AsArgument
				return p, true
			}
		}
	}
	return Place{}, false
}

// isNearSecret reports whether a text has a word that is almost a hidden value of the call.
func (b *builder) isNearSecret(fold string) bool {
	t := scanTokens(fold)
	for i := range b.values {
		v := &b.values[i]
		if !v.hidden {
			continue
		}
		alike := func(of func(a, b string) How) func(token) bool {
			return func(t token) bool { return t.form == v.form || of(v.form, t.form) != "" }
		}
		if slices.ContainsFunc(t.addresses, alike(nearMailbox)) || slices.ContainsFunc(t.accounts, alike(nearAccount)) ||
			slices.ContainsFunc(t.hosts, alike(nearDomain)) {
			return true
		}
	}
	return false
}
