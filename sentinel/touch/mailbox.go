package touch

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
	return ok && len(s) <= 254 && plainLocal(local) && plainDomain(domain)
}

func plainLocal(s string) bool {
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

func plainDomain(s string) bool {
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

// routes returns, as plain addresses, where else the addresses in a text may be sent
// on to: of "a%b.test@c.test" a@b.test. A rule that looks at domains must see each.
func routes(text string) []string {
	if !strings.Contains(text, "@") || strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for chunk := range strings.FieldsFuncSeq(norm.NFKC.String(text), func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;<>", r) }) {
		if at := strings.IndexByte(chunk, '@'); at < 0 || at > 0 && !strings.ContainsAny(chunk, `%!"(`) && strings.IndexByte(chunk[at+1:], '@') < 0 {
			continue
		}
		atoms := strings.FieldsFunc(chunk, func(r rune) bool { return strings.ContainsRune(`@%!"():\[]`, r) })
		for i, a := range atoms {
			if a = strings.Trim(a, "."); !strings.Contains(a, ".") || strings.IndexFunc(a, func(r rune) bool { return r < utf8.RuneSelf && !domainByte(byte(r)) }) >= 0 {
				continue
			}
			if out = appendNew(out, userAt(atoms, i)+"@"+a); len(out) >= maxEmails {
				return out
			}
		}
	}
	return out
}

// userAt is whose mail goes to the i-th part of a route: the name next before it, and
// in a bang path, which has none before, the one behind it.
func userAt(atoms []string, i int) string {
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
