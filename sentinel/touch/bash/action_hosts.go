package bash

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// reachPartHost records the host that a part names.
func (a *action) reachPartHost(p programs.Part, f field) {
	if f.secret || f.token {
		a.s.addUnread(SecretSent)
	}
	if i := strings.Index(f.text, "://"); i > 0 && holdsPassword(f.text[i+3:]) {
		a.s.addUnread(SecretSent)
	}
	if f.unknown && !strings.Contains(f.text, "://") || strings.Contains(p.Option, "LISTEN") {
		return
	}
	if strings.HasPrefix(f.text, "ext::") { // git starts a program for it
		a.s.addUnread(UnreadCode)
		return
	}
	if isFileURL(f.text) || strings.HasPrefix(f.text, "/") || strings.HasPrefix(f.text, "~") {
		a.s.addAccess(f, Read)
		return
	}
	if text := cutForwardHost(f.text); text != "" {
		a.s.reachHost(text, true)
	}
	if !a.use.Network { // reportSecrets looks at all words of the others
		a.s.findMetadata(f)
	}
}

// The forms of socat's addresses, "TCP:host:80", and of ssh's forwards,
// "80:host:80".
var (
	socatAddress = regexp.MustCompile(`^[A-Z][A-Z0-9-]*:([^/,][^,]*)`)
	noHostName   = regexp.MustCompile(`^[A-Z0-9-]*(?:LISTEN|UNIX|EXEC|FILE|OPEN)`)
)

// cutForwardHost returns the host in such a form, empty where there is none.
func cutForwardHost(text string) string {
	if m := socatAddress.FindStringSubmatch(text); m != nil {
		if noHostName.MatchString(text) && !strings.HasPrefix(text, "OPENSSL:") {
			return ""
		}
		return m[1]
	}
	if port, rest, _ := strings.Cut(text, ":"); isNumber(port) && strings.Contains(rest, ":") {
		return rest
	}
	return text
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
		_, strays := a.countStrays(f)
		if f.secret && !a.isOwnWord(i, f) || f.proc != nil && f.proc.secret || f.token && strays > 0 {
			a.s.addUnread(SecretSent)
		}
	}
}

// markSecrets says what a command's output holds that must not leave.
func (a *action) markSecrets(out *stream) {
	shown := a.use.Input == programs.Shown
	if a.use.Token && !a.use.Rehearsal {
		out.secret, out.minted = true, strings.Join(a.use.TokenHosts, " ")+" "
	} else if shown && a.in.minted != "" {
		out.minted = a.in.minted
	}
	out.dump = a.use.Dumps && !a.use.Rehearsal || shown && a.in.dump || a.opensDump()
	out.fetched = fetchers.has(a.name) || shown && a.in.fetched
	out.token = shown && a.in.token
	if a.name == "echo" || a.name == "printf" {
		for i := range a.args {
			out.mix(a.args[i].taint)
		}
	}
}

// fetchers print what an address gives.
var fetchers = newWordSet("curl wget http https xh aria2c")

// opensDump reports whether a program reads a dump that the line has made.
func (a *action) opensDump() bool {
	return a.use.Input == programs.Shown && slices.ContainsFunc(a.listFiles(Read), a.s.isDumpFile)
}

// isOwnToken reports whether a client logs in with what was made for the host
// that it talks to, over https where it says so.
func (a *action) isOwnToken(p programs.Part, f field) bool {
	if !logsIn[p.Option] {
		return false
	}
	all, strays := a.countStrays(f)
	return all > 0 && strays == 0
}

// countStrays counts the addresses that a program talks to, and those for which a
// token was not made. A variable's may stay on this machine, or go to an address
// that can't be known. Many words of one command may hold the same token: what
// was counted for it is kept.
func (a *action) countStrays(f field) (all, strays int) {
	if f.minted == "" {
		return 0, 0
	}
	key := origin{f.minted, f.secret}
	n, ok := a.counted[key]
	if !ok {
		n.all, n.strays = a.countTargets(f)
		setKey(&a.counted, key, n)
	}
	return n.all, n.strays
}

// origin is what countStrays looks at in a word.
type origin struct {
	minted string
	secret bool
}

// targets are the addresses of a command, and those of them that a token was not
// made for.
type targets struct{ all, strays int }

func (a *action) countTargets(f field) (all, strays int) {
	for _, p := range a.use.Parts {
		if p.Role != programs.URL && p.Role != programs.Host {
			continue
		}
		text := a.fieldOf(&p).text
		name, local := readHostName(text), func(h host.Host) bool { return h.Zone == host.Loopback }
		all++
		if !f.secret && (strings.HasPrefix(text, "$") || slices.ContainsFunc(host.ListURLHosts(text, true), local)) {
			continue
		}
		if !slices.ContainsFunc(strings.Fields(f.minted), func(h string) bool { return name == h || strings.HasSuffix(name, "."+h) }) {
			strays++
		}
	}
	return all, strays
}

// isOwnWord is isOwnToken for a word that a part stands in.
func (a *action) isOwnWord(i int, f field) bool {
	return slices.ContainsFunc(a.use.Parts, func(p programs.Part) bool { return p.Arg == i && a.isOwnToken(p, f) })
}

// readHostName returns the name of an address in small letters, empty for one
// that isn't https.
func readHostName(text string) string {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || strings.Contains(text, `\`) {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// asksForToken reports whether a body is the request by which a program logs in
// with its own name and secret: OAuth's, to a host for it over https.
func (a *action) asksForToken(f field) bool {
	if !strings.Contains(f.text, "grant_type=") && !strings.Contains(f.text, "client_secret=") {
		return false
	}
	found := false
	for _, p := range a.use.Parts {
		if p.Role != programs.URL {
			continue
		}
		text := a.fieldOf(&p).text
		if readHostName(text) == "" || !loginAddress.MatchString(text) {
			return false
		}
		found = true
	}
	return found
}

// loginAddress is an address at which programs log in.
var loginAddress = regexp.MustCompile(`(?i)^https://[^/?#]+/(?:[^?#]*/)?(?:oauth2?|token|login|connect|auth)(?:/|$)`)

// leavesAlone reports whether a program hands data to an address by itself: a
// command on a named host or in a container takes it otherwise, and a store is
// where backups go.
func (a *action) leavesAlone() bool {
	return a.ran == 0 && !isStore[a.name] && !copiesToHost[a.name]
}

// copiesToHost are the programs that copy to a host where somebody has an account.
var copiesToHost = toSet("ssh scp rsync sftp pscp psftp mosh docker podman nerdctl kubectl oc restic borg")

// keepsSecrets reports whether a program is told a secret to keep it or to log in.
func (a *action) keepsSecrets() bool {
	return slices.ContainsFunc(a.args, func(f field) bool {
		return strings.Contains(f.text, "secret") || strings.Contains(f.text, "login") || strings.Contains(f.text, "password")
	})
}

// trackRemote asks where a line says itself where a repository goes, and sends it.
func (a *action) trackRemote() {
	s := a.s
	switch a.use.Row {
	case "git remote", "git config", "git config set", "git remote add", "git remote set-url":
		named := slices.ContainsFunc(a.args, func(f field) bool {
			key, _, _ := strings.Cut(f.text, "=")
			return f.text == "add" || f.text == "set-url" || strings.HasPrefix(key, "remote.") && strings.HasSuffix(strings.ToLower(key), "url")
		})
		s.made.remote = s.made.remote || named || strings.HasPrefix(a.use.Row, "git remote ")
	case "git push":
		if s.made.remote {
			s.addUnread(SecretSent)
		}
	}
}
