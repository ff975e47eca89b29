package guard

import (
	"encoding/json"
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// optionInName is the signal of a name that a program would read as an option.
const optionInName = "option_in_argument"

// operandMarks are the marks of arguments that name something and may become a
// command's operand.
const operandMarks = skills.Target | skills.Path | skills.URL

// addOptions refuses names that start with "-", where a program may get them as
// a word and no "--" stands before it.
func (f *findings) addOptions(c sentinel.Call) {
	s := c.Skill()
	if k := s.Spec().Run.Kind; k == "" || k == "go" || k == "builtin" {
		return // Go code takes a value as it is; every other kind may start a program
	}
	s.Walk(c.Parsed(), func(a skills.Arg) {
		text, ok := a.Text()
		if !ok || text == "" || text[0] != '-' || a.Marks&operandMarks == 0 || a.Marks.Has(skills.Shell) {
			return
		}
		if readsAsOption(s.Spec().Run, a.Name, text) {
			name := a.Name
			if !a.Declared {
				name = "" // a key that the model made up belongs in no record
			}
			f.add(CodeInjected, optionInName, name)
		}
	})
}

// readsAsOption reports whether the skill's program may take a value for an
// option. Of exec the words are known. Elsewhere the service makes them: then
// "-x" and "--word" count, and the negative numbers that some services have for
// ids don't.
func readsAsOption(r skills.Run, arg, text string) bool {
	if r.Kind != "exec" {
		return len(text) > 1 && (text[1] == '-' || isLetter(text[1]))
	}
	var o struct {
		Argv      []string `json:"argv"`
		AllowDash bool     `json:"allow_dash"`
	}
	if json.Unmarshal(r.Options, &o) != nil {
		return true // what can't be read protects nothing
	}
	at := slices.Index(o.Argv, "{{"+arg+"}}")
	return at >= 0 && !o.AllowDash && !slices.Contains(o.Argv[:at], "--")
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
