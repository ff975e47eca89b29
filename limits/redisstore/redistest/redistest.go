//go:build unix

// Package redistest gives tests a real Redis server: the one that ./test has
// started, or one of a test's own that it may kill.
package redistest

import (
	"bytes"
	"context"
	"crypto/rand"
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
)

// Variable names the environment variable that holds the address of the server
// that tests share, as host:port.
const Variable = "VEDETTE_TEST_REDIS"

// patience bounds every wait for a server.
const patience = 20 * time.Second

// Shared returns the URL of the server that tests share, and a prefix for the
// keys of this test alone. Without a server the test fails.
func Shared(t testing.TB) (url, prefix string) {
	t.Helper()
	address := os.Getenv(Variable)
	if address == "" {
		t.Fatalf("%s is not set: this test needs a real Redis server. Run ./test, which starts one, "+
			"or start redis-server and set %s=127.0.0.1:6379", Variable, Variable)
	}
	return "redis://" + address, "test:" + rand.Text()
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

// Start starts a server that writes every change to disk before it answers, so
// that it can be killed and started again. More arguments are given to it as
// they are. It is killed when the test ends.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, dir: t.TempDir(), port: port, args: args}
	t.Cleanup(s.Kill)
	s.Restart()
	return s
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
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends what Freeze began.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
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
	program, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("redis-server is not installed, and this test needs one of its own: run ./test, which installs it, or apt-get install redis-server")
	}
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--logfile", filepath.Join(s.dir, "redis.log"),
	}, s.args...)
	cmd := exec.CommandContext(context.Background(), program, args...)
	dieWithParent(cmd)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // it is killed, which is an error
	}()
	s.running = p
	s.wait(p)
}

// wait asks until the server answers, whatever the answer: one that wants a
// password is up as well.
func (s *Server) wait(p *process) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		word, err := Ask(s.Address(), "PING")
		if err == nil && !strings.HasPrefix(word, "-LOADING") {
			return
		}
		select {
		case <-p.done:
			log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
			s.t.Fatalf("redis-server ended at once: %s", bytes.TrimSpace(log))
		case <-ctx.Done():
			s.t.Fatalf("redis-server did not answer within %v: %v", patience, err)
		case <-tick.C:
		}
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

// freePort returns a port that nobody listens on. Somebody may take it before
// the server does; the server then ends at once and says so.
func freePort() (int, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
