package answers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// webSchemes are found anywhere, inside of words too; dead is what becomes of each.
var webSchemes = []struct{ name, dead string }{
	{"https:", "hxxps://"}, {"http:", "hxxp://"}, {"ftp:", "fxp://"},
}

// deadSchemes begin addresses that this package has broken before.
var deadSchemes = []string{"hxxps://", "hxxp://", "fxp://"}

// fileLike are top-level domains that rather end the name of a file, where a person writes
// them without a scheme.
var fileLike = map[string]bool{
	"md": true, "zip": true, "py": true, "sh": true, "rs": true, "mov": true, "pl": true, "ps": true, "so": true, "cc": true,
}

// hosts is what may stay.
type hosts struct {
	exact map[string]bool
	below []string // ".example.com"
}

// newHosts collects what the operator and the request allow.
func newHosts(o Options) hosts {
	h := hosts{exact: map[string]bool{}}
	for _, p := range o.Allow {
		p = strings.ToLower(p)
		if suffix, ok := strings.CutPrefix(p, "*"); ok {
			if strings.HasPrefix(suffix, ".") && len(suffix) > 1 {
				h.below = append(h.below, suffix)
			}
			continue
		}
		h.exact[p] = true
	}
	h.addRequestHosts(o.Request)
	return h
}

// addRequestHosts adds the hosts of the user's words. These are runs of what hosts are made
// of that have a dot or follow a scheme.
func (h *hosts) addRequestHosts(text string) {
	text = strings.ToLower(text)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !isHostRune(r) {
			i += n
			continue
		}
		j := i
		for j < len(text) {
			r, n := utf8.DecodeRuneInString(text[j:])
			if !isHostRune(r) {
				break
			}
			j += n
		}
		host, linked := strings.Trim(text[i:j], ".-"), strings.HasSuffix(text[:i], "//")
		last := host[strings.LastIndexByte(host, '.')+1:]
		path := i > 0 && (text[i-1] == '/' || text[i-1] == '\\' || text[i-1] == '=') // a part of an address isn't one
		mail := i > 0 && text[i-1] == '@' || j < len(text) && text[j] == '@'
		if host != "" && !mail && (linked || !path && strings.Contains(host, ".") && !fileLike[last]) {
			h.exact[host] = true
		}
		i = j
	}
}

// isHostRune reports whether a host may hold the character.
func isHostRune(r rune) bool {
	return r == '.' || r == '-' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// isAllowed reports whether a host, in small letters, may stay.
func (h hosts) isAllowed(host string) bool {
	if h.exact[host] {
		return host != ""
	}
	for _, s := range h.below {
		if len(host) > len(s) && strings.HasSuffix(host, s) && isASCII(host) {
			return true
		}
	}
	return false
}

// isASCII reports whether no character of s is beyond ASCII.
func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// isAddressAllowed reports whether the address at i with this authority is written plainly
// and its host may stay. What ends the host has to be plain as well, or another reader
// might not end it there.
func (d *defanger) isAddressAllowed(i int, a authority) bool {
	host, port, has := strings.Cut(a.text, ":")
	if has && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if strings.IndexFunc(host, func(r rune) bool { return !isHostRune(r) }) >= 0 || !d.hosts.isAllowed(host) {
		return false
	}
	if isASCII(host) {
		return d.isPlain(i, a.stop)
	}
	// An international name stays where the user wrote the very same bytes.
	raw := d.src[d.startOf(i):d.startOf(a.end)]
	return strings.HasSuffix(strings.ToLower(raw), a.text) && len(raw) == len(string(d.ch[i:a.end])) && d.isPlain(a.end, a.stop)
}

// findPlainURL returns where the host of an allowed web address at i ends.
func (d *defanger) findPlainURL(i int) (int, bool) {
	j := i
	switch {
	case d.hasWord(i, "https://"):
		j += len("https://")
	case d.hasWord(i, "http://"):
		j += len("http://")
	default:
		return 0, false
	}
	a := d.readAuthority(j)
	return a.end, d.isAddressAllowed(i, a)
}

// breakHost writes a host such that no reader takes it for one.
func breakHost(auth string) string {
	auth = auth[strings.LastIndexByte(auth, '@')+1:]
	host, _, _ := strings.Cut(auth, ":")
	var b strings.Builder
	n := 0
	for _, r := range strings.Trim(host, ".") {
		if n++; n > 253 {
			b.WriteString("…")
			break
		}
		switch {
		case r == '.':
			b.WriteString("[.]")
		case isHostRune(r) || r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
