package guard

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// place is a spot in the file tree: components one after the other. A
// component that ends in "…" is matched by its beginning.
type place struct {
	signal string
	at     []string
	top    bool // counts at the top of the tree only
	exact  bool // what lies below it is free
}

// placesAnywhere makes places of paths that count wherever they lie.
func placesAnywhere(signal string, list ...string) []place {
	out := make([]place, len(list))
	for i, p := range list {
		out[i] = place{signal: signal, at: splitPath(p)}
	}
	return out
}

// placesAtTop makes places of paths that count at the top of the tree only.
func placesAtTop(signal string, list ...string) []place {
	out := placesAnywhere(signal, list...)
	for i := range out {
		out[i].top = true
	}
	return out
}

func joinPlaces(lists ...[]place) []place {
	var out []place
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// meta are the signs that make a path a pattern.
const meta = "*?["

// hasMeta reports whether a path has one of the signs in meta.
func hasMeta(n string) bool {
	for i := range len(meta) {
		if strings.IndexByte(n, meta[i]) >= 0 {
			return true
		}
	}
	return false
}

// splitPath splits a cleaned path, letter case folded. /private is where
// macOS keeps /etc and /var.
func splitPath(n string) []string {
	n = strings.ToLower(n)
	if len(n) > 1 && n[1] == ':' {
		n = n[2:]
	}
	parts := make([]string, 0, 8)
	for c := range strings.SplitSeq(n, "/") {
		if c != "" {
			parts = append(parts, c)
		}
	}
	if len(parts) > 1 && parts[0] == "private" && (parts[1] == "etc" || parts[1] == "var") {
		parts = parts[1:]
	}
	return parts
}

// holdsPath reports whether a path is the place or lies in it.
func (pl *place) holdsPath(parts []string) bool {
	last := len(parts) - len(pl.at)
	if pl.top {
		last = min(last, 0)
	}
	for i := 0; i <= last; i++ {
		if pl.exact && i+len(pl.at) != len(parts) {
			continue
		}
		if pl.beginsPath(parts[i:]) {
			return true
		}
	}
	return false
}

// beginsPath reports whether a path's first components are the place's, spelt well
// enough. parts must be as many as the place's at least.
func (pl *place) beginsPath(parts []string) bool {
	named := false
	for i, want := range pl.at {
		ok, literal := matchComponent(parts[i], want)
		if !ok || !pl.top && len(pl.at) == 1 && isVague(parts[i], want) {
			return false
		}
		if i == len(pl.at)-1 {
			named = literal
		}
	}
	return named
}

// countLevelsBelow returns by how many components a folder lies above the place, 0 where
// it doesn't. Places that may be anywhere count by their folders with a dot:
// ".aws", ".config/gcloud".
func (pl *place) countLevelsBelow(folder []string, flat, dots bool) int {
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

// isNamedIn reports whether the parts name the place, spelt well enough.
func (pl *place) isNamedIn(parts []string) bool {
	for i := 0; i+len(pl.at) <= len(parts); i++ {
		if pl.beginsPath(parts[i:]) && !isSketchy(parts[i+len(pl.at)-1], pl.at[len(pl.at)-1], 4) {
			return true
		}
	}
	return false
}

// isReachedFrom reports whether a search from base for tail may find the place.
func (pl *place) isReachedFrom(base, tail []string) bool {
	k := len(pl.at) - len(tail)
	if k < len(base) || !slices.Equal(base, pl.at[:len(base)]) {
		return false
	}
	for i, want := range pl.at[k:] {
		if ok, literal := matchComponent(tail[i], want); !ok || !literal || isSketchy(tail[i], want, 2) {
			return false
		}
	}
	return true
}

// isKnownByName reports whether a name alone says that it is the place's: that of a
// cloud's credentials, whichever folder they are in.
func (pl *place) isKnownByName(tail []string) bool {
	want := pl.at[len(pl.at)-1]
	if pl.signal != PlaceCloud && pl.signal != PlaceEnv || want == "config" {
		return false
	}
	got := tail[len(tail)-1]
	ok, literal := matchComponent(got, want)
	return ok && literal && !isSketchy(got, want, 4)
}

// matchComponent reports whether got is the component want, and whether got names
// it rather than matching everything. got may be a pattern.
func matchComponent(got, want string) (ok, literal bool) {
	if want == "*" {
		return true, true
	}
	stem, prefix := strings.CutSuffix(want, "…")
	if !isPattern(got) {
		return got == stem || prefix && strings.HasPrefix(got, stem), true
	}
	if len(got) > 256 {
		return false, false
	}
	// "*" in the place of a folder may stand for any; ".*" says no more.
	rest := strings.TrimLeft(got, ".")
	literal = strings.IndexFunc(rest, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '?' }) >= 0
	if strings.Count(got, "{") > 2 {
		// Alternatives multiply: beyond a few, any of them counts.
		got = strings.NewReplacer("{", "", "}", "").Replace(alternatives.ReplaceAllString(got, "*"))
	}
	ok, err := doublestar.Match(got, stem)
	if err != nil || got == "" || strings.HasPrefix(stem, ".") && got[0] != '.' && got[0] != '[' && got[0] != '{' {
		return false, false
	}
	return ok, literal
}

var alternatives = regexp.MustCompile(`\{[^{}]*\}`)

// isPattern reports whether a component has a sign that matchComponent reads as a
// pattern's.
func isPattern(c string) bool {
	for i := range len(c) {
		switch c[i] {
		case '*', '?', '[', '{':
			return true
		}
	}
	return false
}

// isVague reports whether a pattern spells too little of a name to mean it: in any
// folder, "k*" stands for many files before it stands for key4.db. Names that
// begin with a dot are seldom anything else.
func isVague(got, want string) bool {
	if strings.HasPrefix(want, ".") || strings.HasPrefix(want, "id_") || !strings.ContainsAny(got, "*?[{") {
		return false
	}
	spelt := 0
	for _, r := range got {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '?' {
			spelt++
		}
	}
	return 4*spelt < 3*len(want)
}

// isSketchy reports whether a pattern spells too little of a name: less than a
// half (of: 2), or than three quarters (of: 4).
func isSketchy(got, want string, of int) bool {
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
