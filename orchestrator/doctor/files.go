package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// files looks at who else may read what is secret.
func (e *exam) files(context.Context) {
	if runtime.GOOS == "windows" {
		e.ok("files", "this system's permissions are not looked at")
		return
	}
	before := len(e.findings)
	e.literal()
	e.private(e.cfg.Keys.Dir, 0o077, "chmod 700")
	list, _ := filepath.Glob(filepath.Join(globbed(e.cfg.Keys.Dir), "*.key"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		list = append(list, e.cfg.Ledger.Path+suffix)
	}
	for _, path := range append(list, control.SocketPath(e.cfg.Ledger.Path)) {
		e.private(path, 0o077, "chmod 600")
	}
	if len(e.findings) == before {
		e.ok("files", "keys, database and socket are their owner's alone")
	}
}

// globbed is a path as a pattern that stands for itself.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// private finds what others may open; what isn't there is open to no user.
func (e *exam) private(path string, forbidden fs.FileMode, command string) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		e.problem("files", path+" can't be looked at: "+cause(err), "run this as the user that Vedette runs as")
	case info.Mode().Perm()&forbidden != 0:
		e.problem("files", fmt.Sprintf("%s has mode %04o: others may open it", path, info.Mode().Perm()),
			command+" "+path+"; if others have read a key, replace it")
	}
}

// literal finds keys that stand in a configuration that others can read.
func (e *exam) literal() {
	paths := []string{"limits.store.url"}
	for _, name := range slices.Sorted(maps.Keys(e.cfg.Models)) {
		paths = append(paths, "models."+name+".api_key")
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return !e.cfg.Literal(path) })
	if len(paths) == 0 {
		return
	}
	at, _ := e.cfg.Pos(paths[0]) // all of them can only stand in the configuration itself
	info, err := os.Stat(at.File)
	if err != nil || info.Mode().Perm()&0o044 == 0 {
		return
	}
	e.problem("files", fmt.Sprintf("%s has mode %04o and a key stands in it: %s", at.File, info.Mode().Perm(), some(paths)),
		"take keys from the environment, ${NAME}, or chmod 600 "+at.File)
}

// roots looks at the folders that agents work in. That none of them holds what
// decides is part of the configuration's check.
func (e *exam) roots(context.Context) {
	if len(e.cfg.Guard.Roots) == 0 {
		e.warn("roots", "guard.roots is empty: no folder binds what calls may name", "name the folders that agents work in")
		return
	}
	bad := false
	for _, dir := range e.cfg.Guard.Roots {
		if err := writable(dir); err != nil {
			bad = true
			e.problem("roots", dir+" can't be worked in: "+cause(err), "make it a folder that this user can write to, or take it out of guard.roots")
		}
	}
	if !bad {
		e.ok("roots", "%d, writable, none of them with what decides in it", len(e.cfg.Guard.Roots))
	}
}

// sandbox tries what keeps programs that skills run in their place.
func (e *exam) sandbox(ctx context.Context) {
	var users []string
	for _, s := range e.cfg.Skills {
		if s.Skill.Spec().Run.Kind == "exec" {
			users = append(users, s.Skill.Name())
		}
	}
	if len(users) == 0 {
		e.ok("sandbox", "no skill runs a program")
		return
	}
	grade, err := exec.Probe(ctx)
	var step *exec.StepError
	switch {
	case err == nil && !exec.BoundsProcesses(ctx):
		e.warn("sandbox", "programs run under "+grade+", but as root nothing limits their number of processes",
			"run Vedette as an ordinary user, delegate a cgroup v2 with pids to it (Delegate=yes), or use Linux 6.14 or newer; skills: "+some(users))
	case err == nil:
		e.ok("sandbox", "programs run under %s", grade)
	case !errors.As(err, &step):
		e.problem("sandbox", "programs can't be run: "+err.Error(), "skills that run programs: "+some(users))
	case grade != "":
		e.warn("sandbox", "programs run under "+grade+" alone, and only where a skill reads: full fails at step "+step.Step+": "+cause(step.Err),
			step.Remedy+"; skills: "+some(users))
	default:
		e.problem("sandbox", "no program is started: full fails at step "+step.Step+": "+cause(step.Err), step.Remedy+"; skills: "+some(users))
	}
}

// snapshots tries whether what command lines write can be held until it is committed.
func (e *exam) snapshots(ctx context.Context) {
	whys := map[string][]string{}
	held, direct := 0, 0
	for _, w := range assembly.Writers(ctx, e.cfg) {
		switch {
		case w.Why != "" && w.Mode == exec.WriteSnapshot:
			e.problem("snapshot", w.Skill+" names write_mode snapshot and can't have it: "+w.Why, snapshotRemedy)
		case w.Why != "":
			whys[w.Why] = append(whys[w.Why], w.Skill)
		case w.Mode == exec.WriteSnapshot:
			held++
		default:
			direct++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(whys)) {
		e.warn("snapshot", "nothing undoes what command lines write, so a person is asked about each that does more than read: "+why,
			snapshotRemedy+"; skills: "+some(whys[why]))
	}
	if len(whys) == 0 && held+direct > 0 {
		e.ok("snapshot", "%d skills write by snapshot, %d directly", held, direct)
	}
}

const snapshotRemedy = "put write roots and state folder on a file system that holds overlays, such " +
	"as ext4 or xfs (a volume in a container), and see the sandbox above"

// writable reports why a folder can't be written to, without writing.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no folder")
	}
	return access(dir)
}

// cause is an error without the path that its message repeats.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
