package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/cmd/vedette/command"
	"github.com/vedette-dev/vedette/internal/owntest"
	"github.com/vedette-dev/vedette/orchestrator"
)

// TestMain lets the test binary stand in for the program, and for vedette.
func TestMain(m *testing.M) {
	switch os.Getenv("OWN_LOOP_AS") {
	case "vedette":
		os.Exit(command.Main(orchestrator.Options{}))
	case "program":
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// place is a folder with a server that runs in it.
type place struct {
	t         *testing.T
	dir, port string
}

func (p place) command(as string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(p.t, err)
	cmd := exec.CommandContext(context.WithoutCancel(p.t.Context()), self, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "OWN_LOOP_AS="+as, "PORT="+p.port, "VEDETTE_URL=http://127.0.0.1:"+p.port)
	return cmd
}

// vedette runs the command line and returns what it prints.
func (p place) vedette(args ...string) string {
	p.t.Helper()
	var errs bytes.Buffer
	cmd := p.command("vedette", args...)
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
	cmd := p.command("vedette", "serve")
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

// The loop runs what is allowed and reports it, waits for a person, and runs nothing else.
func TestOwnLoop(t *testing.T) {
	p := startServer(t)
	token := strings.TrimSpace(p.vedette("token", "create", "loop", "--user", "ann", "--scope", "call"))
	cmd := p.command("program")
	cmd.Env = append(cmd.Env, "VEDETTE_TOKEN="+token)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	said := bufio.NewScanner(out)
	say := func(id, customer string) {
		_, err := fmt.Fprintf(in, `{"id":%q,"skill":"crm.update","arguments":{"id":%q}}`+"\n", id, customer)
		require.NoError(t, err)
	}
	hear := func() string {
		require.True(t, said.Scan())
		return said.Text()
	}
	say("1", "x")
	require.Equal(t, "the record of x is changed", hear())
	say("1", "x")
	require.Contains(t, hear(), "not run (ok)", "a call runs once")
	say("1", "y")
	require.Contains(t, hear(), "not run: vedette answered 409")
	say("2", "closed")
	require.Contains(t, hear(), "not run (denied): the account is closed")
	say("3", "vip")
	p.approve()
	require.Equal(t, "the record of vip is changed", hear())
	_, err = io.WriteString(in, "no call\n"+`{"id":"4","skill":"crm.delete"}`+"\n")
	require.NoError(t, err)
	require.Contains(t, hear(), "this line is no call")
	require.Equal(t, "there is no such tool", hear())
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, 2, strings.Count(p.vedette("ledger", "list", "--kind", "outcome", "--json"), `"outcome":"ok"`))
}

// approve says yes to the one question that is pending, once it is there.
func (p place) approve() {
	p.t.Helper()
	var a struct{ ID, Digest string }
	for a.ID == "" {
		require.NoError(p.t, p.t.Context().Err())
		if list := p.vedette("approvals", "list", "--json"); list != "" {
			require.NoError(p.t, json.Unmarshal([]byte(list), &a))
		}
	}
	p.vedette("approvals", "approve", a.ID, "--digest", a.Digest)
}

// Without a server nothing runs.
func TestNoServer(t *testing.T) {
	l := loop{url: "http://127.0.0.1:1", token: "x", conversation: "c", tools: map[string]func(json.RawMessage) (string, error){
		"crm.update": func(json.RawMessage) (string, error) { require.Fail(t, "it ran"); return "", nil },
	}}
	require.Contains(t, l.call(t.Context(), proposal{ID: "1", Skill: "crm.update", Arguments: json.RawMessage(`{}`)}),
		"not run: vedette can't be asked")
}
