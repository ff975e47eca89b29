package touch

import (
	"slices"
	"strings"
)

// The stand-ins for what Env does not know.
const (
	unknownHome = "/home/user"
	// unknownCwd is where a command line runs when no root is known: not
	// "/", or every "rm -r *" would be one of everything.
	unknownCwd = "/workspace"
)

// Clean returns the path that the laxest receiver would open for raw:
// absolute, "~" and $HOME expanded, decoded, slashes and dots resolved,
// relative paths against env.Root. Drive letters stay ("C:/x") and network
// names keep two slashes ("//host/share").
func Clean(raw string, env Env) string {
	s := decode(raw)
	if i := strings.IndexByte(s, 0); i > 0 {
		s = s[:i]
	}
	return lexical(strings.ReplaceAll(s, "\x00", ""), env, true)
}

// readings returns every path that raw may be read as, the decoded one first.
func readings(raw string, env Env) []string {
	out := []string{Clean(raw, env)}
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	add(lexical(raw, env, false))
	if !plain(raw) {
		if d := decode(raw); strings.IndexByte(d, 0) >= 0 {
			add(lexical(strings.ReplaceAll(d, "\x00", ""), env, true))
		}
		if strings.Contains(raw, `\/`) || strings.Contains(raw, `\.`) {
			// backslashes as escapes, which a shell takes away
			add(lexical(strings.ReplaceAll(raw, `\`, ""), env, true))
		}
	}
	if s, ok := unwrapped(raw); ok {
		for _, r := range readings(s, env) {
			add(r)
		}
	}
	if s, ok := cutStream(raw); ok {
		add(lexical(s, env, true))
	}
	for _, p := range out {
		if r := throughProc(p); r != p {
			add(lexical(r, env, false))
		}
	}
	return out
}

// wrapperSchemes are those of URLs that open a file by way of something else.
var wrapperSchemes = []string{"view-source:", "jar:", "url:", "netdoc:", "local_file:", "phar:", "zip:", "glob:", "compress.zlib:", "compress.bzip2:", "php:", "feed:", "rar:", "ogg:"}

// unwrapped cuts what such a URL puts around a file.
func unwrapped(raw string) (string, bool) {
	raw = strings.TrimSpace(raw)
	if !slices.ContainsFunc(wrapperSchemes, func(s string) bool { return hasFold(raw, s) }) {
		return "", false
	}
	_, rest, _ := strings.Cut(raw, ":")
	if i := strings.Index(strings.ToLower(rest), "resource="); i >= 0 {
		rest = rest[i+len("resource="):]
	}
	if i := strings.IndexAny(rest, "!#"); i > 0 {
		rest = rest[:i]
	}
	if strings.HasPrefix(rest, "///") {
		rest = rest[2:]
	}
	return rest, rest != "" && !strings.Contains(rest, "://") || hasFold(rest, "file:")
}

// cutStream cuts an alternate data stream, "name:stream", from a path: to
// Windows it is part of the same file.
func cutStream(p string) (string, bool) {
	i := strings.LastIndexAny(p, `/\`) + 1
	j := strings.IndexByte(p[i:], ':')
	if j <= 1 || strings.Contains(p, "://") { // "C:" is a drive
		return p, false
	}
	return p[:i+j], true
}

// lexical makes p absolute and resolves its dots. With lax it does so as
// receivers do that trim names or take "..." for "..".
func lexical(p string, env Env, lax bool) string {
	p = cutFileURL(strings.TrimSpace(p))
	if rest, ok := strings.CutPrefix(p, "//?/"); ok {
		p = rest
	} else if rest, ok := strings.CutPrefix(p, "//./"); ok && lax {
		p = "/" + rest
	}
	prefix := ""
	p = expandHome(p, env)
	switch {
	case drive(p):
		prefix, p = strings.ToUpper(p[:1])+":", p[2:]
	case network(p):
		prefix = "/"
	case !strings.HasPrefix(p, "/"):
		root := env.Root
		if !strings.HasSuffix(root, "/") {
			root += "/"
		}
		p = root + p
	}
	return prefix + resolveDots(p, lax)
}

// drive reports whether p starts at a drive of Windows: "C:", "C:x", "c:/x". In
// small letters and without a slash, "x:y.txt" is a file's name here.
func drive(p string) bool {
	if len(p) < 2 || p[1] != ':' || !letter(p[0]) {
		return false
	}
	return len(p) == 2 || p[0] < 'a' || p[0] == 'c' || p[0] == 'd' || strings.ContainsAny(p[2:], `/\`)
}

// network reports whether p is //host/share: two slashes, then a name that is
// no dots and something below it.
func network(p string) bool {
	if !strings.HasPrefix(p, "//") || strings.HasPrefix(p, "///") {
		return false
	}
	host, rest, ok := strings.Cut(p[2:], "/")
	return ok && rest != "" && strings.Contains(host, ".") && strings.Trim(host, ".") != "" && !strings.HasPrefix(host, ".")
}

func cutFileURL(p string) string {
	if !hasFold(p, "file:") {
		return p
	}
	p = p[len("file:"):]
	if hasFold(p, "//localhost/") {
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

// home returns the folder that "~" stands for.
func home(env Env) string {
	if env.Home == "" {
		return unknownHome
	}
	return env.Home
}

func expandHome(p string, env Env) string {
	if p == "" || strings.IndexByte("$%~", p[0]) < 0 {
		return p // most
	}
	for _, v := range []string{"$HOME", "${HOME}", "%HOME%", "%USERPROFILE%", "$env:HOME", "$env:USERPROFILE"} {
		if hasFold(p, v) && (len(p) == len(v) || p[len(v)] == '/' || p[len(v)] == '\\') {
			return home(env) + p[len(v):]
		}
	}
	if !strings.HasPrefix(p, "~") {
		return p
	}
	user, rest, _ := strings.Cut(p[1:], "/")
	switch {
	case user == "":
		return home(env) + "/" + rest
	case user == "root":
		return "/root/" + rest
	case user == "+" || user == "-":
		return rest
	case strings.Trim(user, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") != "" || strings.HasSuffix(user, "~"):
		return p // a file named "~$draft.docx"
	}
	return "/home/" + user + "/" + rest
}

// resolveDots resolves ".", ".." and repeated slashes of an absolute path.
func resolveDots(p string, lax bool) string {
	if resolved(p) {
		return p
	}
	out := make([]byte, 0, len(p)+1)
	for p != "" {
		var c string
		c, p, _ = strings.Cut(p, "/")
		if lax {
			c = laxName(c, p)
		}
		switch c {
		case "", ".":
		case "..":
			for len(out) > 0 {
				last := out[len(out)-1]
				out = out[:len(out)-1]
				if last == '/' {
					break
				}
			}
		default:
			out = append(append(out, '/'), c...)
		}
	}
	if len(out) == 0 {
		return "/"
	}
	return string(out)
}

// laxName reads one component as a receiver might that trims trailing dots and
// blanks, takes three dots for two, or matches ".?" as a pattern. rest is what
// follows it.
func laxName(c, rest string) string {
	if c == "" || c == "." || c == ".." {
		return c
	}
	switch c {
	case "..;", ".?", ".*", "?.", ".;.":
		if rest != "" {
			return ".."
		}
		return c
	}
	trimmed := strings.TrimRight(c, ". ")
	if trimmed != "" {
		return strings.TrimSpace(trimmed)
	}
	switch strings.TrimSpace(c) {
	case ".":
		return "."
	case "..":
		return ".."
	}
	if rest != "" && strings.Count(c, ".") > 1 {
		return ".."
	}
	return c
}

// throughProc resolves the folders of /proc that are doors to the whole tree.
func throughProc(p string) string {
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

// Lexical returns raw as it is written: "~" and $HOME expanded, dots and
// slashes resolved, relative to env.Root, nothing decoded. It is for paths
// that people configure.
func Lexical(raw string, env Env) string { return lexical(raw, env, false) }
