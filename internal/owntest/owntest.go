// Package owntest is for tests that need another process. It runs a test in one of its
// own, for what it does to the whole process: a limit on files, for example, would hit
// the tests beside it. It compiles a test's package without the race detector for what
// is counted: memory, allocations and time are others with it. And it finds a port for
// a server that a test starts.
//
//	func TestDiskFull(t *testing.T) {
//		if owntest.Elsewhere(t) {
//			return // it has passed there
//		}
//		…
//	}
package owntest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const variable = "VEDETTE_OWN_TEST"

// Elsewhere runs the test in a copy of this program and reports true when it has
// passed there. It reports false in that copy. A test that fails in the copy
// fails here too, with what it printed. t is a test at the top, not a subtest.
func Elsewhere(t *testing.T) bool {
	t.Helper()
	if os.Getenv(variable) == t.Name() {
		return false
	}
	if strings.Contains(t.Name(), "/") {
		t.Fatalf("owntest: %s is a subtest; call Elsewhere from the test above it", t.Name())
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("%s in a process of its own: %v\n%s", t.Name(), err, out)
	}
	return true
}

// Plain compiles the tests of the package in which it is called, without the race
// detector, and returns the program. It is removed when t ends.
func Plain(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "plain.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("tests without the race detector: %v\n%s", err, out)
	}
	return program
}

// FreePort returns a free port of the loopback, for a program that the test starts.
// It lies below those that Linux gives to connections. Of those any process may get
// one again before the program listens, or while it is away.
func FreePort() (int, error) {
	var err error
	for range 100 {
		port := 20000 + rand.IntN(12000)
		var l net.Listener
		if l, err = (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no port of the loopback is free: %w", err)
}
