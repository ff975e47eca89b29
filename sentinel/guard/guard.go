// Package guard is the binary gate: a core of paths and irrecoverable effects
// that no request justifies, no score outweighs and no configuration loosens.
// It uses no model and reads nothing but the call's Touch.
//
//	g, err := guard.New(guard.Options{Roots: []string{"/srv/workspace"}, Forbid: []string{"**/*.pem"}})
//	v, err := g.Check(ctx, call)
//
// What it refuses, first match first:
//
//	guard.irrecoverable   an effect of a command line from touch's closed list
//	guard.forbidden_path  a path of the core or of Forbid, however it is spelt,
//	                      read, written or only mentioned
//	guard.protected       a write to Vedette's own files; for keys a read too
//	guard.outside_roots   an x-path argument outside the roots
//	guard.unparsed_shell  a command line that is none, or too large to read
//
// and what it holds for a person:
//
//	guard.dynamic         a command that can't be known before it runs
//	guard.unparsed_shell  a command line that ends inside a quote or a bracket
//
// It is the first layer and not the last: a path can be swapped between this
// check and the open, and a program can do what its name does not say.
// Executors open files below their roots (os.Root) and run commands confined.
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

// The closed list of the guard's codes.
const (
	CodeIrrecoverable = "guard.irrecoverable"
	CodeForbidden     = "guard.forbidden_path"
	CodeProtected     = "guard.protected"
	CodeOutside       = "guard.outside_roots"
	CodeUnparsed      = "guard.unparsed_shell"
	CodeDynamic       = "guard.dynamic"
)

// Options add to the core. The zero value is the core alone.
type Options struct {
	// Roots are absolute folders; x-path arguments must lie in one of them.
	// Empty binds nothing. The first should be Env.Root.
	Roots []string
	// Forbid are patterns (doublestar: "**/*.pem", "~/secrets/**",
	// "/srv/db") of paths that nobody may touch. One without a leading "/"
	// or "~" counts below each root and, with "**", anywhere. Letter case
	// does not count. A folder covers what is in it.
	Forbid []string
	// Protect are absolute paths of files and folders that no call may
	// write: configuration, skill files, the database, the binary.
	Protect []string
	// Sources are where configuration is looked for: no call may write what
	// one of them may find.
	Sources []Source
	// Keys are absolute paths that no call may write or read.
	Keys []string
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
}

var _ sentinel.Gate = (*Guard)(nil)

// New checks the options and returns every mistake in them as joined
// *skills.PathError values ("guard.forbid_paths[0]"): a pattern that can't be
// read, a root that is not absolute, lies in the core or holds a protected
// file.
func New(o Options) (*Guard, error) {
	g := &Guard{}
	var errs []error
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
		list, err := patterns(p, o.Env, g.roots, fmt.Sprintf("guard.forbid_paths[%d]", i))
		g.forbid, errs = append(g.forbid, list...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return g, nil
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
	if inCore(clean) || inCore(real) {
		return &skills.PathError{Path: at, Msg: "lies in a folder that the guard always refuses"}
	}
	for _, p := range slices.Concat(g.protect, g.keys) {
		if within(p, clean) || within(p, real) {
			return &skills.PathError{Path: at, Msg: "holds configuration, keys or the database of this program; name a folder without them"}
		}
	}
	return nil
}

// Name returns "guard".
func (g *Guard) Name() string { return sentinel.GateGuard }

// finding is one reason against a call.
type finding struct {
	code   string
	signal string
	arg    string
}

// Check judges what the call touches. It never returns an error but ctx's.
func (g *Guard) Check(ctx context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return sentinel.Verdict{}, err
	}
	if c.Skill() == nil {
		return sentinel.Verdict{State: sentinel.Skipped, Reason: "the skill is unknown"}, nil
	}
	t := c.Touch()
	found := findings{}
	for _, d := range t.Dangers {
		found.add(CodeIrrecoverable, d.Code, d.Arg)
	}
	for _, p := range t.Paths {
		g.path(&found, p, c.Effect())
	}
	for _, arg := range t.Unparsed {
		found.add(CodeUnparsed, "unparsed", arg)
	}
	if len(found) > 0 {
		return found.verdict(sentinel.Deny), nil
	}
	for _, d := range t.Doubts {
		found.add(CodeDynamic, d.Code, d.Arg)
	}
	for _, arg := range t.Incomplete {
		found.add(CodeUnparsed, "incomplete", arg)
	}
	if len(found) > 0 {
		return found.verdict(sentinel.Ask), nil
	}
	return sentinel.Pass(), nil
}

type findings []finding

func (f *findings) add(code, signal, arg string) {
	if x := (finding{code, signal, arg}); !slices.Contains(*f, x) {
		*f = append(*f, x)
	}
}

// order ranks the codes: the worst one names the verdict.
var order = []string{CodeIrrecoverable, CodeForbidden, CodeProtected, CodeOutside, CodeUnparsed, CodeDynamic}

// explain says for people what each code means.
func explain(code string) string {
	switch code {
	case CodeIrrecoverable:
		return "the command would do what can't be undone"
	case CodeForbidden:
		return "a path that is never allowed"
	case CodeProtected:
		return "a file of this program"
	case CodeOutside:
		return "a path outside the configured roots"
	case CodeUnparsed:
		return "a command line that can't be read"
	}
	return "what would run can't be known beforehand"
}

func advise(code string) string {
	switch code {
	case CodeOutside:
		return "Use a path inside the workspace."
	case CodeUnparsed, CodeDynamic:
		return "Write the command out in full: plain words, closed quotes, nothing piped into a shell."
	}
	return "Do without it, or tell the user that it is needed. No wording of this call will be allowed."
}

// verdict turns what was found into one outcome. Its text holds codes and
// declared argument names alone.
func (f findings) verdict(o sentinel.Outcome) sentinel.Verdict {
	slices.SortStableFunc(f, func(a, b finding) int { return slices.Index(order, a.code) - slices.Index(order, b.code) })
	code := f[0].code
	v := sentinel.Verdict{State: sentinel.Judged, Outcome: o, Code: code, WhatYouCanDo: advise(code)}
	if o == sentinel.Deny {
		v.HasScore = true
	}
	v.Reason = fmt.Sprintf("%s (%s)", explain(code), f[0].signal)
	if f[0].arg != "" {
		v.Reason = fmt.Sprintf("%s: %s (%s)", f[0].arg, explain(code), f[0].signal)
	}
	for _, x := range f {
		i := slices.IndexFunc(v.Evidence, func(e sentinel.Evidence) bool { return e.Signal == x.signal })
		if i < 0 {
			i = len(v.Evidence)
			v.Evidence = append(v.Evidence, sentinel.Evidence{Signal: x.signal})
		}
		if x.arg != "" && !slices.Contains(v.Evidence[i].Args, x.arg) {
			v.Evidence[i].Args = append(v.Evidence[i].Args, x.arg)
		}
	}
	return v
}
