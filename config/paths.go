package config

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// resolvePaths makes every path absolute, against the configuration's folder.
func (l *loader) resolvePaths() {
	c := l.cfg
	keysGiven := l.section("keys", "dir") != nil
	standard := defaults() // in place of a path that is refused
	c.Ledger.Path = cmp.Or(l.abs(c.Ledger.Path, l.section("ledger", "path")), filepath.Join(l.dir, standard.Ledger.Path))
	if keysGiven {
		c.Keys.Dir = cmp.Or(l.abs(c.Keys.Dir, l.section("keys", "dir")), filepath.Join(l.dir, standard.Keys.Dir))
	} else {
		c.Keys.Dir = filepath.Join(filepath.Dir(c.Ledger.Path), c.Keys.Dir)
	}
	for i, r := range c.Guard.Roots {
		c.Guard.Roots[i] = l.abs(r, l.itemOf("roots", i))
	}
	for i, p := range c.Guard.ForbidPaths {
		n := l.itemOf("forbid_paths", i)
		if p == "" || n == nil {
			continue
		}
		if !doublestar.ValidatePattern(p) {
			l.out.add(n.pos, "guard.forbid_paths[%d]: %s is not a valid glob pattern; close each [ and {, or write \\ before it", i, l.shown(n))
			continue
		}
		c.Guard.ForbidPaths[i] = l.absPattern(p, n)
	}
}

// itemOf returns an item of a list under guard.
func (l *loader) itemOf(key string, i int) *node {
	n := l.section("guard", key)
	if n == nil || n.kind != listNode || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// abs returns p as an absolute path. n is where it is written, nil for a
// default. An empty p was reported and stays empty.
func (l *loader) abs(p string, n *node) string {
	if p == "" {
		return ""
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		home, ok := l.home(n)
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

func (l *loader) home(n *node) (string, bool) {
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

// absPattern makes a pattern absolute. One without a slash is about a name,
// in whatever folder: that forbids more than this folder alone would.
func (l *loader) absPattern(p string, n *node) string {
	p = filepath.ToSlash(p)
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		home, ok := l.home(n)
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

func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`).Replace(s)
}
