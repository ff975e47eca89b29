package config

import (
	"errors"
	"strconv"
	"strings"
)

// index finds the place of a configuration path.
type index struct {
	file   string
	root   *node
	skills map[string]*node
	hidden scrubber
	source string // the text of file
}

// newIndex returns an empty index of a file.
func newIndex(file string) *index {
	return &index{file: file, root: &node{kind: mappingNode, pos: Position{File: file}}, skills: map[string]*node{}}
}

// findConfigPath returns the value at path and where it is written. Where the files
// don't hold it, n is nil and at is the place of what is nearest around it.
func (x *index) findConfigPath(path string) (n *node, at Position) {
	start, rest := x.root, path
	at = x.root.pos
	if name, sub, ok := cutSkillName(path); ok {
		if s := x.skills[name]; s != nil {
			start, rest, at = s, sub, s.pos
		}
	}
	return walkPath(start, at, rest)
}

// cutSkillName splits a path that starts at a skill: skills[email.send].run.
func cutSkillName(path string) (name, rest string, ok bool) {
	after, ok := strings.CutPrefix(path, "skills[")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(after, "]")
	return name, strings.TrimPrefix(rest, "."), ok
}

// walkPath follows path from n. Keys may have dots in them: the longest key that
// fits is taken.
func walkPath(n *node, at Position, path string) (*node, Position) {
	for path != "" {
		var next *node
		path = strings.TrimPrefix(path, ".")
		switch n.kind {
		case listNode:
			i, rest, ok := cutListIndex(path)
			if !ok || i >= len(n.items) {
				return nil, at
			}
			next, at, path = n.items[i], n.items[i].pos, rest
		case mappingNode:
			best := -1
			for i := range n.entries {
				if startsWithKey(path, n.entries[i].key) && (best < 0 || len(n.entries[i].key) > len(n.entries[best].key)) {
					best = i
				}
			}
			if best < 0 {
				return nil, at
			}
			e := &n.entries[best]
			next, at, path = e.val, e.pos, path[len(e.key):]
		default:
			return nil, at
		}
		n = next
	}
	return n, at
}

// startsWithKey reports whether path begins with the whole of key.
func startsWithKey(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && key != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// cutListIndex splits a path that begins with an index: [1].when.
func cutListIndex(path string) (i int, rest string, ok bool) {
	after, ok := strings.CutPrefix(path, "[")
	if !ok {
		return 0, "", false
	}
	num, rest, ok := strings.Cut(after, "]")
	i, err := strconv.Atoi(num)
	return i, rest, ok && err == nil && i >= 0
}

// locateMistake makes an Error of a mistake at a path relative to n, which stands
// at base. The place is the value's where there is one, else what is around it.
func (x *index) locateMistake(n *node, at Position, base string, p pathMistake) *Error {
	full := joinConfigPath(base, p.path)
	hit, at := walkPath(n, at, p.path)
	msg := p.msg
	if hit != nil {
		if hit.kind == scalarNode {
			at, msg = x.placeMistake(hit, hit.pos, p)
		}
		if hit.outside && hit.text != "" {
			msg = strings.ReplaceAll(msg, strconv.Quote(hit.text), redacted)
		}
	}
	if full != "" {
		msg = full + ": " + msg
	}
	return &Error{at.File, at.Line, at.Column, x.hidden.hideValues(msg)}
}

// joinConfigPath puts sub behind base, with a dot where one is needed.
func joinConfigPath(base, sub string) string {
	if base == "" || sub == "" || sub[0] == '[' {
		return base + sub
	}
	return base + "." + sub
}

// Pos returns where the value at a configuration path is written:
// "permissions[1].when", "models.fast.base_url", SkillPath("email.send", "run").
// For a value that isn't written, ok is false and the place is the nearest around.
// With no file at all, that is the zero Position.
func (c *Config) Pos(path string) (at Position, ok bool) {
	n, at := c.where.findConfigPath(path)
	if n != nil && n.kind == scalarNode {
		at = n.pos
	}
	return at, n != nil
}

// Locate turns errors with a configuration path into errors with a place in a
// file. err may be a tree made by errors.Join or by wrapping. An error in it has a
// path if it has the methods ConfigPath() string and ConfigMessage() string. Those
// become Errors, sorted. Errors without a path follow as they are. Nil stays nil. An
// error that also has the method ConfigPlace() (line, column int), both from 1, is
// placed within its text.
func (c *Config) Locate(err error) error { return c.placeErrors("", err) }

// LocateSkill is Locate for errors whose paths start at the named skill:
// "run.http.url", "parameters.properties.to".
func (c *Config) LocateSkill(name string, err error) error {
	return c.placeErrors(SkillPath(name, ""), err)
}

// placeErrors is Locate for errors whose paths start at base.
func (c *Config) placeErrors(base string, err error) error {
	found, rest := splitErrors(err)
	var list Errors
	for _, p := range found {
		n, from := c.where.root, ""
		p.path = joinConfigPath(base, p.path)
		if name, sub, ok := cutSkillName(p.path); ok && c.where.skills[name] != nil {
			n, from, p.path = c.where.skills[name], SkillPath(name, ""), sub
		}
		list = append(list, c.where.locateMistake(n, n.pos, from, p))
	}
	switch {
	case len(list) == 0:
		return errors.Join(rest...)
	case len(rest) == 0:
		return sortErrors(list)
	}
	return errors.Join(append([]error{sortErrors(list)}, rest...)...)
}
