package evidence

import "slices"

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
		}
		if seen && trust == Stranger {
			tellStanding(b, n, v, b.hits[i])
			b.addWordsBeside(n, v, b.hits[i])
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
