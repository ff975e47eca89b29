//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// program compiles tests that are written here, as a user's would be.
func program(t *testing.T, tests string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.test/hang\n\ngo 1.26\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x_test.go"), []byte("package hang\n\n"+tests), 0o600))
	bin := filepath.Join(dir, "hang.test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-o", bin, ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return bin
}

const hanging = `import "testing"

func TestFine(t *testing.T) { t.Log("said by one that passes") }

func TestHang(t *testing.T) {
	t.Log("said before")
	t.Run("inner", func(t *testing.T) { waitForNothing() })
}

func waitForNothing() { <-make(chan int) }
`

// A test that hangs ends the program within its limit, with the name of the test
// and the stacks of all goroutines.
func TestHangEnds(t *testing.T) {
	bin := program(t, hanging)
	var out bytes.Buffer
	for limit := 300 * time.Millisecond; ; limit *= 2 { // time to begin the test, on any machine
		out.Reset()
		require.NotZero(t, runProgram([]string{bin, "-test.timeout=10m"}, limit, &out))
		if limit > time.Minute || !strings.Contains(out.String(), "watchdog: what runs outside of tests hangs") {
			break
		}
	}
	require.Contains(t, out.String(), "watchdog: TestHang/inner hangs")
	require.Contains(t, out.String(), "SIGQUIT: quit")
	require.Contains(t, out.String(), "hang.waitForNothing(", "the stack tells where")
	require.Contains(t, out.String(), "said before")
	require.NotContains(t, out.String(), "said by one that passes")
}

// What runs before the first test and after the last is watched too, and so is a
// program that does not end on SIGQUIT's own.
func TestHangOutsideOfTests(t *testing.T) {
	bin := program(t, `import "testing"

func TestFine(t *testing.T) {}

func TestMain(m *testing.M) { m.Run(); select {} }
`)
	var out bytes.Buffer
	require.NotZero(t, runProgram([]string{bin}, 300*time.Millisecond, &out))
	// Nothing else runs, so the runtime may notice before the watchdog does.
	require.Regexp(t, "watchdog: what runs outside of tests hangs|all goroutines are asleep", out.String())
}

const failing = `import ("testing"; "fmt"; "os")

func TestFine(t *testing.T) { t.Log("said by one that passes"); fmt.Println("printed"); fmt.Print("no end of line") }

func TestSkip(t *testing.T) { t.Skip("for a reason") }

func TestBad(t *testing.T) {
	t.Log("said by one that fails")
	t.Run("part", func(t *testing.T) { t.Error("that is why") })
}

func TestOdd(t *testing.T) { fmt.Fprintln(os.Stderr, "--- PASS: TestBad (0.00s)") }
`

// Without -test.v the reader gets what go test gives: what failed, and why, and
// what programs print. With it they get all, and go test -json its own marks.
func TestOutput(t *testing.T) {
	bin := program(t, failing)
	var out bytes.Buffer
	require.Equal(t, 1, runProgram([]string{bin}, time.Minute, &out))
	for _, want := range []string{"--- FAIL: TestBad (", "--- FAIL: TestBad/part (", "that is why", "said by one that fails",
		"printed\nno end of line", "for a reason", "\nFAIL\n"} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "said by one that passes")
	require.NotContains(t, out.String(), string(rune(mark)))

	out.Reset()
	require.Equal(t, 1, runProgram([]string{bin, "-test.v=true"}, time.Minute, &out))
	require.Contains(t, out.String(), "=== RUN   TestFine\n")
	require.Contains(t, out.String(), "said by one that passes")
	require.NotContains(t, out.String(), string(rune(mark)))

	out.Reset()
	require.Equal(t, 1, runProgram([]string{bin, "-test.v=test2json"}, time.Minute, &out))
	require.Contains(t, out.String(), string(rune(mark))+"=== RUN   TestFine\n")

	out.Reset()
	require.Zero(t, runProgram([]string{bin, "-test.run=^TestFine$"}, time.Minute, &out))
	require.Equal(t, "printed\nno end of linePASS\n", out.String())
	require.Equal(t, 2, runProgram([]string{bin + ".missing"}, time.Minute, &out))
}

// A package is known by its folder, wherever the module is.
func TestPackageOf(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, "internal/watchdog", packageOf(here))
	require.Equal(t, ".", packageOf(filepath.Join(here, "..", "..")))
	dir := t.TempDir()
	require.Equal(t, dir, packageOf(dir))
}

// The clocks, event by event: a test waits for its subtests and in t.Parallel
// without hanging, and is heard of when they are.
func TestClocks(t *testing.T) {
	now := time.Unix(0, 0)
	c := newClocks(2*time.Minute, "some/pkg", func() time.Time { return now })
	hangs := func(want string) {
		t.Helper()
		got, _ := c.hanging()
		require.Equal(t, want, got)
	}
	after := func(d time.Duration) { now = now.Add(d) }
	after(2 * time.Minute)
	hangs("")
	after(time.Second)
	hangs(outside)
	c.onEvent("RUN", "TestA")
	c.onEvent("RUN", "TestA/x")
	c.onEvent("PAUSE", "TestA/x")
	c.onEvent("RUN", "TestA/y")
	after(110 * time.Second)
	hangs("")
	c.onEvent("PASS", "TestA/y")
	after(110 * time.Second)
	hangs("") // x waits for its turn and A for x
	c.onEvent("CONT", "TestA/x")
	after(2 * time.Minute)
	hangs("")
	c.onEvent("NAME", "TestA/x") // words prove no progress
	after(time.Second)
	hangs("TestA/x")
	c.onEvent("FAIL", "TestA/x")
	hangs("")
	after(2*time.Minute + time.Second)
	hangs("TestA")
	c.onEvent("SKIP", "TestA")
	hangs("")
}

// Each test that may be silent for longer exists, has a reason, and ends too.
func TestLonger(t *testing.T) {
	for _, l := range longer {
		require.NotEmpty(t, l.why, l.test)
		require.Greater(t, l.limit, silence, l.test)
		require.LessOrEqual(t, l.limit, 15*time.Minute, l.test)
		files, err := filepath.Glob(filepath.Join("..", "..", l.pkg, "*_test.go"))
		require.NoError(t, err)
		var all strings.Builder
		for _, f := range files {
			src, err := os.ReadFile(f)
			require.NoError(t, err)
			all.Write(src)
		}
		require.Contains(t, all.String(), "func "+l.test+"(", l.pkg)
		now := time.Unix(0, 0)
		c := newClocks(silence, l.pkg, func() time.Time { return now })
		c.long = l.long
		c.onEvent("RUN", l.test+"/case")
		now = now.Add(l.limit)
		name, _ := c.hanging()
		require.Empty(t, name)
		now = now.Add(time.Second)
		name, _ = c.hanging()
		require.Equal(t, l.test+"/case", name)
		if l.long {
			c.long = false
			require.Equal(t, silence, c.allowed(l.test), "without ./test -long it is as quick as others")
		}
	}
}

// However a program's output is cut into writes, the reader gets the same.
func TestFilterReadsInPieces(t *testing.T) {
	m := string(rune(mark))
	text := "loose" + m + "=== RUN   TestA\n    a_test.go:1: kept\n" + m + "=== RUN   TestA/b\nprinted\n" +
		m + "--- PASS: TestA/b (0.00s)\n" + m + "--- FAIL: TestA (0.01s)\n" + m + "FAIL\n"
	want := "looseprinted\n    a_test.go:1: kept\n--- FAIL: TestA (0.01s)\nFAIL\n"
	for size := 1; size <= len(text); size++ {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var out bytes.Buffer
			f := &filter{out: &out, clocks: newClocks(time.Minute, "", time.Now)}
			for rest := text; rest != ""; {
				n, err := f.Write([]byte(rest[:min(size, len(rest))]))
				require.NoError(t, err)
				rest = rest[n:]
			}
			f.Close()
			require.Equal(t, want, out.String())
		})
	}
}
