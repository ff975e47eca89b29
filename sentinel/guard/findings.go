package guard

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// optionInName is the signal of a name that a program would read as an option.
const optionInName = "option_in_argument"

// operandMarks are the marks of arguments that name something and may become a
// command's operand.
const operandMarks = skills.Target | skills.Path | skills.URL

// finding is one reason against a call.
type finding struct {
	code   string
	signal string
	arg    string
}

// findings are reasons against a call, each of them once.
type findings []finding

// addOptions refuses names that start with "-", where a program may get them as
// a word and no "--" stands before it.
func (f *findings) addOptions(c sentinel.Call) {
	s := c.Skill()
	if k := s.Spec().Run.Kind; k == "" || k == "go" || k == "builtin" {
		return // Go code takes a value as it is; every other kind may start a program
	}
	c.WalkArgs(func(a skills.Arg) {
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

// add adds a reason that isn't among them yet.
func (f *findings) add(code, signal, arg string) {
	if x := (finding{code, signal, arg}); !slices.Contains(*f, x) {
		*f = append(*f, x)
	}
}

// addChangingLines asks about the command lines that aren't plainly reading, where the
// program that runs them has no sandbox, or nothing undoes what it writes.
func (f *findings) addChangingLines(s *skills.Skill, t touch.Touch, code, signal string) {
	if !s.TakesShell() {
		return
	}
	for _, c := range t.Commands {
		if !slices.Contains(t.Plain, c.Arg) {
			f.add(code, signal, c.Arg)
		}
	}
}

// toVerdict turns what was found into one outcome. Its text holds codes and
// declared argument names alone.
func (f findings) toVerdict(o sentinel.Outcome) sentinel.Verdict {
	slices.SortStableFunc(f, func(a, b finding) int { return slices.Index(codeOrder, a.code) - slices.Index(codeOrder, b.code) })
	code := f[0].code
	v := sentinel.Verdict{State: sentinel.Judged, Outcome: o, Code: code, WhatYouCanDo: adviseForCode(code)}
	if o == sentinel.Deny {
		v.HasScore = true
	}
	v.Reason = fmt.Sprintf("%s (%s)", explainCode(code), f[0].signal)
	if f[0].arg != "" {
		v.Reason = fmt.Sprintf("%s: %s (%s)", f[0].arg, explainCode(code), f[0].signal)
	}
	for _, x := range f {
		i := slices.IndexFunc(v.Evidence, func(e sentinel.Evidence) bool { return e.Signal == x.signal })
		if i < 0 {
			i = len(v.Evidence)
			v.Evidence = append(v.Evidence, sentinel.Evidence{Signal: x.signal})
		}
		if x.arg != "" && !slices.Contains(v.Evidence[i].Args, x.arg) {
			v.Evidence[i].Args = append(v.Evidence[i].Args, x.arg)
		}
	}
	return v
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
