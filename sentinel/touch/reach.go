package touch

import "strings"

// authorities returns the hosts that a URL may be read as having, the usual
// reading first; none where text is no URL. With bare, "example.com/x" is one
// too.
func authorities(text string, bare bool) []string {
	if text = strings.TrimSpace(text); strings.ContainsAny(text, "\t\r\n") {
		text = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text) // as browsers do
	}
	for _, s := range []string{"blob:", "feed:", "jar:", "url:", "view-source:"} {
		if bare && hasFold(text, s) {
			text = text[len(s):]
		}
	}
	rest, found := afterScheme(text)
	if found && bare {
		rest = strings.TrimLeft(rest, "/\\") // "http:///host", which browsers forgive
	}
	switch {
	case found:
	case (strings.HasPrefix(text, "//") || strings.HasPrefix(text, `\\`)) && bare:
		rest = text[2:]
	case bare && strings.IndexByte(text, ' ') < 0:
		rest = afterColon(text)
	default:
		return nil
	}
	// A browser reads "\" as "/": the host of http://a\@b is a. Others take b.
	auth, strict := rest, rest
	if i := strings.IndexAny(auth, `/\?#`); i >= 0 {
		auth = auth[:i]
	}
	if i := strings.IndexByte(strict, '/'); i >= 0 {
		strict = strict[:i]
	}
	out := []string{auth[strings.LastIndexByte(auth, '@')+1:]}
	if strings.IndexByte(strict, '@') >= 0 && len(strict) <= 1024 {
		parts := strings.FieldsFunc(strict, func(r rune) bool { return strings.ContainsRune(`@\?# `, r) })
		if strict != auth || strings.Count(strict, "@") > 1 {
			for _, p := range parts {
				out = appendNew(out, p)
			}
		}
	}
	return out
}

// afterColon cuts "https:" and "https:/", which browsers forgive.
func afterColon(text string) string {
	for _, s := range []string{"https:", "http:", "ftp:", "wss:", "ws:"} {
		if hasFold(text, s) {
			if rest := strings.TrimLeft(text[len(s):], `/\`); rest != "" && !digits(rest) {
				return rest
			}
		}
	}
	return text
}

// hostName cuts the port and returns the name that readers share, empty where
// it is none.
func hostName(h string) (string, Zone) {
	if strings.HasPrefix(h, "[") {
		end := strings.IndexByte(h, ']')
		if end < 0 {
			return "", Open
		}
		return ParseHost(h[:end+1])
	}
	if i := strings.LastIndexByte(h, ':'); i >= 0 && (digits(h[i+1:]) || i == len(h)-1) {
		h = h[:i]
	}
	if len(h) > 255 || strings.ContainsAny(h, " \t\r\n") {
		return "", Open
	}
	return ParseHost(h)
}

// url records the hosts of a URL.
func (c *collector) url(text string, bare bool, h Host) (found bool) {
	for i, a := range authorities(text, bare) {
		h.Name, h.Zone = hostName(a)
		if h.Name != "" && (i == 0 || h.Zone != Open) {
			c.host(h)
			found = true
		}
	}
	return found
}

const maxURLs = 64

// urls records the hosts that text for people names, or a URL hides in its
// query: only those that are not on the Internet, which matter wherever they
// stand.
func (c *collector) urls(text string, h Host) {
	h.Inside = true
	for range maxURLs {
		i := strings.Index(text, "://")
		if i < 0 {
			return
		}
		text = text[i+3:]
		end := strings.IndexAny(text, " \t\r\n\"'<>`|")
		if end < 0 {
			end = len(text)
		}
		for _, a := range authorities("x://"+text[:min(end, 512)], false) {
			if a, _, _ = strings.Cut(a, "&"); a != "" {
				if h.Name, h.Zone = hostName(strings.TrimRight(a, ".,;)]")); h.Name != "" && h.Zone != Open {
					c.host(h)
				}
			}
		}
	}
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
