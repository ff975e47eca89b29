package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/run/exec/snapshot"
)

// callerEnv names the variables that say for whom a program runs. None is set
// unless an operator names it.
type callerEnv struct {
	User           string `json:"user"`
	Conversation   string `json:"conversation"`
	Call           string `json:"call"`
	IdempotencyKey string `json:"idempotency_key"`
}

// variable is one of them: its option, its name, its value.
type variable struct{ option, name, value string }

// listVariables returns the variables that are named, with the values of c.
func (e callerEnv) listVariables(c skills.Caller) []variable {
	all := []variable{{"user", e.User, c.User}, {"conversation", e.Conversation, c.Conversation},
		{"call", e.Call, c.CallID}, {"idempotency_key", e.IdempotencyKey, c.IdempotencyKey}}
	return slices.DeleteFunc(all, func(v variable) bool { return v.name == "" })
}

// environment is what one run of a program gets, and what must not come back.
type environment struct {
	list  []string
	clean *scrub.Scrubber
	layer *snapshot.Layer // what the program writes to; nil: its write roots themselves
}

// checkEnv returns the mistakes in the variables that a program gets.
func checkEnv(at string, p *program, s *skills.Skill) error {
	c := &envCheck{program: p}
	for i, name := range p.Env {
		c.checkName(fmt.Sprintf("%s.env[%d]", at, i), name)
		if _, twice := p.SetEnv[name]; twice {
			c.addFault(fmt.Sprintf("%s.env[%d]", at, i), "is in set_env too; keep one of them")
		}
	}
	for name, v := range p.SetEnv {
		if !isValidEnvName(name) || strings.ContainsRune(v, 0) {
			c.addFault(at+".set_env."+name, "is no variable's name, or its value holds a NUL")
		}
	}
	c.checkProxied(at)
	taken := slices.Clone(p.Env)
	for name := range p.SetEnv {
		taken = append(taken, name)
	}
	for _, v := range p.CallerEnv.listVariables(skills.Caller{}) {
		taken = c.checkOwnName(at+".caller_env."+v.option, v.name, taken)
	}
	c.checkCredentials(at+".credentials", s, taken)
	return errors.Join(c.errs...)
}

// checkCredentials refuses a credential that isn't known and a variable that is taken. In a
// skill that takes a command line it refuses all of them.
func (c *envCheck) checkCredentials(at string, s *skills.Skill, taken []string) {
	p := c.program
	if len(p.Credentials) == 0 {
		return
	}
	if s.TakesShell() {
		c.addFault(at, "the skill takes a command line (x-shell), which could send a credential anywhere; make them two skills")
		return
	}
	var known []string
	if p.credentials != nil {
		known = p.credentials.Names()
	}
	for _, name := range slices.Sorted(maps.Keys(p.Credentials)) {
		taken = c.checkOwnName(at+"."+name, name, taken)
		if !slices.Contains(known, p.Credentials[name]) {
			c.errs = append(c.errs, decode.Unknown(at+"."+name, "credential", p.Credentials[name], known))
		}
	}
}

// envCheck collects the mistakes in names of variables.
type envCheck struct {
	program *program
	errs    []error
}

// checkProxied refuses variables that the list of hosts sets.
func (c *envCheck) checkProxied(at string) {
	p := c.program
	if p.policy == nil {
		return
	}
	for _, e := range p.policy.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if i := slices.Index(p.Env, name); i >= 0 {
			c.addFault(fmt.Sprintf("%s.env[%d]", at, i), "is set by egress; leave it out")
		}
		if _, set := p.SetEnv[name]; set {
			c.addFault(at+".set_env."+name, "is set by egress; leave it out")
		}
	}
}

func (c *envCheck) addFault(path, msg string) {
	c.errs = append(c.errs, &skills.PathError{Path: path, Msg: msg})
}

func (c *envCheck) checkName(path, name string) {
	if !isValidEnvName(name) {
		c.addFault(path, "must be the name of a variable; a value goes under set_env")
	}
}

// checkOwnName checks the name of a variable that Vedette sets for each call. It returns the
// names that are taken then.
func (c *envCheck) checkOwnName(path, name string, taken []string) []string {
	switch {
	case !isPlainEnvName(name):
		c.addFault(path, "must be the name of a variable: capital letters, digits and _, such as VEDETTE_USER")
	case steersPrograms(name):
		c.addFault(path, "is a variable that steers programs or their loader; choose another, such as VEDETTE_USER")
	case slices.Contains(taken, name):
		c.addFault(path, "is the name of another variable of this skill; choose another")
	}
	return append(taken, name)
}

func isValidEnvName(n string) bool { return n != "" && !strings.ContainsAny(n, "=\x00") }

func isPlainEnvName(n string) bool {
	return n != "" && (n[0] < '0' || n[0] > '9') && strings.Trim(n, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// steering are variables whose value decides what a program does or loads. A user's id, which
// is a stranger's text, doesn't belong in one.
var steering = []string{
	"PATH", "IFS", "ENV", "HOME", "SHELL", "EDITOR", "VISUAL", "PAGER", "BROWSER", "CDPATH", "PS4", "PROMPT_COMMAND", "TMPDIR",
	"SHELLOPTS", "BASHOPTS", "GLOBIGNORE", "ZDOTDIR", "FPATH", "INPUTRC", "VIMINIT", "EXINIT", "MANPAGER", "PWD", "TMP", "TEMP",
	"NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "RUBYLIB", "GEM_HOME", "GEM_PATH", "PHPRC",
	"PHP_INI_SCAN_DIR", "LUA_INIT", "LUA_PATH", "LUA_CPATH",
	"CLASSPATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "DOTNET_STARTUP_HOOKS", "R_PROFILE", "R_ENVIRON", "AWKPATH",
	"GOFLAGS", "MAKEFLAGS", "MAKEFILES", "RUSTC_WRAPPER", "TAR_OPTIONS", "RSYNC_RSH", "SSH_ASKPASS", "SUDO_ASKPASS", "WGETRC", "CURL_HOME",
	"OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "TZDIR", "TERMINFO",
	"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "XDG_DATA_DIRS", "KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG",
	"LESSOPEN", "LESSCLOSE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

func steersPrograms(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_", "PYTHON", "PERL", "GIT_", "GCONV_", "MALLOC_", "GLIBC_", "SSL_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(steering, name)
}

// newEnvironment returns what the program gets for one order. Its variables are the listed
// ones that are set, the fixed ones and those of the caller. They are sorted, so that two runs
// of one call look the same.
func newEnvironment(ctx context.Context, p *program, o skills.Order) (environment, error) {
	out := environment{list: []string{}}
	var secrets []string
	for _, name := range p.Env {
		if v, ok := os.LookupEnv(name); ok {
			out.list, secrets = append(out.list, name+"="+v), append(secrets, scrub.OfVariable(name, v)...)
		}
	}
	for name, v := range p.SetEnv {
		out.list, secrets = append(out.list, name+"="+v), append(secrets, scrub.OfVariable(name, v)...)
	}
	for _, v := range p.CallerEnv.listVariables(o.Caller()) {
		if strings.ContainsRune(v.value, 0) {
			return environment{}, decode.Refuse("the caller's %s holds a NUL, which no variable can hold", v.option)
		}
		out.list = append(out.list, v.name+"="+v.value)
	}
	for name, credential := range p.Credentials {
		v, err := skills.ResolveCredential(ctx, p.credentials, credential, o.Caller())
		if err != nil {
			return environment{}, err
		}
		out.list, secrets = append(out.list, name+"="+v), append(secrets, v)
	}
	if p.policy != nil {
		out.list = append(out.list, p.policy.Environ()...)
	}
	slices.Sort(out.list)
	out.clean = scrub.New(append(secrets, listSecretArguments(p.Argv)...)...)
	return out, nil
}

// listSecretArguments returns the fixed arguments that look like secrets. An argument list is
// no place for one: other programs can read it.
func listSecretArguments(argv []string) []string {
	var out []string
	for i, a := range argv {
		if _, place := readPlaceholder(a); place || i == 0 {
			continue
		}
		name, value, found := strings.Cut(a, "=")
		if !found || !strings.HasPrefix(name, "-") {
			name, value = "", a
			if strings.HasPrefix(argv[i-1], "-") {
				name = argv[i-1]
			}
		}
		if strings.HasPrefix(value, "-") {
			continue // an option of its own
		}
		if header, v, isHeader := strings.Cut(value, ": "); isHeader && scrub.Looks(header, v) {
			out = append(out, scrub.OfHeader(header, v)...)
			continue
		}
		out = append(out, scrub.OfVariable(name, value)...)
	}
	return out
}
