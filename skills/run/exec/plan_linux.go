package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// homeFolder is the private home of a program whose environment names none.
const homeFolder = "/home/user"

// planner writes down what the child is told about one run.
type planner struct {
	*program
	way way
}

// planRun returns the plan of a command.
func (p planner) planRun(cmd *osexec.Cmd) (isolate.Plan, error) {
	w := p.way
	plan := isolate.Plan{Path: p.path, Argv: cmd.Args, Env: cmd.Env, Dir: p.Dir, Read: p.Read, Write: p.Write, Real: p.real,
		Tree: w.tree, OwnPIDs: w.spaces, OwnNet: w.spaces && !p.Network, Network: p.Network,
		Limits: p.Limits.listRlimits(w), Numbers: p.Limits.boundNumbers(w)}
	if w.tree {
		plan.Home = homeFolderOf(cmd.Env)
		plan.Files = p.makeSyntheticFiles(plan.Home)
		plan.Egress = p.planListeners()
		if slices.ContainsFunc(p.Read, func(path string) bool { return path == "/proc" || strings.HasPrefix(path, "/proc/") }) {
			plan.Proc = isolate.ProcWhole
		}
	}
	if w.layer != nil {
		plan.Snapshot = w.layer.Mounts()
	}
	if w.strict {
		plan.Proc = isolate.ProcHost
		// The system's settings of git can't be read, which git takes for an error.
		plan.Env = append(slices.Clone(cmd.Env), "GIT_CONFIG_NOSYSTEM=1")
	}
	var err error
	plan.Filter, err = buildFilter(filterNeeds{spaces: w.spaces, strict: w.strict, network: p.Network, abi: isolate.LandlockABI()})
	if err != nil {
		return plan, stepFailed(isolate.StepSeccomp, 0)
	}
	return plan, nil
}

// homeFolderOf returns the home folder that an environment names, or the usual one.
func homeFolderOf(env []string) string {
	for _, e := range env {
		if v, found := strings.CutPrefix(e, "HOME="); found && filepath.IsAbs(v) {
			return filepath.Clean(v)
		}
	}
	return homeFolder
}

// makeSyntheticFiles returns the files of /etc that a program gets in place of the system's.
// They name its own user alone.
func (p planner) makeSyntheticFiles(home string) map[string]string {
	uid, gid := os.Geteuid(), os.Getegid()
	name := "user"
	if uid == 0 {
		name = "root"
	}
	files := map[string]string{
		"/etc/passwd": fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, uid, gid, home),
		"/etc/group":  fmt.Sprintf("%s:x:%d:\n", name, gid),
	}
	if !p.Network {
		files["/etc/nsswitch.conf"] = "passwd: files\ngroup: files\nhosts: files dns\n"
		files["/etc/hosts"] = "127.0.0.1 localhost sandbox\n::1 localhost\n"
		files["/etc/resolv.conf"] = "# There is no network.\n"
	}
	if p.policy != nil {
		files["/etc/resolv.conf"] = p.policy.Resolver()
	}
	return files
}

// planListeners returns what must listen in the sandbox. It is nil without hosts to reach.
func (p planner) planListeners() *listen.Plan {
	if p.policy == nil {
		return nil
	}
	plan := p.policy.Plan()
	return &plan
}
