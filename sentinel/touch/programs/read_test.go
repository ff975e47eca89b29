package programs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

var roleNames = map[programs.Role]string{
	programs.File: "file", programs.Command: "command", programs.Line: "line", programs.Code: "code", programs.Script: "script", programs.Host: "host", programs.URL: "url",
	programs.Folder: "folder", programs.Assign: "assign", programs.Data: "data", programs.Sent: "body", programs.Process: "process",
}

// spell writes a use as one line: its row, then its parts but data.
func spell(line string, args []programs.Word, u programs.Use) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", u.Row)
	for _, p := range u.Parts {
		if p.Role == programs.Data {
			continue
		}
		fmt.Fprintf(&b, " | %s", roleNames[p.Role])
		if p.Role == programs.File {
			b.WriteByte(' ')
			for i, letter := range "rwdx" {
				if p.Access&(1<<i) != 0 {
					b.WriteRune(letter)
				}
			}
		}
		for _, m := range []struct {
			on   bool
			name string
		}{{p.Tree, "tree"}, {p.Names, "names"}, {p.Sent, "sent"}, {p.Client, "client"}, {p.Boxed, "box"}, {p.Effect != "", p.Effect}, {p.Lang != "", p.Lang}} {
			if m.on {
				b.WriteString(" " + m.name)
			}
		}
		words := []string{}
		if p.Arg < 0 {
			words = append(words, p.Text)
		}
		for i := p.Arg; i >= 0 && i < p.End; i++ {
			t := args[i].Text
			if i == p.Arg && p.To > 0 {
				t = t[:p.To]
			}
			if i == p.Arg {
				t = t[p.From:]
			}
			words = append(words, t)
		}
		b.WriteString(" <" + strings.Join(words, " ") + ">")
	}
	if u.Input != programs.Ignored {
		fmt.Fprintf(&b, " | input %s", []string{"", "shown", "items", "names", "runs " + u.InputLang, "leaves"}[u.Input])
	}
	for _, e := range u.Effects {
		fmt.Fprintf(&b, " | %s %s", []string{"", "change", "doubt", "danger"}[e.Class], e.Code)
	}
	if u.Here.Role != 0 {
		b.WriteString(" | here")
	}
	for _, m := range []struct {
		on   bool
		name string
	}{{u.Rehearsal, "rehearsal"}, {u.Environment, "environment"}} {
		if m.on {
			b.WriteString(" | " + m.name)
		}
	}
	for _, t := range u.Unread {
		b.WriteString(" | unread " + t)
	}
	return b.String()
}

// splitWords takes a line apart at blanks, with single quotes round words.
func splitWords(line string) (name string, args []programs.Word) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var w strings.Builder
		for line != "" && line[0] != ' ' {
			if line[0] == '\'' {
				text, rest, _ := strings.Cut(line[1:], "'")
				w.WriteString(text)
				line = rest
				continue
			}
			w.WriteByte(line[0])
			line = line[1:]
		}
		words = append(words, w.String())
	}
	for _, w := range words[1:] {
		args = append(args, programs.Word{Text: w, Known: true})
	}
	return words[0], args
}

func TestReadWords(t *testing.T) {
	for line, want := range map[string]string{
		"bash -euo pipefail -c 'rm -rf /'":  "bash | line <rm -rf />",
		"bash -ceuo pipefail 'rm -rf /'":    "bash | line <rm -rf />",
		"bash -oe pipefail -c X":            "bash | line <X>",
		"bash +o posix -O extglob -c X a b": "bash | line <X>",
		"bash script.sh -c X":               "bash | script sh <script.sh>",
		"bash -s -- a":                      "bash | input runs sh",
		"bash -":                            "bash | input runs sh",
		"bash --norc-ish -c X":              "bash | line <X> | unread --norc-ish",
		"timeout -k 5 10 rm -rf /":          "timeout | command <rm -rf />",
		"timeout -s9 10 rm -rf /":           "timeout | command <rm -rf />",
		"cp -r a b c":                       "cp | file r tree <a> | file r tree <b> | file w <c>",
		"cp a b -t d":                       "cp | file w <d> | file r <a> | file r <b>",
		"cp --targ=d a b":                   "cp | file w <d> | file r <a> | file r <b>",
	} {
		t.Run(line, func(t *testing.T) {
			name, args := splitWords(line)
			got := spell(line, args, programs.ReadWords(name, args))
			require.Equal(t, want, strings.ReplaceAll(got, " | input shown", ""))
		})
	}
}
