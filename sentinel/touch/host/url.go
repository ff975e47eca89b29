package host

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// ListURLHosts returns the hosts that a URL may be read as having, the usual
// reading first and others only where they aren't on the Internet. Where text
// is no URL there is none. With bare, "example.com/x" is one too.
func ListURLHosts(text string, bare bool) []Host {
	var out []Host
	for i, a := range listAuthorities(text, bare) {
		name, zone := ParseAuthority(a)
		if name != "" && (i == 0 || zone != Open) {
			out = append(out, Host{name, zone})
		}
	}
	return out
}

const maxURLs = 64

// ListInnerHosts returns the hosts that text for people names, or a URL hides
// in its query: only those that are not on the Internet, which matter wherever
// they stand. It looks at the first 64 addresses.
func ListInnerHosts(text string) []Host {
	var out []Host
	for range maxURLs {
		i := strings.Index(text, "://")
		if i < 0 {
			break
		}
		text = text[i+3:]
		end := strings.IndexAny(text, " \t\r\n\"'<>`|")
		if end < 0 {
			end = len(text)
		}
		for _, a := range listAuthorities("x://"+text[:min(end, 512)], false) {
			if a, _, _ = strings.Cut(a, "&"); a == "" {
				continue
			}
			if name, zone := ParseAuthority(strings.TrimRight(a, ".,;)]")); name != "" && zone != Open {
				out = append(out, Host{name, zone})
			}
		}
	}
	return out
}

// ListNamed returns the hosts in the value of an argument: those of the URL
// that it is, or of "example.com/x" where isURL says that it is an address, and
// a metadata service that it names and nothing else. inner are those that
// stand inside the text, as ListInnerHosts returns them.
func ListNamed(text string, isURL bool) (whole, inner []Host) {
	if !isURL && isPlainPath(text) {
		return nil, nil
	}
	return listAllNamed(text, isURL)
}

// listAllNamed is ListNamed for any text.
func listAllNamed(text string, isURL bool) (whole, inner []Host) {
	whole = ListURLHosts(text, isURL)
	inner = ListInnerHosts(text)
	if strings.Contains(text, "%3") || strings.Contains(text, "%2") {
		inner = append(inner, ListInnerHosts(path.DecodePercent(text))...)
	}
	if len(whole) > 0 && isURL && isWeb(text) {
		name, zone := ParseAuthority(listAuthorities(text, true)[0])
		if zone == Open && hasOneLabel(name) { // no public name has one label
			whole = append(whole, Host{name, Private})
		}
	}
	if len(whole) == 0 && len(text) <= 64 {
		name, zone := ParseAuthority(strings.TrimSpace(text))
		if zone == Metadata && strings.Contains(name, ".") {
			whole = append(whole, Host{name, zone})
		}
	}
	return whole, inner
}

// isPlainPath reports whether a text names files and surely no host: names in plain letters
// with slashes between them, the last of which ends like no name that has a zone.
func isPlainPath(text string) bool {
	slash := false
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c), isDigit(c), c == '.', c == '_':
		case c == '/':
			slash = true
		default:
			return false
		}
	}
	return slash && text[len(text)-1] != '.' && !zonedEndings[strings.ToLower(text[strings.LastIndexByte(text, '.')+1:])]
}

func isWeb(text string) bool {
	text = strings.TrimSpace(text)
	return hasPrefixFold(text, "http:") || hasPrefixFold(text, "https:") || hasPrefixFold(text, "ws:") || hasPrefixFold(text, "wss:")
}

func hasOneLabel(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// listAuthorities returns the hosts that a URL may be read as having, the usual
// reading first; none where text is no URL. With bare, "example.com/x" is one
// too.
func listAuthorities(text string, bare bool) []string {
	if text = strings.TrimSpace(text); strings.ContainsAny(text, "\t\r\n") {
		text = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(text) // as browsers do
	}
	for _, s := range []string{"blob:", "feed:", "jar:", "url:", "view-source:"} {
		if bare && hasPrefixFold(text, s) {
			text = text[len(s):]
		}
	}
	rest, found := path.CutScheme(text)
	if found && bare {
		rest = strings.TrimLeft(rest, "/\\") // "http:///host", which browsers forgive
	}
	switch {
	case found:
	case (strings.HasPrefix(text, "//") || strings.HasPrefix(text, `\\`)) && bare:
		rest = text[2:]
	case bare && strings.IndexByte(text, ' ') < 0:
		rest = cutColon(text)
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

// cutColon cuts "https:" and "https:/", which browsers forgive.
func cutColon(text string) string {
	for _, s := range []string{"https:", "http:", "ftp:", "wss:", "ws:"} {
		if hasPrefixFold(text, s) {
			if rest := strings.TrimLeft(text[len(s):], `/\`); rest != "" && !hasDigitsAlone(rest) {
				return rest
			}
		}
	}
	return text
}

// ParseAuthority cuts the port of "host:port" and returns the host as ParseHost
// does. The name is empty where the text is none.
func ParseAuthority(h string) (string, Zone) {
	if strings.HasPrefix(h, "[") {
		end := strings.IndexByte(h, ']')
		if end < 0 {
			return "", Open
		}
		return ParseHost(h[:end+1])
	}
	if i := strings.LastIndexByte(h, ':'); i >= 0 && (hasDigitsAlone(h[i+1:]) || i == len(h)-1) {
		h = h[:i]
	}
	if len(h) > 255 || strings.ContainsAny(h, " \t\r\n") {
		return "", Open
	}
	return ParseHost(h)
}
