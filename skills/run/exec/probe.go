package exec

import (
	"context"
	"fmt"
	osexec "os/exec"

	"github.com/vedette-dev/vedette/skills"
)

// Probe runs the system's program true through the whole chain of grade full, and
// where that fails under the next grade that auto may take. It returns the grade,
// as Result.Isolation would name it, empty if there was none; and where it isn't
// full why, as *StepError. The program that calls it must call MaybeChild first.
func Probe(ctx context.Context) (grade string, err error) {
	path, err := osexec.LookPath("true")
	if err != nil {
		return "", fmt.Errorf("there is no program to try it with: %w", err)
	}
	grade, err = probeGrade(ctx, path, IsolationFull)
	if err == nil {
		return grade, nil
	}
	lesser, failed := probeGrade(ctx, path, IsolationStrict)
	if failed != nil {
		return "", err
	}
	return lesser, err
}

// BoundsProcesses reports whether something bounds the number of processes of a
// program under the full grade that has no limits of its own. For root it may not be
// so before Linux 6.14 and without a delegated cgroup v2.
func BoundsProcesses(ctx context.Context) bool {
	path, err := osexec.LookPath("true")
	if err != nil {
		return false
	}
	r, err := runProbe(ctx, path, IsolationFull)
	return err == nil && r.bounded
}

func probeGrade(ctx context.Context, path, isolation string) (string, error) {
	r, err := runProbe(ctx, path, isolation)
	if err != nil {
		return "", err
	}
	return r.isolation, nil
}

// runProbe returns a program that ran and ended well.
func runProbe(ctx context.Context, path, isolation string) (*running, error) {
	c := config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Isolation: isolation, Dir: "/"}
	p := &program{config: c, path: path, readsOnly: true}
	r, err := p.launch(ctx, p.Argv, environment{list: []string{}}, skills.Order{})
	if err != nil {
		return nil, err
	}
	return r, p.outcome(ctx, r, r.awaitEnd())
}
