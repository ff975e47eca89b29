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

// below looks at a read of everything in a folder, whose files are not named:
// an archive, a copy, a search through contents, "cat ~/.aws/*", a mount, a
// link. It returns the place of the core that lies in there, and whether a
// person may allow it. What is sent away may not leave, nor may be read what
// such a folder of credentials is for; a backup of a home folder is a person's
// to decide.
func (g *Guard) below(n string, p touch.Path) (signal string, ask bool) {
	if !p.Shell || p.Names || !p.Access.Has(touch.Read) {
		return "", false
	}
	parts, entries, dots := wholeFolder(components(n))
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
			if k := list[i].above(parts, flat, dots); k > 0 {
				s = list[i].signal
				if near = near || i < len(core) && k == 1 && s == PlaceCloud; near {
					break
				}
			}
		}
	}
	many := len(parts) == 0 || len(parts) == 1 && (parts[0] == "home" || parts[0] == "users")
	if s == "" && !flat && (many || dots && g.isHome(n, parts)) {
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

// wholeFolder cuts patterns for every entry from the end of a path. dots is
// false where they leave out names that begin with a dot.
func wholeFolder(parts []string) (rest []string, entries, dots bool) {
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

// above returns by how many components a folder lies above the place, 0 where
// it doesn't. Places that may be anywhere count by their folders with a dot:
// ".aws", ".config/gcloud".
func (pl *place) above(folder []string, flat, dots bool) int {
	for k := len(pl.at) - 1; k > 0; k-- {
		if flat && k < len(pl.at)-1 || len(folder) < k || pl.top && len(folder) != k || !pl.top && pl.at[0][0] != '.' {
			continue
		}
		if !dots && pl.at[k][0] == '.' {
			continue
		}
		tail := folder[len(folder)-k:]
		if !pl.top && k == 1 && pl.at[0] == ".config" && len(pl.at) == 2 {
			continue // ".config" as a whole is judged by what is deeper in it
		}
		if slices.Equal(tail, pl.at[:k]) {
			return len(pl.at) - k
		}
	}
	return 0
}

// isHome reports whether n is a home folder, or the folder of all of them.
func (g *Guard) isHome(n string, parts []string) bool {
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
	return g.home != "/" && slices.Equal(parts, components(g.home)) && within(strings.TrimRight(n, "/*."), g.home)
}

// somewhere is forbidden for a path in which "**" stands for any folders, as a
// search for a name has it. Names that are only listed tell where a key is;
// the account files are no secret by their name.
func somewhere(parts []string, p touch.Path) string {
	at := slices.Index(parts, "**")
	base, tail := parts[:at], parts[at+1:]
	if len(tail) == 0 {
		return ""
	}
	for _, list := range [][]place{core, stores} {
		for i := range list {
			pl := &list[i]
			if !pl.top && (pl.found(tail) || pl.found(slices.Concat(base, tail)) || !p.Names && pl.telling(tail)) ||
				pl.top && !p.Names && pl.reached(base, tail) {
				return pl.signal
			}
		}
	}
	return ""
}

// found reports whether the parts name the place, spelt well enough.
func (pl *place) found(parts []string) bool {
	for i := 0; i+len(pl.at) <= len(parts); i++ {
		if pl.starts(parts[i:]) && !sketchy(parts[i+len(pl.at)-1], pl.at[len(pl.at)-1], 4) {
			return true
		}
	}
	return false
}

// reached reports whether a search from base for tail may find the place.
func (pl *place) reached(base, tail []string) bool {
	k := len(pl.at) - len(tail)
	if k < len(base) || !slices.Equal(base, pl.at[:len(base)]) {
		return false
	}
	for i, want := range pl.at[k:] {
		if ok, literal := component(tail[i], want); !ok || !literal || sketchy(tail[i], want, 2) {
			return false
		}
	}
	return true
}

// telling reports whether a name alone says that it is the place's: that of a
// cloud's credentials, whichever folder they are in.
func (pl *place) telling(tail []string) bool {
	want := pl.at[len(pl.at)-1]
	if pl.signal != PlaceCloud && pl.signal != PlaceEnv || want == "config" {
		return false
	}
	got := tail[len(tail)-1]
	ok, literal := component(got, want)
	return ok && literal && !sketchy(got, want, 4)
}

// sketchy reports whether a pattern spells too little of a name: less than a
// half (of: 2), or than three quarters (of: 4).
func sketchy(got, want string, of int) bool {
	if !strings.ContainsAny(got, "*?[{") || strings.HasPrefix(got, "id_") {
		return false
	}
	spelt := 0
	for _, r := range got {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '?' {
			spelt++
		}
	}
	return of*spelt < (of-1)*len(strings.TrimSuffix(want, "…"))
}
