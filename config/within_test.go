package config_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// within is a mistake at a place of a text's value, as the rules report them.
type within struct {
	foreign
	line, column int
}

func (w within) ConfigPlace() (line, column int) { return w.line, w.column }

// mistakeIn is a mistake at the word HERE in the condition of the first rule.
func mistakeIn(when string) within {
	before, _, _ := strings.Cut(when, "HERE")
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return within{foreign{"permissions[0].when", fmt.Sprintf("%d:%d: is odd", line, column)}, line, column}
}

// A mistake within a condition is placed where it is written, however that is.
func TestLocateWithinText(t *testing.T) {
	for name, when := range map[string]string{
		"plain":                 "when: call.HERE == 'x'",
		"plain, at its start":   "when: HERE == 'x'",
		"plain over lines":      "when: call.a == 'x' &&\n      call.HERE == 'y'",
		"single quotes":         "when: 'args.to == ''it''''s'' && HERE'",
		"single, over lines":    "when: 'args.to == ''é'' &&\n\n      HERE'",
		"double quotes":         `when: "args.to == \"a\\\\b\" && HERE"`,
		"double, with a break":  `when: "args.to == 'a' &&\n  HERE == 1"`,
		"double, over lines":    "when: \"args.to == 'a' \\\n      && HERE == 1\"",
		"wide characters":       "when: \"args.to == 'é世🙂' && HERE\"",
		"literal":               "when: |\n      call.a &&\n        call.HERE == 'x'",
		"literal, stripped":     "when: |- # why\n      call.a &&\n\n      call.HERE == 'x'",
		"literal, indented":     "when: |2\n        call.a &&\n      call.HERE == 'x'",
		"folded":                "when: >\n      call.a &&\n      call.HERE == 'x'",
		"folded, kept and deep": "when: >+\n      call.a &&\n\n        b &&\n      call.HERE == 'x'",
		"anchor":                "when: &same call.HERE == 'x'",
	} {
		for ending, newline := range map[string]string{"lf": "\n", "crlf": "\r\n", "bom": "\n"} {
			t.Run(name+", "+ending, func(t *testing.T) {
				src := strings.ReplaceAll("version: 1\npermissions:\n  - skill: '*'\n    "+when+"\n    then: ask\n", "\n", newline)
				if ending == "bom" {
					src = "\ufeff" + src
				}
				requireHere(t, src)
			})
		}
	}
	t.Run("in a mapping on one line", func(t *testing.T) {
		requireHere(t, "version: 1\npermissions: [{reason: \"é\", skill: '*', when: \"!HERE\", then: ask}]\n")
	})
}

// requireHere demands that the mistake is placed at the word HERE of the file.
func requireHere(t *testing.T, src string) {
	t.Helper()
	c, err := config.Parse("p.yaml", []byte(src), config.Options{})
	require.NoError(t, err)
	before, _, ok := strings.Cut(strings.TrimPrefix(src, "\ufeff"), "HERE")
	require.True(t, ok)
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	require.EqualError(t, c.Locate(mistakeIn(c.Permissions[0].When)), fmt.Sprintf("p.yaml:%d:%d: permissions[0].when: is odd", line, column))
}

// Where the written form doesn't show the place, the condition's start and the place
// in its text are told.
func TestLocateWithinTextThatIsNotShown(t *testing.T) {
	for name, tc := range map[string]struct {
		when, want string
		line       int
	}{
		"from the environment": {`"${COND}"`, "p.yaml:2:45: permissions[0].when: 1:3: is odd", 1},
		"a part of it":         {`"user == '${COND}'"`, "p.yaml:2:45: permissions[0].when: 1:3: is odd", 1},
		"written as numbers":   {`"\u0075ser == 'x'"`, "p.yaml:2:45: permissions[0].when: 1:3: is odd", 1},
		"beyond its end":       {`"user == 'x'"`, "p.yaml:2:45: permissions[0].when: 7:3: is odd", 7},
		"no line":              {`"user == 'x'"`, "p.yaml:2:45: permissions[0].when: 0:3: is odd", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Parse("p.yaml", []byte("version: 1\npermissions: [{skill: '*', then: ask, when: "+tc.when+"}]"),
				config.Options{Env: env(map[string]string{"COND": "user == 'canary'"})})
			require.NoError(t, err)
			err = c.Locate(within{foreign{"permissions[0].when", fmt.Sprintf("%d:3: is odd", tc.line)}, tc.line, 3})
			require.EqualError(t, err, tc.want)
		})
	}
}
