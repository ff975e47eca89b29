package skills

import (
	"encoding/json"
	"slices"
)

// ArgMarks returns the annotations of a top-level argument, those of what may
// be in it included; declared is false where the schema doesn't name it. In a
// skill without annotations that is none at all: see Annotated.
func (s *Skill) ArgMarks(name string) (marks Annotation, declared bool) {
	at, declared := s.notes.root.step(name)
	if !declared {
		return 0, false
	}
	seen := map[*node]bool{}
	marks = s.notes.root.marks()
	for list := []*node(at); len(list) > 0; {
		n := list[0]
		list = list[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		marks |= n.marks
		list = append(list, n.below()...)
	}
	return marks, true
}

// below are the subschemas of what may be in a value of n, and of n itself.
func (n *node) below() []*node {
	var out []*node
	for _, p := range n.props {
		out = append(out, p)
	}
	for _, p := range n.patterns {
		out = append(out, p.n)
	}
	for _, l := range [][]*node{n.prefix, n.items, n.rest, n.also} {
		out = append(out, l...)
	}
	return out
}

// RequiredUndeclared returns the top-level arguments that the schema requires
// and neither names nor lets through: every call lacks them. They are sorted.
func (s *Skill) RequiredUndeclared() []string {
	var root struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(s.spec.Parameters, &root) != nil || !s.notes.root.closed(true) {
		return nil
	}
	var out []string
	for _, name := range root.Required {
		if _, declared, fits := s.notes.root.follow(name); !declared && !fits {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
