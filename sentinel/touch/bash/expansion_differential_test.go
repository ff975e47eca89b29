package bash

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// programWriter writes programs of assignments and expansions, with harmless words alone.
type programWriter struct {
	*rand.Rand
	depth  int
	inside bool // a function, which may not call itself
}

func (w *programWriter) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *programWriter) name() string { return w.pick("t", "t", "u") }

func (w *programWriter) value() string {
	return w.pick("a", "b", "c/d", "/e", "''", "g", "h", `"$t"`, "$u", "${u:-i}", "${t-j}", "${t:=k}", "${t:+l}", "${u+m}", "${t%d}",
		`"${u#a}"`, "${t:-$u}", "${u:=n}", "$(printf %s o)", `"$(printf %s "$t")"`, "${t[1]}", "$((0+0))")
}

func (w *programWriter) assignment() string {
	switch n := w.name(); w.IntN(12) {
	case 0:
		return n + "+=" + w.value()
	case 1:
		return n + "=(" + w.pick("", w.value(), w.value()+" "+w.value(), "[1]="+w.value()) + ")"
	case 2:
		return n + w.pick("[1]=", "[0]=", "[2]+=", "[0]+=") + w.value()
	case 3:
		return n + "+=(" + w.value() + ")"
	default:
		return n + "=" + w.value()
	}
}

func (w *programWriter) assignments() string {
	if w.IntN(4) == 0 {
		return w.assignment() + " " + w.assignment()
	}
	return w.assignment()
}

// plain is an assignment that may stand before a command.
func (w *programWriter) plain() string { return w.name() + w.pick("=", "=", "=", "+=") + w.value() }

func (w *programWriter) declaration() string {
	n := w.name()
	switch w.IntN(9) {
	case 0:
		return "unset " + n
	case 1:
		return "unset '" + n + "[0]'"
	case 2:
		return "printf -v " + n + " %s " + w.value()
	case 3:
		return w.pick("declare -l ", "declare -u ", "declare -a ", "export ", "declare +l ") + n
	case 4:
		return `declare "` + n + "=" + w.pick("a", "b", "$t", "$u") + `"`
	case 5:
		return "printf -v '" + n + "[" + w.pick("0", "1") + "]' %s " + w.value()
	case 6:
		return w.pick(`\`, w.plain()+" ") + "export " + n + "=" + w.value()
	default:
		return w.pick("export ", "declare ", "typeset ", "declare -l ", "readonly ") + w.plain() + w.pick("", " "+w.plain())
	}
}

func (w *programWriter) statement() string {
	if w.depth++; w.depth > 3 {
		w.depth--
		return w.assignments()
	}
	defer func() { w.depth-- }()
	switch w.IntN(18) {
	case 0, 1:
		return w.plain() + " " + w.pick("true", "false", ":")
	case 2, 3:
		return w.declaration()
	case 4:
		return w.pick("true", "false", w.statement()) + " && " + w.statement()
	case 5:
		return w.pick("true", "false", w.statement()) + " || " + w.statement()
	case 6:
		return "if " + w.pick("true", "false", w.statement()) + "; then " + w.statement() + "; elif " + w.statement() +
			"; then " + w.statement() + "; else " + w.statement() + "; fi"
	case 7:
		return "{ " + w.statement() + "; " + w.statement() + "; }"
	case 8:
		return "( " + w.statement() + " )"
	case 9:
		return "{ " + w.statement() + "; } & :"
	case 10:
		return "for " + w.name() + " in " + w.pick("", "a b", `$t`, `"$u"`) + "; do " + w.statement() + "; done"
	case 11:
		return w.function()
	case 12:
		return ": ${" + w.name() + w.pick(":=", "=") + w.pick("a", "b") + "}"
	default:
		return w.assignments()
	}
}

// function defines a function and calls it.
func (w *programWriter) function() string {
	if w.inside {
		return w.assignments()
	}
	w.inside = true
	defer func() { w.inside = false }()
	return "f() { " + w.pick("local "+w.plain(), "local "+w.name(), ":") + "; " + w.statement() + "; }; " + w.pick("", w.plain()+" ") + "f"
}

// write returns a program whose last command, in place of printMark, is given what the
// variables hold.
func (w *programWriter) write() string {
	var b strings.Builder
	for range 1 + w.IntN(4) {
		b.WriteString(w.statement() + w.pick("; ", "\n"))
	}
	if w.IntN(4) == 0 {
		b.WriteString(w.plain() + " ")
	}
	return b.String() + printMark + " " + w.pick(`"/tmp/p/$t"`, `"/tmp/p/$t"`, `"/tmp/p/${t:-z}"`, `"/tmp/p/${u-z}"`, `"/tmp/p/${t[0]}"`,
		`"${t[@]}"`, `"/tmp/p/${t#a}"`)
}

// requireHarmless fails where a program runs anything but words that only print or assign.
func requireHarmless(t *testing.T, program string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(program), "")
	require.NoError(t, err, program)
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 {
				require.Contains(t, []string{"printf", "true", "false", ":", "unset", "f", "export", `\export`}, n.Args[0].Lit(), program)
			}
		case *syntax.Redirect, *syntax.ProcSubst:
			require.Fail(t, "it only prints and assigns", program)
		}
		return true
	})
}

// printEach lets the real shell run programs, and returns what each prints.
func printEach(t *testing.T, programs []string) [][]string {
	shell, err := exec.LookPath("bash")
	require.NoError(t, err, "the test compares with bash")
	var script strings.Builder
	for _, p := range programs {
		p = strings.Replace(p, printMark, `printf '%s\n'`, 1)
		requireHarmless(t, p)
		script.WriteString("(\n" + p + "\n)\nprintf '%s\\n' --\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "--norc", "--noprofile", "-s")
	cmd.Dir, cmd.Env, cmd.Stdin = t.TempDir(), []string{"PATH=" + filepath.Join(t.TempDir(), "none")}, strings.NewReader(script.String())
	var out bytes.Buffer
	cmd.Stdout = &out
	require.NoError(t, cmd.Run())
	var all [][]string
	for text := range strings.SplitSeq(strings.TrimSuffix(out.String(), "--\n"), "--\n") {
		all = append(all, strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
	}
	require.Len(t, all, len(programs))
	return all
}

const printMark = "PRINT"

// ofNothing is what the last command prints of a variable that is not set, or empty.
var ofNothing = []string{"", "/tmp/p/", "/tmp/p/z"}

// believe returns what the reader takes a program to remove, and whether it asks.
func believe(program string) (removed []string, asks bool) {
	line := strings.Replace(program, printMark, "rm -rf", 1)
	got := Evaluate(line, path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}, NewBudget())
	for _, p := range got.Paths {
		if p.Access.Has(Delete) {
			removed = append(removed, p.Raw)
		}
	}
	return removed, len(got.Dangers)+len(got.Doubts)+len(got.Unread) > 0 || got.Unparsed || got.Incomplete
}

// fitsPath reports whether a path of the reader may be a text: it knows that it doesn't
// know what stands for a variable.
func fitsPath(p, text string) bool {
	before, _, unknown := strings.Cut(p, "$")
	return p == text || unknown && strings.HasPrefix(text, before)
}

// What a command is given by the real shell is among what the reader takes it to be given,
// or the reader asks. Of what a branch alone sets or unsets, the reader takes the last
// command to see it set: what is printed of nothing is left out.
func TestExpansionsAreThoseOfTheShell(t *testing.T) {
	w := &programWriter{Rand: rand.New(rand.NewPCG(14, 1))}
	programs := make([]string, 500)
	for i := range programs {
		programs[i] = w.write()
	}
	compared, differences := 0, []string(nil)
	for i, printed := range printEach(t, programs) {
		removed, asks := believe(programs[i])
		if asks || len(printed) == 1 && printed[0] == "" {
			continue
		}
		compared++
		for _, text := range printed {
			if !slices.Contains(ofNothing, text) && !slices.ContainsFunc(removed, func(p string) bool { return fitsPath(p, text) }) {
				differences = append(differences, fmt.Sprintf("%s\nthe shell has %q, the reader %q", programs[i], text, removed))
			}
		}
	}
	require.Empty(t, strings.Join(differences, "\n\n"))
	require.Greater(t, compared, len(programs)/4)
}
