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

func probeGrade(ctx context.Context, path, isolation string) (string, error) {
	c := config{Argv: []string{path}, Stdin: "none", OutputLimit: defaultOutput, Isolation: isolation, Dir: "/"}
	p := &program{config: c, path: path, readsOnly: true}
	r, err := p.launch(ctx, p.Argv, environment{list: []string{}}, skills.Order{})
	if err != nil {
		return "", err
	}
	if err := p.outcome(ctx, r, r.awaitEnd()); err != nil {
		return "", err
	}
	return r.isolation, nil
}
