package config

import (
	"fmt"
	"strings"
	"unicode"
)

// placeWithin returns where a line and a column of a text's value, both from 1, stand in the
// file. ok is false where the written form doesn't show it: the environment gave a part of the
// value, or letters are written as numbers.
func (x *index) placeWithin(n *node, line, column int) (at Position, ok bool) {
	if n.kind != scalarNode || n.outside || n.pos.File != x.file || line < 1 || column < 1 {
		return Position{}, false
	}
	c := startWritten(x.source, n.pos)
	atLine, atColumn := 1, 1
	for _, r := range n.text {
		blank := unicode.IsSpace(r)
		if !blank && !c.seekRune(r) {
			return Position{}, false
		}
		if atLine == line && atColumn == column {
			at, ok = c.filePosition(x.file), true
		}
		if !blank {
			c.takeRune()
		}
		atColumn++
		if r == '\n' {
			atLine, atColumn = atLine+1, 1
		}
	}
	if atLine == line && atColumn == column {
		at, ok = c.filePosition(x.file), true // a mistake at the end: something is missing
	}
	return at, ok
}

// written is a place in the written form of a scalar. White space counts as little as YAML
// itself lets it: lines fold, and indentation is dropped.
type written struct {
	lines        [][]rune
	line, column int  // from 0
	quote        rune // of a scalar in quotes, else 0
	width        int  // characters that the one found by seek is written with
}

// startWritten returns the first place of the scalar that stands at pos.
func startWritten(source string, pos Position) *written {
	c := &written{line: pos.Line - 1, column: pos.Column - 1}
	for l := range strings.SplitSeq(strings.TrimPrefix(source, "\ufeff"), "\n") {
		c.lines = append(c.lines, []rune(l))
	}
	switch c.lookAhead(0) {
	case '|', '>': // what else the line holds is about the block
		c.line, c.column = c.line+1, 0
	case '"', '\'':
		c.quote = c.lookAhead(0)
		c.column++
	}
	return c
}

// lookAhead returns the character that is that far on in the line, a newline at the line's end.
func (c *written) lookAhead(further int) rune {
	if c.line >= len(c.lines) || c.column+further >= len(c.lines[c.line]) {
		return '\n'
	}
	return c.lines[c.line][c.column+further]
}

// seekRune goes over white space to the next character and reports whether it is r.
func (c *written) seekRune(r rune) bool {
	for c.line < len(c.lines) {
		width := c.blankWidth()
		if width == 0 {
			break
		}
		c.column += width
		if c.column > len(c.lines[c.line]) {
			c.line, c.column = c.line+1, 0
		}
	}
	next := c.lookAhead(0)
	c.width = 1
	switch {
	case c.quote == '\'' && next == '\'' && c.lookAhead(1) == '\'':
		c.width = 2
	case c.quote != 0 && next == c.quote:
		return false // the scalar ends here
	case c.quote == '"' && next == '\\':
		c.width, next = 2, c.lookAhead(1)
		if !strings.ContainsRune(`"\/`, next) {
			return false
		}
	}
	return next == r
}

// blankWidth returns how many characters the white space here is written with, 0 where there is none.
func (c *written) blankWidth() int {
	switch next := c.lookAhead(0); {
	case unicode.IsSpace(next):
		return 1
	case c.quote == '"' && next == '\\' && strings.ContainsRune("nrt \t\r\n", c.lookAhead(1)):
		return 2
	}
	return 0
}

// takeRune goes past the character that seek found.
func (c *written) takeRune() { c.column += c.width }

func (c *written) filePosition(file string) Position { return Position{file, c.line + 1, c.column + 1} }

// placeInText is where within its text's value a mistake stands, both from 1; 0 where it isn't said.
type placeInText struct{ line, column int }

// placeMistake moves a mistake from the start of a text to its place within it. The message says that
// place in its own words as "line:column: " and loses them where the file's place says it.
func (x *index) placeMistake(hit *node, at Position, p pathMistake) (Position, string) {
	inside, ok := x.placeWithin(hit, p.within.line, p.within.column)
	if !ok {
		return at, p.msg
	}
	return inside, strings.TrimPrefix(p.msg, fmt.Sprintf("%d:%d: ", p.within.line, p.within.column))
}
