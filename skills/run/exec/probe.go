package exec

import (
	"context"
	"fmt"
	osexec "os/exec"
)

// Probe runs the system's program true, with as much isolation as this system
// has, and returns the name of that, as Result.Isolation would: for those who
// want to know before a call does. The program that calls it must call
// MaybeChild first.
func Probe(ctx context.Context) (string, error) {
	path, err := osexec.LookPath("true")
	if err != nil {
		return "", fmt.Errorf("there is no program to try it with: %w", err)
	}
	p := &program{config: config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Isolation: IsolationAuto, Dir: "/"}, path: path, readsOnly: true}
	r, err := p.launch(ctx, p.Argv, environment{list: []string{}}, "{}")
	if err != nil {
		return "", err
	}
	awaitExit(r.cmd)
	_ = killGroup(r.cmd)
	if err := p.outcome(ctx, r, r.cmd.Wait()); err != nil {
		return "", err
	}
	return r.isolation, nil
}
