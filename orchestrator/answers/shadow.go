package answers

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shadow is a text as a renderer may come to read it. Entities and backslash escapes are
// resolved, invisible characters left out, letters small, full-width characters narrow.
// Every character knows where in the text it comes from.
type shadow struct {
	src string
	ch  []rune
	at  []int
	// looked is how many characters were looked at, some of them again: the work.
	looked int
}

const maxEntity = 40 // bytes: the longest named one has 33

// newShadow reads a text as a renderer might.
func newShadow(text string) *shadow {
	s := &shadow{src: text, ch: make([]rune, 0, len(text)), at: make([]int, 0, len(text))}
	for i := 0; i < len(text); {
		r, n := decodeRune(text[i:])
		if !isInvisible(r) {
			s.ch, s.at = append(s.ch, foldRune(r)), append(s.at, i)
		}
		i += n
	}
	return s
}

// decodeRune returns the first character of a text that isn't empty, and its size.
func decodeRune(t string) (rune, int) {
	switch t[0] {
	case '\\':
		if len(t) > 1 && t[1] < utf8.RuneSelf && (unicode.IsPunct(rune(t[1])) || unicode.IsSymbol(rune(t[1]))) {
			return rune(t[1]), 2
		}
	case '&':
		if n := measureEntity(t); n > 0 {
			if v := html.UnescapeString(t[:n]); v != t[:n] {
				r, _ := utf8.DecodeRuneInString(v)
				return r, n
			}
		}
	}
	return utf8.DecodeRuneInString(t)
}

// measureEntity returns the size of what looks like an entity, 0 where none does.
func measureEntity(t string) int {
	for i := 1; i < len(t) && i < maxEntity; i++ {
		switch c := t[i]; {
		case c == ';':
			return i + 1
		case c == '#' && i == 1, isLetter(rune(c)), c >= 'A' && c <= 'Z', isDigit(rune(c)):
		default:
			return measureBareNumber(t[:i])
		}
	}
	return 0
}

// measureBareNumber returns the size of a character's number that lacks its semicolon, as
// browsers read it. It returns 0 for anything else.
func measureBareNumber(t string) int {
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

// isInvisible reports whether a renderer shows nothing for the character.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !isSpace(r) || unicode.Is(unicode.Variation_Selector, r) || r == 0x034F
}

// foldRune makes a character small and narrow.
func foldRune(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z':
		return r + 'a' - 'A'
	case r < utf8.RuneSelf:
		return r
	case r >= 0xFF01 && r <= 0xFF5E:
		return foldRune(r - 0xFF01 + '!')
	case r == 0x3002 || r == 0xFF61:
		return '.'
	case r == 0x212A || r == 0x017F: // they count as k and s where case doesn't
		return unicode.ToLower(unicode.ToUpper(r))
	}
	return unicode.ToLower(r)
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
func isSpace(r rune) bool  { return unicode.IsSpace(r) }

// startOf returns where in the text character i begins; the end for one too many.
func (s *shadow) startOf(i int) int {
	if i >= len(s.at) {
		return len(s.src)
	}
	return s.at[i]
}

// isRune reports whether character i is r.
func (s *shadow) isRune(i int, r rune) bool { return i < len(s.ch) && s.ch[i] == r }

// hasWord reports whether an ASCII word begins at i.
func (s *shadow) hasWord(i int, word string) bool {
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

// skipBlanks returns where the white space at i ends.
func (s *shadow) skipBlanks(i int) int {
	for i < len(s.ch) && isSpace(s.ch[i]) {
		s.looked++
		i++
	}
	return i
}

// isPlain reports whether characters i to j are written as they are read, all
// of them ASCII, letter case aside.
func (s *shadow) isPlain(i, j int) bool {
	for k := i; k < j; k++ {
		s.looked++
		if s.ch[k] >= utf8.RuneSelf || s.startOf(k+1) != s.startOf(k)+1 {
			return false
		}
	}
	return true
}

// measureScheme returns the size of the scheme at i with its colon, 0 for none.
func (s *shadow) measureScheme(i int) int {
	for n := 0; n < 32 && i+n < len(s.ch); n++ {
		switch c := s.ch[i+n]; {
		case isLetter(c):
		case n > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
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

// readAuthority reads the host, port and user name at i.
func (s *shadow) readAuthority(i int) authority {
	j := i
	for j < len(s.ch) && !isSpace(s.ch[j]) && !strings.ContainsRune(`/\?#<>[]^|`, s.ch[j]) {
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
