package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Every command says what it is for and shows how it is used.
func TestEveryCommandExplainsItself(t *testing.T) {
	var walk func(c *cobra.Command)
	seen := 0
	walk = func(c *cobra.Command) {
		seen++
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.Contains(t, c.Example, "vedette", c.CommandPath())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}))
	require.Greater(t, seen, 8)
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) {
	if b.err == nil {
		panic("CANARY")
	}
	return 0, b.err
}

// What can't be written is a failure, and a panic of a command as well; its
// value isn't shown.
func TestRunFails(t *testing.T) {
	for name, out := range map[string]io.Writer{"write": broken{errors.New("disk full")}, "panic": broken{}} {
		t.Run(name, func(t *testing.T) {
			var msg bytes.Buffer
			code := run(t.Context(), []string{"version"}, &app{in: strings.NewReader(""), out: out, err: &msg})
			require.Equal(t, exitFailed, code)
			require.NotContains(t, msg.String(), "CANARY")
			require.Contains(t, msg.String(), "vedette: ")
		})
	}
}

// common copies the common configuration to where a workspace may be: the
// module's own folder may lie in one that the guard refuses, such as /root.
func common(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/common")))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "workspace"), 0o700))
	return filepath.Join(dir, "vedette.yaml")
}

// An interrupted command ends with 130, also one whose input never ends.
func TestRunInterrupted(t *testing.T) {
	cfg := common(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		in, feed := io.Pipe()
		code := make(chan int, 1)
		go func() {
			code <- run(ctx, []string{"check", "--config", cfg}, &app{in: in, out: io.Discard, err: io.Discard})
		}()
		synctest.Wait()
		start := time.Now()
		cancel()
		require.Equal(t, exitInterrupted, <-code)
		require.Equal(t, patience, time.Since(start))
		require.NoError(t, feed.Close()) // ends what was left behind
	})
}

// A decision is there before the next line is asked for.
func TestCheckAnswersAtOnce(t *testing.T) {
	cfg := common(t)
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		defer func() { _ = errors.Join(in.Close(), out.Close()) }() // a run that fails must not keep the test waiting
		code <- run(t.Context(), []string{"check", "--config", cfg}, &app{in: in, out: out, err: io.Discard})
	}()
	r := bufio.NewReader(answers)
	for i := range 3 {
		_, err := fmt.Fprintf(feed, `{"id":"%d","proposed_action":{"skill_name":"a.b"}}`+"\n", i)
		require.NoError(t, err)
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, fmt.Sprintf(`{"id":"%d","decision":"deny"`, i))
	}
	require.NoError(t, feed.Close())
	require.Equal(t, exitOK, <-code)
}

// Nothing that a terminal would act on passes; what is seen stays.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é 漢 \"q\"": "plain é 漢 \"q\"", "\x1b[31mred": `\x1b[31mred`, "a\nb\tc": `a\nb\tc`, "\u202egnp.exe": `\u202egnp.exe`,
		"\u009b1m": `\u009b1m`, "\x7f": `\x7f`, "\xff\xfe": `\xff\xfe`, "\u2028": `\u2028`, "a\u200bb": `a\u200bb`, "\ufffd": "\ufffd", "\U000e0041": `\U000e0041`,
	} {
		require.Equal(t, want, clean(in))
	}
}

// Cleaned JSON is the same JSON, and holds nothing that a terminal acts on.
func FuzzCleanJSON(f *testing.F) {
	for _, s := range []string{"", "a", "\u202e\x7f\u009b", "\U000e0041x", "é\u2028", "\xff", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(map[string]string{s: s})
		require.NoError(t, err)
		got := cleanJSON(bytes.Clone(b))
		require.JSONEq(t, string(b), string(got))
		for _, r := range string(got) {
			require.True(t, strconv.IsPrint(r), "%q", r)
		}
	})
}

// Columns are aligned by characters, whatever colours are in them.
func TestTable(t *testing.T) {
	tab := table{colour: true, right: map[int]bool{1: true}}
	tab.add("é", "1", "deny")
	tab.add("abc", "100", "x\x1b")
	var b strings.Builder
	require.NoError(t, tab.write(&b))
	require.Equal(t, "é      1  \x1b[31mdeny\x1b[0m\nabc  100  x\\x1b\n", b.String())
}

// Two edits are a typo, more are another word.
func TestAlike(t *testing.T) {
	for _, tc := range []struct {
		typed, name string
		want        bool
	}{
		{"confg", "config", true}, {"conf", "config", true}, {"cofnig", "config", true}, {"json", "jobs", false}, {"x", "json", false},
		{"", "json", false}, {"limit", "values", false}, {"db", "db", true}, {strings.Repeat("a", 100), "a", false},
	} {
		require.Equal(t, tc.want, alike(tc.typed, tc.name), "%s %s", tc.typed, tc.name)
	}
	require.Equal(t, 3, distance("kitten", "sitting"))
	require.Equal(t, 4, distance("", "four"))
}

// Every mistake of a tree of errors is told, those without a place as the
// file's.
func TestMistakes(t *testing.T) {
	list := config.Errors{{File: "a", Line: 1, Column: 2, Msg: "one"}, {File: "b", Line: 3, Column: 4, Msg: "two"}}
	want := []mistake{{"a", 1, 2, "one"}, {"b", 3, 4, "two"}}
	require.Equal(t, want, mistakes("f", list))
	require.Equal(t, want, mistakes("f", fmt.Errorf("wrapped: %w", list)))
	require.Equal(t, append(want, mistake{File: "f", Message: "no place"}), mistakes("f", errors.Join(list, errors.New("no place"))))
	require.Equal(t, want[:1], mistakes("f", fmt.Errorf("wrapped: %w", list[0])))
	require.Empty(t, mistakes("f", nil))
}

// A moment is a time, a day or how long ago.
func TestWhen(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Time{
		"": {}, "24h": now.Add(-24 * time.Hour), "2026-01-02": time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		"2026-01-02T03:04:05+01:00": time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC),
	} {
		got, err := when("since", in, now)
		require.NoError(t, err)
		require.True(t, want.Equal(got), "%q is %s", in, got)
	}
	for _, in := range []string{"yesterday", "-1h", "2026-13-01", "12"} {
		_, err := when("since", in, now)
		var f *failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, exitUsage, f.code)
	}
}

// The build says what is known of it, and no more.
func TestReadBuild(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	b := readBuild(info, true)
	require.Equal(t, "v1.2.3", b.Version)
	require.Equal(t, "2026-01-02T03:04:05Z", b.Time)
	require.True(t, strings.HasPrefix(b.String(), "vedette v1.2.3 (commit 0123456789ab, modified) go1."), b.String())
	require.True(t, strings.HasPrefix(readBuild(nil, false).String(), "vedette (devel) go1."))
	require.Contains(t, readBuild(nil, false).String(), "commit unknown: built without version control")
	in := readBuild(&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v9.9.9"}, Deps: []*debug.Module{{Path: modulePath, Version: "v1.2.3"}}}, true)
	require.Equal(t, "v1.2.3", in.Version, "a program that embeds Vedette tells Vedette's version")
}
