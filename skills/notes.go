package skills

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// notes are the annotations of a schema: a graph with a node a subschema, so
// that a schema which refers to itself has as many nodes as it has subschemas
// and marks are found however deep a value lies.
type notes struct {
	root   view
	marked bool // any mark anywhere
	secret bool // x-secret anywhere
}

// node is one subschema.
type node struct {
	marks    Annotation
	props    map[string]*node
	patterns []pattern
	prefix   []*node
	items    []*node // items, unevaluatedItems, contains
	rest     []*node // additionalProperties, unevaluatedProperties
	also     []*node // other subschemas of the same value: combinators, references
	open     bool    // it says that objects may hold more than it names
	closure  view    // the node and all that also leads to
}

type pattern struct {
	re *regexp.Regexp
	n  *node
}

// view is every subschema that says something of one value. The empty view is
// a value of which nothing is known.
type view []*node

// unionMarks are those of all of them: a mark in any branch counts, since operators
// write it in one branch of a nullable type.
func (v view) unionMarks() Annotation {
	var a Annotation
	for _, n := range v {
		a |= n.marks
	}
	return a
}

// stepTo goes to a property; declared says whether the schema names it.
func (v view) stepTo(name string) (to view, declared bool) {
	to, declared, _ = v.followName(name)
	return to, declared
}

// followName is stepTo that tells besides whether a pattern of the schema fits.
func (v view) followName(name string) (to view, declared, fits bool) {
	for _, n := range v {
		p, named := n.props[name]
		if named {
			to, declared = to.withNode(p), true
		}
		matched := named
		for _, pat := range n.patterns {
			if pat.re.MatchString(name) {
				to, matched, fits = to.withNode(pat.n), true, true
			}
		}
		if !matched {
			for _, r := range n.rest {
				to = to.withNode(r)
			}
		}
	}
	return to, declared, fits
}

// itemAt goes to an element of a list.
func (v view) itemAt(i int) view {
	var to view
	for _, n := range v {
		if i < len(n.prefix) {
			to = to.withNode(n.prefix[i])
			continue
		}
		for _, e := range n.items {
			to = to.withNode(e)
		}
	}
	return to
}

// isList reports whether the schema says anything of elements of a list.
func (v view) isList() bool {
	return slices.ContainsFunc(v, func(n *node) bool { return len(n.items) > 0 || len(n.prefix) > 0 })
}

func (v view) withNode(n *node) view {
	if v == nil {
		return n.closure
	}
	out := slices.Clip(v)
	for _, c := range n.closure {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// readNotes reads the marks out of a schema that lintSchema has passed. A reference
// that it can't follow is an error: the marks behind it would be lost.
func readNotes(root map[string]any) (*notes, error) {
	b := &annotator{root: root, nodes: map[string]*node{}}
	n := b.readNode(root, "")
	if b.err != nil {
		return nil, b.err
	}
	out := &notes{}
	for _, m := range b.nodes {
		m.closure = closureOf(m)
		out.marked = out.marked || m.marks&^Right != 0 // a right says nothing of who or what is meant
		out.secret = out.secret || m.marks.Has(Secret)
	}
	out.root = n.closure
	return out, nil
}

func closureOf(n *node) view {
	seen := view{n}
	for i := 0; i < len(seen); i++ {
		for _, m := range seen[i].also {
			if !slices.Contains(seen, m) {
				seen = append(seen, m)
			}
		}
	}
	return seen
}

// annotator makes one node for each place in the schema. The place, a JSON
// pointer, is what references are resolved by.
type annotator struct {
	root  map[string]any
	nodes map[string]*node
	err   error
}

func (b *annotator) readNode(s any, at string) *node {
	if n := b.nodes[at]; n != nil {
		return n
	}
	n := &node{}
	b.nodes[at] = n
	m, ok := s.(map[string]any)
	if !ok {
		return n
	}
	for k, bit := range annotationBits {
		if on, _ := m[k].(bool); on {
			n.marks |= bit
		}
	}
	b.readObject(n, m, at)
	b.readList(n, m, at)
	b.readCombinators(n, m, at)
	return n
}

func (b *annotator) readObject(n *node, m map[string]any, at string) {
	if props, ok := m["properties"].(map[string]any); ok {
		n.props = make(map[string]*node, len(props))
		for _, name := range slices.Sorted(maps.Keys(props)) {
			n.props[name] = b.readNode(props[name], at+"/properties/"+escapePointer(name))
		}
	}
	if pats, ok := m["patternProperties"].(map[string]any); ok {
		for _, p := range slices.Sorted(maps.Keys(pats)) {
			re, err := regexp.Compile(p)
			if err != nil {
				b.noteFailure(at+"/patternProperties", "has a pattern that is no RE2 expression")
				continue
			}
			n.patterns = append(n.patterns, pattern{re, b.readNode(pats[p], at+"/patternProperties/"+escapePointer(p))})
		}
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties"} {
		v, said := m[k]
		n.open = n.open || said && v != false
		if _, ok := v.(map[string]any); ok {
			n.rest = append(n.rest, b.readNode(m[k], at+"/"+k))
		}
	}
}

func (b *annotator) readList(n *node, m map[string]any, at string) {
	for _, k := range []string{"items", "unevaluatedItems", "contains"} {
		if _, ok := m[k]; ok {
			n.items = append(n.items, b.readNode(m[k], at+"/"+k))
		}
	}
	list, _ := m["prefixItems"].([]any)
	for i, e := range list {
		n.prefix = append(n.prefix, b.readNode(e, fmt.Sprintf("%s/prefixItems/%d", at, i)))
	}
}

func (b *annotator) readCombinators(n *node, m map[string]any, at string) {
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[k].([]any)
		for i, e := range list {
			n.also = append(n.also, b.readNode(e, fmt.Sprintf("%s/%s/%d", at, k, i)))
		}
	}
	for _, k := range []string{"if", "then", "else"} {
		if e, ok := m[k]; ok {
			n.also = append(n.also, b.readNode(e, at+"/"+k))
		}
	}
	if deps, ok := m["dependentSchemas"].(map[string]any); ok {
		for _, k := range slices.Sorted(maps.Keys(deps)) {
			n.also = append(n.also, b.readNode(deps[k], at+"/dependentSchemas/"+escapePointer(k)))
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		if target, place, ok := b.resolveReference(ref); ok {
			n.also = append(n.also, b.readNode(target, place))
		} else {
			b.noteFailure(at, "has a $ref that leads nowhere; say #/$defs/name")
		}
	}
}

func (b *annotator) noteFailure(at, msg string) {
	if b.err == nil {
		b.err = &PathError{"parameters" + strings.ReplaceAll(at, "/", "."), msg}
	}
}

// resolveReference follows "#" and "#/…" and returns what is there and its place. It goes
// through schemas alone: under an enum, a default or an x- key stands data, in which
// lintSchema and modernizeSchema look for no mistakes.
func (b *annotator) resolveReference(ref string) (any, string, bool) {
	frag, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, "", false
	}
	if frag, ok = unescapeFragment(frag); !ok {
		return nil, "", false
	}
	var at any = b.root
	place, holds := "", byte('s')
	for part := range strings.SplitSeq(strings.TrimPrefix(frag, "/"), "/") {
		if frag == "" {
			break
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[name]; !ok || holds == 'd' {
				return nil, "", false
			}
			if holds == 's' {
				holds = heldBy(name)
			} else {
				holds = 's'
			}
		case []any:
			i := slices.Index(listIndices(len(v)), name)
			if i < 0 {
				return nil, "", false
			}
			if at = v[i]; holds != 'l' {
				return nil, "", false
			}
			holds = 's'
		default:
			return nil, "", false
		}
		place += "/" + escapePointer(name)
	}
	_, isMap := at.(map[string]any)
	_, isBool := at.(bool)
	return at, place, holds == 's' && (isMap || isBool)
}

// heldBy is what stands under a key of a schema: data, where it is no keyword.
func heldBy(key string) byte {
	if holds, known := keywords[key]; known {
		return holds
	}
	return 'd'
}

func unescapeFragment(frag string) (string, bool) {
	if frag != "" && frag[0] != '/' {
		return "", false // an anchor
	}
	s, err := url.PathUnescape(frag)
	return s, err == nil
}

func listIndices(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

// subschemas are the subschemas of what may be in a value of n, and of n itself.
func (n *node) subschemas() []*node {
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

// isClosed reports whether objects may hold only what the schema names: it names
// some, or they are the arguments themselves, and says nowhere that more may come.
func (v view) isClosed(root bool) bool {
	named := root
	for _, n := range v {
		if n.open {
			return false
		}
		named = named || len(n.props) > 0 || len(n.patterns) > 0
	}
	return named
}
