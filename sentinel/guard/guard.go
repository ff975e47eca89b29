// Package guard is the binary gate: a core of paths and irrecoverable effects
// that no request justifies, no score outweighs and no configuration loosens.
// It uses no model and reads nothing but the call's Touch.
//
//	g, err := guard.New(guard.Options{Roots: []string{"/srv/workspace"}, Forbid: []string{"**/*.pem"}})
//	v, err := g.Check(ctx, call)
//
// The package isn't stable: docs/api.md lists those that are.
//
// What it refuses, first match first:
//
//	guard.irrecoverable   an effect of a command line from touch's closed list
//	guard.operator        vedette pause, journal, ledger --values: its operators'
//	guard.forbidden_path  a path of the core or of Forbid, however it is spelt,
//	                      read, written or only mentioned
//	guard.protected       a write to Vedette's own files; for keys a read too
//	guard.outside_roots   an x-path argument outside the roots
//	guard.shell_in_argument  a command spliced into an argument that holds none;
//	                      a name that a program would read as an option
//	guard.effect_exceeded a command line that does more than its skill declares
//	guard.private_host    a metadata service, wherever it stands; an address of
//	                      this machine or its network in a URL argument
//	guard.unparsed_shell  a command line that is none, or too large to read
//
// and what it holds for a person:
//
//	guard.destructive     the loss of what somebody keeps: a database, cloud
//	                      resources, volumes, backups, the working tree
//	guard.sensitive_path  a folder read as a whole with a part of the core in it
//	                      (a copy of a home folder, an archive of /etc); histories, mail, account policy; system files that
//	                      are removed or sent away; what runs by itself later;
//	                      whole folders of documents or data that are removed
//	guard.shell_in_argument  a separator that may be one
//	guard.private_host    a private address that a command line goes to. The
//	                      machine's own is free there: developers run servers.
//	                      So are probes (ping, dig, nc -z), and hosts with a name
//	                      for clients that log in (ssh, git, psql)
//	guard.unread          a piece of a command line that the guard can't read:
//	                      nothing but a person settles it
//	guard.unconfined      a command line that does more than read, in a program
//	                      without a sandbox (isolation: none)
//	guard.no_undo         the same, where what the program writes can't be held in
//	                      a snapshot until it is committed
//	guard.dynamic         a command that can't be known before it runs
//	guard.unparsed_shell  a command line that ends inside a quote or a bracket
//	guard.commit          a commit of what a program wrote, where it removes much, or
//	                      writes what runs later, or a part of it can't be committed
//
// It is the first layer and not the last: a path can be swapped between this
// check and the open, and a program can do what its name does not say.
// Executors open files below their roots (os.Root) and run commands confined.
// AllowHosts takes nothing from the core: private hosts are no part of it, they
// wait for a name. The metadata services are part of it.
// What not to do: don't add a knob that takes from the core, and don't put a
// path or a command into a Reason.
package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Options add to the core. The zero value is the core alone.
type Options struct {
	// Roots are absolute folders; x-path arguments must lie in one of them.
	// Empty binds nothing. The first should be Env.Root.
	Roots []string
	// Forbid are patterns (doublestar: "**/*.pem", "~/secrets/**", "/srv/db") of paths
	// that no call may touch. One without a leading "/" or "~" counts below each root
	// and, with "**", anywhere. Letter case does not count. A folder covers what is in
	// it.
	Forbid []string
	// Protect are absolute paths of files and folders that no call may
	// write: configuration, skill files, the database, the binary.
	Protect []string
	// Sources are where configuration is looked for: no call may write what
	// one of them may find.
	Sources []Source
	// Keys are absolute paths that no call may write or read.
	Keys []string
	// AllowHosts are names or addresses of private hosts that calls may
	// reach, such as "wiki.internal" or "10.0.0.7". A metadata service can't
	// be among them.
	AllowHosts []string
	// NoUndo are the names of skills whose command lines write to folders at once,
	// since this system can hold no snapshot of them.
	NoUndo []string
	// Env is what paths are resolved against, the same as the calls'.
	Env touch.Env
}

// Guard implements sentinel.Gate. It is immutable and safe for concurrent use.
type Guard struct {
	roots   []string
	forbid  []string
	protect []string
	sources []source
	keys    []string
	hosts   []string
	noUndo  []string
	home    string
	// The same in lower case, as paths are compared.
	foldedProtect, foldedKeys []string
}

var _ sentinel.Gate = (*Guard)(nil)

// New checks the options and returns every mistake in them as joined
// *skills.PathError values ("guard.forbid_paths[0]"): a pattern that can't be
// read, a root that is not absolute, lies in the core or holds a protected
// file.
func New(o Options) (*Guard, error) {
	g := &Guard{home: findHome(o.Env), noUndo: slices.Clone(o.NoUndo)}
	var errs []error
	for i, h := range o.AllowHosts {
		name, err := parseAllowedHost(h, fmt.Sprintf("guard.allow_hosts[%d]", i))
		g.hosts, errs = append(g.hosts, name), append(errs, err)
	}
	for i, p := range o.Protect {
		errs = append(errs, addPlace(&g.protect, p, o.Env, fmt.Sprintf("guard.protect[%d]", i)))
	}
	for i, p := range o.Sources {
		errs = append(errs, addSource(&g.sources, p, o.Env, fmt.Sprintf("guard.sources[%d]", i)))
	}
	for i, p := range o.Keys {
		errs = append(errs, addPlace(&g.keys, p, o.Env, fmt.Sprintf("guard.keys[%d]", i)))
	}
	for i, r := range o.Roots {
		at := fmt.Sprintf("guard.roots[%d]", i)
		errs = append(errs, addPlace(&g.roots, r, o.Env, at), g.checkRoot(r, o.Env, at))
	}
	for i, p := range o.Forbid {
		list, err := compileForbidden(p, o.Env, g.roots, fmt.Sprintf("guard.forbid_paths[%d]", i))
		g.forbid, errs = append(g.forbid, list...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g.foldedProtect, g.foldedKeys = foldAll(g.protect), foldAll(g.keys)
	return g, nil
}

func foldAll(list []string) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = foldCase(p)
	}
	return out
}

// addPlace adds an absolute path and where it really leads.
func addPlace(list *[]string, p string, env touch.Env, at string) error {
	if !strings.HasPrefix(p, "/") && (len(p) < 3 || p[1] != ':') {
		return &skills.PathError{Path: at, Msg: "must be an absolute path"}
	}
	env.Root = "/"
	for _, c := range []string{touch.Lexical(p, env), touch.Real(touch.Lexical(p, env), env)} {
		if !slices.Contains(*list, c) {
			*list = append(*list, c)
		}
	}
	return nil
}

func (g *Guard) checkRoot(r string, env touch.Env, at string) error {
	clean := touch.Lexical(r, env)
	real := touch.Real(clean, env)
	if isInCore(clean) || isInCore(real) {
		return &skills.PathError{Path: at, Msg: "lies in a folder that the guard always refuses"}
	}
	for _, p := range slices.Concat(g.protect, g.keys) {
		if isWithin(p, clean) || isWithin(p, real) {
			return &skills.PathError{Path: at, Msg: "holds configuration, keys or the database of this program; name a folder without them"}
		}
	}
	return nil
}

// Name returns "guard".
func (g *Guard) Name() string { return sentinel.GateGuard }

// Check judges what the call touches. It never returns an error but ctx's.
func (g *Guard) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return sentinel.Verdict{}, err
	}
	if c.Skill() == nil {
		return sentinel.Verdict{State: sentinel.Skipped, Reason: "the skill is unknown"}, nil
	}
	x := examination{guard: g, effect: c.Effect()}
	x.judgeTouch(c.Touch())
	denies, asks := x.denies, x.asks
	denies.addOptions(c)
	if c.Skill().Confinement() == skills.Unconfined {
		asks.addChangingLines(c.Skill(), c.Touch(), CodeUnconfined, "no_sandbox")
	}
	if slices.Contains(g.noUndo, c.Skill().Name()) {
		asks.addChangingLines(c.Skill(), c.Touch(), CodeNoUndo, "no_snapshot")
	}
	for _, reason := range c.Reasons() {
		asks.add(CodeCommit, commitReason(reason), "")
	}
	switch {
	case len(denies) > 0:
		return denies.toVerdict(sentinel.Deny), nil
	case len(asks) > 0:
		return asks.toVerdict(sentinel.Ask), nil
	}
	return sentinel.Pass(), nil
}
