package bash

import (
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// reach records the host that a part names.
func (a *action) reach(p programs.Part, f field) {
	if f.secret || f.token {
		a.s.addUnread(SecretSent)
	}
	if i := strings.Index(f.text, "://"); i > 0 && holdsPassword(f.text[i+3:]) {
		a.s.addUnread(SecretSent)
	}
	if f.unknown && !strings.Contains(f.text, "://") || strings.Contains(p.Option, "LISTEN") {
		return
	}
	if words, ok := strings.CutPrefix(f.text, "ext::"); ok { // git starts a program for it
		a.runTransport(words)
		return
	}
	if hasFold(f.text, "file:") || strings.HasPrefix(f.text, "/") || strings.HasPrefix(f.text, "~") {
		a.s.addAccess(f, Read)
		return
	}
	if text := cutForward(f.text); text != "" {
		a.s.reachHost(text, true)
	}
	if !a.use.Network { // reportSecrets looks at all words of the others
		a.s.findMetadata(f)
	}
}

// cutForward returns the host in the forms of socat and of ssh's forwards:
// "TCP:host:80", "80:host:80". It is empty where there is none.
func cutForward(text string) string {
	kind, rest, ok := strings.Cut(text, ":")
	switch {
	case !ok || strings.HasPrefix(rest, "//"):
		return text
	case isNumber(kind) && strings.Contains(rest, ":"):
		return rest
	case kind != strings.ToUpper(kind) || strings.Trim(kind, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" || isNumber(kind):
		return text
	case strings.Contains(kind, "LISTEN") || strings.Contains(kind, "UNIX") || strings.Contains(kind, "EXEC") || strings.Contains(kind,
		"FILE") || strings.Contains(kind, "OPEN"):
		return ""
	}
	rest, _, _ = strings.Cut(rest, ",")
	return rest
}

// runTransport runs the program of git's "ext::" addresses, in which "% " is a
// blank inside of a word.
func (a *action) runTransport(text string) {
	words := strings.Fields(strings.ReplaceAll(text, "% ", "\x00"))
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "\x00", " ")
	}
	a.at.fork().runWords(literalFields(words), stream{})
}

// holdsPassword reports whether an address has a token before its host:
// "token@host", "ann:secret@host".
func holdsPassword(rest string) bool {
	user, _, ok := strings.Cut(rest, "@")
	if !ok || strings.ContainsAny(user, "/?#") {
		return false
	}
	_, password, two := strings.Cut(user, ":")
	return two && password != "" || len(user) >= 16 || strings.HasPrefix(user, "ghp_") || strings.HasPrefix(user, "$")
}

// reachHost records the host in a URL or, with bare, in user@host:path.
func (s *shell) reachHost(text string, bare bool) {
	if s.quiet {
		return
	}
	found := s.addURL(text, false)
	for _, h := range host.ListInnerHosts(text) {
		s.addHost(Host{Name: h.Name, Zone: h.Zone, Inside: true})
	}
	if found || !bare || isNumber(text) && len(text) < 8 { // a port, a number of seconds
		return
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	if !strings.HasPrefix(text, "[") && strings.Count(text, ":") < 2 {
		text, _, _ = strings.Cut(text, ":")
	}
	s.addURL(text, true)
}

func (s *shell) addURL(text string, bare bool) (found bool) {
	for _, h := range host.ListURLHosts(text, bare) {
		s.addHost(Host{Name: h.Name, Zone: h.Zone})
		found = true
	}
	return found
}

// findMetadata records a metadata service wherever it stands among a client's
// arguments: behind --resolve, as a proxy, in a header.
func (s *shell) findMetadata(f field) {
	if len(f.text) > 1024 || s.quiet || strings.IndexByte(f.text, '.') < 0 && strings.IndexFunc(f.text, unicode.IsDigit) < 0 {
		return
	}
	for _, w := range strings.FieldsFunc(f.text, func(r rune) bool { return strings.ContainsRune(":/,@ =?&[]", r) }) {
		if strings.Contains(w, ".") || len(w) == 10 && isNumber(w) {
			if name, z := host.ParseHost(w); z == host.Metadata {
				s.addHost(Host{Name: name, Zone: z})
			}
		}
	}
}

// findInside is the index of the first word of a command inside of this one.
func (a *action) findInside() int {
	first := len(a.args)
	for _, p := range a.use.Parts {
		if (p.Role == programs.Command || p.Role == programs.Line) && p.Option == "" && p.Arg >= 0 {
			first = min(first, p.Arg)
		}
	}
	return first
}

// reportSecrets looks for credentials among the words of a program that talks
// to another machine, and for a metadata service.
func (a *action) reportSecrets() {
	if !a.use.Network {
		return
	}
	inside := a.findInside()
	for i, f := range a.args {
		if i >= inside {
			break
		}
		a.s.findMetadata(f)
		if f.secret && !a.isOwnWord(i, f) || f.proc != nil && f.proc.secret {
			a.s.addUnread(SecretSent)
		}
	}
}
