package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// SignalOutsideRoots stands in Evidence where a call changes a file outside of the folders of
// agents' work.
const SignalOutsideRoots = "outside_roots"

// amountOutsideRoots doesn't ask by itself: with any other sign it does.
const amountOutsideRoots = -15

// newRootsSignal looks for a write or a removal of a named path that lies in no
// root. Declared path arguments are the guard's, which refuses them; nothing
// stays of what is written to a device of no data or to a folder for scratch.
func newRootsSignal(roots []string, env touch.Env) viewSignal {
	var all []string
	for _, r := range roots {
		for _, p := range []string{touch.Lexical(r, env), touch.Real(touch.Lexical(r, env), env)} {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return viewSignal{SignalOutsideRoots, amountOutsideRoots, func(v *view) finding {
		var f finding
		if len(all) == 0 {
			return f
		}
		for _, p := range v.c.Touch().Paths {
			if p.Access&(touch.Write|touch.Delete) == 0 || p.Declared || liesInAny(p.Clean, scratch) {
				continue
			}
			if slices.Contains(v.climbingArgs(), p.Arg) { // the same sign, and it costs more
				continue
			}
			if !liesInAny(p.Clean, all) || !liesInAny(p.Real, all) {
				f.add(p.Arg)
			}
		}
		return f
	}}
}

var scratch = []string{"/tmp", "/var/tmp", "/private/tmp", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/dev/shm"}

func liesInAny(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(dir string) bool {
		return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
	})
}
