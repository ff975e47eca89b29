package config

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"os"
	"runtime"

	"github.com/bmatcuk/doublestar/v4"
)

// resolvePaths makes every path absolute, against the configuration's folder.
func (l *loader) resolvePaths() {
	c := l.cfg
	keysGiven := l.valueAt("keys", "dir") != nil
	standard := defaultConfig() // in place of a path that is refused
	c.Ledger.Path = cmp.Or(l.absPath(c.Ledger.Path, l.valueAt("ledger", "path")), filepath.Join(l.dir, standard.Ledger.Path))
	c.Ledger.Sink = l.absPath(c.Ledger.Sink, l.valueAt("ledger", "sink"))
	if keysGiven {
		c.Keys.Dir = cmp.Or(l.absPath(c.Keys.Dir, l.valueAt("keys", "dir")), filepath.Join(l.dir, standard.Keys.Dir))
	} else {
		c.Keys.Dir = filepath.Join(filepath.Dir(c.Ledger.Path), c.Keys.Dir)
	}
	l.resolveServerPaths()
	l.resolveAnchorPaths()
	for i, r := range c.Guard.Roots {
		c.Guard.Roots[i] = l.absPath(r, l.guardListItem("roots", i))
	}
	for i, p := range c.Guard.ForbidPaths {
		n := l.guardListItem("forbid_paths", i)
		if p == "" || n == nil {
			continue
		}
		if !doublestar.ValidatePattern(p) {
			l.out.add(n.pos, "guard.forbid_paths[%d]: %s is not a valid glob pattern; close each [ and {, or write \\ before it", i, l.quoteNode(n))
			continue
		}
		c.Guard.ForbidPaths[i] = l.absPattern(p, n)
	}
}

// resolveServerPaths makes the paths of the server's files absolute.
func (l *loader) resolveServerPaths() {
	t := &l.cfg.Server.TLS
	t.Cert = l.absPath(t.Cert, l.valueAt("server", "tls", "cert"))
	t.Key = l.absPath(t.Key, l.valueAt("server", "tls", "key"))
	in := &l.cfg.Server.Auth.OIDC.SignIn
	in.ClientSecretFile = l.absPath(in.ClientSecretFile, l.valueAt("server", "auth", "oidc", "sign_in", "client_secret_file"))
}

// resolveAnchorPaths makes the paths of the anchors' files absolute.
func (l *loader) resolveAnchorPaths() {
	list := l.valueAt("ledger", "anchors")
	for i := range l.cfg.Ledger.Anchors {
		a := &l.cfg.Ledger.Anchors[i]
		var n *node
		if list != nil && list.kind == listNode && i < len(list.items) {
			n = list.items[i]
		}
		a.File.Path = l.absPath(a.File.Path, n)
		a.Witness.File = l.absPath(a.Witness.File, n)
		a.Tiles.Path = l.absPath(a.Tiles.Path, n)
	}
}

// guardListItem returns an item of a list under guard.
func (l *loader) guardListItem(key string, i int) *node {
	n := l.valueAt("guard", key)
	if n == nil || n.kind != listNode || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// absPath returns p as an absolute path. n is where it is written, nil for a
// default. An empty p was reported and stays empty.
func (l *loader) absPath(p string, n *node) string {
	if p == "" {
		return ""
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, ok := l.homeDir(n)
		if !ok {
			return ""
		}
		p = filepath.Join(home, p[1:])
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(l.dir, p)
	}
	return filepath.Clean(p)
}

// homeDir returns what ~ stands for, and reports where that isn't known.
func (l *loader) homeDir(n *node) (string, bool) {
	home, ok := l.opts.Env("HOME")
	if !ok || !filepath.IsAbs(home) {
		at := l.root.pos
		if n != nil {
			at = n.pos
		}
		l.out.add(at, "~ can't be resolved because HOME isn't set; write the path out")
		return "", false
	}
	return home, true
}

// absPattern makes a pattern absolute. A pattern without a slash is about a name
// in any folder: that forbids more than this folder alone would.
func (l *loader) absPattern(p string, n *node) string {
	p = filepath.ToSlash(p)
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		home, ok := l.homeDir(n)
		if !ok {
			return p
		}
		return path.Join(escapeGlob(filepath.ToSlash(home)), p[1:])
	case !strings.Contains(p, "/"):
		return "**/" + p
	case strings.HasPrefix(p, "**/") || path.IsAbs(p) || filepath.IsAbs(p):
		return p
	}
	return path.Join(escapeGlob(filepath.ToSlash(l.dir)), p)
}

// escapeGlob returns a pattern that matches s alone.
func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(s)
}

// guardedPath is a path that agents must not be able to write.
type guardedPath struct{ what, path string }

// searchedPattern is a pattern of an include, and the folder it starts in.
type searchedPattern struct{ base, pattern, shown string }

// guardedPaths returns the paths that agents must not be able to write.
func (l *loader) guardedPaths() []guardedPath {
	var list []guardedPath
	for i, f := range l.cfg.Files {
		what := "the skill file"
		switch {
		case i == 0:
			what = "the configuration"
		case f == l.cfg.Sentinel.Prompt:
			what = "the review's prompt"
		case l.isAssistantPrompt(f):
			what = "an assistant's prompt"
		}
		list = append(list, guardedPath{what, f})
	}
	list = append(list, guardedPath{"the database", l.cfg.Ledger.Path}, guardedPath{"its later files", l.cfg.Ledger.Path + ".d"},
		guardedPath{"the keys", l.cfg.Keys.Dir},
		guardedPath{"the sink of the ledger", l.cfg.Ledger.Sink})
	for _, dir := range l.cfg.CredentialFolders() {
		list = append(list, guardedPath{"the credentials", dir})
	}
	for _, file := range l.cfg.Ledger.AnchorFiles() {
		list = append(list, guardedPath{"the ledger's anchor", file})
	}
	if exe, err := os.Executable(); err == nil {
		list = append(list, guardedPath{"the program", exe})
	}
	for _, p := range l.opts.Protect {
		list = append(list, guardedPath{"a protected path", l.absPath(p, nil)})
	}
	return list
}

// isAssistantPrompt reports whether a file is an assistant's prompt.
func (l *loader) isAssistantPrompt(file string) bool {
	for _, a := range l.cfg.Assistants {
		if a.PromptFile == file {
			return true
		}
	}
	return false
}

// checkRoots refuses roots that hold what decides about agents: a skill may write
// what lies in a root.
func (l *loader) checkRoots() {
	all := l.guardedPaths()
	seen := map[string]string{}
	for i, root := range l.cfg.Guard.Roots {
		n := l.guardListItem("roots", i)
		if root == "" || n == nil {
			continue
		}
		real := realPath(root)
		var found []string
		for _, g := range all {
			if g.path != "" && leadsIntoRoot(real, g.path, seen) {
				found = append(found, g.what+" ("+g.path+")")
			}
		}
		if len(found) > 3 {
			found = append(found[:3], "and more")
		}
		switch {
		case len(found) > 0:
			l.out.add(n.pos, "guard.roots[%d] contains %s; give agents a folder of their own", i, strings.Join(found, ", "))
		case l.cfg.Keys.Dir != "" && liesInFolder(realPath(l.cfg.Keys.Dir), real):
			l.out.add(n.pos, "guard.roots[%d] lies in the folder of the keys; give agents a folder of their own", i)
		default:
			l.checkSearched(i, n, real)
		}
	}
}

// checkSearched refuses a root in which an include looks for skill files: a
// skill could write the next one.
func (l *loader) checkSearched(i int, n *node, root string) {
	for _, s := range l.searched {
		rel, err := filepath.Rel(realPath(s.base), root)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if mayMatchUnder(strings.Split(s.pattern, "/"), strings.Split(filepath.ToSlash(rel), "/")) {
			l.out.add(n.pos, "guard.roots[%d] is a folder where the include %s looks for skills; give agents a folder of their own", i, s.shown)
			return
		}
	}
}

// mayMatchUnder reports whether a pattern can match something below dir. What
// can't be decided part by part counts as a match.
func mayMatchUnder(pattern, dir []string) bool {
	switch {
	case len(pattern) == 0:
		return false
	case len(dir) == 0:
		return true
	case pattern[0] == "**":
		return mayMatchUnder(pattern[1:], dir) || mayMatchUnder(pattern, dir[1:])
	}
	ok, err := doublestar.Match(pattern[0], dir[0])
	return (ok || err != nil) && mayMatchUnder(pattern[1:], dir[1:])
}

// leadsIntoRoot reports whether p or a link on the way to it lies in root. Replacing
// the link decides what p is. seen keeps what was resolved.
func leadsIntoRoot(root, p string, seen map[string]string) bool {
	for q := p; ; {
		parent := filepath.Dir(q)
		if parent == q {
			break
		}
		at, ok := seen[parent]
		if !ok {
			at = realPath(parent)
			seen[parent] = at
		}
		if liesInFolder(root, filepath.Join(at, filepath.Base(q))) {
			return true
		}
		q = parent
	}
	return liesInFolder(root, realPath(p))
}

// liesInFolder reports whether p is dir or lies in it.
func liesInFolder(dir, p string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, p = strings.ToLower(dir), strings.ToLower(p)
	}
	rel, err := filepath.Rel(dir, p)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
