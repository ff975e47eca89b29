package guard

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// maxMatch bounds the paths that patterns are tried on: no system opens a
// longer one.
const maxMatch = 4096

func (g *Guard) isInRoots(p string) bool {
	for _, r := range g.roots {
		if isWithin(p, r) {
			return true
		}
	}
	return false
}

// isWithin reports whether p is dir or lies in it.
func isWithin(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// isAccountFileInRoot reports whether p is "etc/passwd" below a root: the guard doesn't know
// an executor's starting folder, and no user keeps a file of their own there.
func (g *Guard) isAccountFileInRoot(p string) bool {
	for _, r := range g.roots {
		if rest, ok := strings.CutPrefix(p, r+"/"); ok {
			switch strings.ToLower(rest) {
			case "etc/passwd", "etc/shadow", "etc/gshadow", "etc/sudoers":
				return true
			}
		}
	}
	return false
}

// shieldsPath reports whether the touch would write a file of this program or make
// one that it looks for, or read a key. Removing or moving a folder above it
// counts.
func (g *Guard) shieldsPath(n string, p touch.Path, effect skills.Effect) bool {
	writes := p.Access&(touch.Write|touch.Delete) != 0 || p.Access.Has(touch.Mention) && effect != skills.Read
	above := p.Access.Has(touch.Delete) || p.Recursive && writes
	n = foldCase(n)
	meta := hasMeta(n)
	for _, k := range g.foldedKeys {
		if m := expandToKnown(n, k, meta); isWithin(m, k) || (above || p.Recursive && !p.Names) && isWithin(k, m) {
			return true
		}
	}
	if !writes {
		return false
	}
	for _, k := range g.foldedProtect {
		if m := expandToKnown(n, k, meta); isWithin(m, k) || above && isWithin(k, m) {
			return true
		}
	}
	for _, src := range g.sources {
		if src.mayFind(expandToKnown(n, src.folder, meta), above) {
			return true
		}
	}
	return false
}

// expandToKnown is n with its patterns replaced by the parts of known that they match:
// the shell may expand n to that. meta says whether n has patterns.
func expandToKnown(n, known string, meta bool) string {
	if !meta {
		return n
	}
	parts, to := strings.Split(n, "/"), strings.Split(known, "/")
	for i := range min(len(parts), len(to)) {
		if ok, err := doublestar.Match(parts[i], to[i]); err != nil || !ok {
			break
		}
		parts[i] = to[i]
	}
	return strings.Join(parts, "/")
}

func foldCase(p string) string { return strings.ToLower(p) }

// matchesForbidden reports whether a configured pattern covers p or a folder above it.
func (g *Guard) matchesForbidden(p string) bool {
	if len(g.forbid) == 0 || len(p) > maxMatch {
		return false
	}
	p = foldCase(p)
	for _, pat := range g.forbid {
		if ok, _ := doublestar.Match(pat, p); ok {
			return true
		}
	}
	return false
}

// compileForbidden returns a configured pattern in the forms that it is matched in.
func compileForbidden(raw string, env touch.Env, roots []string, at string) ([]string, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, &skills.PathError{Path: at, Msg: "is empty; name a path or a pattern"}
	}
	if !doublestar.ValidatePattern(raw) {
		return nil, &skills.PathError{Path: at, Msg: `is no pattern; write one like "**/*.pem"`}
	}
	pat := foldCase(strings.TrimRight(raw, "/"))
	var bases []string
	switch {
	case (raw == "~" || strings.HasPrefix(raw, "~/")) && env.Home == "":
		return nil, &skills.PathError{Path: at, Msg: "begins with ~, and the home folder isn't known; write the path out"}
	case strings.HasPrefix(raw, "~"):
		env.Root = "/"
		bases = []string{foldCase(touch.Lexical(raw, env))}
	case strings.HasPrefix(raw, "/"):
		bases = []string{pat}
	case strings.HasPrefix(raw, "**"):
		bases = []string{"/" + pat}
	default:
		pat = strings.TrimPrefix(pat, "./")
		for _, r := range roots {
			bases = append(bases, foldCase(r)+"/"+pat)
		}
		if len(roots) == 0 {
			bases = []string{"/**/" + pat}
		}
	}
	var out []string
	for _, b := range bases {
		out = append(out, b, b+"/**")
	}
	return out, nil
}
