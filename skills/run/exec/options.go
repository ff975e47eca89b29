package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// Options is what a running system adds to a skill's own options.
type Options struct {
	// Dir is the folder that relative paths in the skill's options resolve against. A program
	// that names no working directory has it for one. If empty, the process's own working
	// directory.
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
	// State is the folder in which skills that write by snapshot keep what isn't committed
	// yet. Package snapshot says where it may be. If empty, skills write directly, and one
	// whose write_mode is snapshot is a mistake. Set it only where Result.Follow is heeded:
	// without that nothing such a skill writes is kept.
	State string
	// CanSnapshot tells why a write root can't be an overlay here, as ProbeSnapshot does. If
	// nil, each can. A skill that names no write_mode writes directly then, and one that names
	// snapshot is a mistake.
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

// checkPlain returns the mistakes in options that need no look at the system.
func (c *config) checkPlain(at string) error {
	errs := []error{
		decode.OneOf(at+".stdin", "stdin", c.Stdin, "json", "none"),
		decode.OneOf(at+".isolation", "isolation", c.Isolation,
			IsolationAuto, IsolationFull, IsolationStrict, IsolationLandlock, IsolationNamespaces, IsolationNone),
		c.Limits.check(at+".limits", c.Isolation),
		c.checkWrite(at),
	}
	if c.OutputLimit < 1 || c.OutputLimit > skills.MaxResult {
		errs = append(errs, &skills.PathError{Path: at + ".output_limit", Msg: fmt.Sprintf("must be between 1 and %d bytes", skills.MaxResult)})
	}
	if c.Isolation == IsolationNone && len(c.Read)+len(c.Write) > 0 {
		errs = append(errs, &skills.PathError{Path: at + ".isolation",
			Msg: "is none, so read and write would bind nothing; set isolation to auto, or leave them out"})
	}
	return errors.Join(errs...)
}

// checkArgv returns the mistakes in the list of arguments.
func (c *config) checkArgv(at string, s *skills.Skill) error {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return &skills.PathError{Path: at + ".argv", Msg: "is missing; list the program and its arguments"}
	}
	var errs []error
	needed := requiredArguments(s)
	for i, a := range c.Argv {
		here := fmt.Sprintf("%s.argv[%d]", at, i)
		name, whole := readPlaceholder(a)
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
		case isShellScript(c.Argv, i):
			errs = append(errs, &skills.PathError{Path: here,
				Msg: `would be a shell script written by the caller; write the script here and pass the value after it, as "$1": ` +
					`argv: [sh, -c, 'eval "$1"', sh, "` + a + `"] where the argument is a command line (x-shell)`})
		case strings.HasPrefix(c.Argv[i-1], "-") && c.Argv[i-1] != "--" && !slices.Contains(needed, name):
			errs = append(errs, &skills.PathError{Path: here,
				Msg: "is optional, so the option before it could lose its value; make the argument required"})
		}
	}
	return errors.Join(errs...)
}

// isSingleBraced reports whether an element names an argument in single braces, as an http
// skill's url does.
func isSingleBraced(element string, s *skills.Skill) bool {
	name, open := strings.CutPrefix(element, "{")
	name, closed := strings.CutSuffix(name, "}")
	return open && closed && s.Declares(name)
}

func requiredArguments(s *skills.Skill) []string {
	var v struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(s.Parameters(), &v) != nil {
		return nil
	}
	return v.Required
}

// isShellScript reports whether argv[i] is what a shell would run by its -c option.
// A value anywhere after the script is a positional parameter, which is fine.
func isShellScript(argv []string, i int) bool {
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
