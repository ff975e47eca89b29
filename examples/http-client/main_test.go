package httpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/cmd/vedette/command"
	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/orchestrator"
)

// TestMain lets the test binary stand in for vedette.
func TestMain(m *testing.M) {
	if os.Getenv("HTTP_CLIENT_AS") != "" {
		os.Exit(command.Main(orchestrator.Options{}))
	}
	os.Exit(m.Run())
}

// place is a folder with a server that runs in it.
type place struct {
	t         *testing.T
	dir, port string
}

func (p place) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(p.t, err)
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), self, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "HTTP_CLIENT_AS=vedette", "PORT="+p.port)
	return cmd
}

// vedette runs the command line and returns what it prints.
func (p place) vedette(args ...string) string {
	p.t.Helper()
	var errs bytes.Buffer
	cmd := p.command(args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(p.t, err, errs.String())
	return string(out)
}

func startServer(t *testing.T) place {
	t.Helper()
	port, err := owntest.FreePort()
	require.NoError(t, err)
	p := place{t, t.TempDir(), fmt.Sprint(port)}
	yaml, err := os.ReadFile("vedette.yaml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "vedette.yaml"), yaml, 0o600))
	cmd := p.command("serve")
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "vedette listens on ") {
				close(listening)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		require.NoError(t, cmd.Wait())
	})
	select {
	case <-listening:
	case <-ended:
		require.FailNow(t, "the server did not start")
	}
	return p
}

var (
	asking  = regexp.MustCompile(`(?m)^\$ ((?:ask|asBob) \$V.*)\n(\{.*\})$`)
	asShell = regexp.MustCompile(`(?m)^\$ ((?:ask|asBob)\(\) .*)$`)
)

// The requests of the page, as they stand in a shell with curl, are answered as it says.
func TestTranscript(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	require.NoError(t, err)
	page := string(raw)
	p := startServer(t)
	known := []string{
		"V=http://127.0.0.1:" + p.port,
		"TOKEN=" + strings.TrimSpace(p.vedette("token", "create", "client", "--user", "ann", "--human",
			"--scope", "check", "--scope", "call", "--scope", "review")),
		"BOB=" + strings.TrimSpace(p.vedette("token", "create", "person", "--user", "bob", "--scope", "approve")),
	}
	shell := "set -eu\n"
	for _, m := range asShell.FindAllStringSubmatch(page, -1) {
		shell += m[1] + "\n"
	}
	steps := asking.FindAllStringSubmatch(page, -1)
	require.Len(t, steps, strings.Count(page, " $V/"))
	for _, m := range steps {
		got := p.ask(shell+m[1]+"\n", known)
		var want map[string]any
		require.NoError(t, json.Unmarshal([]byte(m[2]), &want), m[2])
		requirePart(t, want, got, m[0])
		for key, name := range map[string]string{"approval": "APPROVAL=", "digest": "DIGEST="} {
			if value, ok := got[key].(string); ok {
				known = append(known, name+value)
			}
		}
		if id, ok := got["id"].(string); ok && strings.HasPrefix(id, "call-") {
			known = append(known, "CALL="+id)
		}
	}
}

// ask runs a command of the page and returns what it was answered.
func (p place) ask(script string, known []string) map[string]any {
	p.t.Helper()
	var errs bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), "sh", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stderr = p.dir, append(os.Environ(), known...), &errs
	out, err := cmd.Output()
	require.NoError(p.t, err, errs.String())
	var got map[string]any
	require.NoError(p.t, json.Unmarshal(out, &got), string(out))
	return got
}

// requirePart requires that an answer has what the page shows of it.
func requirePart(t *testing.T, want, got map[string]any, step string) {
	t.Helper()
	for key, value := range want {
		inner, isObject := value.(map[string]any)
		if !isObject {
			require.Equal(t, value, got[key], "%s of %s, which says %v", key, step, got)
			continue
		}
		there, ok := got[key].(map[string]any)
		require.True(t, ok, "%s of %s", key, step)
		requirePart(t, inner, there, step)
	}
}
