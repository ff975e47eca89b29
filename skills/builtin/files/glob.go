package files

import (
	"context"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// The bounds of one glob. Alternatives multiply: twenty groups of two are a
// million patterns.
const (
	maxGlob         = 256
	maxStars        = 12
	maxAlternatives = 64
)

// glob is a pattern of names with its alternatives written out. An empty one
// takes every name.
type glob struct {
	patterns []string
	whole    bool // compared with the whole name, not with its last part
}

// parseGlob checks a pattern and writes its alternatives out, before any name is
// compared with it.
func parseGlob(pattern string) (glob, error) {
	switch {
	case pattern == "":
		return glob{}, nil
	case len(pattern) > maxGlob || !doublestar.ValidatePattern(pattern) || strings.Count(pattern, "*") > maxStars:
		return glob{}, decode.Refuse("the glob is malformed, has more than %d bytes, or has more than %d stars", maxGlob, maxStars)
	}
	todo, done := []string{pattern}, []string{}
	for len(todo) > 0 {
		if len(todo)+len(done) > maxAlternatives {
			return glob{}, decode.Refuse("the glob has more than %d alternatives", maxAlternatives)
		}
		next := writeOut(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if len(next) == 1 {
			done = append(done, next[0])
			continue
		}
		todo = append(todo, next...)
	}
	return glob{done, strings.Contains(pattern, "/")}, nil
}

// writeOut returns a pattern with each alternative of its first group, or the
// pattern itself where it has no group.
func writeOut(pattern string) []string {
	open := indexGroup(pattern)
	if open < 0 {
		return []string{pattern}
	}
	var out []string
	depth, from := 0, open+1
	for i := open; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				out, from = append(out, pattern[from:i]), i+1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			out = append(out, pattern[from:i])
			for k := range out {
				out[k] = pattern[:open] + out[k] + pattern[i+1:]
			}
			if len(out) == 1 { // a group of one is no choice, and may hold others
				return writeOut(out[0])
			}
			return out
		}
	}
	return []string{pattern} // no partner: it matches nothing
}

// indexGroup returns where the first group of alternatives opens, or -1.
func indexGroup(pattern string) int {
	class := false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
			if i+1 < len(pattern) && (pattern[i+1] == '!' || pattern[i+1] == '^') {
				i++
			}
		case c == '{':
			return i
		}
	}
	return -1
}

// match compares a name with every alternative. One without a slash is compared
// with the last part of the name alone.
func (g glob) match(ctx context.Context, name string) (bool, error) {
	if len(g.patterns) == 0 {
		return true, nil
	}
	if !g.whole {
		name = path.Base(name)
	}
	for _, p := range g.patterns {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if ok, err := doublestar.Match(p, name); err == nil && ok {
			return true, nil
		}
	}
	return false, nil
}
