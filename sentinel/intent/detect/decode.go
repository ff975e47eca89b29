package detect

import (
	"encoding/base64"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is one reading of a text: as it stands, or decoded.
type view struct {
	text  string
	via   []string // the encodings that were undone, outermost first
	depth int
}

// maxDepth is how many encodings may stand within each other.
const maxDepth = 3

// views are the readings of one text within a budget of bytes.
type views struct {
	list  []view
	room  int // bytes that more views may have
	spent bool
}

// readViews returns the text and what its encodings stand for. room bounds the bytes of all of them.
func readViews(text string, room int) *views {
	v := &views{room: room}
	v.add(view{text: text})
	for i := 0; i < len(v.list); i++ {
		one := v.list[i]
		if one.depth == maxDepth {
			v.spent = v.spent || holdsEncoding(one.text)
			continue
		}
		for _, d := range decoders {
			if decoded, ok := d.decode(one.text); ok && decoded != one.text {
				v.add(view{decoded, append(one.via[:len(one.via):len(one.via)], d.name), one.depth + 1})
			}
		}
	}
	return v
}

// add adds a view that isn't there yet, where there is room.
func (v *views) add(one view) {
	for _, other := range v.list {
		if other.text == one.text {
			return
		}
	}
	if len(one.text) > v.room {
		v.spent = true
		return
	}
	v.room -= len(one.text)
	v.list = append(v.list, one)
}

// decoder undoes one encoding everywhere in a text. ok is false where the text has none of it.
type decoder struct {
	name   string
	decode func(string) (decoded string, ok bool)
}

var decoders = []decoder{
	{"percent", decodePercent}, {"html", decodeHTML}, {"backslash", decodeBackslash}, {"base64", decodeBase64}, {"split", joinSplit},
}

// holdsEncoding reports whether any decoder would change the text.
func holdsEncoding(text string) bool {
	for _, d := range decoders {
		if decoded, ok := d.decode(text); ok && decoded != text {
			return true
		}
	}
	return false
}

// decodePercent undoes %XX and %uXXXX. What is malformed stays.
func decodePercent(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '%':
			b.WriteByte(s[i])
		case i+6 <= len(s) && (s[i+1] == 'u' || s[i+1] == 'U') && isHex(s[i+2:i+6]):
			n, _ := strconv.ParseUint(s[i+2:i+6], 16, 32) // four digits: it was looked
			b.WriteRune(rune(n))
			i += 5
		case i+3 <= len(s) && isHex(s[i+1:i+3]):
			n, _ := strconv.ParseUint(s[i+1:i+3], 16, 8) // two digits: it was looked
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte('%')
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD"), true
}

// decodeHTML undoes &lt; and &#60;.
func decodeHTML(s string) (string, bool) {
	if !strings.Contains(s, "&") {
		return "", false
	}
	return html.UnescapeString(s), true
}

// decodeBackslash undoes \xXX, \uXXXX and \u{X}.
func decodeBackslash(s string) (string, bool) {
	if !strings.Contains(s, `\x`) && !strings.Contains(s, `\u`) && !strings.Contains(s, `\X`) && !strings.Contains(s, `\U`) {
		return "", false
	}
	return escapeRE.ReplaceAllStringFunc(s, func(e string) string {
		n, err := strconv.ParseUint(strings.Trim(e[2:], "{}"), 16, 32)
		if err != nil || n > utf8.MaxRune {
			return e
		}
		return string(rune(n)) //nolint:gosec // it was compared with the greatest one
	}), true
}

var escapeRE = regexp.MustCompile(`\\[xX][0-9a-fA-F]{2}|\\[uU](?:[0-9a-fA-F]{4}|\{[0-9a-fA-F]{1,6}\})`)

// joinSplit undoes what shells and databases pass over within a word, and what stands for a space: r”m, r\m, ${IFS}, un/**/ion.
func joinSplit(s string) (string, bool) {
	joined := s
	if strings.Contains(s, `''`) || strings.Contains(s, `""`) || strings.Contains(s, `\`) {
		joined = splitRE.ReplaceAllString(joined, "$1$2")
	}
	if strings.Contains(s, "/*") {
		joined = commentRE.ReplaceAllString(joined, "")
	}
	if strings.Contains(s, "$") {
		joined = spaceRE.ReplaceAllString(joined, " ")
	}
	return joined, joined != s
}

var (
	splitRE   = regexp.MustCompile(`([A-Za-z])(?:''|""|\\)([A-Za-z])`)
	commentRE = regexp.MustCompile(`/\*.{0,40}?\*/`)
	spaceRE   = regexp.MustCompile(`\$\{?IFS\}?(?:\$9)?`)
)

// leastBase64 is the length in bytes from which on a run of letters is tried as base64. Shorter ones are words.
const leastBase64 = 16

// decodeBase64 puts what runs of base64 stand for in their place, where that is text. Ordinary words are runs too,
// and none of them is text when it is decoded.
func decodeBase64(s string) (string, bool) {
	var b strings.Builder
	last, changed := 0, false
	for i := 0; i < len(s); {
		if !isBase64(s[i]) {
			i++
			continue
		}
		from := i
		for i < len(s) && isBase64(s[i]) {
			i++
		}
		run := s[from:i]
		for i < len(s) && s[i] == '=' {
			i++
		}
		if text, ok := decodeRun(run); ok {
			b.WriteString(s[last:from])
			b.WriteString(text)
			last, changed = i, true
		}
	}
	if !changed {
		return "", false
	}
	b.WriteString(s[last:])
	return b.String(), true
}

// decodeRun decodes one run of base64 letters, with or without padding, of either alphabet.
func decodeRun(run string) (string, bool) {
	if len(run) < leastBase64 {
		return "", false
	}
	run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
	raw, err := base64.RawStdEncoding.DecodeString(run[:len(run)-oddLetters(run)])
	if err != nil || !isText(raw) {
		return "", false
	}
	return string(raw), true
}

// oddLetters is how many letters too many a run has: one letter alone stands for nothing.
func oddLetters(run string) int {
	if len(run)%4 == 1 {
		return 1
	}
	return 0
}

// isText reports whether bytes are what a person could have typed.
func isText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

func isHex(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'f') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}
