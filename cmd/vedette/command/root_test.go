package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
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
	walk(newRootCommand(&app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}))
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
			code := runLine(t.Context(), []string{"version"}, &app{in: strings.NewReader(""), out: out, err: &msg})
			require.Equal(t, exitFailed, code)
			require.NotContains(t, msg.String(), "CANARY")
			require.Contains(t, msg.String(), "vedette: ")
		})
	}
}

// common copies the common configuration to where a workspace may be. The module's own
// folder may lie in one that the guard refuses, such as /root.
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
			code <- runLine(ctx, []string{"check", "--config", cfg}, &app{in: in, out: io.Discard, err: io.Discard})
		}()
		synctest.Wait()
		start := time.Now()
		cancel()
		require.Equal(t, exitInterrupted, <-code)
		require.Equal(t, patience, time.Since(start))
		require.NoError(t, feed.Close()) // ends what was left behind
	})
}

// A demo that is interrupted is waited for, however long its work takes to end: it says
// whether it cut anything off.
func TestAnInterruptedDemoIsWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &interrupted{at: "holding until", cancel: cancel}
	code := runLine(ctx, []string{"demo", "--hold", "--dir", filepath.Join(t.TempDir(), "demo")},
		&app{in: strings.NewReader(""), out: out, err: out, patience: time.Nanosecond})
	require.Equal(t, exitInterrupted, code)
	text := out.String()
	require.Contains(t, text, "all work has ended, after ")
	require.Contains(t, text, "; nothing was cut off\n")
	require.Contains(t, text, "vedette ledger verify", "its last words")
}

// interrupted is a screen whose reader interrupts the command when a text appears.
type interrupted struct {
	screenful
	at     string
	cancel func()
}

func (i *interrupted) Write(p []byte) (int, error) {
	if strings.Contains(string(p), i.at) {
		i.cancel()
	}
	return i.screenful.Write(p)
}
