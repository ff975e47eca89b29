//go:build linux

package bash_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/sentinel/touch/bash"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

const (
	inputSize   = 64 << 10
	mostMemory  = 64 << 20 // bytes that one input may take
	childLimit  = 4 << 30  // of addresses: the runtime reserves more than it uses
	measuredVar = "VEDETTE_TEST_MEASURED_INPUT"
)

// TestMain is the child as well, which reads one input under limits of memory
// and prints how much it took.
func TestMain(m *testing.M) {
	if name := os.Getenv(measuredVar); name != "" {
		measureInput(name)
		return
	}
	os.Exit(m.Run())
}

func measureInput(name string) {
	limit := syscall.Rlimit{Cur: childLimit, Max: childLimit}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fmt.Println("limit:", err)
		os.Exit(1)
	}
	env := path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}
	bash.Evaluate(`python3 -c 'print(1)' | grep x; rm -f a`, env, bash.NewBudget()) // the tables are part of the program
	debug.FreeOSMemory()
	before := peakMemory()
	found := bash.Evaluate(swollen()[name], env, bash.NewBudget())
	fmt.Printf("took %d %t\n", peakMemory()-before, len(found.Unread)+len(found.Doubts)+len(found.Dangers) > 0 || found.Unparsed)
}

// peakMemory is the most memory that the process has ever had, in bytes.
func peakMemory() int {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(kb, "kB")))
			return n << 10
		}
	}
	return 0
}

// fill repeats a piece until the input is full.
func fill(head, piece, tail string) string {
	return head + strings.Repeat(piece, (inputSize-len(head)-len(tail))/len(piece)) + tail
}

// swollen are inputs whose reading would make much of little: each way in which
// texts, lists and words are put together.
func swollen() map[string]string {
	quoted := func(lang, code string) string { return lang + " '" + code + "'" }
	return map[string]string{
		"python doubling sixty": quoted("python3 -c", "x=\"a\";"+strings.Repeat("x=x+x;", 60)+"open(x)"),
		"python doubling":       quoted("python3 -c", fill("x=\"a\";", "x=x+x;", "open(x)")),
		"python times":          quoted("python3 -c", `x="a"*999999999; open(x)`),
		"python join":           quoted("python3 -c", fill(`x="aaaaaaaa".join([`, `"b"*99999,`, `]); open(x)`)),
		"python replace": quoted("python3 -c",
			`x="`+strings.Repeat("a", 20<<10)+`".replace("a","`+strings.Repeat("b", 20<<10)+`"); open(x)`),
		"python format":          quoted("python3 -c", `x="%999999999s" % "a"; open(x)`),
		"python lists":           quoted("python3 -c", fill("x=[\"a\"];", "x=x+x;", "import subprocess; subprocess.run(x)")),
		"javascript repeat":      quoted("node -e", `require("fs").rmSync("a".repeat(1e9))`),
		"javascript doubling":    quoted("node -e", fill(`let x="a";`, "x+=x;", `require("fs").rmSync(x)`)),
		"javascript templates":   quoted("node -e", fill("let x=\"a\";", "x=`${x}${x}`;", `require("fs").rmSync(x)`)),
		"perl times":             quoted("perl -e", `system("a" x 999999999)`),
		"perl doubling":          quoted("perl -e", fill(`$x="a";`, "$x.=$x;", "system($x)")),
		"ruby times":             quoted("ruby -e", `system("a" * 999999999)`),
		"php doubling":           quoted("php -r", fill(`$x="a";`, "$x.=$x;", "system($x);")),
		"awk doubling":           quoted("awk", fill(`BEGIN{x="a";`, "x=x x;", "system(x)}")),
		"lua times":              quoted("lua -e", `os.execute(string.rep("a", 999999999))`),
		"code nesting":           quoted("perl -e", strings.Repeat("f(", inputSize/2)),
		"code quotes":            quoted("ruby -e", strings.Repeat(`"a" `, inputSize/4)),
		"shell doubling":         fill("x=a;", "x=$x$x;", `rm "$x"`),
		"shell appending":        fill("x=a;", "x+=$x;", `rm "$x"`),
		"shell replacing":        fill("x=aaaaaaaa;", "x=${x//a/$x};", `rm "$x"`),
		"shell replacing once":   "x=" + strings.Repeat("a", 30<<10) + ";y=" + strings.Repeat("b", 30<<10) + `;rm "${x//a/$y}"`,
		"shell arrays":           fill("a=(a b);", `a+=("${a[@]}");`, `rm "${a[@]}"`),
		"shell unsure arrays":    fill("t=(a b);", `if a; then t[1]=$t; t+=("${t[@]}"); t=c; fi;`, `rm "${t[@]}"`),
		"shell unsure elements":  fill("", `a && t[1]+="$t";`, `rm "${t[@]}"`),
		"shell own variables":    fill("", `t+="$t$u" u="$t" f;`, `rm "$t"`),
		"shell processes":        fill("t=a u=b v=c;", `bash -c 'rm $t';`, ""),
		"shell nested processes": fill("t=a;", `t="$t$t" bash -c '`, ""),
		"shell local names":      fill("f() { local t; t=$t$1; }; ", "f a;", "rm $t"),
		"shell combined words":   fill("for x in a b c d; do for y in e f g h; do ", "rm $x $y;", "done; done"),
		"shell readings":         fill("for x in a b c d e f; do ", `echo $x | `, "cat; done"),
		"shell nested readings":  fill("for x in a b c; do f() { ", `g() { f $x "$1"; f "$x$1"; }; g $x; `, "}; f $x; done"),
		"shell lists":            fill("a='a b';", `a="$a $a";`, `rm $a`),
		"shell parameters":       fill("set -- a b;", `set -- "$@" "$@";`, `rm "$@"`),
		"shell widths":           fill("printf '", "%9999999d", "' 1 | sh"),
		"shell one width":        "printf '%999999999d' 1 | sh",
		"shell star width":       "printf '%*d' 999999999 1 | sh",
		"shell braces":           fill("rm ", "{1..9}", ""),
		"shell braces in words":  fill("rm ", "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l} ", ""),
		"shell numbers":          "rm {1..999999999}",
		"shell alternatives":     fill("", "if a; then x=$x$y; else y=$y$x; fi;", `rm "$x"`),
		"shell loops":            "for a in {1..900}; do for b in {1..900}; do for c in {1..900}; do rm $a$b$c; done; done; done",
		"shell functions":        fill("f(){ ", "g $1$1;", "}; g(){ f $1$1; }; f a"),
		"shell twins":            "f(){ f $1$1; f $1$1; f $1$1; }; f aaaa",
		"shell evals":            fill("", "eval ", "rm x"),
		"shell unsets":           fill("x="+strings.Repeat("''", 10_000)+";unset", " x", ""),
		"shell aliases":          fill("alias a='a a';", "a x;", ""),
		"shell substitutions":    strings.Repeat("$(", 5000) + strings.Repeat(")", 5000),
		"shell echoes":           fill("", "echo aaaaaaaa && ", "true"),
		"shell files":            fill("echo aaaaaaaa > a;", "cat a a > b; cat b b > a;", "sh a"),
		"shell added files":      fill("", "echo aaaaaaaa >> a; sh a;", ""),
		"shell folders":          fill("", "if a; then cd a; fi; rm b;", ""),
		"shell links":            fill("", "ln -s a b; ln -s b c; rm c/x;", ""),
		"shell here-documents":   fill("", "cat <<E | sh\n$x\nE\n", ""),
		"sed chains":             "echo a | sed '" + fill("", "s/a/aaaa/g;", "")[:200] + "' | sh",
		"sed once":               "echo " + strings.Repeat("a", 60<<10) + " | sed 's/a/" + strings.Repeat("b", 200) + "/g' | sh",
		"tr and cut":             fill("echo a", " | tr a-z b-z | cut -c1-9 | rev | base64", " | sh"),
		"items":                  "seq 1 60 | " + fill("xargs -I{} echo ", "{}{}{}{} ", ""),
		"items in words":         "echo " + strings.Repeat("a", 20<<10) + " | xargs -I{} echo " + strings.Repeat("{}", 10<<10),
		"combined items":         fill("parallel echo ::: a b c d ", "::: a b c d ", ""),
		"searches":               fill("find a b c d -exec echo ", "{} ", ";"),
		"pipes":                  fill("f() { ", "a|", "f; }"),
		"words":                  fill("rm ", "a/b.o ", ""),
		"mentions":               fill("tool ", "--a=/b:/c,/d ", ""),
		"commands":               fill("", "a;", ""),
		"hosts":                  fill("curl ", "https://a.example/ ", ""),
		"many hosts":             "curl https://{1..9}.{1..9}.{1..9}.{1..9}.example/",
		"nested commands":        fill("", "sudo ", "rm x"),
		"unknown nested":         fill("", "foo rm ", "x"),
		"quoted nested":          fill("", `sh -c "`, ""),
		"wide line of a program": fill("tmux send-keys ", "'rm x' ", "Enter"),
	}
}

// No input takes much more memory than it has bytes, whatever it would make of
// itself, and one that would is not taken for harmless.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	// The race detector needs more address space than the limit: the children do without.
	plain := owntest.Plain(t)
	for name, input := range swollen() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.LessOrEqual(t, len(input), inputSize+64)
			child := exec.CommandContext(t.Context(), plain)
			child.Env = append(os.Environ(), measuredVar+"="+name, "GOMEMLIMIT=256MiB", "GOGC=100")
			out, err := child.CombinedOutput()
			require.NoError(t, err, "the child dies: %s", firstLines(out))
			var took int
			var held bool
			_, err = fmt.Sscanf(string(out), "took %d %t", &took, &held)
			require.NoError(t, err, "%s", firstLines(out))
			require.LessOrEqual(t, took, mostMemory)
		})
	}
}

func firstLines(out []byte) string { return string(out[:min(len(out), 400)]) }

// BenchmarkSwollen prints how long each of those inputs takes, and how much of
// the processors' time: that is the same on a busy machine.
func BenchmarkSwollen(b *testing.B) {
	env := path.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}
	spent := func() int64 {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	for name, input := range swollen() {
		b.Run(name, func(b *testing.B) {
			before := spent()
			for b.Loop() {
				bash.Evaluate(input, env, bash.NewBudget())
			}
			b.ReportMetric(float64(spent()-before)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}
