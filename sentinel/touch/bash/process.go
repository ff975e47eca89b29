package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// inherited are variables that are in each process's environment, so that those it starts have what
// the line gives them.
var inherited = toSet(folderName + " HOME PATH PWD OLDPWD USER LOGNAME SHELL LANG TERM IFS")

// forkProcess returns the shell of another process, which has of this one's names only those that
// are exported. A variable that isn't may have been exported before the line: it stands beside
// nothing.
func forkProcess(s *shell) *shell {
	g := s.fork()
	if s.exports {
		return g
	}
	for name, v := range s.def.vars {
		if inherited[name] || s.hasMark(name, exportedVar) || v.isUnknown() {
			continue
		}
		for _, f := range v {
			if !s.budget.TakeBytes(f.size() + 64*len(f)) {
				return g
			}
		}
		setKey(&g.ownNames().vars, name, markUnsure(v, ""))
	}
	if len(s.def.aliases) > 0 {
		g.ownNames().aliases = nil
	}
	for name := range s.def.funcs {
		if !s.hasMark(name, exportedVar) && programs.Knows(name) {
			delete(g.ownNames().funcs, name) // the program itself runs
		}
	}
	return g
}

// setExports is "set -a" and "set +a": all that is assigned from then on is exported, or no more.
func setExports(s *shell, args []field) {
	for i, f := range args {
		switch {
		case f.text == "--" || f.text == "" || strings.IndexByte("-+", f.text[0]) < 0:
			return
		case f.text[0] == '+':
			s.exports = false
		case s.unsure == 0 && (strings.Contains(f.text, "a") || f.text == "-o" && i+1 < len(args) && args[i+1].text == "allexport"):
			s.exports = true
		}
	}
}

// holdLocal remembers what a name holds before a function declares it for itself.
func holdLocal(s *shell, name string) {
	if name == folderName || slices.ContainsFunc(s.locals, func(h heldBefore) bool { return h.name == name }) || !s.budget.takeStep() {
		return
	}
	h := heldBefore{name: name, marks: s.def.marks[name]}
	h.old, h.had = s.def.vars[name]
	s.locals = append(slices.Clip(s.locals), h)
}

// forgetLocals gives the names back what they held before the function that ends declared them, if
// it did. before are those of its caller.
func forgetLocals(s *shell, before []heldBefore) {
	for _, h := range slices.Backward(s.locals) {
		now, has := s.def.vars[h.name]
		switch {
		case !has:
		case now.equalTexts(h.old):
			s.ownNames().vars[h.name] = h.old
		case !s.budget.takeItems((len(now) + len(h.old)) / maxAlts):
		case h.had:
			s.ownNames().vars[h.name] = append(h.old[:len(h.old):len(h.old)], now...)
		case s.budget.TakeBytes(64 * len(now)):
			s.ownNames().vars[h.name] = markUnsure(now, "")
			s.markVariable(h.name, perhapsVar, 0)
		}
	}
	s.locals = before
}
