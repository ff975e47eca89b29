package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// origin is where a value was seen, the best first.
type origin uint8

const (
	grounded     origin = iota // the user's words, a clean mission, trusted output
	named                      // an address whose owner's name the user wrote
	halfNamed                  // one that has a name of the user's words, and more
	unknown                    // nowhere, and there is no history to look in
	nowhere                    // nowhere, though there is a history
	outside                    // only in untrusted output
	namedNo                    // named, nowhere in the history
	namedOut                   // named, seen in untrusted output alone
	halfNo                     // halfNamed, nowhere in the history
	halfOut                    // halfNamed, seen in untrusted output alone
	described                  // nowhere quoted; the user said how to choose it
	describedNo                // described, nowhere in the history
	describedOut               // described, seen in untrusted output alone
	numOrigins   = iota
)

// originCost is what an origin costs a value of a kind, in hundredths. In no row may
// an outside value cost less than one that is nowhere, nor that less than an
// unknown one: or text that a stranger wrote would buy something.
var originCost = [...][numOrigins]int{
	account:  {named: 0, halfNamed: 5, unknown: 10, nowhere: 15, outside: 20, namedNo: 5, namedOut: 10, halfNo: 10, halfOut: 15},
	readHost: {unknown: 10, nowhere: 10, outside: 15},
	amount:   {unknown: 5, nowhere: 10, outside: 15},
	recipient: {
		named: 0, halfNamed: 10, unknown: 33, nowhere: 33, outside: 35, namedNo: 5, namedOut: 10, halfNo: 15, halfOut: 25,
		described: 15, describedNo: 20, describedOut: 20,
	},
	host: {unknown: 33, nowhere: 33, outside: 35},
}

// unvouchedCost is what a recipient costs in a call that reaches others if the user
// wrote only the owner's name. No trusted text holds the address or its domain. Each
// amount asks a person: a stranger can have an address that begins with a name.
// A change that can be undone costs undoableCost, unless a stranger named the address.
// Where nothing is known of what came before, a call that isn't in the request is asked
// about for that alone.
var unvouchedCost = [numOrigins]int{named: 31, halfNamed: 32, namedNo: 32, halfNo: 33, namedOut: 33, halfOut: 34}

const undoableCost = 20

// family is the signal under which a kind of value is shown.
var family = [...]string{
	reference: "ref", account: "target", readHost: "host", amount: "amount", recipient: "recipient", host: "host",
}

var originWord = [numOrigins]string{
	named: "named", halfNamed: "named", unknown: "unknown", nowhere: "nowhere", outside: "untrusted",
	namedNo: "named", namedOut: "named_untrusted", halfNo: "named", halfOut: "named_untrusted",
	described: "described", describedNo: "described", describedOut: "described_untrusted",
}

// maxValues bounds how many values are looked up. Those beyond count as the
// worst of their kind, so that nothing can be hidden behind a long list.
const maxValues = 256

// ungrounded holds the worst value of each family, so that a second, better value buys nothing.
type ungrounded struct{ found []worst }

// worst is what costs most of a family. rank chooses between values of one cost.
type worst struct {
	family     string
	cost, rank int
	signal     string
	args       []string
}

// findFamily returns what was found of a family, nil where that is nothing.
func (u *ungrounded) findFamily(family string) *worst {
	for i := range u.found {
		if u.found[i].family == family {
			return &u.found[i]
		}
	}
	return nil
}

func (u *ungrounded) addValue(family, signal, arg string, cost, rank int) {
	w := u.findFamily(family)
	if w == nil {
		u.found = append(u.found, worst{family: family, rank: -1})
		w = &u.found[len(u.found)-1]
	}
	w.cost = max(w.cost, cost)
	if rank > w.rank {
		w.rank, w.signal, w.args = rank, signal, nil
	}
	if rank == w.rank && arg != "" && !slices.Contains(w.args, arg) {
		w.args = append(w.args, arg)
	}
}

// inDoubt stands behind the name of a family where its values are in doubt. A doubt costs what the
// verdict would, and beside a verdict of its family no more than that.
const inDoubt = "_in_doubt"

// listEvidence lists the families in the order of their names. A doubt adds to a verdict of its
// family only what that doesn't take already.
func (u *ungrounded) listEvidence() []sentinel.Evidence {
	slices.SortFunc(u.found, func(a, b worst) int { return strings.Compare(a.family, b.family) })
	var out []sentinel.Evidence
	for i := range u.found {
		w := &u.found[i]
		if name, ok := strings.CutSuffix(w.family, inDoubt); ok {
			if base := u.findFamily(name); base != nil {
				if w.cost -= base.cost; w.cost <= 0 {
					continue
				}
			}
		}
		out = append(out, sentinel.Evidence{Signal: w.signal, Amount: -w.cost, Args: w.args})
	}
	return out
}

// findUngrounded gives the worst value of each family. What costs most decides. An id costs
// nothing by itself: it is shown.
func (v *view) findUngrounded() []sentinel.Evidence {
	var few [2]worst // most calls have no more
	u := ungrounded{few[:0]}
	for i, val := range v.values {
		o := v.originOf(val, i >= maxValues)
		n := v.costOf(val, o)
		if n == 0 && (val.kind != reference || o != nowhere && o != outside) {
			continue
		}
		f := family[val.kind]
		signal := f + "_" + originWord[o]
		if n >= leastDoubt && i < maxValues {
			if word := v.placeDoubt(val, o); word != "" {
				f, signal, n = f+inDoubt, f+"_"+word, v.costOfDoubt(val, word, n)
			}
		}
		u.addValue(f, signal, val.arg, n, n)
	}
	return u.listEvidence()
}

// originOf says where a value comes from. Without a request nothing is said of
// what wasn't seen: an operator's own call has no words to be held against.
func (v *view) originOf(val value, tooMany bool) origin {
	if !tooMany && v.isGrounded(val) {
		return grounded
	}
	if !tooMany && val.kind == recipient {
		if r := resolveRecipient(v, val); r.Word != "" {
			return grounded
		}
	}
	out := tooMany || v.isStrange(val) || isGuests(v, val)
	history := len(v.trusted)+len(v.untrusted) > 0
	name := 0
	if !tooMany && (val.kind == recipient || val.kind == account) {
		name = v.namesOwner(val)
	}
	pick := func(plain, absent, from origin) origin {
		switch {
		case out:
			return from
		case v.request == nil:
			return grounded
		case history:
			return absent
		}
		return plain
	}
	switch {
	case out && v.isOrdered(val): // named it may be; a stranger told the model to use it
		return outside
	case name == 2:
		return pick(named, namedNo, namedOut)
	case name == 1:
		return pick(halfNamed, halfNo, halfOut)
	case !tooMany && v.isDescribed(val):
		return pick(described, describedNo, describedOut)
	}
	return pick(unknown, nowhere, outside)
}

// leastDoubt is the least that a value costs that may be in doubt: it asks, whatever makes up for doubts.
const leastDoubt = strangersTarget

// costOfDoubt is what a value costs that is in doubt, of what it would cost as a verdict.
func (v *view) costOfDoubt(val value, word string, n int) int {
	if word == wordEarlier && val.kind == recipient && !v.isStrange(val) && isEntrySaid(v, val) {
		return min(n, saidCost)
	}
	return n
}

// costOf is what the value's origin costs it in this call.
func (v *view) costOf(val value, o origin) int {
	if n := unvouchedCost[o]; n > 0 && val.kind == recipient && v.isOutgoing() && (!v.isVouched(val) || isGuests(v, val)) {
		if (o == named || o == halfNamed) && v.related {
			return originCost[val.kind][o]
		}
		if o != namedOut && o != halfOut && (v.s.Effect() == skills.Create || v.s.Effect() == skills.Modify) {
			return undoableCost
		}
		return n
	}
	if o == outside && v.isStrangersMeans(val) {
		return strangersTarget
	}
	return originCost[val.kind][o]
}

// isStrangersMeans reports whether a value that strangers alone named is a sign by itself: the
// target of a call that can't be undone or costs money, or a path or id in a call that reaches
// others. What goes out to the right recipient is then of a stranger's choice. A text with a
// link in it only looks like a path, and has a sign of its own: SignalAddressInContent.
func (v *view) isStrangersMeans(val value) bool {
	switch val.kind {
	case reference:
		if v.isMemo(val) {
			return false
		}
		return val.target && v.isFinal() || v.p.changes && v.isOutgoing() && !strings.Contains(val.fold, "://") && v.isPathOrID(val)
	case account:
		return val.target && v.isFinal()
	}
	return false
}

// isPathOrID reports whether a value chooses a file or a record: by the name of its argument, or
// by its looks. The name of a person and a currency choose neither.
func (v *view) isPathOrID(val value) bool {
	name := lastWord(v.splitArgName(val.arg))
	return val.target && v.s.Annotated() || isAny(name, idNames) || isAny(name, fileNames) || shapeOfID(val.fold) != "" ||
		strings.ContainsAny(val.fold, `/\`) || isFileName(val.fold) ||
		strings.ContainsAny(val.fold, "0123456789.") && !strings.Contains(val.fold, " ")
}

// fileNames are the last words of arguments that hold files.
var fileNames = wordSet("file files path paths document documents attachment attachments folder directory image images thread message")

// enclosedNames are the last words of arguments that hold what goes out with a message.
var enclosedNames = wordSet("attachment attachments file files enclosure enclosures")

// isMemo reports whether a value is the text that a payment is marked with. Who is paid says
// what it has to be, and it chooses nothing.
func (v *view) isMemo(val value) bool {
	if val.target && v.s.Annotated() || v.s.Effect() != skills.CostsMoney || v.p.needs&pays == 0 {
		return false
	}
	words := splitName(val.arg)
	if len(words) != 1 || words[0] != "reference" && words[0] != "ref" {
		return false
	}
	// With no one else named, it is what chooses who is paid.
	return slices.ContainsFunc(v.values, func(o value) bool { return o.arg != val.arg && (o.kind == recipient || o.kind == account) })
}

// isGrounded reports whether somebody who may be believed wrote the value. A
// mission is a model's word: it doesn't vouch for what a stranger wrote too.
func (v *view) isGrounded(val value) bool {
	if val.exact != "" {
		return v.isWrittenExactly(val.exact)
	}
	if v.anySaid(func(t *text) bool { return t.hasValue(val) }) {
		return true
	}
	if v.isAttested(val.fold, func(r string) bool { return holdsValue(r, val) }) {
		return !isGuests(v, val)
	}
	return v.mission != nil && v.mission.hasValue(val) && (val.kind == reference || !v.isStrange(val) && !v.isPasted(val))
}

// isStrange reports whether untrusted output has the value.
func (v *view) isStrange(val value) bool {
	return v.c.Trace().Strange(func(s *sentinel.Said) bool { return holdsValue(s.Fold(), val) })
}

func (t *text) hasValue(val value) bool {
	switch val.kind {
	case amount:
		return slices.Contains(t.sums.all, val.amount)
	case reference:
		if t.hasDate(val.fold) || t.namesFile(val.fold) {
			return true
		}
	}
	if val.kind >= account {
		return holdsValue(t.meant, val) || t.hasWords(val) || val.kind == recipient && holdsUnspacedName(t.meant, val.fold)
	}
	return holdsValue(t.fold, val) || t.hasWords(val)
}

// hasWords is for names of one or a few words: each must be there, in any
// order and number. Anything with a digit or a sign in it must be written out.
func (t *text) hasWords(val value) bool {
	n := 0
	for w := range strings.FieldsSeq(val.fold) {
		w = strings.TrimLeft(w, "#@")
		for _, r := range w {
			if !isWordRune(r) || r >= '0' && r <= '9' {
				return false
			}
		}
		if len(w) < 2 || !t.words[stemWord(w)] {
			return false
		}
		n++
	}
	return n > 0 && n <= maxTargetWords
}

var fileSigns = strings.NewReplacer("-", " ", "_", " ")

// namesFile finds a file by what people call it: without folder and extension,
// and with blanks for the signs that stand for them.
func (t *text) namesFile(s string) bool {
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	if i := strings.LastIndexByte(s, '.'); i > 2 && len(s)-i <= 6 {
		s = s[:i]
	}
	if len(s) < 4 {
		return false
	}
	plain := fileSigns.Replace(s)
	return holdsWhole(t.fold, s) || plain != s && holdsWhole(t.fold, plain)
}

const minAccount = 8

// namesOwner reports whether the words of the user (or a clean mission) name the
// owner of an address: 2 for all of the local part, 1 for its first name. The words
// must hold the digits too, and a common word names no owner.
func (v *view) namesOwner(val value) int {
	most := 0
	if !v.isPasted(val) {
		most = v.mission.namesOwner(val)
	}
	for _, t := range v.said {
		most = max(most, t.namesOwner(val))
	}
	return most
}

// isVouched reports whether somebody who may be believed wrote the domain of an
// address, or it is the user's own. The name of its owner alone says nothing:
// anybody can have an address that begins with it.
func (v *view) isVouched(val value) bool {
	domain := val.fold[strings.LastIndexByte(val.fold, '@')+1:]
	if domain == "" || publicMail[domain] || val.exact != "" || val.isRouted() {
		return false
	}
	if _, own, ok := strings.Cut(foldText(v.c.Grant().User()), "@"); ok && own == domain {
		return true
	}
	has := func(text string) bool { return holdsDomain(text, domain) }
	if v.ownDomains[domain] && isPersonsOwn(val.fold) {
		return true
	}
	if v.anySaid(func(t *text) bool { return has(t.fold) }) || v.isAttested(domain, has) {
		return true
	}
	return v.mission != nil && has(v.mission.fold) && !v.anySent(has) && !slices.ContainsFunc(v.untrusted, has)
}

// publicMail are the domains at which anybody can have an address: one of
// them says nothing of whose the others are.
var publicMail = wordSet(`gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com ymail.com aol.com icloud.com me.com
	proton.me protonmail.com gmx.com gmx.net gmx.de web.de mail.com mail.ru yandex.ru yandex.com zoho.com fastmail.com tutanota.com
	hey.com orange.fr free.fr laposte.net libero.it qq.com 163.com`)

// isOrdered reports whether a result that speaks to a model has the value, and not as a record beside
// the one in which it does.
func (v *view) isOrdered(val value) bool {
	return slices.ContainsFunc(v.orders, func(r string) bool {
		return holdsValue(r, val) && isOrderIn(r, val, stakeOf(v, val) == ofThing)
	})
}

// isOrderedBeside reports whether a sentence that speaks to a model has the value.
func (v *view) isOrderedBeside(val value) bool {
	return slices.ContainsFunc(v.orders, func(r string) bool {
		return slices.ContainsFunc(splitSentences(r), func(s string) bool { return holdsValue(s, val) && speaksToModel(s) })
	})
}

// isDescribed reports whether the user said how to choose a value of this kind
// instead of quoting it: "each user", "the channel with the fewest members".
// Addresses and accounts beyond the house are never chosen so.
func (v *view) isDescribed(val value) bool {
	if v.request == nil || val.kind != recipient || strings.ContainsAny(val.fold, "@:/") ||
		hasDigit(dropGrouping(val.fold)) && len(val.fold) >= minAccount {
		return false
	}
	if _, number := parseNumber(val.fold); number {
		return false
	}
	for _, w := range splitName(val.arg) {
		st := stemWord(w)
		people := groups[st]
		if people && v.p.needs&letsIn != 0 {
			return false
		}
		if v.own.chosen[st] || people && slices.ContainsFunc(personWords, func(g string) bool { return v.own.chosen[g] }) {
			return true
		}
	}
	return false
}

// letsIn are the changes that give somebody a right: whom they are for must
// have been said.
const letsIn = invites | shares | controls

// groups are the names of arguments that hold people, and personWords what a
// request calls those.
var (
	groups      = stemSet("user users username recipient recipients member members participant participants attendee attendees to")
	personWords = []string{stemWord("user"), stemWord("member"), stemWord("person"), stemWord("people"), stemWord("everyone"),
		stemWord("everybody"), stemWord("participant"), stemWord("colleague"), stemWord("attendee")}
	// each says that all of a kind are meant, leastOf that one is to be found by what follows.
	each    = wordSet("each every all both")
	leastOf = wordSet("most least fewest largest smallest biggest longest shortest newest oldest latest highest lowest busiest")
)

// isAttested reports whether a trusted result has what fits looks for, and had it first:
// see sentinel.Trace.Attests. value is what fits looks for.
func (v *view) isAttested(value string, fits func(string) bool) bool {
	return v.c.Trace().Attests(value, func(s *sentinel.Said) bool { return fits(s.Fold()) })
}

// isWrittenExactly reports whether somebody who may be believed wrote an address that
// isn't in plain letters just so.
func (v *view) isWrittenExactly(exact string) bool {
	g := v.c.Grant()
	written := func(words string) bool { return holdsWhole(exactText(words), exact) }
	if written(g.OwnRequest()) || slices.ContainsFunc(g.EarlierWords(), written) {
		return true
	}
	return v.c.Trace().Attests(exact, func(s *sentinel.Said) bool { return holdsWhole(s.Exact(), exact) })
}

// isStrangersHost reports whether untrusted output names the host of an address, or another
// host of its owner: one above it, one below it, or one beside it below the same parent.
// A stranger who names one host of a domain may read what arrives at the others. A name
// of two parts such as co.uk counts as a parent too: that finds more, never less.
func (v *view) isStrangersHost(u string) bool {
	_, rest, ok := strings.Cut(u, "://")
	if !ok {
		rest = u
	}
	rest = strings.TrimLeft(rest, "/")
	h := rest[:hostLength(rest)]
	h = h[strings.LastIndexByte(h, '@')+1:]
	for strings.Contains(h, ".") {
		if slices.ContainsFunc(v.untrusted, func(r string) bool { return holdsWhole(r, h) || strings.Contains(r, "."+h) }) {
			return true
		}
		_, h, _ = strings.Cut(h, ".")
	}
	return false
}

// costOfIDs is what grounding takes for ids and targets: with another id named it is
// one sign, so that the two together cost no more than the greater.
func (v *view) costOfIDs() int {
	var worst [numKinds]int
	for i, val := range v.values {
		if val.kind == reference || val.kind == account {
			worst[val.kind] = max(worst[val.kind], v.costOf(val, v.originOf(val, i >= maxValues)))
		}
	}
	return worst[reference] + worst[account]
}

// strangersTarget is what a target of such a call costs that strangers alone named: it
// asks, whatever else speaks for the call.
const strangersTarget = 31

// anySaid reports whether any of the user's own words fit.
func (v *view) anySaid(fits func(*text) bool) bool { return slices.ContainsFunc(v.said, fits) }
