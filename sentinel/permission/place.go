package permission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"

	"github.com/vedette-dev/vedette/skills"
)

// place is where a part of a condition begins, both from 1.
type place struct{ line, column int }

// namedPlace is a name and where it first stands.
type namedPlace struct {
	name string
	place
}

// firstPlaces returns each name once, in the order of the text.
func firstPlaces(list []namedPlace) (out []namedPlace) {
	slices.SortFunc(list, func(a, b namedPlace) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), strings.Compare(a.name, b.name))
	})
	for _, one := range list {
		if !slices.ContainsFunc(out, func(o namedPlace) bool { return o.name == one.name }) {
			out = append(out, one)
		}
	}
	return out
}

// whenError is a mistake at a place within a condition.
type whenError struct {
	*skills.PathError
	at place
}

// mistakeAt makes an error whose message begins with the place.
func mistakeAt(path string, at place, msg string) error {
	return &whenError{&skills.PathError{Path: path, Msg: fmt.Sprintf("%d:%d: %s", at.line, at.column, msg)}, at}
}

// ConfigPlace returns where in the condition the mistake is; config finds its place in the file.
func (e *whenError) ConfigPlace() (line, column int) { return e.at.line, e.at.column }

// Unwrap returns the mistake without its place.
func (e *whenError) Unwrap() error { return e.PathError }

// placeOf returns where an expression begins.
func placeOf(tree *ast.AST, id int64) place {
	at := tree.SourceInfo().GetStartLocation(id)
	return place{at.Line(), at.Column() + 1}
}

// lineOf splits a condition's line at a place; both parts are empty where there is no such place.
func lineOf(text string, at place) (before, rest string) {
	lines := strings.Split(text, "\n")
	if at.line < 1 || at.line > len(lines) {
		return "", ""
	}
	line := []rune(lines[at.line-1])
	if at.column < 1 || at.column-1 > len(line) {
		return "", ""
	}
	return string(line[:at.column-1]), string(line[at.column-1:])
}

// startName moves a place from the parenthesis of a call to the name before it.
func startName(text string, at place) place {
	before, rest := lineOf(text, at)
	if strings.HasPrefix(rest, "(") {
		at.column -= len(before) - len(strings.TrimRightFunc(before, isWord)) // a name is ASCII
	}
	return at
}

func isWord(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// otherOperators are what other languages write in place of CEL's operators.
var otherOperators = []struct{ wrong, right string }{{"=", "=="}, {"&", "&&"}, {"|", "||"}, {"and", "&&"}, {"or", "||"}}

// meantOperator says which operator was meant where the syntax breaks, and where it stands.
func meantOperator(text string, at place) (msg string, where place, ok bool) {
	before, rest := lineOf(text, at)
	say := func(wrong, right string) string { return fmt.Sprintf("%q is no operator; write %s", wrong, right) }
	word := rest[:len(rest)-len(strings.TrimLeftFunc(rest, isWord))]
	for _, o := range otherOperators {
		if word == o.wrong || word == "" && strings.HasPrefix(rest, o.wrong) && !strings.HasPrefix(rest, o.right) {
			return say(o.wrong, o.right), at, true
		}
	}
	trimmed := strings.TrimRight(before, " \t")
	if left, found := strings.CutSuffix(trimmed, "not"); found && strings.TrimRightFunc(left, isWord) == left {
		return say("not", "!"), place{at.line, len([]rune(left)) + 1}, true
	}
	return "", at, false
}
