package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parsePlain is the parser for commands of words that all mean themselves, with "|",
// "&&", "||", ";" and line ends between them. It returns nil for any other text, also
// for one that is no shell's: the parser reads those and says what is wrong. Positions
// are left out.
func parsePlain(lang syntax.LangVariant, text string) *syntax.File {
	if lang != syntax.LangBash {
		return nil
	}
	words, commands, joins := countPlain(text)
	if words == 0 {
		return nil
	}
	r := plainReader{
		text: text, words: make([]plainWord, words), args: make([]*syntax.Word, words), commands: make([]plainCommand, commands),
		joins: make([]plainJoin, joins),
	}
	list := r.readList(make([]*syntax.Stmt, 0, commands-joins))
	if list == nil {
		return nil
	}
	return &syntax.File{Stmts: list}
}

// reservedWords begin something else than a command.
var reservedWords = newWordSet("if then elif else fi while until for do done case esac select function time coproc let declare local " +
	"export readonly typeset nameref")

// plainReader reads one text. What it makes lies in pieces that countPlain has measured.
type plainReader struct {
	text     string
	at       int
	end      byte // what ended the last command: see readEnd
	words    []plainWord
	args     []*syntax.Word
	commands []plainCommand
	joins    []plainJoin
}

type plainWord struct {
	word  syntax.Word
	parts [1]syntax.WordPart
	lit   syntax.Lit
}

type plainCommand struct {
	stmt syntax.Stmt
	call syntax.CallExpr
}

type plainJoin struct {
	stmt syntax.Stmt
	both syntax.BinaryCmd
}

// The kinds of bytes in a plain text.
const (
	plainNever = iota // a byte that may mean something
	plainLetter
	plainBlank
	plainJoiner // of pipes and lists
	plainEnd    // of a statement
)

// plainBytes gives each byte its kind.
var plainBytes = listPlainBytes()

func listPlainBytes() (kinds [256]uint8) {
	for c := range 256 {
		b := byte(c)
		switch {
		case b|0x20 >= 'a' && b|0x20 <= 'z', isDigit(b), strings.IndexByte("-./_,:@%+=", b) >= 0:
			kinds[c] = plainLetter
		case b == ' ':
			kinds[c] = plainBlank
		case b == '|', b == '&':
			kinds[c] = plainJoiner
		case b == ';', b == '\n':
			kinds[c] = plainEnd
		}
	}
	return kinds
}

// countPlain counts the words, the commands and the joints between those that make one
// statement. There are no words where the text holds a byte that isn't plain. What stands
// in a wrong place is found as the text is read.
func countPlain(text string) (words, commands, joins int) {
	inWord, pending := false, false
	for i := range len(text) {
		switch plainBytes[text[i]] {
		case plainLetter:
			if !inWord {
				words++
			}
			inWord, pending = true, true
			continue
		case plainBlank:
		case plainJoiner:
			if pending {
				commands++
				joins++
			}
			pending = false
		case plainEnd:
			if pending {
				commands++
			}
			pending = false
		default:
			return 0, 0, 0
		}
		inWord = false
	}
	if pending {
		commands++
	}
	return words, commands, joins
}

// readList reads all statements, nil where one is not plain.
func (r *plainReader) readList(list []*syntax.Stmt) []*syntax.Stmt {
	for {
		for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\n') {
			r.at++
		}
		if r.at == len(r.text) {
			return list
		}
		st := r.readPipe()
		for st != nil && (r.end == '&' || r.end == 'o') {
			op := syntax.AndStmt
			if r.end == 'o' {
				op = syntax.OrStmt
			}
			st = r.joinStatements(op, st, r.readPipe())
		}
		if st == nil {
			return nil
		}
		list = append(list, st)
	}
}

// readPipe reads commands with "|" between them.
func (r *plainReader) readPipe() *syntax.Stmt {
	st := r.readCommand()
	for st != nil && r.end == '|' {
		st = r.joinStatements(syntax.Pipe, st, r.readCommand())
	}
	return st
}

func (r *plainReader) joinStatements(op syntax.BinCmdOperator, x, y *syntax.Stmt) *syntax.Stmt {
	if y == nil || len(r.joins) == 0 {
		return nil
	}
	j := &r.joins[0]
	r.joins = r.joins[1:]
	j.both.Op, j.both.X, j.both.Y = op, x, y
	j.stmt.Cmd = &j.both
	return &j.stmt
}

// readCommand reads the words of one command and what ends it. It returns nil where there
// are none, and where the first is a word of the shell's own or may assign.
func (r *plainReader) readCommand() *syntax.Stmt {
	n := 0
	for {
		for r.at < len(r.text) && r.text[r.at] == ' ' {
			r.at++
		}
		start := r.at
		for r.at < len(r.text) && plainBytes[r.text[r.at]] == plainLetter {
			r.at++
		}
		if r.at == start {
			break
		}
		w := &r.words[n]
		w.lit.Value, w.parts[0] = r.text[start:r.at], &w.lit
		w.word.Parts, r.args[n] = w.parts[:], &w.word
		n++
	}
	if n == 0 || len(r.commands) == 0 || !r.readEnd() {
		return nil
	}
	first := r.words[0].lit.Value
	if strings.IndexByte(first, '=') >= 0 || reservedWords.has(first) {
		return nil
	}
	c := &r.commands[0]
	c.call.Args, c.stmt.Cmd = r.args[:n:n], &c.call
	r.words, r.args, r.commands = r.words[n:], r.args[n:], r.commands[1:]
	return &c.stmt
}

// readEnd takes what ends a command: "|", ";" or a line's end, '&' for "&&" and 'o' for
// "||", 0 for the end of the text. A lone "&" and "|&" are not plain.
func (r *plainReader) readEnd() bool {
	if r.end = 0; r.at == len(r.text) {
		return true
	}
	r.end = r.text[r.at]
	r.at++
	twice := r.at < len(r.text) && r.text[r.at] == r.end
	switch {
	case r.end == '&' && !twice, r.end == ';' && twice:
		return false
	case r.end == '&':
		r.at++
	case r.end == '|' && twice:
		r.end = 'o'
		r.at++
	case r.end == '|' && r.at < len(r.text) && r.text[r.at] == '&':
		return false
	}
	return true
}
