package code

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind uint8

const (
	wordTok kind = iota
	textTok      // a string, its escapes read
	numTok
	signTok
	joinTok // between the pieces of a string with code inside
	skipTok // a regular expression
)

// token is a piece of code. first is set where a line begins with it, blank
// where a blank stands before it.
type token struct {
	text         string
	at           int // where it stands, of signs and words
	kind         kind
	first, blank bool
}

// dialect says how the texts of a language are written.
type dialect struct {
	comments []string
	quotes   string // of texts
	holes    byte   // code inside texts: '$' after "$", '#' in "#{}", 0 with none
	concat   string // the sign that joins texts, "juxtapose" for none at all
	regex    bool   // /x/ is a regular expression
	decimal  bool   // "\47" is decimal
	bare     bool   // calls need no brackets
	perlish  bool   // qw(a b), s/a/b/
	percent  bool   // %w(a b), ?x
	literal  bool   // a backslash in a text is one
}

const (
	maxHoles = 4   // texts inside the code inside of texts
	maxRegex = 512 // bytes of a regular expression
)

type scanner struct {
	d     dialect
	src   string
	at    int
	out   []token
	depth int
	first bool
	blank bool
}

func scan(d dialect, src string, depth int) []token {
	s := &scanner{d: d, src: src, depth: depth, first: true}
	for s.at < len(s.src) {
		s.scanOne()
	}
	return s.out
}

func (s *scanner) emit(k kind, text string) {
	s.out = append(s.out, token{text: text, at: s.at, kind: k, first: s.first, blank: s.blank})
	s.first, s.blank = false, false
}

func (s *scanner) scanOne() {
	c, rest := s.src[s.at], s.src[s.at:]
	switch {
	case c == '\n':
		s.first, s.blank = true, true
		s.at++
	case c <= ' ':
		s.blank = true
		s.at++
	case s.skipComment(rest):
	case strings.IndexByte(s.d.quotes, c) >= 0:
		s.scanText(c, "")
	case c == '`' && !strings.Contains(s.d.quotes, "`"):
		s.scanText(c, "run")
	case isDigit(c):
		n := 1
		for n < len(rest) && (isWordByte(rest[n]) || rest[n] == '.' && n+1 < len(rest) && isDigit(rest[n+1])) {
			n++
		}
		s.emit(numTok, rest[:n])
		s.at += n
	case isWordByte(c):
		s.scanWord(rest)
	case c == '/' && s.d.regex && s.beginsRegex():
		s.skipRegex(rest)
	case s.d.percent && c == '%' && len(rest) > 2 && s.beginsRegex() && strings.IndexByte("wWqQxiI({[", rest[1]) >= 0:
		s.scanPercent(rest)
	case s.d.percent && c == '?' && len(rest) > 1 && rest[1] > ' ' && s.beginsRegex() && (len(rest) == 2 || !isWordByte(rest[2])):
		s.emit(textTok, rest[1:2])
		s.at += 2
	default:
		s.scanSign(rest)
	}
}

func (s *scanner) skipComment(rest string) bool {
	if s.d.literal && strings.HasPrefix(rest, "/*!") { // MySQL runs those
		for s.at += 3; s.at < len(s.src) && isDigit(s.src[s.at]); {
			s.at++
		}
		return true
	}
	for _, c := range s.d.comments {
		if !strings.HasPrefix(rest, c) {
			continue
		}
		end := "\n"
		if c == "/*" {
			end = "*/"
		}
		if i := strings.Index(rest[len(c):], end); i >= 0 {
			s.at += len(c) + i
			if c == "/*" {
				s.at += 2
			}
		} else {
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
	for n < len(rest) && (isWordByte(rest[n]) || s.d.concat == "lisp" && strings.IndexByte("-:/.*+!?", rest[n]) >= 0) {
		n++
	}
	w := rest[:n]
	quoted := n < len(rest) && (rest[n] == '"' || rest[n] == '\'') && strings.IndexByte(s.d.quotes, rest[n]) >= 0
	if quoted && n <= 2 && strings.Trim(strings.ToLower(w), "bfrus") == "" {
		s.at += n
		s.scanText(rest[n], strings.ToLower(w))
		return
	}
	if s.d.perlish && n < len(rest) && !s.follows(".") && s.scanQuoted(w, rest[n:]) {
		return
	}
	s.emit(wordTok, w)
	s.at += n
	if s.d.holes == '#' && n+1 < len(rest) && rest[n] == '!' && rest[n+1] != '=' {
		s.at++ // a name's end
	}
}

// scanQuoted reads q(x), qq, qw, qx, and skips m, s, tr and y.
func (s *scanner) scanQuoted(w, after string) bool {
	if strings.IndexByte("q m s y t", w[0]) < 0 || strings.IndexByte("/{([<!|#~%^,'\"", after[0]) < 0 || after[0] == ',' && w != "s" {
		return false
	}
	body, n := cutDelimited(after)
	switch w {
	case "q", "qq":
		s.at += len(w) + n
		s.emitText(body, w == "qq")
	case "qw":
		s.at += len(w) + n
		s.emitList(strings.Fields(body))
	case "qx":
		s.at += len(w) + n
		s.emit(wordTok, "`")
		s.emitText(body, true)
	case "m", "qr":
		s.at += len(w) + n
		s.emit(skipTok, "")
	case "s", "tr", "y":
		if strings.IndexByte("{([<", after[0]) < 0 {
			n--
		}
		repl, m := cutDelimited(strings.TrimLeft(after[n:], " "))
		flags := after[min(n+m, len(after)):]
		s.at += len(w) + min(n+m, len(after))
		s.emit(skipTok, "")
		flags = flags[:len(flags)-len(strings.TrimLeft(flags, "gimsxeor"))]
		if w != "s" || !strings.Contains(flags, "e") {
			return true
		}
		if strings.Contains(flags, "ee") || s.depth >= maxHoles { // its value runs
			s.emit(wordTok, "eval")
			s.emit(wordTok, "$")
		}
		if s.depth < maxHoles {
			s.out = append(s.out, scan(s.d, repl, s.depth+1)...)
			s.emit(signTok, ";")
		}
	default:
		return false
	}
	return true
}

func (s *scanner) scanPercent(rest string) {
	from := 1
	if isWordByte(rest[1]) {
		from = 2
	}
	body, n := cutDelimited(rest[from:])
	s.at += from + n
	switch rest[1] {
	case 'w', 'W', 'i', 'I':
		s.emitList(strings.Fields(body))
	case 'x':
		s.emit(wordTok, "`")
		s.emitText(body, true)
	default:
		s.emitText(body, rest[1] != 'q')
	}
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

func (s *scanner) emitList(words []string) {
	s.emit(signTok, "[")
	for i, w := range words {
		if i > 0 {
			s.emit(signTok, ",")
		}
		s.emit(textTok, w)
	}
	s.emit(signTok, "]")
}

// follows reports whether the last token is this sign.
func (s *scanner) follows(sign string) bool {
	return len(s.out) > 0 && s.out[len(s.out)-1].kind == signTok && s.out[len(s.out)-1].text == sign
}

// beginsRegex reports whether a value may begin here, not an operator.
func (s *scanner) beginsRegex() bool {
	if len(s.out) == 0 || s.first {
		return true
	}
	switch last := s.out[len(s.out)-1]; last.kind {
	case signTok:
		return last.text != ")" && last.text != "]" && last.text != "}"
	case wordTok:
		blankAfter := s.at+1 < len(s.src) && s.src[s.at+1] != ' ' && s.src[s.at-1] == ' '
		return blankAfter && strings.IndexByte("$@", last.text[0]) < 0
	default:
		return false
	}
}

func (s *scanner) skipRegex(rest string) {
	line, _, _ := strings.Cut(rest[:min(len(rest), maxRegex)], "\n")
	body, n := cutDelimited(line)
	if n == len(line) && !strings.HasSuffix(line, "/") || body == "" {
		s.scanSign(rest)
		return
	}
	s.at += n
	s.emit(skipTok, "")
}

var twoSigns = []string{
	"==", "=>", "->", "::", "?.", "!=", "<=", ">=", "+=", ".=", "*=", "/=", "-=", "..", "&&", "||", "|&", ">>", "<>", "++", "=~", "!~", ":=",
}

func (s *scanner) scanSign(rest string) {
	for _, t := range twoSigns {
		if !strings.HasPrefix(rest, t) {
			continue
		}
		switch t {
		case "->", "::", "?.":
			s.emit(signTok, ".")
		default:
			s.emit(signTok, t)
		}
		s.at += 2
		return
	}
	_, n := utf8.DecodeRuneInString(rest)
	s.emit(signTok, rest[:n])
	s.at += n
}

// scanText reads a text that begins with quote q, behind a prefix.
func (s *scanner) scanText(q byte, prefix string) {
	rest := s.src[s.at:]
	var body string
	if s.d.literal {
		body, _, _ = strings.Cut(rest[1:], string(q))
		s.at += min(len(body)+2, len(rest))
		s.emit(textTok, body)
		return
	}
	if t := strings.Repeat(string(q), 3); strings.HasPrefix(rest, t) && q != '`' {
		var closed bool
		body, _, closed = strings.Cut(rest[3:], t)
		s.at += 3 + len(body)
		if closed {
			s.at += 3
		}
	} else {
		var n int
		body, n = cutDelimited(rest)
		s.at += n
	}
	if prefix == "run" {
		s.emit(wordTok, "`")
	}
	switch {
	case strings.Contains(prefix, "f") || prefix == "s":
		s.emitPieces(body, 'f')
	case strings.Contains(prefix, "r") && prefix != "run":
		s.emit(textTok, body)
	case q == '\'' && strings.IndexByte("$#", s.d.holes) >= 0 && s.d.holes != 0:
		s.emit(textTok, strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(body))
	default:
		s.emitText(body, s.d.holes != '`' || q == '`')
	}
}

func (s *scanner) emitText(body string, holes bool) {
	if holes && s.d.holes != 0 {
		s.emitPieces(body, s.d.holes)
		return
	}
	s.emit(textTok, s.unescape(body))
}

// emitPieces emits a text with code inside as its pieces in brackets.
func (s *scanner) emitPieces(body string, how byte) {
	from, holes := 0, 0
	for i := 0; i < len(body); i++ {
		if body[i] == '\\' {
			i++
			continue
		}
		at, to, n := findHole(body[i:], how)
		if n == 0 {
			continue
		}
		if holes++; holes == 1 {
			s.emit(signTok, "(")
		}
		s.emit(textTok, s.unescape(body[from:i]))
		s.emit(joinTok, "")
		s.emit(signTok, "(")
		if s.depth < maxHoles {
			s.out = append(s.out, scan(s.d, body[i+at:i+to], s.depth+1)...)
		} else {
			s.emit(wordTok, "$")
		}
		s.emit(signTok, ")")
		s.emit(joinTok, "")
		from = i + n
		i = from - 1
	}
	s.emit(textTok, s.unescape(body[min(from, len(body)):]))
	if holes > 0 {
		s.emit(signTok, ")")
	}
}

// findHole returns where the code of a hole at the beginning of t begins and
// ends, and where the hole ends; 0 where there is none.
func findHole(t string, how byte) (at, to, end int) {
	switch {
	case how == 'f' && t[0] == '{' && (len(t) < 2 || t[1] != '{'):
		at = 1
	case how == '#' && strings.HasPrefix(t, "#{"), how == '`' && strings.HasPrefix(t, "${"):
		at = 2
	case how == '$' && (t[0] == '$' || t[0] == '@') && len(t) > 1 && (t[1] == '{' || t[1] == '(' && t[0] == '$'):
		at = 2
	case how == '$' && (t[0] == '$' || t[0] == '@') && len(t) > 1 && isLetter(t[1]):
		n := 2
		for n < len(t) && (isLetter(t[n]) || isDigit(t[n])) {
			n++
		}
		return 0, n, n
	default:
		return 0, 0, 0
	}
	body, n := cutDelimited(t[at-1:])
	to = at + len(body)
	if i := strings.LastIndexByte(body, ':'); how == 'f' && i > 0 && !strings.ContainsAny(body, "([") {
		to = at + i // a format stands behind it
	}
	return at, to, at - 1 + n
}

// unescape reads the escapes of a text.
func (s *scanner) unescape(t string) string {
	if strings.IndexByte(t, '\\') < 0 {
		return t
	}
	b := make([]byte, 0, len(t))
	for i := 0; i < len(t); i++ {
		if t[i] != '\\' || i+1 == len(t) {
			b = append(b, t[i])
			continue
		}
		i++
		r, n := readEscape(t[i:], s.d.decimal)
		if n == 0 {
			b = append(b, t[i])
			continue
		}
		if r >= 0 {
			b = utf8.AppendRune(b, r)
		}
		i += n - 1
	}
	return string(b)
}

// readEscape returns the rune of an escape and its length; 0 where it stands
// for itself.
func readEscape(t string, decimal bool) (rune, int) {
	base, from := 16, 1
	var most int
	switch c := t[0]; {
	case c == 'n':
		return '\n', 1
	case c == 't':
		return '\t', 1
	case c == '\n':
		return -1, 1
	case c == 'x':
		most = 2
	case c == 'u':
		most = 4
	case c == 'U':
		most = 8
	case isDigit(c) && decimal:
		base, from, most = 10, 0, 3
	case c >= '0' && c < '8':
		base, from, most = 8, 0, 3
	default:
		return 0, 0
	}
	end := from
	if end < len(t) && t[end] == '{' {
		if i := strings.IndexByte(t, '}'); i > 0 && i < 10 {
			v, err := strconv.ParseUint(t[end+1:i], 16, 21)
			if err == nil {
				return rune(v), i + 1
			}
		}
	}
	for end < len(t) && end-from < most && isBaseDigit(t[end], base) {
		end++
	}
	v, err := strconv.ParseUint(t[from:end], base, 21)
	if err != nil {
		return 0, 0
	}
	return rune(v), end
}

func isBaseDigit(c byte, base int) bool {
	if base == 16 {
		return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	}
	return isDigit(c) && int(c-'0') < base
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '$' || c == '@' || c >= 0x80 }
