package touch

import "strings"

// hostOf returns the host of a URL, lower case and without port; empty where
// text is none. With bare, "example.com/x" is a URL too.
func hostOf(text string, bare bool) string {
	text = strings.TrimSpace(text)
	rest, found := afterScheme(text)
	switch {
	case found:
	case strings.HasPrefix(text, "//") && bare:
		rest = text[2:]
	case bare && !strings.ContainsAny(text, " \t\n"):
		rest = text
	default:
		return ""
	}
	// A browser reads "\" as "/": the host of http://a\@b is a.
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest = rest[:i]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = rest[i+1:]
	}
	return hostName(rest)
}

func hostName(h string) string {
	if strings.HasPrefix(h, "[") {
		end := strings.IndexByte(h, ']')
		if end < 0 {
			return ""
		}
		return strings.ToLower(h[1:end])
	}
	if i := strings.LastIndexByte(h, ':'); i >= 0 && digits(h[i+1:]) {
		h = h[:i]
	}
	h = strings.ToLower(strings.TrimSuffix(h, "."))
	if len(h) > 255 || strings.ContainsAny(h, " \t\r\n") {
		return ""
	}
	return h
}

// afterScheme cuts "https://" and the like; file: has no host.
func afterScheme(text string) (string, bool) {
	i := strings.Index(text, "://")
	if i <= 0 || i > 16 {
		return "", false
	}
	for j := range i {
		if !letter(text[j]) && (j == 0 || strings.IndexByte("+-.0123456789", text[j]) < 0) {
			return "", false
		}
	}
	if hasFold(text, "file:") {
		return "", false
	}
	return text[i+3:], true
}

const maxEmails = 256

// emails returns the addresses in text. It looks at every byte at most three
// times.
func emails(text string) []string {
	if strings.Contains(text, "://") {
		return nil
	}
	var out []string
	for from := 0; len(out) < maxEmails; {
		at := strings.IndexByte(text[from:], '@')
		if at < 0 {
			return out
		}
		at += from
		lo, hi := at, at+1
		for lo > from && localByte(text[lo-1]) {
			lo--
		}
		for hi < len(text) && domainByte(text[hi]) {
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

func localByte(b byte) bool {
	return letter(b) || digit(b) || strings.IndexByte("._%+-'", b) >= 0 || b >= 0x80
}

func domainByte(b byte) bool { return letter(b) || digit(b) || b == '.' || b == '-' || b >= 0x80 }

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func digit(b byte) bool { return b >= '0' && b <= '9' }

func digits(s string) bool {
	for i := range len(s) {
		if !digit(s[i]) {
			return false
		}
	}
	return s != ""
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
