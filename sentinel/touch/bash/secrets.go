package bash

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// markSecrets says what a command's output holds that must not leave.
func (a *action) markSecrets(out *stream) {
	shown := a.use.Input == programs.Shown
	if a.use.Token && !a.use.Rehearsal {
		out.secret, out.minted = true, strings.Join(a.use.TokenHosts, " ")+" "
	} else if shown && a.in.minted != "" {
		out.minted = a.in.minted
	}
	out.dump = a.use.Dumps && !a.use.Rehearsal || shown && a.in.dump || a.opensDump()
	out.fetched = fetchers[a.name] || shown && a.in.fetched
	out.token = shown && a.in.token
	if a.name == "echo" || a.name == "printf" {
		for _, f := range a.args {
			out.token, out.secret = out.token || f.token, out.secret || f.secret
			out.minted = orElse(out.minted, f.minted)
		}
	}
}

// fetchers print what an address gives.
var fetchers = toSet("curl wget http https xh aria2c")

// opensDump reports whether a program reads a dump that the line has made.
func (a *action) opensDump() bool {
	return a.use.Input == programs.Shown && slices.ContainsFunc(a.listFiles(Read), a.s.isDump)
}

// isDump reports whether a file is somebody's data as a whole, which the line
// has put there.
func (s *shell) isDump(f field) bool {
	m, ok := s.findMade(f.text)
	return ok && m.dump
}

// isOwnToken reports whether a client logs in with what was made for the host
// that it talks to, over https where it says so.
func (a *action) isOwnToken(p programs.Part, f field) bool {
	if f.minted == "" || !logsIn[p.Option] {
		return false
	}
	hosts := strings.Fields(f.minted)
	found := false
	for _, p := range a.use.Parts {
		if p.Role != programs.URL && p.Role != programs.Host {
			continue
		}
		name := readHostName(a.field(p).text)
		found = true
		if !slices.ContainsFunc(hosts, func(h string) bool { return name == h || strings.HasSuffix(name, "."+h) }) {
			return false
		}
	}
	return found
}

// isOwnWord is isOwnToken for a word that a part stands in.
func (a *action) isOwnWord(i int, f field) bool {
	return slices.ContainsFunc(a.use.Parts, func(p programs.Part) bool { return p.Arg == i && a.isOwnToken(p, f) })
}

// readHostName returns the name of an address in small letters, empty for one
// that isn't https.
func readHostName(text string) string {
	scheme, rest, ok := strings.Cut(strings.ToLower(text), "://")
	if !ok {
		rest = scheme
	} else if scheme != "https" {
		return ""
	}
	if i := strings.IndexAny(rest, `/?#\`); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	rest, _, _ = strings.Cut(rest, ":")
	return rest
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
		text := a.field(p).text
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
func (s *shell) trackRemote(a *action) {
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

// emptiesFiles reports whether a program that edits files in place leaves
// nothing in them.
func (a *action) emptiesFiles() bool {
	i := slices.IndexFunc(a.use.Parts, func(p programs.Part) bool { return p.Role == programs.Code })
	if i < 0 {
		return false
	}
	text, quiet := strings.TrimSpace(a.field(a.use.Parts[i]).text), hasFlag(a.args, "n", "quiet", "silent")
	switch {
	case strings.HasSuffix(a.name, "sed"):
		return deletesLines.MatchString(text) || quiet && text == ""
	case strings.HasSuffix(a.name, "awk"):
		return keepsNoLine.MatchString(text)
	}
	return quiet && keepsNoLine.MatchString(text) || quiet && text == "1"
}

// The programs of editors that keep no line.
var (
	deletesLines = regexp.MustCompile(`^(?:[01],\$|/\.?\*?/)?\s*d;?$`)
	keepsNoLine  = regexp.MustCompile(`^(?:0|\{?\s*(?:next)?;?\s*\}?);?$`)
)
