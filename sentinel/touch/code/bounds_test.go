package code_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/sentinel/touch/code"
)

const (
	inputSize   = 64 << 10
	mostMemory  = 64 << 20 // bytes that one input may take
	measuredVar = "VEDETTE_TEST_MEASURED_CODE"
)

// hostile are pieces that a reader may need more than its share for, repeated.
var hostile = []string{
	"x=x+x;", "f(", "(", "[", "{", "a.", "\"${", "`${", "f'{", "s/", "/", `\/`, "q{", "q(a)", "%x(", "system ", "eval ", "open(a,",
	"unlink a,", "x='a'+", "import a as b,", "print >", "|",
	"copy ", "'", "\"", "with ", "$(shell ", "e\n", "s/a/b/e;", "iex ", "\\! ", "do script \"", "exec ", "rmtree(d);", "for d in (",
	"os.walk('/');", "-", "a=b;", "\"/a\"+", "{a:b}=", "'/x',", "Path('/')/",
}

// TestMain is the child as well, which measures all inputs.
func TestMain(m *testing.M) {
	if os.Getenv(measuredVar) != "" {
		measureInputs()
		return
	}
	os.Exit(m.Run())
}

// alike are the languages whose reader is another's but for its words: they
// share the pieces.
const alike = " r julia java groovy scala kotlin go elixir erlang other cmd ed dc m4 jq osascript cypher "

// measureInputs prints what the hungriest input and the slowest one took.
func measureInputs() {
	var memory uint64
	var took time.Duration
	for _, lang := range languages() {
		code.Read(lang, "x") // the tables are part of the program
		for i, piece := range hostile {
			if strings.Contains(alike, " "+lang+" ") && i%4 != len(lang)%4 {
				continue
			}
			text := strings.Repeat(piece, inputSize/len(piece))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := spentTime()
			code.Read(lang, text)
			took = max(took, spentTime()-began)
			runtime.ReadMemStats(&after)
			memory = max(memory, after.TotalAlloc-before.TotalAlloc)
		}
	}
	fmt.Println("took", memory, int64(took))
}

// 64 KiB of anything take little time and memory.
func TestBounds(t *testing.T) {
	t.Parallel()
	// The race detector drops what regular expressions keep for their next
	// match: the child does without.
	plain := owntest.Plain(t)
	child := exec.CommandContext(t.Context(), plain)
	child.Env = append(os.Environ(), measuredVar+"=1")
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var memory, took int64
	_, err = fmt.Sscanf(string(out), "took %d %d", &memory, &took)
	require.NoError(t, err, "%s", out)
	require.Positive(t, memory)
	t.Logf("the most: %d KiB, %s", memory>>10, time.Duration(took))
	require.Less(t, memory, int64(mostMemory))
	require.Less(t, time.Duration(took), 5*time.Second) // far above what it takes
}

// What lies beyond the bounds is not taken for read, wherever the code stands.
func TestBeyondBounds(t *testing.T) {
	for lang, most := range map[string]int{"python": 16 << 10, "js": 16 << 10, "sql": 4 << 10, "sed": 4 << 10} {
		require.False(t, code.Read(lang, strings.Repeat(" ", most)).Unread, lang)
		require.True(t, code.Read(lang, strings.Repeat(" ", most+1)).Unread, lang)
	}
}

// All programs of one call share its budget of 1 MiB: four of the longest, or
// many short ones.
func TestCost(t *testing.T) {
	const budget = 1 << 20
	for _, lang := range languages() {
		longest := code.Cost(lang, strings.Repeat("x", inputSize))
		require.LessOrEqual(t, 3*longest, budget, lang)
		require.Greater(t, 5*longest, budget, lang)
		require.Positive(t, code.Cost(lang, ""), lang)
	}
	require.Greater(t, code.Cost("sql", "x"), code.Cost("python", "x"))
}

// BenchmarkHostile shows the time of the slowest kind of program.
func BenchmarkHostile(b *testing.B) {
	for _, lang := range []string{"powershell", "sql", "vim", "awk", "python", "js", "perl"} {
		for _, piece := range []string{"e\n", "q(a)", "f(", "s/a/b/e;"} {
			b.Run(lang+" "+piece, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					code.Read(lang, strings.Repeat(piece, inputSize/len(piece)))
				}
			})
		}
	}
}

// What a text holds beyond its bound is unknown, so a call that acts on such a
// text is unread; a call that only shows it isn't.
func TestLongTextsAreUnread(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		lang, text string
		unread     bool
	}{
		{"python", `import os; os.system("true ` + long + `; rm -rf /srv")`, true},
		{"python", `import subprocess as s; s.run(["sh", "-c", "true ` + long + `; rm -rf /srv"])`, true},
		{"python", `import shutil; shutil.rmtree("` + strings.Repeat("/.", 2500) + `/srv")`, true},
		{"python", `open("` + strings.Repeat("/.", 2500) + `/srv/f", "w")`, true},
		{"python", `db.connect().execute("select 1 /*` + long + `*/; drop table users")`, true},
		{"python", `exec("#` + long + `\nprint(1)")`, true},
		{"js", `eval("/*` + long + `*/f()")`, true},
		{"ruby", `eval "#` + long + `\nputs 1"`, true},
		{"perl", `system("sh", "-c", "true ` + long + `; rm -rf /srv")`, true},
		{"ruby", "`true " + long + "; rm -rf /srv`", true},
		{"js", `require("child_process").spawnSync("sh", ["-c", "true ` + long + `; rm -rf /srv"])`, true},
		{"lua", `os.execute("true ` + long + `; rm -rf /srv")`, true},
		{"python", `print("` + long + `")`, false},
		{"js", `console.log("` + long + `")`, false},
	} {
		require.Equal(t, c.unread, code.Read(c.lang, c.text).Unread, "%s %.60s", c.lang, c.text)
	}
}
