package exec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/run/exec/egress"
)

// Options is what a running system adds to a skill's own options.
type Options struct {
	// Dir is the folder that relative paths in the skill's options resolve
	// against, and the program's working directory where it names none. If
	// empty, the process's own working directory.
	Dir string
	// Credentials are what a skill's option of that name may use. If nil, none.
	Credentials skills.Credentials
	// AllowHosts are names and addresses of private hosts that the egress option may
	// reach (guard.allow_hosts). A metadata service is never reached.
	AllowHosts []string
	// Guarded are Vedette's own files and folders. A skill whose read or write holds
	// one, or lies in one, is refused.
	Guarded []Guarded
	// Lookup resolves the names that the egress option lists. If nil, the system's
	// resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// State is the folder in which skills that write by snapshot keep what isn't
	// committed yet; see package snapshot on where it may be. If empty, skills write
	// directly, and one whose write_mode is snapshot is a mistake. Set it only where
	// Result.Follow is heeded: without that nothing such a skill writes is kept.
	State string
	// CanSnapshot tells why a write root can't be an overlay here, as ProbeSnapshot does;
	// nil without asking means that each can. A skill that names no write_mode writes
	// directly then, and one that names snapshot is a mistake.
	CanSnapshot func(folder string) error
}

const (
	defaultOutput = 64 << 10
	maxStderr     = 8 << 10
)

// config is the skill's own options, as written.
type config struct {
	Argv        []string          `json:"argv"`
	Stdin       string            `json:"stdin"`
	Dir         string            `json:"dir"`
	Env         []string          `json:"env"`
	SetEnv      map[string]string `json:"set_env"`
	CallerEnv   callerEnv         `json:"caller_env"`
	Credentials map[string]string `json:"credentials"`
	OutputLimit int               `json:"output_limit"`
	Read        []string          `json:"read"`
	Write       []string          `json:"write"`
	Isolation   string            `json:"isolation"`
	Network     bool              `json:"network"`
	Egress      []string          `json:"egress"`
	WriteMode   string            `json:"write_mode"`
	MaxDeleted  maxDeleted        `json:"max_deleted"`
	WriteLimit  int64             `json:"write_limit"`
	Limits      limits            `json:"limits"`
	AllowDash   bool              `json:"allow_dash"`
}

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
		readsOnly: s.Effect() == skills.Read, credentials: o.Credentials, lookup: o.Lookup, state: o.State, canSnapshot: o.CanSnapshot}
	errs := []error{p.checkPlain(at), p.checkEgress(at+".egress", o.AllowHosts), p.checkEnv(at, s), p.checkArgv(at, s), p.resolve(at, base),
		p.chooseWriteMode(at, s), p.checkGuarded(at, o.Guarded)}
	if c.Isolation != IsolationNone && !childReady() {
		errs = append(errs, &skills.PathError{Path: at + ".isolation",
			Msg: "needs exec.MaybeChild to be called first in main; call it, or set isolation to none"})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return skills.NewExecutor(r, s, p.run), nil
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
	canSnapshot func(folder string) error
	state       string // where layers are kept; empty: there are none
}

func (p *program) checkPlain(at string) error {
	errs := []error{
		decode.OneOf(at+".stdin", "stdin", p.Stdin, "json", "none"),
		decode.OneOf(at+".isolation", "isolation", p.Isolation,
			IsolationAuto, IsolationFull, IsolationStrict, IsolationLandlock, IsolationNamespaces, IsolationNone),
		p.Limits.check(at+".limits", p.Isolation),
		p.checkWrite(at),
	}
	if p.OutputLimit < 1 || p.OutputLimit > skills.MaxResult {
		errs = append(errs, &skills.PathError{Path: at + ".output_limit", Msg: fmt.Sprintf("must be between 1 and %d bytes", skills.MaxResult)})
	}
	if p.Isolation == IsolationNone && len(p.Read)+len(p.Write) > 0 {
		errs = append(errs, &skills.PathError{Path: at + ".isolation",
			Msg: "is none, so read and write would bind nothing; set isolation to auto, or leave them out"})
	}
	return errors.Join(errs...)
}

func (p *program) checkArgv(at string, s *skills.Skill) error {
	if len(p.Argv) == 0 || p.Argv[0] == "" {
		return &skills.PathError{Path: at + ".argv", Msg: "is missing; list the program and its arguments"}
	}
	var errs []error
	needed := required(s)
	for i, a := range p.Argv {
		here := fmt.Sprintf("%s.argv[%d]", at, i)
		name, whole := placeholder(a)
		switch {
		case strings.ContainsRune(a, 0):
			errs = append(errs, &skills.PathError{Path: here, Msg: "holds a NUL"})
		case !whole && strings.Contains(a, "{{"):
			errs = append(errs, &skills.PathError{Path: here, Msg: "a placeholder must be the whole argument; write it as an element of its own"})
		case !whole && isSingleBraced(a, s):
			errs = append(errs, &skills.PathError{Path: here, Msg: "would be passed as it stands; a placeholder has two braces: {" + a + "}"})
		case !whole:
		case i == 0:
			errs = append(errs, &skills.PathError{Path: here, Msg: "the program itself can't be an argument of the call"})
		case !s.Declares(name):
			errs = append(errs, decode.Unknown(here, "argument", name, s.DeclaredArgs()))
		case isScript(p.Argv, i):
			errs = append(errs, &skills.PathError{Path: here,
				Msg: `would be a shell script written by the caller; write the script here and pass the value after it, as "$1": ` +
					`argv: [sh, -c, 'eval "$1"', sh, "` + a + `"] where the argument is a command line (x-shell)`})
		case strings.HasPrefix(p.Argv[i-1], "-") && p.Argv[i-1] != "--" && !slices.Contains(needed, name):
			errs = append(errs, &skills.PathError{Path: here,
				Msg: "is optional, so the option before it could lose its value; make the argument required"})
		}
	}
	return errors.Join(errs...)
}

// isSingleBraced reports whether an element has the form of places in an http skill's url and
// names an argument of the skill.
func isSingleBraced(element string, s *skills.Skill) bool {
	name, open := strings.CutPrefix(element, "{")
	name, closed := strings.CutSuffix(name, "}")
	return open && closed && s.Declares(name)
}

func required(s *skills.Skill) []string {
	var v struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(s.Parameters(), &v) != nil {
		return nil
	}
	return v.Required
}

// isScript reports whether argv[i] is what a shell would run by its -c option.
// A value anywhere after the script is a positional parameter, which is fine.
func isScript(argv []string, i int) bool {
	switch filepath.Base(argv[0]) {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "busybox":
	default:
		return false
	}
	for _, before := range argv[1:i] {
		if strings.HasPrefix(before, "-") && !strings.HasPrefix(before, "--") && strings.Contains(before, "c") {
			// The script is the first word after the options.
			return !slices.ContainsFunc(argv[slices.Index(argv, before)+1:i], func(a string) bool { return !strings.HasPrefix(a, "-") })
		}
	}
	return false
}

// resolve looks up the program, the working directory and the paths to allow.
func (p *program) resolve(at, base string) error {
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

// arguments reads the top-level arguments of an order, numbers as written.
func arguments(args string) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		return nil, decode.Refuse("the arguments are not an object")
	}
	return m, nil
}
