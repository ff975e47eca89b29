package exec

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostileHelper is a helper that tries what it must not, as it is told line by line.
const hostileHelper = "hostile"

// attempt is what the hostile helper is told to try.
type attempt struct{ What, Arg string }

// playHelper is the hostile helper's main.
func playHelper() {
	if !IsHelper(hostileHelper) {
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var a attempt
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			syscall.Exit(3)
		}
		said, err := a.try()
		if err != nil {
			said = "refused: " + err.Error()
		}
		fmt.Println(strings.ReplaceAll(said, "\n", " "))
	}
	syscall.Exit(0)
}

func (a attempt) try() (string, error) {
	switch a.What {
	case "dial":
		c, err := net.DialTimeout("tcp", a.Arg, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return "connected", err
	case "write":
		return "written", os.WriteFile(a.Arg, []byte("some words"), 0o600)
	case "read":
		b, err := os.ReadFile(a.Arg)
		return fmt.Sprintf("%d bytes", len(b)), err
	case "environment":
		return strings.Join(os.Environ(), " "), nil
	case "signal":
		var pid int
		_, _ = fmt.Sscan(a.Arg, &pid)
		return "sent", syscall.Kill(pid, syscall.SIGKILL)
	case "run":
		out, err := osexec.Command(a.Arg).CombinedOutput()
		return string(out), err
	case "exit":
		syscall.Exit(7)
	case "die":
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	}
	return "I was told: " + a.Arg, nil
}

// ask has the helper try something.
func ask(t *testing.T, h *Helper, what, arg string) string {
	t.Helper()
	line, err := json.Marshal(attempt{what, arg})
	require.NoError(t, err)
	_, err = h.in.Write(append(line, '\n'))
	require.NoError(t, err)
	require.NoError(t, h.out.SetReadDeadline(time.Now().Add(time.Minute)))
	said, err := bufio.NewReader(h.out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(said)
}

func startHelper(t *testing.T, kind string) *Helper {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the sandbox is Linux's")
	}
	h, err := StartHelper(t.Context(), kind)
	require.NoError(t, err)
	t.Cleanup(h.End)
	return h
}

// A helper answers, and has neither network nor files nor variables nor other processes.
func TestHelperIsShutIn(t *testing.T) {
	h := startHelper(t, hostileHelper)
	require.Contains(t, []string{GradeFull, GradeFullNoProc, GradeStrict}, h.Isolation())
	require.Equal(t, "I was told: hello", ask(t, h, "say", "hello"))

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	require.Contains(t, ask(t, h, "dial", listener.Addr().String()), "refused")
	require.Contains(t, ask(t, h, "dial", "192.0.2.1:80"), "refused")

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("x"), 0o600))
	require.Contains(t, ask(t, h, "read", secret), "refused")
	require.Contains(t, ask(t, h, "read", "/etc/shadow"), "refused")
	require.Contains(t, ask(t, h, "write", secret), "refused")
	require.NotContains(t, ask(t, h, "environment", ""), "HOME=")
	require.NotEqual(t, "sent", ask(t, h, "signal", fmt.Sprint(os.Getpid())), "it sees no process of ours")
	h.End()
	select {
	case <-h.Ended():
	default:
		t.Fatal("it has not ended")
	}
}

// A helper may write no file of any size, not even in the folders of its own.
func TestHelperWritesNothing(t *testing.T) {
	for _, place := range []string{"/tmp/x", "/dev/shm/x", "/x"} {
		h := startHelper(t, hostileHelper)
		line, err := json.Marshal(attempt{"write", place})
		require.NoError(t, err)
		_, err = h.in.Write(append(line, '\n'))
		require.NoError(t, err)
		require.NoError(t, h.out.SetReadDeadline(time.Now().Add(time.Minute)))
		said, err := bufio.NewReader(h.out).ReadString('\n')
		require.True(t, err == io.EOF || strings.Contains(said, "refused"), "%s: %q %v", place, said, err) //nolint:errorlint // as it is
		h.End()
	}
}

// How a helper ended is told, and one that is killed leaves nothing.
func TestHelperEnds(t *testing.T) {
	for what, want := range map[string]string{"exit": "code 7", "die": "signal"} {
		h := startHelper(t, hostileHelper)
		line, err := json.Marshal(attempt{What: what})
		require.NoError(t, err)
		_, err = h.in.Write(append(line, '\n'))
		require.NoError(t, err)
		_, err = io.ReadAll(h.out)
		require.NoError(t, err)
		<-h.Ended()
		require.ErrorContains(t, h.Err(), want)
	}
	h := startHelper(t, hostileHelper)
	require.NoError(t, h.in.Close())
	<-h.Ended()
	require.NoError(t, h.Err(), "it ends by itself when its input does")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := StartHelper(ctx, hostileHelper)
	require.ErrorIs(t, err, context.Canceled)
}
