package code_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

func languages() []string {
	return []string{
		"python", "js", "perl", "ruby", "php", "lua", "awk", "sed", "r", "julia", "tcl", "java", "groovy", "scala", "kotlin", "go", "elixir",
		"erlang", "powershell",
		"cmd", "osascript", "lisp", "vim", "ed", "gdb", "make", "m4", "dc", "jq", "sql", "mongo", "redis", "cypher", "other",
	}
}

// Whatever a program holds, reading it ends, gives the same twice, and finds
// no more than a caller can judge.
func FuzzRead(f *testing.F) {
	for _, file := range []string{"attack_open.txt", "benign_open.txt"} {
		for _, r := range rows(f, file, map[bool]int{true: 3, false: 2}[strings.HasPrefix(file, "attack")]) {
			f.Add(r.lang, r.text)
		}
	}
	for _, t := range []string{"{{{", "f'{f\"{x}\"}'", "s/a", "((((", "x=x+x;", "a.b.c.d(", "q{", "%w(", "\\", "\x00\xff", "s{a}{b}e",
		"`${`${", "[[[[", "1e", "s/a/b/w"} {
		for _, l := range languages() {
			f.Add(l, t)
		}
	}
	f.Fuzz(func(t *testing.T, lang, text string) {
		got := code.Read(lang, text)
		require.Equal(t, got, code.Read(lang, text))
		require.LessOrEqual(t, len(got.Paths), 512)
		require.LessOrEqual(t, len(got.Commands), 512)
		for _, p := range got.Paths {
			require.LessOrEqual(t, len(p.Text), 4096)
			require.NotEmpty(t, p.Text)
		}
		for _, e := range got.Effects {
			require.Contains(t, []string{"fork_bomb", "kill_all", "database_destroy"}, e)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for name, r := range map[string]row{
		"harmless": {"python", "", `import json,sys; print(json.load(sys.stdin)["items"][0]["name"])`},
		"harmful":  {"python", "", `import os,shutil; shutil.rmtree(os.path.join("/","srv")); os.system("rm -rf " + "/srv")`},
		"awk":      {"awk", "", `{ s += $3 } END { printf "%.2f\n", s/NR }`},
		"sql":      {"sql", "", "DELETE FROM sessions WHERE expires_at < now()"},
		"large":    {"js", "", strings.Repeat("const a = require('fs').readFileSync('a.txt').toString() + `x${1+1}`;\n", 900)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				code.Read(r.lang, r.text)
			}
		})
	}
}
