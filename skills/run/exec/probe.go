package exec

import (
	"context"
	"errors"
	"fmt"
	osexec "os/exec"
	"path/filepath"

	"github.com/vedette-dev/vedette/skills"
)

// Probe runs the system's program true through the whole chain of grade full. Where that
// fails, it tries the next grade that auto may take. It returns the grade, as Result.Isolation
// would name it, empty if there was none. Where the grade isn't full, the error says why, as
// *StepError. The program that calls it must call MaybeChild first.
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

// BoundsProcesses reports whether something bounds the number of processes of a program under
// grade full. The program has no limits of its own. For root it may not be so before Linux
// 6.14 and without a delegated cgroup v2.
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
	r, err := p.launchProgram(ctx, p.Argv, environment{list: []string{}}, stdio{})
	if err != nil {
		return nil, err
	}
	return r, r.explainEnd(ctx, r.awaitEnd())
}

// ProbeOnce returns an Options.CanSnapshot that tries each folder once, however many skills
// name it. It must not be called by several goroutines at once.
func ProbeOnce(ctx context.Context, state string) func(folder string) error {
	tried := map[string]error{}
	return func(folder string) error {
		err, known := tried[folder]
		if !known {
			err = ProbeSnapshot(ctx, state, folder)
			tried[folder] = err
		}
		return err
	}
}

// ProbeSnapshot tries on this system all that write_mode snapshot needs. It does so over a
// write root, with the layer in the state folder, and leaves nothing. It returns why snapshot
// can't be had. The program that calls it must call MaybeChild first.
func ProbeSnapshot(ctx context.Context, state, folder string) error {
	if !isChildReady() {
		return errors.New("exec.MaybeChild was not called first in main")
	}
	path, err := osexec.LookPath("touch")
	if err != nil {
		return fmt.Errorf("there is no program to try it with: %w", err)
	}
	folder = filepath.Clean(folder)
	p := &program{snapshots: snapshots{state: state}, path: path, config: config{
		Stdin: "none", OutputLimit: defaultOutput, Isolation: IsolationFull, Dir: "/",
		Argv: []string{path, folder + "/probe"}, Write: []string{folder}, WriteMode: WriteSnapshot}}
	w, err := newWriting(ctx, p, skills.Order{})
	if err != nil {
		return err
	}
	r, err := p.launchProgram(w.ctx, p.Argv, environment{list: []string{}, layer: w.layer}, stdio{})
	if err != nil {
		_, err = w.finish(nil, err)
		return err
	}
	follow, err := w.finish(r, r.explainEnd(w.ctx, r.awaitEnd()))
	if err == nil && follow == nil {
		err = errors.New("the program's file isn't in the layer")
	}
	return errors.Join(err, w.layer.Discard())
}
