//go:build !unix

package exec

import osexec "os/exec"

// ownGroup does nothing: there are no process groups to speak of, so only the
// program itself is killed.
func ownGroup(*osexec.Cmd) {}

func killGroup(cmd *osexec.Cmd) error { return cmd.Process.Kill() }

func awaitExit(*osexec.Cmd) {}
