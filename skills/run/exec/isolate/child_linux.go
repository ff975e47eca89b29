package isolate

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// exitFailed is the child's exit code when it did not become the program.
const exitFailed = 126

// This starts the child before packages later in the order are initialised, which saves most
// of its start-up time. In every other process it looks at one string. MaybeChild at the start
// of main is what is relied on.
var _ = startedAsChild()

func startedAsChild() bool {
	MaybeChild()
	return false
}

// MaybeChild makes this process the isolated program where it was started as
// one, and then doesn't return. Otherwise it returns at once.
func MaybeChild() {
	if len(os.Args) != 1 || os.Args[0] != ChildName {
		return
	}
	// Capabilities and restrictions belong to a thread: all stays on this one.
	runtime.LockOSThread()
	unix.CloseOnExec(planFile)
	unix.CloseOnExec(lineFile)
	sendFailure(followPlan())
	// Not by os.Exit, whose hooks belong to Vedette: those of a race detector sleep a second.
	syscall.Exit(exitFailed)
}

// followPlan returns only where something failed.
func followPlan() error {
	var p Plan
	if err := json.NewDecoder(os.NewFile(planFile, "plan")).Decode(&p); err != nil {
		return failAtStep(StepStart, errors.New("the plan can't be read"))
	}
	rules := p.listRules()
	prefix := ""
	if p.Tree {
		if err := buildTree(&p, rules); err != nil {
			return err
		}
		prefix = Stage
	}
	if err := prepareNetwork(&p); err != nil {
		return err
	}
	set, err := makeRuleset(&p, rules, prefix)
	if err != nil {
		return failAtStep(StepLandlock, err)
	}
	if p.OwnPIDs {
		return startInit(&p, set)
	}
	return becomeProgram(&p, set)
}
