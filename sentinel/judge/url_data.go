package judge

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// maxCarried is how many parts of an address are looked up; no honest one has
// more.
const maxCarried = 64

// findDataInURL looks for the address of a stranger's page that carries data out of
// earlier results. The host's owner reads such data there. A result that holds the
// link itself doesn't count: its link carries nothing new.
func findDataInURL(v *view) finding {
	var f finding
	if len(v.untrusted) == 0 {
		return f
	}
	for _, val := range v.values {
		if val.kind != readHost && val.kind != host || v.isGrounded(val) || !v.isStrangersHost(val.fold) {
			continue
		}
		parts := splitDataParts(val.raw)
		if len(parts) > maxCarried || slices.ContainsFunc(slices.Concat(v.untrusted, v.trusted), func(r string) bool {
			if holdsWhole(r, val.fold) {
				return false
			}
			r = dropLinks(r)
			return slices.ContainsFunc(parts, func(p string) bool { return holdsWhole(r, p) })
		}) {
			f.add(val.arg)
		}
	}
	return f
}

func hostLength(s string) int {
	if i := strings.IndexAny(s, `/?#\`); i >= 0 {
		return i
	}
	return len(s)
}

// splitDataParts returns the parts of an address that may be data: those with a
// digit or an "@", in plain or in base64, and longer texts.
func splitDataParts(raw string) []string {
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	if s, err := url.PathUnescape(strings.ReplaceAll(raw, "+", " ")); err == nil {
		raw = s
	}
	var out []string
	for p := range strings.FieldsFuncSeq(raw, func(r rune) bool { return strings.ContainsRune("/?&=#@;,|", r) }) {
		for _, s := range append(decodeBase64(p), p) {
			s = strings.TrimSpace(foldText(s))
			if tellsMuch(s) {
				out = append(out, s)
			}
			for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ' ' || r == '_' || r == ':' }) {
				if tellsMuch(w) {
					out = append(out, w)
				}
			}
			if h, _, ok := strings.Cut(s, "."); ok && tellsMuch(h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// tellsMuch reports whether a text says more than a word of the language or a
// year does.
func tellsMuch(s string) bool {
	isYear := false
	if len(s) == 4 {
		y := parseYear(s)
		isYear = y >= 1900 && y <= 2100
	}
	return len(s) >= 4 && !isYear && (hasDigit(s) || strings.Count(s, " ") > 1)
}

func decodeBase64(p string) []string {
	if len(p) < 8 {
		return nil
	}
	p = strings.TrimRight(p, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(p); err == nil && strings.IndexFunc(string(b), func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
			return []string{string(b)}
		}
	}
	return nil
}

// dropLinks is a text without the words of it that are addresses of pages.
func dropLinks(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	var b strings.Builder
	for f := range strings.FieldsSeq(s) {
		if !strings.Contains(f, "://") {
			b.WriteString(f)
		}
		b.WriteByte(' ')
	}
	return b.String()
}
