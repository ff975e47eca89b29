package path

import (
	"slices"
	"strings"
)

// Clean returns the path that the laxest receiver would open for raw:
// absolute, "~" and $HOME expanded, decoded, slashes and dots resolved,
// relative paths against env.Root. Drive letters stay ("C:/x") and network
// names keep two slashes ("//host/share").
func Clean(raw string, env Env) string {
	if p, ok := readPlain(raw, env); ok {
		return p
	}
	s := DecodeText(raw)
	if i := strings.IndexByte(s, 0); i > 0 {
		s = s[:i]
	}
	return resolveLexically(strings.ReplaceAll(s, "\x00", ""), env, true)
}

// ListReadings returns every path that raw may be read as, the decoded one
// first.
func ListReadings(raw string, env Env) []string {
	if p, ok := readPlain(raw, env); ok && !strings.HasPrefix(p, "/proc/") {
		return []string{p}
	}
	return listAllReadings(raw, env)
}

// readPlain returns the only reading of a text of plain names with slashes between them:
// most. Below /proc there may be others.
func readPlain(raw string, env Env) (string, bool) {
	for i := range len(raw) {
		if c := raw[i]; !isSolidByte(c) && c != '/' && c != '.' {
			return "", false
		}
	}
	if raw == "" || !needsNoDecoding(raw) {
		return "", false
	}
	p := raw
	if raw[0] != '/' {
		p = joinRoot(env.Root, raw)
	}
	return p, isResolved(p)
}

func joinRoot(root, p string) string {
	if strings.HasSuffix(root, "/") {
		return root + p
	}
	return root + "/" + p
}

// listAllReadings is ListReadings for any text.
func listAllReadings(raw string, env Env) []string {
	out := []string{Clean(raw, env)}
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(resolveLexically(raw, env, false))
	if !needsNoDecoding(raw) {
		if d := DecodeText(raw); strings.IndexByte(d, 0) >= 0 {
			add(resolveLexically(strings.ReplaceAll(d, "\x00", ""), env, true))
		}
		if strings.Contains(raw, `\/`) || strings.Contains(raw, `\.`) {
			// backslashes as escapes, which a shell takes away
			add(resolveLexically(strings.ReplaceAll(raw, `\`, ""), env, true))
		}
	}
	if s, ok := Unwrap(raw); ok {
		for _, r := range ListReadings(s, env) {
			add(r)
		}
	}
	if s, ok := cutDataStream(raw); ok {
		add(resolveLexically(s, env, true))
	}
	for _, p := range out {
		if r := FollowProc(p); r != p {
			add(resolveLexically(r, env, false))
		}
	}
	return out
}

// Lexical returns raw as it is written: "~" and $HOME expanded, dots and
// slashes resolved, relative to env.Root, nothing decoded. It is for paths
// that people configure.
func Lexical(raw string, env Env) string { return resolveLexically(raw, env, false) }

// resolveLexically makes p absolute and resolves its dots. With lax it does so as
// receivers do that trim names or take "..." for "..".
func resolveLexically(p string, env Env, lax bool) string {
	p = cutFileURL(strings.TrimSpace(p))
	if rest, ok := strings.CutPrefix(p, "//?/"); ok {
		p = rest
	} else if rest, ok := strings.CutPrefix(p, "//./"); ok && lax {
		p = "/" + rest
	}
	prefix := ""
	p = expandHome(p, env)
	switch {
	case IsDrive(p):
		prefix, p = strings.ToUpper(p[:1])+":", p[2:]
	case isNetworkName(p):
		prefix = "/"
	case !strings.HasPrefix(p, "/"):
		p = joinRoot(env.Root, p)
	}
	return prefix + resolveDots(p, lax)
}

// IsDrive reports whether p starts at a drive of Windows: "C:", "C:x", "c:/x". In
// small letters and without a slash, "x:y.txt" is a file's name here.
func IsDrive(p string) bool {
	if len(p) < 2 || p[1] != ':' || !isLetter(p[0]) {
		return false
	}
	return len(p) == 2 || p[0] < 'a' || p[0] == 'c' || p[0] == 'd' || strings.ContainsAny(p[2:], `/\`)
}

// isNetworkName reports whether p is //host/share: two slashes, then a name that is
// no dots and something below it.
func isNetworkName(p string) bool {
	if !strings.HasPrefix(p, "//") || strings.HasPrefix(p, "///") {
		return false
	}
	host, rest, ok := strings.Cut(p[2:], "/")
	return ok && rest != "" && strings.Contains(host, ".") && strings.Trim(host, ".") != "" && !strings.HasPrefix(host, ".")
}

func cutFileURL(p string) string {
	if !hasPrefixFold(p, "file:") {
		return p
	}
	p = p[len("file:"):]
	if hasPrefixFold(p, "//localhost/") {
		return p[len("//localhost"):]
	}
	if strings.HasPrefix(p, "///") {
		return p[2:]
	}
	if len(p) > 3 && p[0] == '/' && p[2] == ':' {
		return p[1:]
	}
	return p
}

// expandHome replaces "~", "~bob" and the variables of the home folder at the
// beginning of p.
func expandHome(p string, env Env) string {
	if p == "" || strings.IndexByte("$%~", p[0]) < 0 {
		return p // most
	}
	for _, v := range []string{"$HOME", "${HOME}", "%HOME%", "%USERPROFILE%", "$env:HOME", "$env:USERPROFILE"} {
		if hasPrefixFold(p, v) && (len(p) == len(v) || p[len(v)] == '/' || p[len(v)] == '\\') {
			return env.HomeFolder() + p[len(v):]
		}
	}
	if !strings.HasPrefix(p, "~") {
		return p
	}
	user, rest, _ := strings.Cut(p[1:], "/")
	switch {
	case user == "":
		return env.HomeFolder() + "/" + rest
	case user == "root":
		return "/root/" + rest
	case user == "+" || user == "-":
		return rest
	case strings.Trim(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" || strings.HasSuffix(user, "~"):
		return p // a file named "~$draft.docx"
	}
	return "/home/" + user + "/" + rest
}

// FollowProc resolves the folders of /proc that are doors to the whole tree:
// "/proc/self/root/x" is "/x", and what lies below "cwd" comes back relative.
// Any other path comes back as it is.
func FollowProc(p string) string {
	for range 8 {
		rest, ok := strings.CutPrefix(p, "/proc/")
		if !ok {
			return p
		}
		pid, rest, _ := strings.Cut(rest, "/")
		if pid != "self" && pid != "thread-self" && strings.Trim(pid, "0123456789*?[]-") != "" {
			return p
		}
		if strings.HasPrefix(rest, "task/") {
			_, rest, _ = strings.Cut(rest[len("task/"):], "/")
		}
		door, rest, _ := strings.Cut(rest, "/")
		switch door {
		case "root":
			p = "/" + rest
		case "cwd":
			return rest
		default:
			return p
		}
	}
	return p
}
