package sentinel

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// maxDestinations is how many hosts and recipients are looked up; a call with
// more reaches others.
const maxDestinations = 64

func isOutward(c Call) bool {
	s := c.Skill()
	if s == nil {
		return true
	}
	request := c.parts().grant.OwnRequest()
	if s.Effect() == skills.Read {
		dest := destinationsOf(c.parts().touch)
		if len(dest) == 0 {
			return false
		}
		words := ExactText(request)
		return len(dest) > maxDestinations || slices.ContainsFunc(dest, func(d string) bool { return !isKnownDestination(c.Trace(), words, d) })
	}
	return s.Reaches() == skills.Others || ungroundedTarget(c, request)
}

// destinationsOf are the hosts and addresses that a call would reach.
func destinationsOf(t touch.Touch) []string {
	var out []string
	for _, h := range t.Hosts {
		out = append(out, h.Name)
	}
	for _, r := range t.Recipients {
		if strings.Contains(r.Value, "@") {
			out = append(out, r.Value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ungroundedTarget reports whether any target or URL is not in the request.
func ungroundedTarget(c Call, request string) bool {
	found, n := false, 0
	words := "" // the request, once a target is seen
	c.WalkArgs(func(a skills.Arg) {
		if found || a.Marks&(skills.Target|skills.URL) == 0 {
			return
		}
		var v string
		switch x := a.Value.(type) {
		case string:
			v = x
		case json.Number:
			v = x.String()
		}
		if v == "" {
			return
		}
		if n++; words == "" {
			words = ExactText(request)
		}
		found = n > maxDestinations || !containsWord(words, normalizeTarget(v))
	})
	return found
}

// isKnownDestination reports whether the request or a trusted result names a destination. What
// others could write vouches for nothing, and nor does what a skill only says again.
func isKnownDestination(t Trace, request, dest string) bool {
	dest = normalizeTarget(dest)
	return containsWord(request, dest) || t.Attests(dest, func(s *Said) bool { return containsWord(s.Exact(), dest) })
}

func normalizeTarget(s string) string { return ExactText(strings.TrimSpace(s)) }

// containsWord reports whether s stands in text as a whole: "evil.com" is not
// in "evil.company.org", nor "ce@corp.com" in "alice@corp.com".
func containsWord(text, s string) bool {
	if s == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return false
		}
		i += from
		if endsWord(text[:i]) && startsWord(text[i+len(s):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// wordJoins are characters inside of addresses, hosts and paths: with a letter or
// digit beyond, the word goes on.
const wordJoins = ".-_@/+"

func endsWord(before string) bool {
	r, size := utf8.DecodeLastRuneInString(before)
	if size == 0 || !isWordRune(r) && !strings.ContainsRune(wordJoins, r) {
		return true
	}
	if isWordRune(r) {
		return false
	}
	r, size = utf8.DecodeLastRuneInString(before[:len(before)-size])
	return size == 0 || !isWordRune(r)
}

func startsWord(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if size == 0 || !isWordRune(r) && !strings.ContainsRune(wordJoins, r) {
		return true
	}
	if isWordRune(r) {
		return false
	}
	r, size = utf8.DecodeRuneInString(after[size:])
	return size == 0 || !isWordRune(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
