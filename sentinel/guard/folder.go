package guard

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// PlaceHolds is a folder that holds a part of the core, read with all below it:
// a home folder, /etc, .aws.
const PlaceHolds = "holds_secrets"

// workshops are the folders of programs that keep more than a credential in
// them, mostly what was downloaded: builds hand them round as a whole.
var workshops = []string{".m2", ".cargo", ".gem", ".composer", ".terraform.d", ".cache", ".huggingface", ".circleci", ".fly"}

// findInFolder looks at a read of everything in a folder, whose files are not named:
// an archive, a copy, a search through contents, "cat ~/.aws/*", a mount, a
// link. It returns the place of the core that lies in there, and whether a
// person may allow it. What is sent away may not leave, nor may be read what
// such a folder of credentials is for; a backup of a home folder is a person's
// to decide.
func (g *Guard) findInFolder(n string, p touch.Path) (signal string, ask bool) {
	if !p.Shell || p.Names || !p.Access.Has(touch.Read) {
		return "", false
	}
	parts, entries, dots := cutWildcards(splitPath(n))
	moved := p.Access.Has(touch.Delete)
	if !entries && !p.Recursive && !moved {
		return "", false
	}
	flat := entries && !p.Recursive && !moved // the files right below alone
	s, near := "", false
	for _, list := range [][]place{core, stores} {
		for i := range list {
			if slices.Contains(workshops, list[i].at[0]) {
				continue
			}
			if k := list[i].countLevelsBelow(parts, flat, dots); k > 0 {
				s = list[i].signal
				if near = near || i < len(core) && k == 1 && s == PlaceCloud; near {
					break
				}
			}
		}
	}
	many := len(parts) == 0 || len(parts) == 1 && (parts[0] == "home" || parts[0] == "users")
	if s == "" && !flat && (many || dots && g.isHomeFolder(n, parts)) {
		s = PlaceHolds
	}
	switch {
	case s == "":
		return "", false
	case near || p.Sent:
		return s, false
	case slices.Contains(g.roots, n): // where agents are meant to work
		return "", false
	}
	return PlaceHolds, true
}

// cutWildcards cuts patterns for every entry from the end of a path. dots is
// false where they leave out names that begin with a dot.
func cutWildcards(parts []string) (rest []string, entries, dots bool) {
	dots = true
	for len(parts) > 0 {
		last := parts[len(parts)-1]
		if strings.Trim(last, "*.?[]!^") != "" || !strings.ContainsAny(last, meta) {
			break
		}
		if last[0] != '.' && last != "**" {
			dots = false
		}
		parts, entries = parts[:len(parts)-1], true
	}
	return parts, entries, dots
}

// isHomeFolder reports whether n is a home folder, or the folder of all of them.
func (g *Guard) isHomeFolder(n string, parts []string) bool {
	switch len(parts) {
	case 1:
		if slices.Contains([]string{"root", "home", "users"}, parts[0]) {
			return true
		}
	case 2:
		if parts[0] == "home" || parts[0] == "users" || parts[0] == "var" && parts[1] == "root" {
			return true
		}
	}
	return g.home != "/" && slices.Equal(parts, splitPath(g.home)) && isWithin(strings.TrimRight(n, "/*."), g.home)
}
