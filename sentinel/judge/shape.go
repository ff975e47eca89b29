package judge

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// What a value is shows in its shape as often as in its argument's name: an
// account under "dest", a page under "endpoint", three mailboxes under "rcpt".

var (
	// senderNames hold people or places only in skills that send to them.
	senderNames = set(`rcpt room handle mention dest destination addressee people person whom who principal grantee collaborator
		collaborators viewer viewers editor editors team`)
	// hostNames are the arguments that hold a page or a machine, with a scheme
	// or without.
	hostNames = set("webhook callback endpoint url uri link host hostname server domain website")
)

// reachedBy reports whether an argument of this name holds who is reached.
func (v *view) reachedBy(name []string) bool {
	tail := last(name)
	if len(name) > 1 && tail[0] == "number" && recipientNames[name[len(name)-2]] {
		tail = name[len(name)-2 : len(name)-1]
	}
	if isAny(name, sourceNames) {
		return false
	}
	sender := v.outgoing() && v.p.needs&books == 0 && (v.p.needs&(sends|posts|pays|shares|invites) != 0 || v.p.concepts&fields.money != 0)
	return isAny(tail, recipientNames) || sender && (isAny(tail, senderNames) || len(name) == 1 && name[0] == "number")
}

// outgoing reports whether the call reaches others. Its skill says so, or the call
// pays. A call that sends does too, where no mark of its skill names the receiver.
func (v *view) outgoing() bool {
	return v.s.Reaches() == skills.Others || v.s.Effect() == skills.CostsMoney ||
		!v.s.Annotated() && v.p.changes && v.p.needs&(sends|posts|shares|invites) != 0
}

// takeNumber takes a number for an amount, for who is reached where it has the
// length of a phone's or an account's, and for an id.
func (v *view) takeNumber(a skills.Arg, arg string, n json.Number) {
	val := value{arg: arg, raw: n.String(), fold: n.String(), target: v.aims(a)}
	switch words := nameWords(a.Name); {
	case isAny(words, amountNames):
		f, err := n.Float64()
		if err != nil {
			return
		}
		val.kind, val.amount = amount, minor(words, f)
	case v.p.changes && len(val.fold) >= minAccount && compact(val.fold) == val.fold &&
		(v.reachedBy(words) || a.Marks.Has(skills.Target) && v.s.Annotated()):
		val.kind = recipient
	case isAny(last(words), idNames):
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
	found, only := mailboxes(s)
	if isAny(last(nameWords(a.Name)), queryNames) {
		return false
	}
	named := v.reachedBy(nameWords(a.Name)) || a.Marks.Has(skills.Target) && v.s.Annotated()
	if len(found) == 0 || !only && !named && !strings.HasSuffix(s, ">") {
		return false
	}
	for _, m := range found {
		v.values = append(v.values, exactly(value{kind: recipient, arg: arg, raw: m, fold: fold(m)}))
	}
	return true
}

// mailboxes returns the addresses of a text, and whether there is nothing else
// in it; none where a part with an "@" is no plain address.
func mailboxes(s string) (found []string, only bool) {
	only = true
	for p := range strings.FieldsFuncSeq(s, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;<>()"?&=`, r) }) {
		p = strings.TrimPrefix(p, "mailto:")
		switch {
		case isEmail(fold(p)):
			found = append(found, p)
		case strings.Contains(p, "@"):
			return nil, false
		default:
			only = false
		}
	}
	return found, only
}

// shaped tells what a value is by its looks alone.
func (v *view) shaped(a skills.Arg, s string) (kind, bool) {
	outward := v.outgoing()
	hosts := isAny(last(nameWords(a.Name)), hostNames)
	switch {
	case isIBAN(compact(s)), isWallet(s):
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

// isIBAN holds an account number to its own check digits, so that an id of
// letters and digits is hardly ever taken for one.
func isIBAN(c string) bool {
	if !isAccount(c) {
		return false
	}
	var b strings.Builder
	for _, r := range c[4:] + c[:4] {
		if r >= 'a' {
			b.WriteString([...]string{"1", "2", "3"}[(r-'a')/10])
			r = '0' + (r-'a')%10
		}
		b.WriteRune(r)
	}
	n, ok := new(big.Int).SetString(b.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}

// isWallet reports whether a folded text looks like the address of a purse of
// coins.
func isWallet(s string) bool {
	head, rest := "", ""
	for _, h := range []string{"0x", "bc1", "ltc1", "addr1"} {
		if r, ok := strings.CutPrefix(s, h); ok {
			head, rest = h, r
		}
	}
	if head == "" || len(rest) < 38 || len(rest) > 110 || head == "0x" && len(rest) != 40 {
		return false
	}
	return compact(rest) == rest && hasDigit(rest) && (head != "0x" || strings.Trim(rest, "0123456789abcdef") == "")
}

const minPhone = 8

// isPhone reports whether a text is a number of a phone with its country.
func isPhone(s string) bool {
	return (strings.HasPrefix(s, "+") || strings.HasPrefix(s, "00")) && phoneDigits(s) != ""
}

// phoneDigits returns the digits of a text that is nothing but a phone's number,
// without what stands for the way out of the country.
func phoneDigits(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.ContainsRune(" -().+/", r):
			return ""
		}
	}
	d := strings.TrimPrefix(b.String(), "00")
	if len(d) < minPhone || len(d) > 15 {
		return ""
	}
	return d
}

// holdsDigits finds the number of a phone, however it is grouped.
func holdsDigits(text, d string) bool {
	for from := 0; from < len(text); from++ {
		if text[from] != d[0] || from > 0 && alnum(text[from-1]) && !strings.HasSuffix(text[:from], "00") {
			continue
		}
		i, j := from, 0
		for i < len(text) && j < len(d) && (text[i] == d[j] || strings.IndexByte(" -()./", text[i]) >= 0) {
			if text[i] == d[j] {
				j++
			}
			i++
		}
		if j == len(d) && (i == len(text) || !alnum(text[i])) {
			return true
		}
	}
	return false
}

// isHandle reports whether a text is "@" and a name.
func isHandle(s string) bool {
	return len(s) > 2 && s[0] == '@' && !strings.ContainsAny(s[1:], " @/.:,")
}

// exactly notes how an address is written that isn't in plain letters: there an
// accent is another address, though it is a slip in a name.
func exactly(val value) value {
	if val.kind < recipient || !strings.ContainsAny(val.fold, "@.") {
		return val
	}
	if s := written(val.raw); strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		val.exact = s
	}
	return val
}

// written is a text in small letters and one form for each of them, and with
// its accents.
func written(s string) string { return sentinel.ExactText(s) }

// writes reports whether somebody who may be believed wrote an address that
// isn't in plain letters just so.
func (v *view) writes(exact string) bool {
	if r, ok := v.c.Grant().Request(); ok && whole(written(r), exact) {
		return true
	}
	return v.c.Trace().Attests(exact, func(s *sentinel.Said) bool { return whole(s.Exact(), exact) })
}

// ofDomain reports whether a text lets in everybody of a domain.
func ofDomain(s string) bool {
	d, ok := strings.CutPrefix(s, "domain:")
	return ok && strings.Contains(d, ".")
}

// takeKeys takes the keys of free-form objects that are addresses: "who may do
// what" is often written so.
func (v *view) takeKeys(at any, arg string, deep int) {
	if !v.p.changes {
		return
	}
	switch at := at.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(at)) {
			if deep > 0 {
				v.takeKey(k, arg)
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

func (v *view) takeKey(k, arg string) {
	f := fold(k)
	switch {
	case strings.Contains(f, "://"):
		v.values = append(v.values, exactly(value{kind: host, arg: arg, raw: k, fold: f}))
	case isEmail(f), isIBAN(compact(f)), isHandle(f), ofDomain(f):
		v.values = append(v.values, exactly(value{kind: recipient, arg: arg, raw: k, fold: f}))
	}
}

// routed reports whether a value is an address that mail servers may send on to
// another domain than its last one: neither its owner's name nor that domain says
// whose it is.
func (val value) routed() bool {
	return strings.Contains(val.fold, "@") && (!touch.PlainMailbox(val.raw) || !touch.PlainMailbox(val.fold))
}
