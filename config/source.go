package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a document's form. The parser is recursive, and quadratic in the
// number of keys of one mapping. So the bounds are held on the tokens before it
// runs.
const (
	maxDepth   = 64
	maxEntries = 2000
	maxAnchors = 100
)

// Whether ${NAME} is replaced in a file.
const (
	withEnv    = true
	withoutEnv = false
)

// parseYAML returns the document in src, or nil after reporting why not.
func parseYAML(file string, src []byte, out *problems, env bool) *node {
	start := Position{file, 1, 1}
	if len(src) > MaxFile {
		out.add(start, "the file has more than %d bytes", MaxFile)
		return nil
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if at, bad := findBadByte(src); bad {
		at.File = file
		out.add(at, "the file must be UTF-8 text without control characters")
		return nil
	}
	// The lexer counts a line twice that ends in CR LF.
	f, err := parseTokens(strings.ReplaceAll(string(src), "\r\n", "\n"))
	if err != nil {
		at, msg := syntaxError(file, err)
		at, msg = nameIndentTab(src, at, msg)
		out.add(at, "%s", msg)
		return nil
	}
	c := &converter{file: file, out: out, env: env, anchors: map[string]*node{}}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil || d.Body.Type() == ast.CommentType {
			continue
		}
		if body != nil {
			out.add(c.startOf(d.Body), "a second document starts here; a file holds one")
			return nil
		}
		body = d.Body
	}
	return c.convert(body)
}

// nameIndentTab names the tab that indents a document which can't be read. A tab in
// another line than the mistake may be innocent, so the message names both.
func nameIndentTab(src []byte, at Position, msg string) (Position, string) {
	for i, line := range strings.Split(string(src), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		tab := strings.IndexByte(indent, '\t')
		told := fmt.Sprintf("line %d uses a tab for indentation; use spaces", i+1)
		switch {
		case tab < 0 || strings.TrimSpace(line) == "":
		case at.Line == i+1:
			return Position{at.File, i + 1, tab + 1}, told
		case tab == 0: // a text over several lines may have one after spaces
			return at, msg + "; " + told
		}
	}
	return at, msg
}

// findBadByte finds the first byte that text may not hold.
func findBadByte(src []byte) (Position, bool) {
	line, column := 1, 1
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		crlf := r == '\r' && i+1 < len(src) && src[i+1] == '\n'
		if r == utf8.RuneError && size == 1 || r < ' ' && r != '\n' && r != '\t' && !crlf || r == 0x7f {
			return Position{Line: line, Column: column}, true
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		i += size
	}
	return Position{}, false
}

// formError is a document that is refused for its form before it is parsed.
type formError struct {
	at  *token.Position
	msg string
}

// Error returns what is wrong with the form.
func (e *formError) Error() string { return e.msg }

// parseTokens parses, and turns a panic of the parser into an error.
func parseTokens(src string) (f *ast.File, err error) {
	defer func() {
		if recover() != nil {
			f, err = nil, &formError{nil, "the file can't be read as YAML"}
		}
	}()
	tokens := lexer.Tokenize(src)
	if err := checkForm(tokens); err != nil {
		return nil, err
	}
	// Duplicate keys are found later: all of them, with both places.
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// syntaxError returns the place and the words of a parser's error.
func syntaxError(file string, err error) (Position, string) {
	at := Position{file, 1, 1}
	var form *formError
	if errors.As(err, &form) {
		if form.at != nil {
			at.Line, at.Column = max(1, form.at.Line), max(1, form.at.Column)
		}
		return at, form.msg
	}
	msg := "the file can't be read as YAML"
	var ye yaml.Error
	if errors.As(err, &ye) {
		msg = tellRemedy("YAML: " + strings.TrimSpace(ye.GetMessage()))
		if t := ye.GetToken(); t != nil && t.Position != nil {
			at.Line, at.Column = max(1, t.Position.Line), max(1, t.Position.Column)
		}
	}
	return at, msg
}

// remedies are what to do about messages of the parser, by a part of them.
var remedies = []struct{ part, remedy string }{
	{"is not allowed in this context", "check the indentation of this line and of those before it"},
	{"invalid tag character", "put a text that begins with ! in quotes"},
	{"could not find end character", "close the quote"},
	{"must be specified", "look at the quotes: within single quotes a ' is written ''"},
}

// tellRemedy says what to do about a message of the parser.
func tellRemedy(msg string) string {
	for _, r := range remedies {
		if strings.Contains(msg, r.part) {
			return msg + "; " + r.remedy
		}
	}
	return msg
}

// form walks the tokens and keeps what nests in what.
type form struct {
	flow    int   // open brackets and braces
	columns []int // of the block lists and mappings around
	counts  []int // keys in each of them
	anchors int
}

// checkForm refuses documents that nest or grow beyond what a configuration needs.
// It refuses the parts of YAML that are not supported.
func checkForm(tokens token.Tokens) error {
	var f form
	for _, t := range tokens {
		if msg := f.checkToken(t); msg != "" {
			return &formError{t.Position, msg}
		}
	}
	return nil
}

// checkToken takes one token in, and says what is wrong with it; empty for
// nothing.
func (f *form) checkToken(t *token.Token) string {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		f.flow++
	case token.MappingEndType, token.SequenceEndType:
		f.flow = max(0, f.flow-1)
	case token.SequenceEntryType:
		f.noteBlock(t.Position.Column, 0)
	case token.MappingValueType:
		if f.flow == 0 && t.Prev != nil && f.noteBlock(t.Prev.Position.Column, 1) > maxEntries {
			return fmt.Sprintf("more than %d keys in one mapping", maxEntries)
		}
	case token.DocumentHeaderType, token.DocumentEndType:
		f.columns, f.counts = f.columns[:0], f.counts[:0]
	case token.MappingKeyType:
		return "explicit keys (?) are not supported; write key: value"
	case token.TagType:
		return "tags are not supported; quote the value if it must be text"
	case token.DirectiveType:
		return "directives are not supported; remove the line"
	case token.AnchorType:
		if f.anchors++; f.anchors > maxAnchors {
			return fmt.Sprintf("more than %d anchors", maxAnchors)
		}
	}
	return f.checkDepth()
}

// noteBlock notes a dash or a key at that column. It returns how many keys there
// were since the block around them began.
func (f *form) noteBlock(column, keys int) int {
	if f.flow > 0 {
		return 0
	}
	i := len(f.columns)
	for i > 0 && f.columns[i-1] > column {
		i--
	}
	f.columns, f.counts = f.columns[:i], f.counts[:i]
	if i == 0 || f.columns[i-1] != column {
		f.columns, f.counts = append(f.columns, column), append(f.counts, 0)
		i++
	}
	f.counts[i-1] += keys
	return f.counts[i-1]
}

// checkDepth says that the document nests too deep; empty where it doesn't.
func (f *form) checkDepth() string {
	if f.flow+len(f.columns) > maxDepth {
		return fmt.Sprintf("more than %d levels of nesting", maxDepth)
	}
	return ""
}
