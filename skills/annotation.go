package skills

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Annotation is a set of x- marks of an argument.
type Annotation uint8

// The annotations of DESIGN section 9.
const (
	Target  Annotation = 1 << iota // who or what is affected; grounding looks here
	Content                        // data; the path scan skips it
	Shell                          // a command line
	Path                           // a file path; bound by the guard's roots
	URL                            // a URL
	Secret                         // never shown or recorded
)

var annotationBits = map[string]Annotation{
	"x-target": Target, "x-content": Content, "x-shell": Shell, "x-path": Path, "x-url": URL, "x-secret": Secret,
}

// Has reports whether all of b are set in a.
func (a Annotation) Has(b Annotation) bool { return a&b == b }

// Arg is one scalar value in a call's arguments.
type Arg struct {
	// Pointer is the JSON pointer of the value.
	Pointer string
	// Name is the name of the property it belongs to; items of a list have
	// the list's name.
	Name string
	// Declared is false for a property that the schema doesn't name.
	Declared bool
	// Marks are the annotations that apply, those of enclosing lists and
	// objects included.
	Marks Annotation
	// Value is a string, json.Number, bool or nil.
	Value any
}

// Text returns the value where it is a string.
func (a Arg) Text() (string, bool) {
	s, ok := a.Value.(string)
	return s, ok
}

// node mirrors a schema: what is known about the value at one place.
type node struct {
	declared bool
	marks    Annotation
	props    map[string]*node
	items    *node
	rest     *node // additionalProperties, patternProperties
}

// step goes to a property or an item; nil where nothing is known of it.
func (n *node) step(part string) *node {
	if n == nil {
		return nil
	}
	if p := n.props[part]; p != nil {
		return p
	}
	if n.items != nil && isIndex(part) {
		return n.items
	}
	return n.rest
}

// Annotated reports whether the schema carries any of the marks. In skills
// without annotations every string may be a target.
func (s *Skill) Annotated() bool { return s.notes.any() != 0 }

func (n *node) any() Annotation {
	if n == nil {
		return 0
	}
	a := n.marks | n.items.any() | n.rest.any()
	for _, p := range n.props {
		a |= p.any()
	}
	return a
}

// DeclaredArgs returns the names of the top-level arguments that the schema
// declares, sorted.
func (s *Skill) DeclaredArgs() []string {
	return slices.Sorted(maps.Keys(s.notes.props))
}

// Declares reports whether the schema names the top-level argument.
func (s *Skill) Declares(name string) bool { return s.notes.props[name] != nil }

// Walk calls fn for every scalar in args, in a fixed order: keys sorted, lists
// in order. args is what json.Decoder with UseNumber makes of the arguments.
func (s *Skill) Walk(args map[string]any, fn func(Arg)) {
	unmarked := s.notes.any() == 0
	walk(s.notes, args, Arg{Declared: true}, unmarked, fn)
}

func walk(n *node, v any, at Arg, unmarked bool, fn func(Arg)) {
	if n != nil {
		at.Marks |= n.marks
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			sub := n.step(k)
			walk(sub, v[k], Arg{
				Pointer: at.Pointer + "/" + escapePointer(k), Name: k,
				Declared: at.Declared && sub != nil && sub.declared,
				Marks:    at.Marks | guessMarks(k, unmarked),
			}, unmarked, fn)
		}
	case []any:
		for i, e := range v {
			item := strconv.Itoa(i)
			walk(n.step(item), e, Arg{Pointer: at.Pointer + "/" + item, Name: at.Name, Declared: at.Declared, Marks: at.Marks}, unmarked, fn)
		}
	default:
		at.Value = v
		fn(at)
	}
}

func escapePointer(k string) string {
	if !strings.ContainsAny(k, "~/") {
		return k
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
}

// guessMarks applies where a schema has no annotations at all: every string
// may be a target, and the usual names of command lines are shell.
func guessMarks(name string, unmarked bool) Annotation {
	if !unmarked {
		return 0
	}
	switch strings.ToLower(name) {
	case "command", "cmd", "script":
		return Target | Shell
	}
	return Target
}

// annotate reads the marks out of a schema, following local references and
// merging what its combinators say: a mark in any branch counts.
func annotate(root map[string]any) (*node, error) {
	b := &annotator{root: root, busy: map[string]bool{}}
	n := b.read(root)
	n.declared = true
	if b.seen > maxSchemaNodes {
		return nil, &PathError{"parameters", fmt.Sprintf("unfolds to more than %d subschemas; use fewer references", maxSchemaNodes)}
	}
	return n, nil
}

// maxSchemaNodes bounds what references to references can unfold to.
const maxSchemaNodes = 20_000

type annotator struct {
	root map[string]any
	busy map[string]bool // references being followed: a recursive schema ends there
	seen int
}

func (b *annotator) read(s any) *node {
	m, ok := s.(map[string]any)
	if b.seen++; !ok || b.seen > maxSchemaNodes {
		return &node{}
	}
	n := &node{}
	for k, bit := range annotationBits {
		if on, _ := m[k].(bool); on {
			n.marks |= bit
		}
	}
	if props, ok := m["properties"].(map[string]any); ok {
		n.props = make(map[string]*node, len(props))
		for name, p := range props {
			sub := b.read(p)
			sub.declared = true
			n.props[name] = sub
		}
	}
	if items, ok := m["items"]; ok {
		n.items = b.read(items)
	}
	if list, ok := m["prefixItems"].([]any); ok {
		for _, e := range list {
			n.items = merge(n.items, b.read(e))
		}
	}
	if rest, ok := m["additionalProperties"].(map[string]any); ok {
		n.rest = b.read(rest)
	}
	if pats, ok := m["patternProperties"].(map[string]any); ok {
		for _, p := range pats {
			n.rest = merge(n.rest, b.read(p))
		}
	}
	return b.combine(n, m)
}

func (b *annotator) combine(n *node, m map[string]any) *node {
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[k].([]any)
		for _, e := range list {
			n = merge(n, b.read(e))
		}
	}
	for _, k := range []string{"if", "then", "else"} {
		if e, ok := m[k]; ok {
			n = merge(n, b.read(e))
		}
	}
	if deps, ok := m["dependentSchemas"].(map[string]any); ok {
		for _, e := range deps {
			n = merge(n, b.read(e))
		}
	}
	if ref, ok := m["$ref"].(string); ok && !b.busy[ref] {
		b.busy[ref] = true
		n = merge(n, b.read(b.resolve(ref)))
		delete(b.busy, ref)
	}
	return n
}

func (b *annotator) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		if ref == "#" {
			return b.root
		}
		return nil
	}
	var at any = b.root
	for part := range strings.SplitSeq(path, "/") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// merge joins two views of one value. Content loosens (the path scan skips
// it), but operators write it in one branch of a nullable type, so a mark in
// any branch counts for the value.
func merge(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	a.declared = a.declared || b.declared
	a.marks |= b.marks
	a.items, a.rest = merge(a.items, b.items), merge(a.rest, b.rest)
	if a.props == nil {
		a.props = b.props
	} else {
		for k, p := range b.props {
			a.props[k] = merge(a.props[k], p)
		}
	}
	return a
}

// WithoutSecrets returns a copy of args in which every x-secret value is
// replaced by the text "[secret]".
func (s *Skill) WithoutSecrets(args map[string]any) map[string]any {
	out, _ := hide(s.notes, args).(map[string]any)
	return out
}

func hide(n *node, v any) any {
	if n != nil && n.marks.Has(Secret) {
		return "[secret]"
	}
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = hide(n.step(k), e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = hide(n.step(strconv.Itoa(i)), e)
		}
		return l
	}
	return v
}
