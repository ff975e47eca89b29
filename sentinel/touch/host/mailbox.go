package host

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// PlainMailbox reports whether every mail server delivers an address to the domain
// behind its "@". It says no to what some servers send on elsewhere: "a%b.test@c.test",
// "b.test!a@c.test", source routes, quoted names, comments, a second "@", a dot at the
// end, an address in brackets, and letters that no screen shows or that servers fold.
func PlainMailbox(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	return ok && len(s) <= 254 && isPlainLocal(local) && isPlainDomain(domain)
}

func isPlainLocal(s string) bool {
	if s == "" || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..") {
		return false
	}
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(".+-_'&=~#$*?^`{|}", r) {
			return false
		}
	}
	return norm.NFKC.IsNormalString(s)
}

func isPlainDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
				return false
			}
		}
	}
	return norm.NFKC.IsNormalString(s)
}

// Routed reports whether a text is an address, with a name before it or without, that
// is no PlainMailbox. What has no "@" isn't.
func Routed(s string) bool {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexByte(s, '<'); i >= 0 && strings.HasSuffix(s, ">") && !strings.Contains(s[:i], "@") {
		s = s[i+1 : len(s)-1]
	}
	return strings.Contains(s, "@") && !PlainMailbox(s)
}

// ListRoutes returns, as plain addresses, where else the addresses in a text may be sent
// on to: of "a%b.test@c.test" a@b.test. A rule that looks at domains must see each.
func ListRoutes(text string) []string {
	if !strings.Contains(text, "@") || strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for chunk := range strings.FieldsFuncSeq(norm.NFKC.String(text), endsAddress) {
		at := strings.IndexByte(chunk, '@')
		if at < 0 || at > 0 && !strings.ContainsAny(chunk, `%!"(`) && strings.IndexByte(chunk[at+1:], '@') < 0 {
			continue
		}
		atoms := strings.FieldsFunc(chunk, func(r rune) bool { return strings.ContainsRune(`@%!"():\[]`, r) })
		for i, a := range atoms {
			if a = strings.Trim(a, "."); !strings.Contains(a, ".") || strings.ContainsFunc(a, endsDomain) {
				continue
			}
			if out = appendNew(out, findUser(atoms, i)+"@"+a); len(out) >= maxMailboxes {
				return out
			}
		}
	}
	return out
}

func endsAddress(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;<>", r) }

func endsDomain(r rune) bool { return r < utf8.RuneSelf && !isDomainByte(byte(r)) }

// findUser says whose mail goes to the i-th part of a route: the name next before it, and
// in a bang path, which has none before, the one behind it.
func findUser(atoms []string, i int) string {
	for j := i - 1; j >= 0; j-- {
		if !strings.Contains(atoms[j], ".") {
			return atoms[j]
		}
	}
	for _, a := range atoms[i+1:] {
		if !strings.Contains(a, ".") {
			return a
		}
	}
	if i > 0 {
		return atoms[0]
	}
	return ""
}

const maxMailboxes = 256

// ListMailboxes returns the addresses of mail in a text, at most 256. It looks
// at every byte at most three times.
func ListMailboxes(text string) []string {
	if strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for from := 0; len(out) < maxMailboxes; {
		at := strings.IndexByte(text[from:], '@')
		if at < 0 {
			return out
		}
		at += from
		lo, hi := at, at+1
		for lo > from && isLocalByte(text[lo-1]) {
			lo--
		}
		for hi < len(text) && isDomainByte(text[hi]) {
			hi++
		}
		domain := strings.TrimRight(text[at+1:hi], ".-")
		if lo < at && strings.IndexByte(domain, '.') > 0 {
			out = append(out, text[lo:at]+"@"+domain)
		}
		from = hi
	}
	return out
}

func isLocalByte(b byte) bool {
	return isLetter(b) || isDigit(b) || strings.IndexByte("._%+-'", b) >= 0 || b >= 0x80
}

func isDomainByte(b byte) bool { return isLetter(b) || isDigit(b) || b == '.' || b == '-' || b >= 0x80 }
