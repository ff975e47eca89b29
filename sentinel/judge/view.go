package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// view is a call with what the signals need to know of it, worked out once.
type view struct {
	c       sentinel.Call
	s       *skills.Skill
	p       *profile
	request *text // nil: there are no words of the user's
	mission *text // nil: there is none, or it was written after the taint
	// Folded results of the trace.
	trusted, untrusted []string
	// orders are those of the untrusted that speak to a model.
	orders       []string
	contradicted finding // see assign
	related      bool    // a signal of relation holds
	values       []value
	contents     []value
}

// kind is what a value stands for; it decides what an unknown origin costs.
type kind uint8

const (
	noTarget  kind = iota
	reference      // an id, a name of a thing, a file
	account        // a target of another kind: a payment method, a postal address
	readHost       // a URL that is only read
	amount         // money or a quantity of it
	recipient      // who is reached, paid or let in
	host           // a URL that something is sent to
	numKinds
)

// value is one scalar of the arguments.
type value struct {
	arg  string // top-level and declared, or empty
	kind kind
	raw  string
	fold string
	// exact is how an address is written that isn't in plain letters.
	exact string
	// amount is the number that a value of that kind stands for.
	amount float64
	// target: it is who or what the call is done to.
	target bool
}

func (g *Gate) look(c sentinel.Call) *view {
	v := &view{c: c, s: c.Skill()}
	v.p = g.profiles.get(v.s, func() *profile { return profileOf(v.s) })
	if r, ok := c.Grant().Request(); ok {
		v.request = g.read(r)
	}
	if m := c.Grant().Mission(); m != "" && !c.Grant().MissionTainted() {
		v.mission = g.read(m)
	}
	for i := range c.Trace().Len() {
		st := c.Trace().Step(i)
		if st.Trust == skills.Trusted {
			v.trusted = append(v.trusted, c.Trace().Said(i).Fold())
		} else {
			r := c.Trace().Said(i).Fold()
			v.untrusted = append(v.untrusted, r)
			if slices.Contains(st.Marks, sentinel.MarkInstructions) {
				v.orders = append(v.orders, r)
			}
		}
	}
	v.s.Walk(c.Parsed(), v.take)
	v.takeKeys(c.Parsed(), "", 0)
	return v
}

func (g *Gate) read(s string) *text {
	if len(s) > maxCachedText {
		return read(s)
	}
	return g.texts.get(s, func() *text { return read(s) })
}

func (v *view) take(a skills.Arg) {
	arg := topLevel(a.Pointer)
	if !v.s.Declares(arg) {
		arg = ""
	}
	v.assign(a, arg)
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
	val := value{arg: arg, raw: s, fold: fold(s)}
	val.kind, val.target = v.kindOf(a, val.fold), v.aims(a)
	if words := nameWords(a.Name); val.kind <= reference && v.p.changes && !a.Marks.Has(skills.Content) && isAny(words, amountNames) {
		if n, ok := v.amountOf(words, val.fold); ok {
			val.kind, val.amount = amount, n
		}
	}
	val = exactly(val)
	if val.kind != noTarget {
		v.values = append(v.values, val)
	}
	if val.kind < recipient && !a.Marks.Has(skills.Path) {
		v.contents = append(v.contents, val)
	}
}

// topLevel is the first part of a JSON pointer.
func topLevel(p string) string {
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
	recipientNames = set(`to cc bcc recipient recipients email emails payee beneficiary iban user users username member members
		participant participants attendee attendees guest guests invitee invitees channel channels receiver assignee owner
		wallet friend friends account phone`)
	idNames = set("id ids key number ref reference")
	// accountNames are of ids that money comes from or goes to.
	accountNames = set("account payment card iban wallet method")
	amountNames  = set("amount price total sum cost value fee payment limit budget")
	minorNames   = set("cent cents pence minor")
	sourceNames  = set("from source sender author old current")
)

// minor turns cents into what people speak of.
func minor(words []string, n float64) float64 {
	if isAny(words, minorNames) {
		return n / 100
	}
	return n
}

func last(words []string) []string {
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

func (v *view) kindOf(a skills.Arg, s string) kind {
	effect := v.p.changes
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
	case !effect:
		return noTarget
	case a.Marks.Has(skills.Path):
		return reference
	case isAny(last(nameWords(a.Name)), queryNames): // what it looks for is not whom it reaches
		return noTarget
	case isEmail(s):
		return recipient
	case a.Marks.Has(skills.Target) && v.s.Annotated() && v.s.Reaches() == skills.Others:
		return recipient
	}
	if k, ok := v.shaped(a, s); ok {
		return k
	}
	name := nameWords(a.Name)
	prose := len(s) > 96 || strings.Count(s, " ") >= maxTargetWords
	tail := last(name)
	switch {
	case v.reachedBy(name) && !prose:
		return recipient
	case a.Marks.Has(skills.Target) && v.s.Annotated() && (!isAny(tail, idNames) || isAny(name, accountNames)):
		return account
	case isAny(tail, idNames), a.Marks.Has(skills.Target) && !prose:
		return reference
	}
	return noTarget
}

func isEmail(s string) bool {
	i := strings.LastIndexByte(s, '@')
	return i > 0 && strings.IndexByte(s[i:], '.') > 1 && !strings.ContainsAny(s, " \t\n/")
}
