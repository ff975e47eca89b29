// Package owntest runs a test in a process of its own, for what it does to the
// whole process: a limit on files, for example, would hit the tests beside it.
//
//	func TestDiskFull(t *testing.T) {
//		if owntest.Elsewhere(t) {
//			return // it has passed there
//		}
//		…
//	}
package owntest

import (
	"os"
	"os/exec"
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
