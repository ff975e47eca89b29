package config

import (
	"net/url"
	"strings"
	"unicode"
)

// checkTargets refuses addresses of models and of the store of limits whose host
// and port nothing could be sent to. What else an address must be is the word of
// who uses it. Addresses may hold passwords, so none is repeated.
func (l *loader) checkTargets() {
	if models := l.get("models"); models != nil && models.kind == mappingNode {
		for i := range models.entries {
			e := &models.entries[i]
			n := below(e.val, "base_url")
			if l.meant(n, l.cfg.Models[e.key].BaseURL) && !reachable(n.text) {
				l.out.add(n.pos, "models.%s.base_url must name a host, and a port from 1 to 65535 if any, such as http://127.0.0.1:8080/v1", e.key)
			}
		}
	}
	if n := below(l.section("limits", "store"), "url"); l.meant(n, l.cfg.Limits.Store.URL.Reveal()) && !reachable(n.text) {
		l.out.add(n.pos, "limits.store.url must name a host, and a port from 1 to 65535 if any, such as redis://host:6379")
	}
}

// reachable reports whether a host that an address names could be one. An address
// without a host, as of a socket, is another's to judge, and so is a name in
// other letters, which a client writes in its own way.
func reachable(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return true
	}
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }) {
		u.Host = strings.Replace(u.Host, u.Hostname(), "h", 1) // its port is told apart all the same
	}
	return validTarget(u)
}
