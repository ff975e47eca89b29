package stream

// Balance follows arguments piece by piece and says when the JSON value in them is whole. It
// decides when a call is offered, never whether it is valid.
type Balance struct {
	depth  int
	inText bool
	escape bool
	begun  bool
	whole  bool
}

// Add takes the next piece. It reports false where something follows the whole value.
func (b *Balance) Add(piece []byte) bool {
	for _, c := range piece {
		if !b.addByte(c) {
			return false
		}
	}
	return true
}

func (b *Balance) addByte(c byte) bool {
	blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
	switch {
	case b.whole:
		return blank
	case b.escape:
		b.escape = false
	case b.inText:
		b.escape = c == '\\'
		b.inText = c != '"'
	case c == '"':
		b.inText, b.begun = true, true
	case c == '{' || c == '[':
		b.depth++
		b.begun = true
	case c == '}' || c == ']':
		b.depth--
		b.whole = b.depth <= 0
	case !blank:
		b.begun = true
	}
	return true
}

// Whole reports whether the arguments are one closed object or list.
func (b *Balance) Whole() bool { return b.whole }

// Empty reports whether nothing but blanks has come.
func (b *Balance) Empty() bool { return !b.begun && !b.whole }
