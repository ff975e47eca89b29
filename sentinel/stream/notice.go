package stream

import (
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/internal/notice"
	"github.com/vedette-dev/vedette/internal/runes"
	"github.com/vedette-dev/vedette/internal/textcut"
)

// DefaultNotice is the rejection text where an operator gives none.
const DefaultNotice = "[The call of {tool} was blocked by policy: {reason} ({gate}, {decision_id})]"

// NoticeTemplate is the checked text that stands in place of a blocked call. Its zero value is
// DefaultNotice.
type NoticeTemplate struct{ text string }

// ErrNotice says that a template isn't one.
var ErrNotice = notice.ErrTemplate

// ParseNotice checks a template. Its fields are {tool}, {gate}, {reason} and {decision_id}; any
// other field is an error, and so is a brace that opens none.
func ParseNotice(text string) (NoticeTemplate, error) {
	if err := notice.Check(text); err != nil {
		return NoticeTemplate{}, err
	}
	return NoticeTemplate{text}, nil
}

// write fills the template. No value of the call's arguments gets into it.
func (t NoticeTemplate) write(c Call, d Decision) string {
	text := t.text
	if text == "" {
		text = DefaultNotice
	}
	return strings.NewReplacer(
		"{tool}", showName(c),
		"{gate}", showWord(d.Gate, "policy"),
		"{reason}", showReason(d.Reason, c),
		"{decision_id}", showWord(d.ID, "no decision"),
	).Replace(text)
}

// showName returns the tool's name where it is one: the model writes it, and could write a value
// there.
func showName(c Call) string {
	name := c.Name
	if c.Server != "" {
		name = c.Server + "/" + c.Name
	}
	if !isWord(name) || quotesValue(name, c.Args, leastInName) {
		return "a tool"
	}
	return name
}

func showWord(word, otherwise string) string {
	if isWord(word) {
		return word
	}
	return otherwise
}

// isWord reports whether a text is a name as tools, gates and ids have.
func isWord(text string) bool {
	if text == "" || len(text) > 128 {
		return false
	}
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("_-.:/", c) < 0 {
			return false
		}
	}
	return true
}

const (
	maxReason = 400
	// leastQuoted is the length from which a value that occurs in a reason counts as quoted.
	leastQuoted = 4
	// leastInName is that length for a tool's name: short values are parts of many names.
	leastInName = 8
)

func showReason(reason string, c Call) string {
	const none = "the call isn't allowed"
	if !utf8.ValidString(reason) || quotesValue(reason, c.Args, leastQuoted) {
		return none
	}
	line := strings.Join(strings.FieldsFunc(reason, func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t' || r == '\r' || runes.IsInvisible(r)
	}), " ")
	if line == "" {
		return none
	}
	return textcut.Head(line, maxReason)
}

// quotesValue reports whether a text holds a value of the arguments of at least so many bytes. Of arguments that aren't
// JSON each run of letters and digits counts as one.
func quotesValue(text string, args []byte, least int) bool {
	if len(args) == 0 || text == "" {
		return false
	}
	text = strings.ToLower(text)
	quotes := func(value string) bool {
		value = strings.ToLower(strings.TrimSpace(value))
		return len(value) >= least && strings.Contains(text, value)
	}
	d := jsontext.NewDecoder(strings.NewReader(string(args)))
	for {
		key := false
		if kind, n := d.StackIndex(d.StackDepth()); kind == '{' && n%2 == 0 {
			key = true
		}
		tok, err := d.ReadToken()
		if err != nil {
			break
		}
		if k := tok.Kind(); !key && (k == '"' || k == '0') && quotes(tok.String()) {
			return true
		}
	}
	if jsontext.Value(args).IsValid() {
		return false
	}
	for _, word := range strings.FieldsFunc(string(args), func(r rune) bool { return strings.ContainsRune("\"{}[],: \t\r\n\\", r) }) {
		if quotes(word) {
			return true
		}
	}
	return false
}
