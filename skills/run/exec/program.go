package exec

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	osexec "os/exec"
	"path/filepath"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// New returns the Executor of a skill of kind "exec", or every mistake in its
// options as joined *skills.PathError values. It looks the program and the
// paths up, so it fails where they are missing; it starts nothing.
func New(s *skills.Skill, r skills.Redeemer, o Options) (skills.Executor, error) {
	at, err := decode.Start(s, r, "exec")
	if err != nil {
		return nil, err
	}
	c := config{Stdin: "none", OutputLimit: defaultOutput, Isolation: IsolationAuto}
	if err := decode.Options(s.Spec().Run.Options, at, &c); err != nil {
		return nil, err
	}
	base, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, &skills.PathError{Path: at + ".dir", Msg: "the working directory can't be found"}
	}
	p := &program{config: c,
		readsOnly: s.Effect() == skills.Read, credentials: o.Credentials, lookup: o.Lookup, snapshots: snapshots{o.State, o.CanSnapshot}}
	errs := []error{p.checkPlain(at), p.readEgress(at+".egress", o.AllowHosts), checkEnv(at, p, s), p.checkArgv(at, s),
		p.resolvePaths(at, base), p.chooseWriteMode(at, s.TakesShell(), p.snapshots), checkGuarded(at, p, o.Guarded)}
	if c.Isolation != IsolationNone && !isChildReady() {
		errs = append(errs, &skills.PathError{Path: at + ".isolation",
			Msg: "needs exec.MaybeChild to be called first in main; call it, or set isolation to none"})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return skills.NewExecutor(r, s, p.runOrder), nil
}

// program is a skill's options, checked and resolved.
type program struct {
	config
	path        string            // the executable, absolute
	real        map[string]string // where read and write led when they were looked up
	readsOnly   bool
	credentials skills.Credentials
	policy      *egress.Policy // nil without hosts to reach
	lookup      func(ctx context.Context, host string) ([]netip.Addr, error)
	snapshots   snapshots
}

// reachesHosts reports whether the program has a network that leads anywhere: what it did
// there isn't undone.
func (p *program) reachesHosts() bool { return p.Network || p.policy != nil }

// readEgress reads the list of hosts that the program may reach.
func (p *program) readEgress(at string, allowHosts []string) (err error) {
	p.policy, err = p.parseEgress(at, allowHosts)
	return err
}

// resolvePaths looks up the program, the working directory and the paths to allow.
func (p *program) resolvePaths(at, base string) error {
	var errs []error
	p.real = map[string]string{}
	abs := func(path, where string) string {
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		path = filepath.Clean(path)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			errs = append(errs, &skills.PathError{Path: where, Msg: "does not exist or can't be looked at; make it, or correct the path"})
		}
		p.real[path] = real
		return path
	}
	dir := base
	if p.Dir != "" {
		dir = abs(p.Dir, at+".dir")
	}
	p.Dir = dir
	for i := range p.Read {
		p.Read[i] = abs(p.Read[i], fmt.Sprintf("%s.read[%d]", at, i))
	}
	for i := range p.Write {
		here := fmt.Sprintf("%s.write[%d]", at, i)
		p.Write[i] = abs(p.Write[i], here)
		if fault := writeFault(p.Write[i], p.real[p.Write[i]]); fault != "" {
			errs = append(errs, &skills.PathError{Path: here, Msg: fault})
		}
	}
	return errors.Join(append(errs, p.findProgram(at, base))...)
}

// writeFault says why no program may write to a path, or to where it leads.
func writeFault(path, real string) string {
	for _, place := range []string{path, real} {
		for _, system := range []string{"/proc", "/sys"} {
			if place == system || strings.HasPrefix(place, system+"/") {
				return "is in " + system + ", which holds settings of the kernel; leave it out"
			}
		}
		if place == "/" {
			return "is the whole system, with settings of the kernel; list the folders that are meant"
		}
	}
	return ""
}

// findProgram looks the program up.
func (p *program) findProgram(at, base string) error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return nil
	}
	p.path = p.Argv[0]
	if strings.ContainsRune(p.path, filepath.Separator) && !filepath.IsAbs(p.path) {
		p.path = filepath.Join(base, p.path)
	}
	found, err := osexec.LookPath(p.path)
	if err != nil || !filepath.IsAbs(found) {
		return &skills.PathError{Path: at + ".argv[0]", Msg: "no such program; give its full path or put it on the PATH"}
	}
	p.path = found
	return nil
}
