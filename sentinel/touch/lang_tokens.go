package touch

import (
	"strings"
	"unicode/utf8"
)

// dialect is what a tokenizer must know of a language. The zero value reads
// what most have in common.
type dialect struct {
	comment string // starts a comment that ends with its line
	block   bool   // has /* … */
	holes   string // what starts an expression inside a string: "$", "#", "{" behind f, "\\("
	dot     bool   // "." joins strings
	bare    bool   // calls need no brackets: puts "x"
	quotes  byte   // 'p' has q(), qw(), s///; 'r' has %q(), %w()
	decimal bool   // "\047" is a decimal number
	single  bool   // ' quotes no string: Lisp, Rust's lifetimes
	adjoin  bool   // words that stand side by side are joined: awk
	mirrors bool   // ` escapes: PowerShell
	beside  bool   // strings side by side are one
}

var dialects = map[string]dialect{
	"python": {comment: "#", holes: "f", beside: true},
	"js":     {comment: "//", block: true, holes: "`"},
	"perl":   {comment: "#", holes: "$", dot: true, bare: true, quotes: 'p'},
	"ruby":   {comment: "#", holes: "#", bare: true, quotes: 'r', beside: true},
	"php":    {comment: "//", block: true, holes: "$", dot: true, bare: true},
	"lua":    {comment: "--", bare: true, decimal: true},
	"awk":    {comment: "#", adjoin: true, bare: true, beside: true},
	"r":      {comment: "#"},
	"julia":  {comment: "#", holes: "$"},
	"elixir": {comment: "#", holes: "#", bare: true},
	"jvm":    {comment: "//", block: true, holes: "$", bare: true},
	"swift":  {comment: "//", block: true, holes: `\(`},
	"lisp":   {comment: ";", single: true},
	"ml":     {bare: true, single: true},
	"erlang": {comment: "%"},
	"vim":    {bare: true, dot: true},
	"power":  {comment: "#", holes: "$", bare: true, mirrors: true},
}

type tokenKind uint8

const (
	markToken tokenKind = iota // an operator or a bracket
	wordToken
	numberToken
	textToken
	lineToken // the end of a line outside of brackets
)

// token is a piece of a program in any language. Text tokens keep where their
// body is: it is decoded when somebody asks.
type token struct {
	kind     tokenKind
	at, end  int
	body     int // text: the body is src[body:stop]
	stop     int
	raw      bool // text: backslashes stay
	holes    bool // text: may hold expressions
	runs     bool // text: is a command
	list     bool // text: is a list of words
	triple   bool
	brackets int // depth
}

const maxTokens = 16 << 10

// tokens splits src. It never fails: what fits nowhere is a mark.
func tokens(src string, d dialect) []token {
	t := tokenizer{src: src, d: d, out: make([]token, 0, min(len(src)/3+4, maxTokens))}
	for t.at < len(src) && len(t.out) < maxTokens {
		t.next()
	}
	return t.out
}

type tokenizer struct {
	src   string
	d     dialect
	at    int
	depth int
	out   []token
	gone  [128]bool // quotes of which no closing one follows
}

func (t *tokenizer) add(k tokenKind, end int) {
	t.out = append(t.out, token{kind: k, at: t.at, end: end, brackets: t.depth})
	t.at = end
}

func (t *tokenizer) next() {
	src, c := t.src, t.src[t.at]
	switch {
	case c == '\n':
		if t.depth > 0 {
			t.at++
			return
		}
		t.add(lineToken, t.at+1)
	case c <= ' ':
		t.at++
	case t.comment():
	case c == '"', c == '\'' && !t.d.single, c == '`' && !t.d.mirrors:
		t.quoted(t.at)
	case digit(c):
		t.number()
	case nameByte(c) || (c == '$' || c == '@') && t.at+1 < len(src) && nameByte(src[t.at+1]) || c == '$' && t.at+1 < len(src) && src[t.at+1] == '_':
		t.word()
	case c == '%' && t.d.quotes == 'r' && t.percent():
	case c == '?' && t.d.quotes == 'r' && t.at+1 < len(src) && src[t.at+1] > ' ' && (!t.operand() || src[t.at-1] == ' ') && (t.at+2 == len(src) || !nameByte(src[t.at+2])):
		t.out = append(t.out, token{kind: textToken, at: t.at, end: t.at + 2, body: t.at + 1, stop: t.at + 2, raw: true, brackets: t.depth})
		t.at += 2
	case c == '/' && !t.operand() && t.pattern():
	default:
		t.mark()
	}
}

func nameByte(c byte) bool { return letter(c) || digit(c) || c == '_' || c >= 0x80 }

var beforePattern = set("return and or not if unless split match when puts print say grep")

// operand reports whether the last token may be the left side of a division.
func (t *tokenizer) operand() bool {
	if len(t.out) == 0 {
		return false
	}
	switch l := t.out[len(t.out)-1]; l.kind {
	case wordToken:
		return !beforePattern[t.src[l.at:l.end]]
	case numberToken, textToken:
		return true
	case markToken:
		return strings.IndexByte(")]}", t.src[l.at]) >= 0
	}
	return false
}

// pattern skips a regular expression.
func (t *tokenizer) pattern() bool {
	if t.d.comment == ";" || t.d.single {
		return false
	}
	for i := t.at + 1; i < len(t.src) && i < t.at+512 && t.src[i] != '\n'; i++ {
		switch t.src[i] {
		case '\\':
			i++
		case '/':
			t.add(numberToken, i+1)
			return true
		}
	}
	return false
}

func (t *tokenizer) comment() bool {
	rest := t.src[t.at:]
	switch {
	case t.d.block && strings.HasPrefix(rest, "/*"):
		if i := strings.Index(rest, "*/"); i > 0 {
			t.at += i + 2
		} else {
			t.at = len(t.src)
		}
		return true
	case t.d.comment == "" || !strings.HasPrefix(rest, t.d.comment):
		return false
	case t.d.comment == "#" && t.at > 0 && t.src[t.at-1] == '$': // $#array
		return false
	}
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		t.at += i
	} else {
		t.at = len(t.src)
	}
	return true
}

func (t *tokenizer) number() {
	end := t.at
	for end < len(t.src) && (nameByte(t.src[end]) || t.src[end] == '.' && end+1 < len(t.src) && digit(t.src[end+1])) {
		end++
	}
	t.add(numberToken, end)
}

func (t *tokenizer) word() {
	end := t.at + 1
	for end < len(t.src) && (nameByte(t.src[end]) || t.d.comment == ";" && strings.IndexByte("-/*!?<>=+:", t.src[end]) >= 0 ||
		t.d.mirrors && t.src[end] == '-' && end+1 < len(t.src) && letter(t.src[end+1])) {
		end++
	}
	w := t.src[t.at:end]
	if end < len(t.src) {
		switch c := t.src[end]; {
		case (c == '"' || c == '\'') && len(w) <= 2 && strings.Trim(w, "rbfusRBFU") == "" && !t.d.single:
			t.quoted(end)
			return
		case t.d.quotes == 'p' && t.quoteLike(w, end):
			return
		case (c == '!' || c == '?') && end+1 < len(t.src) && t.src[end+1] != '=' && t.d.holes == "#":
			end++
		}
	}
	t.add(wordToken, end)
}

var marks = []string{"...", "===", "!==", "||=", "->", "=>", "::", "..", "==", "!=", "<=", ">=", "+=", ".=", ":=", "<-", "&&", "||", "??", "?.", "&.", "++", "<>", "**", "<<", ">>"}

// longMarks are the operators of more than one character that rest may start
// with.
func longMarks(rest string) []string {
	if len(rest) < 2 || strings.IndexByte("=.|>:<&?*+-", rest[1]) < 0 {
		return nil
	}
	return marks
}

func (t *tokenizer) mark() {
	rest := t.src[t.at:]
	for _, m := range longMarks(rest) {
		if strings.HasPrefix(rest, m) {
			t.add(markToken, t.at+len(m))
			return
		}
	}
	switch rest[0] {
	case '(', '[':
		t.depth++
	case ')', ']':
		t.depth = max(t.depth-1, 0)
	case '{', '}':
		t.depth = 0 // statements follow
	}
	_, n := utf8.DecodeRuneInString(rest)
	t.add(markToken, t.at+max(n, 1))
}
