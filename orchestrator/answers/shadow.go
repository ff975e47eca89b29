package answers

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shadow is a text as a renderer may come to read it: entities and backslash
// escapes resolved, invisible characters left out, letters small, full-width
// characters narrow. Every character knows where in the text it comes from.
type shadow struct {
	src string
	ch  []rune
	at  []int
	// looked is how many characters were looked at, some of them again: the work.
	looked int
}

const maxEntity = 40 // bytes: the longest named one has 33

func newShadow(text string) *shadow {
	s := &shadow{src: text, ch: make([]rune, 0, len(text)), at: make([]int, 0, len(text))}
	for i := 0; i < len(text); {
		r, n := decode(text[i:])
		if !invisible(r) {
			s.ch, s.at = append(s.ch, fold(r)), append(s.at, i)
		}
		i += n
	}
	return s
}

// decode returns the first character of a text that isn't empty, and its size.
func decode(t string) (rune, int) {
	switch t[0] {
	case '\\':
		if len(t) > 1 && t[1] < utf8.RuneSelf && (unicode.IsPunct(rune(t[1])) || unicode.IsSymbol(rune(t[1]))) {
			return rune(t[1]), 2
		}
	case '&':
		if n := entity(t); n > 0 {
			if v := html.UnescapeString(t[:n]); v != t[:n] {
				r, _ := utf8.DecodeRuneInString(v)
				return r, n
			}
		}
	}
	return utf8.DecodeRuneInString(t)
}

// entity returns the size of what looks like an entity, 0 where none does.
func entity(t string) int {
	for i := 1; i < len(t) && i < maxEntity; i++ {
		switch c := t[i]; {
		case c == ';':
			return i + 1
		case c == '#' && i == 1, letter(rune(c)), c >= 'A' && c <= 'Z', digit(rune(c)):
		default:
			return bareNumber(t[:i])
		}
	}
	return 0
}

// bareNumber returns the size of a number of a character that lacks its
// semicolon, as browsers read it, and 0 for anything else.
func bareNumber(t string) int {
	switch {
	case len(t) < 3 || t[1] != '#':
		return 0
	case t[2] == 'x' || t[2] == 'X':
		if len(t) > 3 && strings.Trim(t[3:], "0123456789abcdefABCDEF") == "" {
			return len(t)
		}
	case strings.Trim(t[2:], "0123456789") == "":
		return len(t)
	}
	return 0
}

func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !space(r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x034F
}

func fold(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	case r >= 0xFF01 && r <= 0xFF5E:
		return fold(r - 0xFF01 + '!')
	case r == 0x3002 || r == 0xFF61:
		return '.'
	case r == 0x212A || r == 0x017F: // they count as k and s where case doesn't
		return unicode.ToLower(unicode.ToUpper(r))
	}
	return unicode.ToLower(r)
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' }
func digit(r rune) bool  { return r >= '0' && r <= '9' }
func space(r rune) bool  { return unicode.IsSpace(r) }

// start returns where in the text character i begins; the end for one too many.
func (s *shadow) start(i int) int {
	if i >= len(s.at) {
		return len(s.src)
	}
	return s.at[i]
}

func (s *shadow) is(i int, r rune) bool { return i < len(s.ch) && s.ch[i] == r }

func (s *shadow) has(i int, word string) bool {
	if i+len(word) > len(s.ch) {
		return false
	}
	for k := range len(word) {
		if s.ch[i+k] != rune(word[k]) {
			return false
		}
	}
	return true
}

// blank skips white space.
func (s *shadow) blank(i int) int {
	for i < len(s.ch) && space(s.ch[i]) {
		s.looked++
		i++
	}
	return i
}

// plain reports whether characters i to j are written as they are read, all
// of them ASCII, letter case aside.
func (s *shadow) plain(i, j int) bool {
	for k := i; k < j; k++ {
		s.looked++
		if s.ch[k] >= utf8.RuneSelf || s.start(k+1) != s.start(k)+1 {
			return false
		}
	}
	return true
}

// scheme returns the size of the scheme at i with its colon, 0 for none.
func (s *shadow) scheme(i int) int {
	for n := 0; n < 32 && i+n < len(s.ch); n++ {
		switch c := s.ch[i+n]; {
		case letter(c):
		case n > 0 && (digit(c) || c == '+' || c == '-' || c == '.'):
		case n > 1 && c == ':':
			return n + 1
		default:
			return 0
		}
	}
	return 0
}

// authority is what stands where a host does.
type authority struct {
	text string // as read, without what trails it in prose
	end  int    // after it
	stop int    // after the character that ends it
}

// authority reads the host, port and user name at i.
func (s *shadow) authority(i int) authority {
	j := i
	for j < len(s.ch) && !space(s.ch[j]) && !strings.ContainsRune(`/\?#<>[]^|`, s.ch[j]) {
		s.looked++
		j++
	}
	end := j
	if j == len(s.ch) || !strings.ContainsRune(`/\?#`, s.ch[j]) {
		for end > i && !unicode.IsLetter(s.ch[end-1]) && !unicode.IsDigit(s.ch[end-1]) {
			s.looked++
			end--
		}
	}
	return authority{string(s.ch[i:end]), end, min(j+1, len(s.ch))}
}
