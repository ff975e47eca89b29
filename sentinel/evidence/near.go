package evidence

import (
	"math"
	"slices"
	"strings"
)

// Bounds of near misses.
const (
	maxNearOf   = 2       // of a value
	maxCompared = 1 << 18 // comparisons of a report
	longLocal   = 8       // characters from which two edits are a slip: of a mailbox's name,
	longLabel   = 9       // of a domain's
	longAccount = 12      // and of an account
	minAffixed  = 5       // characters of a name that stands in another
)

// neighbours looks for what a value almost is. The value is nowhere, or only known from what a
// stranger or the agent could have written. A stranger's texts are a reference for the first
// alone: they never count against a value that was seen.
type neighbours struct {
	*builder
	v    *value
	seen bool
}

func (b *neighbours) findNear() []NearMiss {
	var out []NearMiss
	v := b.v
	switch v.kind {
	case Account:
		if hasWrongDigits(v.form) || hasWrongRouting(v.form) && isRouting(v) {
			out = append(out, NearMiss{How: HowCheckDigits})
		}
		return b.nearTokens(out, func(t *tokens) []token { return t.accounts }, nearAccount)
	case Recipient:
		if !strings.Contains(v.form, "@") || isHandle(v.form) {
			return b.nearTokens(nil, func(t *tokens) []token { return t.accounts }, nearAccount)
		}
		out = b.nearTokens(nil, func(t *tokens) []token { return t.addresses }, nearMailbox)
		if len(out) == 0 && !b.knowsDomain(domainOf(v.form)) {
			return b.nearTokens(nil, func(t *tokens) []token { return t.hosts }, nearDomain)
		}
		return out
	case Host:
		return b.nearTokens(nil, func(t *tokens) []token { return t.hosts }, nearDomain)
	case Reference:
		return b.nearIDs()
	case Amount, Count:
		return b.nearNumbers()
	case Date:
		return b.nearDays()
	}
	return nil
}

// isReference reports whether a source may say that a value is a slip.
func (s *source) isReference(seen bool) bool {
	if s.clock {
		return false
	}
	return !seen || s.place.Trust >= Trusted
}

// nearTokens compares a value with the words of a kind, those of the best sources first.
func (b *neighbours) nearTokens(out []NearMiss, of func(*tokens) []token, near func(a, b string) How) []NearMiss {
	v, seen := b.v, b.seen
	known := map[string]bool{v.form: true}
	for _, i := range b.byTrust() {
		s := &b.sources[i]
		if !s.isReference(seen) {
			continue
		}
		for _, t := range of(s.reading.tokensOf()) {
			if len(out) >= maxNearOf || b.compared >= maxCompared {
				return out
			}
			if known[t.form] || seen && s.isStrangeAt(int(t.at)) {
				continue
			}
			known[t.form] = true
			b.compared++
			if how := near(v.form, t.form); how != "" {
				out = append(out, b.describeNear(s, t, how))
			}
		}
	}
	return out
}

func (b *neighbours) describeNear(s *source, t token, how How) NearMiss {
	m := NearMiss{How: how, Place: s.place}
	if s.isStrangeAt(int(t.at)) {
		m.Place.Trust = Stranger
	}
	if b.v.hidden {
		b.secrets = append(b.secrets, t.form) // it is almost the secret
		return m
	}
	m.Value = b.valueQuote(s, t.form, int(t.at))
	if s.place.Step != 0 {
		m.Place.Field, m.Place.Text = b.quoteRecord(s, int(t.at), t.form)
	}
	return m
}

func isRouting(v *value) bool { return slices.Contains(splitName(v.arg.Name), "routing") }

// nearAccount says how one account is near another of its class.
func nearAccount(a, b string) How {
	most := 1
	if min(len(a), len(b)) >= longAccount {
		most = 2
	}
	switch {
	case isDigits(a) != isDigits(b) || min(len(a), len(b)) < minDigits:
		return ""
	case isSwap(a, b):
		return HowSwapped
	case countEdits(a, b, most) <= most:
		return HowEdited
	case len(a) != len(b) || len(a) < minAccount:
		return ""
	case differsInOneGroup(a, b):
		return HowGroup
	case a[:8] == b[:8] && a[len(a)-4:] == b[len(b)-4:]:
		return HowEnds
	}
	return ""
}

// differsInOneGroup reports whether accounts of one length differ in one group of four.
func differsInOneGroup(a, b string) bool {
	n := 0
	for i := 0; i < len(a); i += 4 {
		if end := min(len(a), i+4); a[i:end] != b[i:end] {
			n++
		}
	}
	return n == 1
}

func domainOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// nearMailbox says how an address is near another one.
func nearMailbox(a, b string) How {
	i, j := strings.LastIndexByte(a, '@'), strings.LastIndexByte(b, '@')
	if i <= 0 || j <= 0 {
		return ""
	}
	if skeletonOf(a) == skeletonOf(b) {
		return HowLookalike
	}
	if a[i:] != b[j:] {
		return ""
	}
	most := 1
	if min(i, j) >= longLocal {
		most = 2
	}
	switch {
	case isSwap(a[:i], b[:j]):
		return HowSwapped
	case min(i, j) > 2 && countEdits(a[:i], b[:j], most) <= most:
		return HowEdited
	}
	return ""
}

// publicMail are domains at which everybody can have an address: none is a slip for another.
var publicMail = wordSet(`gmail.com googlemail.com outlook.com outlook.de hotmail.com hotmail.de hotmail.fr hotmail.co.uk live.com msn.com
	yahoo.com yahoo.de yahoo.fr yahoo.co.uk ymail.com icloud.com me.com mac.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de
	proton.me protonmail.com aol.com orange.fr free.fr laposte.net wanadoo.fr libero.it mail.ru yandex.ru qq.com 163.com posteo.de
	mailbox.org fastmail.com zoho.com`)

// knowsDomain reports whether the user or a trusted result has the domain.
func (b *neighbours) knowsDomain(domain string) bool {
	return slices.ContainsFunc(b.sources, func(s source) bool {
		_, ok := s.reading.tokensOf().known[domain]
		return ok && s.place.Trust >= Trusted
	})
}

// nearDomain says how the domain of an address or a host is near another one.
func nearDomain(a, b string) How {
	a, b = domainOf(a), domainOf(b)
	if a == b || publicMail[a] || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a) {
		return ""
	}
	la, ra := splitDomain(a)
	lb, rb := splitDomain(b)
	most := 1
	if min(len(la), len(lb)) >= longLabel {
		most = 2
	}
	switch {
	case la == lb && ra == rb || publicMail[b] || len(lb) < 3:
		return ""
	case skeletonOf(a) == skeletonOf(b), skeletonOf(la) == skeletonOf(lb) && la != lb:
		return HowLookalike
	case strings.HasPrefix(a, b+".") || strings.Contains(a, "."+b+".") || strings.Contains(a, strings.ReplaceAll(b, ".", "-")):
		return HowInside
	case la == lb:
		return HowSuffix
	case len(lb) > 3 && isSwap(la, lb):
		return HowSwapped
	case len(lb) > 3 && ra == rb && countEdits(la, lb, most) <= most:
		return HowEdited
	case isAffixed(la, lb):
		return HowAffix
	}
	return ""
}

// secondLevels are labels below which a country registers names.
var secondLevels = wordSet("co com org net gov ac edu or ne go gob gouv nom")

// splitDomain returns the label that a domain's owner chose, and what is behind it.
func splitDomain(d string) (label, rest string) {
	parts := strings.Split(d, ".")
	i := len(parts) - 2
	if i > 0 && len(parts[len(parts)-1]) == 2 && secondLevels[parts[i]] {
		i--
	}
	if i < 0 {
		return d, ""
	}
	return parts[i], strings.Join(parts[i+1:], ".")
}

// affixes are words that impostors put before or behind a name.
var affixes = wordSet(`pay payment payments billing bill invoice invoices support secure security mail email online login account accounts
	accounting service services hr team group corp inc help helpdesk verify office bank finance global hq info portal admin it app`)

// isAffixed reports whether a name is another one with a word before or behind it.
func isAffixed(a, known string) bool {
	if len(known) < minAffixed || len(a) <= len(known) {
		return false
	}
	for _, rest := range []string{strings.TrimPrefix(a, known), strings.TrimSuffix(a, known)} {
		if rest != a && (strings.Trim(rest, "-") != rest || affixes[rest]) {
			return true
		}
	}
	return false
}

// nearIDs compares an id with those of its shape in the user's words.
func (b *neighbours) nearIDs() []NearMiss {
	v := b.v
	shape := shapeOfID(v.form)
	if shape == "" {
		return nil
	}
	near := func(a, other string) How {
		switch {
		case shapeOfID(other) != shape || min(len(a), len(other)) < 4:
			return ""
		case isSwap(a, other):
			return HowSwapped
		case countEdits(a, other, 1) <= 1:
			return HowEdited
		}
		return ""
	}
	var out []NearMiss
	for i := range b.sources {
		if s := &b.sources[i]; s.place.Trust == User {
			for _, t := range s.reading.tokensOf().ids {
				if how := near(v.form, t.form); how != "" && len(out) < maxNearOf {
					out = append(out, b.describeNear(s, t, how))
				}
			}
		}
	}
	return out
}

// nearNumbers looks for an amount that is a known one times a power of ten, or sounds like one.
func (b *neighbours) nearNumbers() []NearMiss {
	v, seen := b.v, b.seen
	if (&amounts{b.builder, v}).isMadeSafely() {
		return nil
	}
	for _, i := range b.byTrust() {
		s := &b.sources[i]
		if !s.isReference(seen) || v.kind == Count && s.place.Name != "request" {
			continue
		}
		for _, n := range s.reading.tokensOf().numbers {
			how := nearNumber(v.number.value, n)
			if s.place.Trust != User && !n.money || how == "" || n.percent || v.kind == Count && (n.money || v.number.value < n.value) {
				continue
			}
			m := NearMiss{How: how, Place: s.place}
			if !v.hidden {
				m.Value = b.numberQuote(s, formatSum(n.value))
			}
			return []NearMiss{m}
		}
	}
	return nil
}

func nearNumber(v float64, n number) How {
	if n.spelled != "" && soundAlikes[n.value] == v {
		return HowSounds
	}
	if n.value < 10 && !n.money || n.value == 0 || isYear(n) {
		return ""
	}
	k := math.Log10(math.Abs(v) / n.value)
	if r := math.Round(k); r != 0 && math.Abs(r) <= 3 && sameSum(n.value*math.Pow(10, r), math.Abs(v)) {
		return HowTens
	}
	return ""
}

func isYear(n number) bool {
	return !n.money && n.value == math.Trunc(n.value) && n.value >= 1900 && n.value <= 2200
}

// nearDays compares a day with those of the user's words.
func (b *neighbours) nearDays() []NearMiss {
	v := b.v
	shifted := hasAny(wordsOf(b.own), shiftWords)
	for i := range b.sources {
		s := &b.sources[i]
		if s.place.Trust != User {
			continue
		}
		for _, d := range s.reading.tokensOf().days {
			if how := v.day.nearDay(d, shifted); how != "" {
				return []NearMiss{{How: how, Place: s.place}}
			}
		}
	}
	return nil
}
