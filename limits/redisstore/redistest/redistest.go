//go:build unix

// Package redistest gives tests a real Redis server. It is the server that ./test
// has started, or one of a test's own that the test may kill.
//
// The package isn't stable: docs/api.md lists those that are.
package redistest

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/internal/owntest"
)

// Variable names the environment variable that holds the address of the server
// that tests share, as host:port.
const Variable = "VEDETTE_TEST_REDIS"

// patience bounds every wait for a server.
const patience = 20 * time.Second

// Shared returns the URL of the server that tests share, and a prefix for the
// keys of this test alone. Where Variable names no server, the test gets one of
// its own, which keeps nothing on disk. Without redis-server the test fails, and
// says what to do.
func Shared(t testing.TB) (url, prefix string) {
	t.Helper()
	prefix = "test:" + crand.Text()
	if address := os.Getenv(Variable); address != "" {
		return "redis://" + address, prefix
	}
	return Start(t, "--appendonly", "no").URL(), prefix
}

// Server is a redis-server of a test's own, on a free port of the loopback.
type Server struct {
	t       testing.TB
	dir     string
	port    int
	args    []string
	running *process
}

// process is one run of the program.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Start starts a server that writes every change to disk before it answers. So the
// server can be killed and started again. The program gets further arguments as
// they are. The server is killed when the test ends.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), args: args}
	t.Cleanup(s.Kill)
	var err error
	for range 5 { // another process may take a port that was free
		if s.port, err = owntest.FreePort(); err != nil {
			t.Fatal(err)
		}
		if err = s.startProcess(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// Dir is the server's folder.
func (s *Server) Dir() string { return s.dir }

// Address is host:port.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is the server's address for redisstore.Options.
func (s *Server) URL() string { return "redis://" + s.Address() }

// Kill ends the server as kill -9 does, and waits until it is gone.
func (s *Server) Kill() {
	s.t.Helper()
	if s.running == nil {
		return
	}
	_ = s.running.cmd.Process.Kill() // it may be gone already
	<-s.running.done
	s.running = nil
}

// Freeze makes the server silent: connections stay, answers don't come.
func (s *Server) Freeze() { s.sendSignal(syscall.SIGSTOP) }

// Thaw ends what Freeze began.
func (s *Server) Thaw() { s.sendSignal(syscall.SIGCONT) }

func (s *Server) sendSignal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.running.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal the redis-server of the test: %v", err)
	}
}

// Restart starts the server, over what it had on disk, and waits until it
// answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.startProcess(); err != nil {
		s.t.Fatal(err)
	}
}

// startProcess runs the program on the server's port.
func (s *Server) startProcess() error {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatalf("redis-server is not installed, and this test needs a real one: run ./test, which installs it; "+
			"or apt-get install redis-server; or set %s=host:port, which suffices for tests that kill no server", Variable)
	}
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--logfile", filepath.Join(s.dir, "redis.log"),
	}, s.args...)
	cmd := exec.CommandContext(context.Background(), program, args...)
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // it is killed, which is an error
	}()
	s.running = p
	return s.waitUntilReady(p)
}

// waitUntilReady asks until the server answers, with any answer: a server that
// wants a password is up as well.
func (s *Server) waitUntilReady(p *process) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		word, err := Ask(s.Address(), "PING")
		if err == nil && !strings.HasPrefix(word, "-LOADING") && !p.hasEnded() {
			return nil
		}
		select {
		case <-p.done:
			log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
			return fmt.Errorf("redis-server ended at once: %s", bytes.TrimSpace(log))
		case <-ctx.Done():
			return fmt.Errorf("redis-server did not answer within %v: %w", patience, err)
		case <-tick.C:
		}
	}
}

// hasEnded reports whether the process ended, so that another server answered.
func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Ask sends one command without arguments of its own and returns the first
// line of the answer. It is what a test can ask without a client.
func Ask(address, command string) (string, error) {
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	var line []byte
	buf := make([]byte, 512)
	for !bytes.Contains(line, []byte("\r\n")) {
		n, err := c.Read(buf)
		line = append(line, buf[:n]...)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if err != nil || len(line) > 1<<16 {
			break
		}
	}
	first, _, _ := bytes.Cut(line, []byte("\r\n"))
	return string(first), nil
}
