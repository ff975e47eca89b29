//go:build unix && !linux

package redistest

import "os/exec"

// dieWithParent does nothing here: a test that is killed leaves its server.
func dieWithParent(*exec.Cmd) {}
