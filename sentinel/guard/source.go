package guard

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Source is where files are looked for that decide what is allowed. A file
// that appears there counts the next time, so no call may make one.
type Source struct {
	// Folder is an absolute path.
	Folder string
	// Pattern is what is looked for below it (doublestar, "/" between parts).
	Pattern string
}

// source is a Source under one of its folder's names, folded.
type source struct {
	folder string
	parts  []string
}

func addSource(list *[]source, s Source, env touch.Env, at string) error {
	if s.Pattern == "" || !doublestar.ValidatePattern(s.Pattern) {
		return &skills.PathError{Path: at, Msg: "its pattern can't be read"}
	}
	var names []string
	if err := addPlace(&names, s.Folder, env, at); err != nil {
		return err
	}
	parts := strings.Split(foldCase(s.Pattern), "/")
	if spansParts(s.Pattern) {
		parts = []string{"**"}
	}
	for _, n := range names {
		*list = append(*list, source{foldCase(n), parts})
	}
	return nil
}

// spansParts reports whether a brace or a class holds a "/", so that the
// pattern can't be looked at part by part.
func spansParts(pattern string) bool {
	for _, p := range strings.Split(pattern, "/") {
		if !doublestar.ValidatePattern(p) {
			return true
		}
	}
	return false
}

// mayFind reports whether a write to n, folded, may make a file that the source finds: n
// is one, or a folder on the way to one, since what is written to a folder
// lies in it afterwards. With above, what lies over the source counts as well.
func (s source) mayFind(n string, above bool) bool {
	if !isWithin(n, s.folder) {
		return above && isWithin(s.folder, n)
	}
	rest := strings.Trim(n[len(s.folder):], "/")
	if rest == "" {
		return true
	}
	return isOnTheWay(s.parts, strings.Split(rest, "/"))
}

// isOnTheWay reports whether the path is a match of the pattern or could be a
// folder above one.
func isOnTheWay(pattern, path []string) bool {
	for i, p := range path {
		if i == len(pattern) {
			return false
		}
		if pattern[i] == "**" {
			return true
		}
		if strings.ContainsAny(p, meta) {
			continue // the shell may expand it to a match
		}
		if ok, err := doublestar.Match(pattern[i], p); err == nil && !ok {
			return false
		}
	}
	return true
}
