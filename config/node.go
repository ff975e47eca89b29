package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// nodeKind is what a node is.
type nodeKind uint8

const (
	scalarNode nodeKind = iota
	mappingNode
	listNode
)

// node is a YAML value as the decoder sees it: without anchors, comments and
// other matters of style. Nodes may be shared where the text had aliases.
type node struct {
	kind    nodeKind
	pos     Position
	text    string // of a scalar, references replaced
	raw     string // what was written where references were replaced
	quoted  bool   // the scalar is a text whatever it looks like
	outside bool   // text came from the environment, in part or whole: don't show it
	bad     bool   // a mistake was reported for the scalar already
	entries []entry
	items   []*node
	size    int // nodes in it when written out
}

// entry is one key of a mapping, in the order written.
type entry struct {
	key string
	pos Position
	val *node
}

// get returns the value at key, nil if there is none.
func (n *node) get(key string) *node {
	for i := range n.entries {
		if n.entries[i].key == key {
			return n.entries[i].val
		}
	}
	return nil
}

// nodeBelow returns the value below keys in mappings of n, nil if there is none.
func nodeBelow(n *node, keys ...string) *node {
	for _, k := range keys {
		if n == nil || n.kind != mappingNode {
			return nil
		}
		n = n.get(k)
	}
	return n
}

// isNull reports whether the value was left out or written as null.
func (n *node) isNull() bool {
	if n.kind != scalarNode || n.quoted {
		return false
	}
	switch n.text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// maxNodes bounds a document with its aliases written out.
const maxNodes = 200_000

// converter turns one file's syntax tree into nodes.
type converter struct {
	file    string
	out     *problems
	env     bool // replace ${NAME}
	anchors map[string]*node
	full    bool // maxNodes was reported
}

// positionOf returns where a token stands.
func (c *converter) positionOf(t *token.Token) Position {
	if t == nil || t.Position == nil {
		return Position{c.file, 1, 1}
	}
	return Position{c.file, max(1, t.Position.Line), max(1, t.Position.Column)}
}

// convert returns the node for n; it never returns nil.
func (c *converter) convert(n ast.Node) *node {
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.convertMapping(c.startOf(n), n.Values)
	case *ast.MappingValueNode:
		return c.convertMapping(c.startOf(n), []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		return c.convertList(n)
	case *ast.AnchorNode:
		v := c.convert(n.Value)
		c.anchors[tokenText(n.Name)] = v
		return v
	case *ast.AliasNode:
		return c.resolveAlias(n)
	case ast.ScalarNode:
		return c.convertScalar(n)
	case nil:
		return &node{pos: Position{c.file, 1, 1}, size: 1}
	}
	at := c.positionOf(n.GetToken())
	c.out.add(at, "this kind of YAML is not supported here; write a plain value, a list or a mapping")
	return &node{pos: at, size: 1, bad: true}
}

// convertMapping returns the node of a mapping, and reports keys that stand twice.
func (c *converter) convertMapping(at Position, values []*ast.MappingValueNode) *node {
	out := &node{kind: mappingNode, pos: at, size: 1, entries: make([]entry, 0, len(values))}
	seen := make(map[string]Position, len(values))
	for _, v := range values {
		key, ok := c.convertKey(v)
		if !ok {
			continue
		}
		at := c.positionOf(v.Key.GetToken())
		if first, dup := seen[key]; dup {
			c.out.add(at, "key %q stands here a second time; the first is on line %d", key, first.Line)
			continue
		}
		seen[key] = at
		val := c.convert(v.Value)
		if val.kind == scalarNode && val.isNull() && v.Value != nil && v.Value.Type() == ast.NullType {
			val.pos = at // a value that isn't there is best shown at its key
		}
		out.size += val.size
		out.entries = append(out.entries, entry{key, at, val})
	}
	return c.boundSize(out)
}

// startOf returns where a value begins. The token of a block mapping is its first
// colon, so there it is the first key.
func (c *converter) startOf(n ast.Node) Position {
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return c.startOf(n.Values[0])
		}
	case *ast.MappingValueNode:
		if n.Key != nil {
			return c.positionOf(n.Key.GetToken())
		}
	}
	return c.positionOf(n.GetToken())
}

// convertKey returns a key's text, and reports keys that aren't plain text.
func (c *converter) convertKey(v *ast.MappingValueNode) (string, bool) {
	at := c.positionOf(v.GetToken())
	if v.Key == nil {
		c.out.add(at, "a key is missing before the colon")
		return "", false
	}
	at = c.positionOf(v.Key.GetToken())
	switch k := v.Key.(type) {
	case *ast.MergeKeyNode:
		c.out.add(at, "merge keys (<<) are not supported; write the keys out")
		return "", false
	case *ast.StringNode:
		return k.Value, true
	case ast.ScalarNode:
		return k.GetToken().Value, true
	}
	c.out.add(at, "keys must be plain text")
	return "", false
}

// convertList returns the node of a list.
func (c *converter) convertList(n *ast.SequenceNode) *node {
	out := &node{kind: listNode, pos: c.positionOf(n.GetToken()), size: 1, items: make([]*node, 0, len(n.Values))}
	for _, v := range n.Values {
		item := c.convert(v)
		out.size += item.size
		out.items = append(out.items, item)
	}
	return c.boundSize(out)
}

// boundSize refuses what grows past maxNodes: aliases of aliases double.
func (c *converter) boundSize(n *node) *node {
	if n.size <= maxNodes {
		return n
	}
	if !c.full {
		c.full = true
		c.out.add(n.pos, "the document has more than %d values with its aliases written out", maxNodes)
	}
	return &node{pos: n.pos, size: 1, bad: true}
}

// resolveAlias returns the node that the alias stands for.
func (c *converter) resolveAlias(n *ast.AliasNode) *node {
	at := c.positionOf(n.GetToken())
	name := tokenText(n.Value)
	v, ok := c.anchors[name]
	if !ok {
		c.out.add(at, "alias %q has no anchor before it", name)
		return &node{pos: at, size: 1, bad: true}
	}
	return v
}

// tokenText returns the text of a node's token.
func tokenText(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

// convertScalar returns the node of a scalar, with its references replaced.
func (c *converter) convertScalar(n ast.ScalarNode) *node {
	t := n.GetToken()
	out := &node{pos: c.positionOf(t), size: 1}
	switch n := n.(type) {
	case *ast.StringNode:
		out.text = n.Value
		out.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		out.quoted = true
		if n.Value != nil {
			out.text = n.Value.Value
		}
		out.pos = c.positionOf(n.Start)
	case *ast.NullNode:
		return out // also where the token is the colon or the end
	default:
		out.text = t.Value
	}
	if c.env && strings.Contains(out.text, "${") {
		c.expandNode(out)
	}
	return out
}

// expandNode replaces the references in a scalar, and reports those without a
// value.
func (c *converter) expandNode(n *node) {
	x := expandReferences(n.text, c.out.hidden.lookupEnv)
	n.raw = n.text
	if x.bad != "" {
		c.out.add(n.pos, "%s", x.bad)
	}
	for _, name := range x.missing {
		c.out.add(n.pos, "environment variable %s is not set; set it, or give a default: ${%s:-…}", name, name)
	}
	n.bad = x.bad != "" || len(x.missing) > 0
	n.text, n.outside = x.text, x.outside
	if n.text == "" {
		n.quoted = true // an empty value was given: it is not a missing one
	}
}
