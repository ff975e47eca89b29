package code

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	wordTok kind = iota
	textTok      // a string
	numTok
	signTok
)

// token is a piece of code. Of a text, open means that code stands inside, made
// that it doesn't show what it is, joined that it was in pieces.
type token struct {
	text string
	kind kind
	layout
	open, made, joined bool
}

// layout is what stands before a token: first is set where a line begins with it,
// blank where there is a blank.
type layout struct{ first, blank bool }

// dialect says how the texts of a family of languages are written.
type dialect struct {
	comments, quotes string // what begins one; comments with blanks between
	holes            byte   // code inside texts: '$', '#' or '`' for its families, 0 for none
	concat           string // the sign that joins texts
	bare             bool   // calls need no brackets
}

func dialectOf(lang string) dialect {
	d := dialect{comments: "// /*", quotes: "\"'`", concat: "+", holes: map[string]byte{
		"js": '`', "perl": '$', "php": '$', "julia": '$', "kotlin": '$', "groovy": '$', "ruby": '#', "elixir": '#',
	}[lang]}
	d.bare = isAmong(" perl php ruby elixir lua haskell ocaml nim prolog ", lang)
	if !isAmong(" js go java scala c mongo ", lang) {
		d.quotes = `"'`
	}
	switch lang {
	case "python", "r", "ruby", "elixir":
		d.comments = "#"
	case "perl", "julia":
		d.comments, d.concat = "#", map[string]string{"perl": ".", "julia": "*"}[lang]
	case "php":
		d.comments, d.concat = "// # /*", "."
	case "lua", "haskell":
		d.comments, d.concat = "--", ".."
	case "erlang", "prolog":
		d.comments = "%"
	case "lisp":
		d.comments, d.quotes = ";", `"`
	}
	return d
}

const (
	maxHoles = 4   // code inside of texts inside of code
	maxRegex = 512 // bytes of a regular expression
)

type scanner struct {
	d         dialect
	lang, src string
	at, depth int
	out       []token
	layout    // of the next token
}

func scanTokens(lang, src string, depth int) []token {
	s := &scanner{d: dialectOf(lang), lang: lang, src: src, depth: depth, layout: layout{first: true}}
	for s.at < len(s.src) {
		s.scanNextToken(s.src[s.at], s.src[s.at:])
	}
	return s.out
}

// emitToken adds a token of n bytes.
func (s *scanner) emitToken(k kind, text string, n int) {
	s.out = append(s.out, token{text: text, kind: k, layout: s.layout})
	s.layout = layout{}
	s.at += n
}

func (s *scanner) scanNextToken(c byte, rest string) {
	switch {
	case c <= ' ':
		s.first, s.blank = s.first || c == '\n', true
		s.at++
	case s.skipComment(rest):
	case strings.IndexByte(s.d.quotes, c) >= 0:
		s.scanTextLiteral(rest, "")
	case c == '`':
		s.emitToken(wordTok, "`", 0) // a command
		s.scanTextLiteral(rest, "`")
	case isDigit(c):
		n := 1
		for n < len(rest) && (isWordByte(rest[n]) || rest[n] == '.' && n+1 < len(rest) && isDigit(rest[n+1])) {
			n++
		}
		s.emitToken(numTok, rest[:n], n)
	case isWordByte(c):
		s.scanWord(rest)
	case c == '/' && isAmong(" js perl ruby ", s.lang) && s.beginsValue():
		s.skipRegexLiteral(rest)
	case c == '%' && s.lang == "ruby" && len(rest) > 2 && s.beginsValue() && strings.IndexByte("({[", rest[1]) >= 0:
		s.scanQuotedText("Q", rest[1:], 1)
	case c == '%' && s.lang == "ruby" && len(rest) > 2 && s.beginsValue() && strings.IndexByte("wWqQxiI", rest[1]) >= 0:
		s.scanQuotedText(rest[1:2], rest[2:], 2)
	case c == '?' && s.lang == "ruby" && len(rest) > 1 && rest[1] > ' ' && s.beginsValue():
		s.emitToken(textTok, rest[1:2], 2)
	default:
		s.scanSign(rest)
	}
}

func (s *scanner) skipComment(rest string) bool {
	for c := range strings.FieldsSeq(s.d.comments) {
		if !strings.HasPrefix(rest, c) {
			continue
		}
		end := map[bool]string{true: "*/", false: "\n"}[c == "/*"]
		i := strings.Index(rest[len(c):], end)
		if s.at += len(c) + i + 2*(len(end)-1); i < 0 {
			s.at = len(s.src)
		}
		return true
	}
	return false
}

// scanWord reads a name, or what begins with one: a text with a prefix, Perl's
// quoting words.
func (s *scanner) scanWord(rest string) {
	n := 1
	for n < len(rest) && (isWordByte(rest[n]) || s.lang == "lisp" && strings.IndexByte("-:/.*+!?", rest[n]) >= 0) {
		n++
	}
	w := rest[:n]
	if n < len(rest) && n <= 2 && strings.IndexByte(`"'`, rest[n]) >= 0 && strings.Trim(strings.ToLower(w), "bfrus") == "" && !s.d.bare {
		s.at += n
		s.scanTextLiteral(rest[n:], strings.ToLower(w))
		return
	}
	if s.lang == "perl" && n < len(rest) && strings.IndexByte("/{([<!|#~%^'\"", rest[n]) >= 0 && s.scanQuotedText(w, rest[n:], n) {
		return
	}
	s.emitToken(wordTok, w, n)
	if s.d.holes == '#' && n+1 < len(rest) && rest[n] == '!' && rest[n+1] != '=' {
		s.at++ // a name's end
	}
}

// scanQuotedText reads what begins with a quoting word of Perl or Ruby and a
// delimiter: q(x), qq, qw, qx. It skips m, s, tr and y.
func (s *scanner) scanQuotedText(w, after string, before int) bool {
	if !isAmong(" q qq Q I qx x qw w W i m qr s tr y ", w) {
		return false
	}
	body, n := cutDelimited(after)
	switch n += before; w {
	case "q", "qq", "Q", "I":
		s.emitText(body, n, w != "q")
	case "qx", "x":
		s.emitToken(wordTok, "`", 0)
		s.emitText(body, n, true)
	case "qw", "w", "W", "i":
		s.emitToken(signTok, "[", n)
		for w := range strings.FieldsSeq(body) {
			s.emitToken(textTok, w, 0)
			s.emitToken(signTok, ",", 0)
		}
		s.emitToken(signTok, "]", 0)
	case "m", "qr":
		s.emitToken(numTok, "", n)
	case "s", "tr", "y":
		if n -= before; strings.IndexByte("{([<", after[0]) < 0 {
			n--
		}
		repl, m := cutDelimited(strings.TrimLeft(after[n:], " "))
		n = min(n+m, len(after))
		flags := after[n:][:len(after[n:])-len(strings.TrimLeft(after[n:], "gimsxeor"))]
		s.emitToken(numTok, "", before+n+len(flags))
		if strings.Contains(flags, "ee") && w == "s" {
			s.emitToken(wordTok, "eval", 0) // its value runs
			s.emitToken(wordTok, "$", 0)
		} else if strings.Contains(flags, "e") && w == "s" {
			s.emitHoleCode(repl)
		}
	}
	return true
}

// cutDelimited returns what stands between the delimiter that t begins with and
// its other end, and how long both are together.
func cutDelimited(t string) (string, int) {
	if t == "" {
		return "", 0
	}
	open, end, depth := t[0], t[0], 0
	if i := strings.IndexByte("{([<", open); i >= 0 {
		end = "})]>"[i]
	}
	for i := 1; i < len(t); i++ {
		switch {
		case t[i] == '\\':
			i++
		case t[i] == end && depth == 0:
			return t[1:i], i + 1
		case t[i] == end:
			depth--
		case t[i] == open:
			depth++
		}
	}
	return t[1:], len(t)
}

// beginsValue reports whether a value may begin here, not an operator.
func (s *scanner) beginsValue() bool {
	if len(s.out) == 0 || s.first {
		return true
	}
	switch last := s.out[len(s.out)-1]; last.kind {
	case signTok:
		return last.text != ")" && last.text != "]" && last.text != "}"
	case wordTok:
		blankAfter := s.at+1 < len(s.src) && s.src[s.at+1] != ' ' && s.src[s.at-1] == ' '
		return blankAfter && strings.IndexByte("$@", last.text[0]) < 0
	}
	return false
}

func (s *scanner) skipRegexLiteral(rest string) {
	line, _, _ := strings.Cut(rest[:min(len(rest), maxRegex)], "\n")
	body, n := cutDelimited(line)
	if n == len(line) && !strings.HasSuffix(line, "/") || body == "" {
		s.scanSign(rest)
		return
	}
	s.emitToken(numTok, "", n)
}

func (s *scanner) scanSign(rest string) {
	for _, t := range [...]string{"==", "=>", "->", "::", "?.", "!=", "+=", ".=", "..", "&&", "||", "|&", ">>", "<>", "=~", ":="} {
		if strings.HasPrefix(rest, t) {
			if t == "->" || t == "::" || t == "?." {
				t = "."
			} else if t == "=>" && s.lang == "perl" {
				t = ","
			}
			s.emitToken(signTok, t, 2)
			return
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	s.emitToken(signTok, rest[:n], n)
}

// scanTextLiteral reads a text that rest begins with, behind a prefix.
func (s *scanner) scanTextLiteral(rest, prefix string) {
	q := rest[:1]
	var body string
	var n int
	if t := strings.Repeat(q, 3); strings.HasPrefix(rest, t) && q != "`" {
		body, _, _ = strings.Cut(rest[3:], t)
		n = min(len(body)+6, len(rest))
	} else if prefix == "r" || q == "`" && s.lang == "go" {
		body, _, _ = strings.Cut(rest[1:], q)
		n = min(len(body)+2, len(rest))
	} else {
		body, n = cutDelimited(rest)
	}
	switch {
	case prefix == "r":
		s.emitToken(textTok, body, n)
	case strings.Contains(prefix, "f") || prefix == "s":
		s.emitTextPieces(body, n, 'f')
	default:
		s.emitText(body, n, q == "`" || q == `"` && s.d.holes != '`')
	}
}

func (s *scanner) emitText(body string, n int, holes bool) {
	if holes && s.d.holes != 0 {
		s.emitTextPieces(body, n, s.d.holes)
		return
	}
	text, made := unescapeText(body)
	s.emitToken(textTok, text, n)
	s.out[len(s.out)-1].made = made
}

// emitTextPieces emits a text, and behind it the code that stands inside.
func (s *scanner) emitTextPieces(body string, n int, how byte) {
	var b strings.Builder
	var inside []string
	from := 0
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' {
			i++
			continue
		}
		code, size := findTextHole(body[i:], how)
		if size == 0 {
			continue
		}
		b.WriteString(body[from:i])
		if b.Len() == 0 && isAmong(homes, code) {
			b.WriteByte('~')
		} else {
			b.WriteByte('$')
			inside = append(inside, code)
		}
		from = i + size
		i = from - 1
	}
	b.WriteString(body[min(from, len(body)):])
	text, made := unescapeText(b.String())
	s.emitToken(textTok, text, n)
	s.out[len(s.out)-1].made, s.out[len(s.out)-1].open = made, len(inside) > 0
	for _, c := range inside {
		s.emitHoleCode(c)
	}
}

// homes are the ways to ask for the home folder inside of a text.
const homes = ` process.env.HOME os.homedir() Dir.home ENV["HOME"] ENV['HOME'] `

// emitHoleCode emits the tokens of code inside of a text.
func (s *scanner) emitHoleCode(code string) {
	s.emitToken(signTok, "(", 0)
	s.out[len(s.out)-1].open = true
	if s.depth < maxHoles {
		s.out = append(s.out, scanTokens(s.lang, code, s.depth+1)...)
	} else {
		s.emitToken(wordTok, "eval", 0) // too deep to read
	}
	s.emitToken(signTok, ")", 0)
}

// findTextHole returns the code of a hole at the beginning of t, and how long the
// hole is; 0 where there is none.
func findTextHole(t string, how byte) (string, int) {
	at := 0
	switch {
	case how == 'f' && t[0] == '{' && (len(t) < 2 || t[1] != '{'):
	case how == '#' && strings.HasPrefix(t, "#{"), how == '`' && strings.HasPrefix(t, "${"),
		how == '$' && (strings.HasPrefix(t, "${") || strings.HasPrefix(t, "$(") || strings.HasPrefix(t, "@{")):
		at = 1
	case how == '$' && (t[0] == '$' || t[0] == '@') && len(t) > 1 && isLetter(t[1]):
		n := 2
		for n < len(t) && (isLetter(t[n]) || isDigit(t[n])) {
			n++
		}
		return t[:n], n
	default:
		return "", 0
	}
	body, n := cutDelimited(t[at:])
	return body, at + n
}

// unescapeText reads the plain escapes of a text. made is set where a text has an
// escape that stands for the number of a letter.
func unescapeText(t string) (text string, made bool) {
	if strings.IndexByte(t, '\\') < 0 {
		return t, false
	}
	b := make([]byte, 0, len(t))
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) {
			b = append(b, t[i])
			continue
		}
		escape := t[i:min(i+10, len(t))]
		i++
		if isDigit(t[i]) || strings.IndexByte("xuU", t[i]) >= 0 {
			made = true
			if r, _, rest, err := strconv.UnquoteChar(escape, 0); err == nil {
				b = utf8.AppendRune(b, r)
				i += len(escape) - len(rest) - 2
				continue
			}
		}
		if k := strings.IndexByte("nt", t[i]); k >= 0 {
			b = append(b, "\n\t"[k])
			continue
		}
		b = append(b, t[i])
	}
	return string(b), made
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '$' || c == '@' || c >= 0x80 }
