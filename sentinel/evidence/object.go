package evidence

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/internal/textcut"
)

// node is an object or a list of a JSON result with what stands in it directly.
type node struct {
	field  string
	name   string // under which it stands in an object
	object bool
	// cells are its scalars in order, children the objects and lists in it.
	cells    []cell
	children []*node
}

// cell is a scalar with its name.
type cell struct {
	name, text string
	kind       jsontext.Kind
}

const maxDepth = 64

// writeJSON writes a JSON result, an object a line, and reports whether it is one: one value or
// several, and not too many scalars.
func (w *lineWriter) writeJSON(result string) bool {
	root, rest, ok := readNodes(result)
	if !ok {
		return false
	}
	w.writeNode(root, false)
	if rest != "" { // words behind the JSON
		w.addText(rest, "", len(w.strangers) > 0)
	}
	return true
}

// readNodes reads a JSON result into a node that holds its values. rest is what stands behind them.
func readNodes(result string) (root *node, rest string, ok bool) {
	s := strings.TrimLeft(result, " \t\r\n")
	if s == "" || s[0] != '{' && s[0] != '[' && s[0] != '"' {
		return nil, "", false
	}
	p := &nodeReader{d: jsontext.NewDecoder(strings.NewReader(s), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
	root = &node{}
	for p.readValue(root, "", "", 0) {
	}
	rest = strings.TrimSpace(s[p.d.InputOffset():])
	if p.count > maxNodes || p.tooDeep || p.d.StackDepth() > 0 || len(root.cells)+len(root.children) == 0 {
		return nil, "", false
	}
	return root, rest, true
}

// nodeReader reads tokens into nodes.
type nodeReader struct {
	d       *jsontext.Decoder
	count   int
	tooDeep bool
}

// readValue reads one value into its parent and reports whether there was one.
func (p *nodeReader) readValue(parent *node, name, field string, deep int) bool {
	tok, err := p.d.ReadToken()
	if err != nil {
		return false
	}
	p.count++
	p.tooDeep = p.tooDeep || deep > maxDepth
	if p.count > maxNodes || p.tooDeep {
		return false
	}
	switch tok.Kind() {
	case '{', '[':
		child := &node{field: field, name: name, object: tok.Kind() == '{'}
		parent.children = append(parent.children, child)
		return p.readMembers(child, deep+1)
	case '}', ']':
		return false
	}
	parent.cells = append(parent.cells, cell{name, tok.String(), tok.Kind()})
	return true
}

func (p *nodeReader) readMembers(at *node, deep int) bool {
	for i := 0; ; i++ {
		if k := p.d.PeekKind(); k == '}' || k == ']' {
			_, err := p.d.ReadToken()
			return err == nil
		}
		name := ""
		field := at.field + "/" + strconv.Itoa(i)
		if at.object {
			tok, err := p.d.ReadToken()
			if err != nil {
				return false
			}
			name = tok.String()
			field = at.field + "/" + textcut.Head(name, maxField)
		}
		if !p.readValue(at, name, field, deep) {
			return false
		}
	}
}

// writeNode writes what stands in a node as one line, and then what is below it. A list of
// single words in an object belongs to the object's line; other lists are a line an item. strange
// says that it stands in a field that its subject writes.
func (w *lineWriter) writeNode(n *node, strange bool) {
	own, others := &strings.Builder{}, &strings.Builder{}
	var long []cell
	guest := false
	for _, c := range n.cellsOfLine() {
		guest = guest || n.object && (c.marksOutsider() || c.isGuest())
		if c.kind == '"' && (len(c.text) > maxLong || strings.Contains(c.text, "\n")) {
			long = append(long, c)
			continue
		}
		into := own
		if strange || w.isStrange(c.name) {
			into = others
		}
		writeCell(into, c)
		if !n.object { // an item of a list is a text
			w.addText(into.String(), n.field, into == others)
			into.Reset()
		}
	}
	w.writeWhole(own.String(), line{field: n.field, whole: true, guest: guest})
	w.writeWhole(others.String(), line{field: n.field, whole: true, strange: true})
	for _, c := range long {
		w.addText(c.text, strings.TrimSuffix(n.field+"/"+c.name, "/"), strange || w.isStrange(c.name))
	}
	for _, c := range n.children {
		if !c.isWordList() {
			w.writeNode(c, strange || n.object && w.isStrange(lastField(c.field)))
		}
	}
}

// cellsOfLine are the scalars of a node and those of the lists in it that belong to its line.
func (n *node) cellsOfLine() []cell {
	out := n.cells
	for _, c := range n.children {
		if c.isWordList() {
			for _, e := range c.cells {
				e.name = lastField(c.field)
				out = append(out[:len(out):len(out)], e)
			}
		}
	}
	if slices.ContainsFunc(out, cell.marksOutsider) { // so that no long name pushes it out of a quote
		out = slices.Clone(out)
		slices.SortStableFunc(out, func(a, b cell) int { return boolOf(b.marksOutsider()) - boolOf(a.marksOutsider()) })
	}
	return out
}

var (
	outsiders = wordSet("guest guests external extern externe externo gast invite bot")
	// confirming are words of fields whose "false" matters.
	confirming = wordSet("verified confirmed internal active valid")
)

// marksOutsider reports whether a field says that its subject comes from outside.
func (c cell) marksOutsider() bool {
	switch c.kind {
	case 't':
		return hasAny(splitName(c.name), outsiders)
	case '"':
		words := splitName(c.name)
		return hasAny(words, kindFields) && hasAny(wordsOf(foldText(c.text)), outsiders)
	}
	return false
}

// kindFields are fields that say what an entry is.
var kindFields = wordSet("type kind status membership role class category")

// isWordList reports whether a node is a list of single words in an object.
func (n *node) isWordList() bool {
	if n.object || n.field == "" || len(n.children) > 0 || len(n.cells) == 0 {
		return false
	}
	for _, c := range n.cells {
		if strings.ContainsAny(c.text, " \n") || len(c.text) > maxLong {
			return false
		}
	}
	return true
}

// writeWhole writes an object's line; one that is too long is a text.
func (w *lineWriter) writeWhole(s string, l line) {
	if len(s) > maxLine {
		w.addText(s, l.field, l.strange)
		return
	}
	if s != "" {
		w.addLine(s, l)
		w.endLine()
	}
}

func (w *lineWriter) isStrange(name string) bool {
	for _, s := range w.strangers {
		if strings.EqualFold(s, name) && name != "" {
			return true
		}
	}
	return false
}

func lastField(field string) string { return field[strings.LastIndexByte(field, '/')+1:] }

// writeCell writes a scalar: a text as it is, a number behind its name, of true the name. Names
// that could be values are written too.
func writeCell(b *strings.Builder, c cell) {
	if hidesSecret(c.name, c.text) || c.kind == 'n' || c.kind == 'f' && !hasAny(splitName(c.name), confirming) {
		return
	}
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	named := strings.ContainsAny(c.name, "@.:/ -0123456789")
	switch c.kind {
	case 't':
		b.WriteString(c.name)
	case 'f':
		b.WriteString("not " + c.name)
	case '"':
		if named {
			b.WriteString(c.name + " ")
		}
		b.WriteString(c.text)
	default:
		if c.name != "" {
			b.WriteString(c.name + " ")
		}
		b.WriteString(c.text)
	}
}
