package answers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// web are the schemes that are found anywhere, inside of words too, and what
// becomes of them.
var web = []struct{ name, dead string }{
	{"https:", "hxxps://"}, {"http:", "hxxp://"}, {"ftp:", "fxp://"},
}

var dead = []string{"hxxps://", "hxxp://", "fxp://"}

// fileLike are top-level domains that are rather the end of a file's name
// where a person writes them without a scheme.
var fileLike = map[string]bool{
	"md": true, "zip": true, "py": true, "sh": true, "rs": true, "mov": true, "pl": true, "ps": true, "so": true, "cc": true,
}

// hosts is what may stay.
type hosts struct {
	exact map[string]bool
	below []string // ".example.com"
}

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
	h.request(o.Request)
	return h
}

// request adds the hosts of the user's words: runs of what hosts are made of
// that have a dot or follow a scheme.
func (h *hosts) request(text string) {
	text = strings.ToLower(text)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if !inHost(r) {
			i += n
			continue
		}
		j := i
		for j < len(text) {
			r, n := utf8.DecodeRuneInString(text[j:])
			if !inHost(r) {
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

func inHost(r rune) bool {
	return r == '.' || r == '-' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// allow reports whether a host, in small letters, may stay.
func (h hosts) allow(host string) bool {
	if h.exact[host] {
		return host != ""
	}
	for _, s := range h.below {
		if len(host) > len(s) && strings.HasSuffix(host, s) && ascii(host) {
			return true
		}
	}
	return false
}

func ascii(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// allowed reports whether the address that begins at i and has this authority
// is written plainly and its host may stay. What ends the host has to be plain
// as well, or another reader might not end it there.
func (d *defanger) allowed(i int, a authority) bool {
	host, port, has := strings.Cut(a.text, ":")
	if has && (port == "" || len(port) > 5 || strings.Trim(port, "0123456789") != "") {
		return false
	}
	if strings.IndexFunc(host, func(r rune) bool { return !inHost(r) }) >= 0 || !d.hosts.allow(host) {
		return false
	}
	if ascii(host) {
		return d.plain(i, a.stop)
	}
	// An international name stays where the user wrote the very same bytes.
	raw := d.src[d.start(i):d.start(a.end)]
	return strings.HasSuffix(strings.ToLower(raw), a.text) && len(raw) == len(string(d.ch[i:a.end])) && d.plain(a.end, a.stop)
}

// plainURL returns where the host of an allowed web address at i ends.
func (d *defanger) plainURL(i int) (int, bool) {
	j := i
	switch {
	case d.has(i, "https://"):
		j += len("https://")
	case d.has(i, "http://"):
		j += len("http://")
	default:
		return 0, false
	}
	a := d.authority(j)
	return a.end, d.allowed(i, a)
}

// broken writes a host such that nothing takes it for one.
func broken(auth string) string {
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
		case inHost(r) || r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
