package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"maps"
	"math"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/flow"
	"github.com/vedette-dev/vedette/skills"
)

// view is a call with what the signals need to know of it, worked out once.
type view struct {
	c       sentinel.Call
	s       *skills.Skill
	p       *profile
	request *text    // nil: there are no words of the user's
	own     *text    // the request without what was pasted into it; nil where request is
	sent    []string // see anySent
	mission *text    // nil: there is none, or it was written after the taint
	// said are the user's own words: the request without what was pasted into it, and
	// those of earlier turns, newest first. They ground.
	said []*text
	last *text // the request before this one; nil where it is none, or was withdrawn
	// Folded results of the trace.
	trusted, untrusted []string
	// orders are those of the untrusted that speak to a model.
	orders       []string
	contradicted finding     // see checkAssignments
	related      bool        // a signal of relation holds
	relation     string      // which one, or empty
	carried      flow.Report // see reportFlows
	hasCarried   bool
	marks        skills.Annotation // of all arguments together
	values       []value
	// ownDomains are the user's house's, and met the addresses of the results: see metAddresses.
	ownDomains map[string]bool
	met        []string
	hasMet     bool
	contents   []value
	// lastName is the argument's name that was read last. The signals ask for one name many times.
	lastName argName
	climbs   *finding // see climbingArgs
	// Most calls have so few of these that they need no memory of their own.
	firstValue, firstContent [1]value
	firstSaid                [1]*text
}

// climbingArgs returns the declared arguments with a path that climbs.
func (v *view) climbingArgs() []string {
	if v.climbs == nil {
		f := findTraversal(v.c)
		v.climbs = &f
	}
	return v.climbs.args
}

// splitArgName returns the words of an argument's name. Its callers must not change them.
func (v *view) splitArgName(name string) []string {
	return slices.Clip(v.readName(name).words)
}

// readName returns what an argument's name says. Its callers must not change the words.
func (v *view) readName(name string) argName {
	if v.lastName.words != nil && v.lastName.name == name {
		return v.lastName
	}
	n, ok := v.p.names[name]
	if !ok {
		n = readArgName(name)
	}
	v.lastName = n
	return n
}

func (v *view) takeArg(a skills.Arg) {
	arg := topLevelName(a.Pointer)
	if !v.s.Declares(arg) {
		arg = ""
	}
	v.marks |= a.Marks
	v.checkAssignments(a, arg)
	if a.Marks.Has(skills.Secret) || a.Marks.Has(skills.Shell) {
		return
	}
	if n, ok := a.Value.(json.Number); ok {
		v.takeNumber(a, arg, n)
		return
	}
	s, ok := a.Text()
	if s = strings.TrimSpace(s); !ok || s == "" {
		return
	}
	if v.takeMailboxes(a, arg, s) {
		return
	}
	val := value{arg: arg, raw: s, fold: foldText(s)}
	val.kind, val.target = v.classifyArg(a, val.fold), v.isAimedAt(a)
	if n := v.readName(a.Name); val.kind <= reference && v.p.changes && !a.Marks.Has(skills.Content) && n.all&amountName != 0 {
		if n, ok := v.readAmount(n.words, val.fold); ok {
			val.kind, val.amount = amount, n
		}
	}
	val = withExact(val)
	if val.kind != noTarget {
		v.values = append(v.values, val)
	}
	if val.kind < recipient && !a.Marks.Has(skills.Path) {
		v.contents = append(v.contents, val)
	}
}

// topLevelName is the first part of a JSON pointer.
func topLevelName(p string) string {
	p = strings.TrimPrefix(p, "/")
	if i := strings.IndexByte(p, '/'); i >= 0 {
		p = p[:i]
	}
	if strings.Contains(p, "~") {
		p = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return p
}

var (
	recipientNames = wordSet(`to cc bcc recipient recipients email emails payee beneficiary iban user users username member members
		participant participants attendee attendees guest guests invitee invitees channel channels receiver assignee owner
		wallet friend friends account phone`)
	idNames = wordSet("id ids key number ref reference")
	// accountNames are of ids that money comes from or goes to.
	accountNames = wordSet("account payment card iban wallet method")
	amountNames  = wordSet("amount price total sum cost value fee payment limit budget")
	minorNames   = wordSet("cent cents pence minor")
	sourceNames  = wordSet("from source sender author old current")
)

// inMajorUnits turns cents into what people speak of.
func inMajorUnits(words []string, n float64) float64 {
	if isAny(words, minorNames) {
		return n / 100
	}
	return n
}

func lastWord(words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return words[len(words)-1:]
}

func isAny(words []string, in map[string]bool) bool {
	for _, w := range words {
		if in[w] {
			return true
		}
	}
	return false
}

// maxTargetWords is how long an unmarked string may be and still name
// something; longer ones are prose.
const maxTargetWords = 4

func (v *view) classifyArg(a skills.Arg, s string) kind {
	effect, named := v.p.changes, v.readName(a.Name)
	switch {
	case a.Marks.Has(skills.Content):
		return noTarget
	case a.Marks.Has(skills.URL) || strings.Contains(s, "://") && !strings.ContainsAny(s, " \n"):
		if effect {
			return host
		}
		return readHost
	case !effect && isPage(s):
		return readHost
	case !effect && delivers(named.words) && (isEmail(s) || isPhone(s) || isHandle(s)):
		return recipient
	case !effect:
		return noTarget
	case a.Marks.Has(skills.Path):
		return reference
	case named.tail&queryName != 0: // a query names no receiver
		return noTarget
	case isEmail(s):
		return recipient
	case named.tail&timeName != 0 && isTime(v, a, s), isWayBack(v, s):
		return noTarget
	case named.tail&goalName != 0 && isPlaceForFiles(v, a, s), named.all&recordName != 0 && isRecordID(v, a, s):
		return reference
	case a.Marks.Has(skills.Target) && v.s.Annotated() && v.s.Reaches() == skills.Others:
		return recipient
	}
	if k, ok := v.kindByShape(a, s); ok {
		return k
	}
	prose := len(s) > 96 || strings.Count(s, " ") >= maxTargetWords
	switch {
	case named.all&(recipientName|senderName|idName) != 0 && v.namesReceiver(named.words) && !prose:
		return recipient
	case a.Marks.Has(skills.Target) && v.s.Annotated() && (named.tail&idName == 0 || named.all&accountName != 0):
		return account
	case named.tail&idName != 0, (a.Marks.Has(skills.Target) || named.tail&enclosedName != 0 && v.isOutgoing()) && !prose:
		return reference
	}
	return noTarget
}

// delivers reports whether an argument of this name says to whom a read brings what it read: "deliver_to", "email_to". The "to" of
// a search only chooses.
func delivers(name []string) bool {
	return len(name) > 1 && isAny(lastWord(name), deliveredTo) && isAny(name[:len(name)-1], deliverVerbs)
}

var (
	deliverVerbs = wordSet("deliver delivery send email mail forward export share notify report copy result results output")
	deliveredTo  = wordSet("to email address recipient recipients")
)

// readAmount reads an argument that holds an amount: as people write it, in other
// digits, or in words. What is to be paid and can't be read is more than
// anything.
func (v *view) readAmount(words []string, fold string) (float64, bool) {
	s := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Nd, r) && r >= utf8.RuneSelf {
			return '0' + digitValue(r)
		}
		return r
	}, fold)
	s = strings.TrimRight(strings.TrimLeft(s, "+ "), "- ")
	if n, ok := parseNumber(s); ok {
		return inMajorUnits(words, n), true
	}
	if n, ok := parseNumber(strings.ReplaceAll(s, " ", "")); ok {
		return inMajorUnits(words, n), true
	}
	var spelt sums
	spelt.addSpelledNumbers(splitTokens(s))
	switch {
	case len(spelt.all) == 1:
		return inMajorUnits(words, spelt.all[0]), true
	case v.s.Effect() == skills.CostsMoney && paidNames[lastWord(words)[0]]:
		return math.Inf(1), true
	}
	return 0, false
}

// checkAssignments compares an argument with what the request says that it shall be,
// also a secret one: nothing of it is kept.
func (v *view) checkAssignments(a skills.Arg, arg string) {
	if v.request == nil || len(v.request.assigned) == 0 || !v.p.changes {
		return
	}
	assigned := v.statedIn(func(t *text) bool { return len(t.assigned) > 0 }).assigned
	s, ok := a.Text()
	if !ok {
		return
	}
	named, fits := false, false
	s = foldText(s[:min(len(s), maxContradicted)])
	for _, as := range assigned {
		if as.namesArgument(v.splitArgName(a.Name), v.p) {
			named = true
			fits = fits || as.fitsValue(s)
		}
	}
	if named && !fits {
		v.contradicted.add(arg)
	}
}

// maxContradicted is how much of an argument is compared.
const maxContradicted = 4 << 10

func (v *view) declaredName(a skills.Arg) string {
	if arg := topLevelName(a.Pointer); v.s.Declares(arg) {
		return arg
	}
	return ""
}

// isFinal reports whether the call can't be undone or costs money.
func (v *view) isFinal() bool {
	e := v.s.Effect()
	return e == skills.Irreversible || e == skills.CostsMoney
}

// isHandedOver reports whether the user hands over somebody's list ("do what the mail says")
// that may hold this call. No list covers a call that can't be undone or costs money.
func (v *view) isHandedOver() bool {
	return v.own != nil && v.own.delegates && !v.isFinal()
}

// isHeavy is a change that a look can't be by another name: one that can't be
// undone, costs money or reaches others.
func (v *view) isHeavy() bool {
	e := v.s.Effect()
	return e == skills.Irreversible || e == skills.CostsMoney || v.s.Reaches() == skills.Others
}

// isAimedAt reports whether an argument holds what the call is done to: the schema says so,
// or, where it says nothing of any argument, its name ends like an id's.
func (v *view) isAimedAt(a skills.Arg) bool {
	return a.Marks.Has(skills.Target) && (v.s.Annotated() || v.readName(a.Name).tail&idName != 0)
}

// isOutgoing reports whether the call reaches others. Its skill says so, or the call
// pays. A call that sends does too, where no mark of its skill names the receiver.
func (v *view) isOutgoing() bool {
	return v.s.Reaches() == skills.Others || v.s.Effect() == skills.CostsMoney ||
		!v.s.Annotated() && v.p.changes && v.p.needs&(sends|posts|shares|invites) != 0
}

// namesReceiver reports whether an argument of this name holds who is reached.
func (v *view) namesReceiver(name []string) bool {
	tail := lastWord(name)
	if len(name) > 1 && tail[0] == "number" && recipientNames[name[len(name)-2]] {
		tail = name[len(name)-2 : len(name)-1]
	}
	if isAny(name, sourceNames) {
		return false
	}
	sender := v.isOutgoing() && v.p.needs&books == 0 && (v.p.needs&(sends|posts|pays|shares|invites) != 0 || v.p.concepts&fields.money != 0)
	return isAny(tail, recipientNames) || sender && (isAny(tail, senderNames) || len(name) == 1 && name[0] == "number")
}

// takeNumber takes a number for an amount, a receiver or an id. A receiver's has the length of
// a phone's or an account's.
func (v *view) takeNumber(a skills.Arg, arg string, n json.Number) {
	val := value{arg: arg, raw: n.String(), fold: n.String(), target: v.isAimedAt(a)}
	named := v.readName(a.Name)
	switch words := named.words; {
	case named.all&amountName != 0:
		f, err := n.Float64()
		if err != nil {
			return
		}
		val.kind, val.amount = amount, inMajorUnits(words, f)
	case v.p.changes && len(val.fold) >= minAccount && dropGrouping(val.fold) == val.fold &&
		(v.namesReceiver(words) || a.Marks.Has(skills.Target) && v.s.Annotated()):
		val.kind = recipient
	case named.tail&idName != 0:
		val.kind = reference
	default:
		return
	}
	v.values = append(v.values, val)
}

// takeMailboxes takes each address of a list or of names with addresses on its
// own: "Kim <kim@x.test>" is kim@x.test, whatever the name before it says. It
// reports whether the text was such.
func (v *view) takeMailboxes(a skills.Arg, arg, s string) bool {
	if !v.p.changes || a.Marks.Has(skills.Content) || !strings.Contains(s, "@") || strings.Contains(s, "://") {
		return false
	}
	found, only := readMailboxes(s)
	if v.readName(a.Name).tail&queryName != 0 {
		return false
	}
	named := v.namesReceiver(v.splitArgName(a.Name)) || a.Marks.Has(skills.Target) && v.s.Annotated()
	if len(found) == 0 || !only && !named && !strings.HasSuffix(s, ">") {
		return false
	}
	for _, m := range found {
		v.values = append(v.values, withExact(value{kind: recipient, arg: arg, raw: m, fold: foldText(m)}))
	}
	return true
}

// takeKeys takes the keys of free-form objects that are addresses: "who may do
// what" is often written so.
func (v *view) takeKeys(at any, arg string, deep int) {
	switch at := at.(type) {
	case map[string]any:
		if deep == 0 && isFlat(at) {
			return
		}
		var few [8]string // most objects have no more keys
		keys := slices.AppendSeq(few[:0], maps.Keys(at))
		slices.Sort(keys)
		for _, k := range keys {
			if deep > 0 {
				v.takeAddressKey(k, arg)
			} else if arg = k; !v.s.Declares(k) {
				arg = ""
			}
			v.takeKeys(at[k], arg, deep+1)
		}
	case []any:
		for _, e := range at {
			v.takeKeys(e, arg, deep+1)
		}
	}
}

// isFlat reports whether all that an object holds are scalars.
func isFlat(object map[string]any) bool {
	for _, e := range object {
		switch e.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return true
}

func (v *view) takeAddressKey(k, arg string) {
	f := foldText(k)
	switch {
	case strings.Contains(f, "://"):
		v.values = append(v.values, withExact(value{kind: host, arg: arg, raw: k, fold: f}))
	case isEmail(f), isIBAN(dropGrouping(f)), isHandle(f), namesDomain(f):
		v.values = append(v.values, withExact(value{kind: recipient, arg: arg, raw: k, fold: f}))
	}
}

// kindByShape tells what a value is by its looks alone. A shape says as much as an
// argument's name: an account under "dest", a page under "endpoint".
func (v *view) kindByShape(a skills.Arg, s string) (kind, bool) {
	outward := v.isOutgoing()
	hosts := v.readName(a.Name).tail&hostName != 0
	switch {
	case hasDigit(s) && (isIBAN(dropGrouping(s)) || isWallet(s)):
		return recipient, true
	case outward && (isPhone(s) || isHandle(s)):
		return recipient, true
	case strings.HasPrefix(s, "//"), isPage(s) && !strings.ContainsAny(s, " \n"),
		hosts && strings.ContainsAny(s, ".:。") && strings.Count(s, " ") < maxTargetWords,
		hosts && strings.Contains(s, "://"):
		return host, true
	}
	return noTarget, false
}

func (v *view) findInContents(fits func(value) bool) finding {
	var f finding
	for _, val := range v.contents {
		if fits(val) {
			f.add(val.arg)
		}
	}
	return f
}

func (v *view) anyStep(fits func(sentinel.Step) bool) bool {
	t := v.c.Trace()
	for i := range t.Len() {
		if fits(t.Step(i)) {
			return true
		}
	}
	return false
}

var (
	// senderNames hold people or places only in skills that send to them.
	senderNames = wordSet(`rcpt room handle mention dest destination addressee people person whom who principal grantee collaborator
		collaborators viewer viewers editor editors team`)
	// hostNames are the arguments that hold a page or a machine, with a scheme
	// or without.
	hostNames = wordSet("webhook callback endpoint url uri link host hostname server domain website")
)

// paidNames are the last words of arguments that hold nothing but money.
var paidNames = wordSet("amount sum price total")
