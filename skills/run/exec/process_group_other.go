//go:build !unix

package exec

import osexec "os/exec"

// askOwnGroup does nothing: there are no process groups to speak of, so only the
// program itself is killed.
func askOwnGroup(*osexec.Cmd) {}

func killGroup(cmd *osexec.Cmd) error { return cmd.Process.Kill() }

func awaitExit(*osexec.Cmd) {}
