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

// path looks at one path under both of its names.
func (g *Guard) path(found, asks *findings, p touch.Path, effect skills.Effect) {
	names := []string{p.Clean}
	if p.Real != p.Clean {
		names = append(names, p.Real)
	}
	for _, n := range names {
		if place := forbidden(n, p, (p.Home || p.Shell && p.Access == touch.Mention) && within(n, g.home)); place != "" {
			switch readingOf(place, n, p) {
			case asked:
				asks.add(CodeSensitive, place, p.Arg)
			case refused:
				found.add(CodeForbidden, place, p.Arg)
			}
		} else if place, ask := g.guarded(n, p, effect); place != "" && ask {
			if place != PlaceLater || !p.Inert { // else it is known what is written there
				asks.add(CodeSensitive, place, p.Arg)
			}
		} else if place != "" {
			found.add(CodeForbidden, place, p.Arg)
		} else if g.underRootIs(n) {
			found.add(CodeForbidden, PlaceAccounts, p.Arg)
		}
		if place, ask := g.below(n, p); place != "" && ask {
			asks.add(CodeSensitive, place, p.Arg)
		} else if place != "" {
			found.add(CodeForbidden, place, p.Arg)
		}
		if g.matches(n) {
			found.add(CodeForbidden, PlaceConfigured, p.Arg)
		}
		if g.shields(n, p, effect) {
			found.add(CodeProtected, "own_file", p.Arg)
		}
	}
	if p.Declared && len(g.roots) > 0 && (p.Unplaced || !g.inRoots(p.Clean) || !g.inRoots(p.Real)) {
		found.add(CodeOutside, "outside_roots", p.Arg)
	}
}

func (g *Guard) inRoots(p string) bool {
	for _, r := range g.roots {
		if within(p, r) {
			return true
		}
	}
	return false
}

// within reports whether p is dir or lies in it.
func within(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/'
}

// underRootIs reports whether p is "etc/passwd" below a root: the guard doesn't know
// an executor's starting folder, and no user keeps a file of their own there.
func (g *Guard) underRootIs(p string) bool {
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

// shields reports whether the touch would write a file of this program or make
// one that it looks for, or read a key. Removing or moving a folder above it
// counts.
func (g *Guard) shields(n string, p touch.Path, effect skills.Effect) bool {
	writes := p.Access&(touch.Write|touch.Delete) != 0 || p.Access.Has(touch.Mention) && effect != skills.Read
	above := p.Access.Has(touch.Delete) || p.Recursive && writes
	n = fold(n)
	for _, k := range g.foldedKeys {
		if m := meant(n, k); within(m, k) || (above || p.Recursive && !p.Names) && within(k, m) {
			return true
		}
	}
	if !writes {
		return false
	}
	for _, k := range g.foldedProtect {
		if m := meant(n, k); within(m, k) || above && within(k, m) {
			return true
		}
	}
	for _, src := range g.sources {
		if src.feeds(meant(n, src.folder), above) {
			return true
		}
	}
	return false
}

// meant is n with its patterns replaced by the parts of known that they match:
// the shell may expand n to that.
func meant(n, known string) string {
	if !strings.ContainsAny(n, meta) {
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

func fold(p string) string { return strings.ToLower(p) }

// matches reports whether a configured pattern covers p or a folder above it.
func (g *Guard) matches(p string) bool {
	if len(g.forbid) == 0 || len(p) > maxMatch {
		return false
	}
	p = fold(p)
	for _, pat := range g.forbid {
		if ok, _ := doublestar.Match(pat, p); ok {
			return true
		}
	}
	return false
}

// patterns returns a configured pattern in the forms that it is matched in.
func patterns(raw string, env touch.Env, roots []string, at string) ([]string, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, &skills.PathError{Path: at, Msg: "is empty; name a path or a pattern"}
	}
	if !doublestar.ValidatePattern(raw) {
		return nil, &skills.PathError{Path: at, Msg: `is no pattern; write one like "**/*.pem"`}
	}
	pat := fold(strings.TrimRight(raw, "/"))
	var bases []string
	switch {
	case (raw == "~" || strings.HasPrefix(raw, "~/")) && env.Home == "":
		return nil, &skills.PathError{Path: at, Msg: "begins with ~, and the home folder isn't known; write the path out"}
	case strings.HasPrefix(raw, "~"):
		env.Root = "/"
		bases = []string{fold(touch.Lexical(raw, env))}
	case strings.HasPrefix(raw, "/"):
		bases = []string{pat}
	case strings.HasPrefix(raw, "**"):
		bases = []string{"/" + pat}
	default:
		pat = strings.TrimPrefix(pat, "./")
		for _, r := range roots {
			bases = append(bases, fold(r)+"/"+pat)
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
