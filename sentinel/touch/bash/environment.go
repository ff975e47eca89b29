package bash

import (
	"maps"
	paths "path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// environment is what has a name in a shell, and where the shell runs.
type environment struct {
	reporter
	env    path.Env
	def    *defined
	shared bool // def is another shell's as well
	params []field
	inFunc bool // params are a caller's, or unknown where nil
	unsure int  // inside something that may not run
	// exports is set by "set -a": what is assigned from then on is exported.
	exports bool
	chain   *chain
	// globals are the names for names that outlive the function that declares them.
	globals []string
	locals  []heldBefore // what the names held that the function at hand has declared for itself
}

// defined is what a command line has defined so far.
type defined struct {
	vars    map[string]value
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	refs    map[string]string // declare -n: another name for a variable
	marks   map[string]attributes
}

// ownNames returns the names of this shell alone, to be changed.
func (e *environment) ownNames() *defined {
	if e.shared {
		n := e.def
		e.budget.TakeBytes(16 * (len(n.vars) + len(n.funcs) + len(n.aliases) + len(n.marks)))
		e.def, e.shared = &defined{vars: maps.Clone(n.vars), funcs: maps.Clone(n.funcs), aliases: maps.Clone(n.aliases),
			refs: maps.Clone(n.refs), marks: maps.Clone(n.marks)}, false
	}
	return e.def
}

// setKey makes a map on first use: most command lines define neither functions
// nor aliases.
func setKey[K comparable, V any](m *map[K]V, name K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[name] = v
}

// folderName is what the working folder is kept under: $PWD is a variable like others.
const folderName = "."

// setFolder changes the working folder.
func (e *environment) setFolder(v value) {
	e.setVariable("OLDPWD", e.def.vars[folderName])
	if _, had := e.def.vars["PWD"]; had {
		e.setVariable("PWD", v)
	}
	e.storeValue(folderName, v)
}

// homeValue is what $HOME holds unless the line has changed it.
func (e *environment) homeValue() value {
	if v, ok := e.def.vars["HOME"]; ok {
		return v
	}
	return value{{{s: e.env.HomeFolder(), kind: quotedFrag, provenance: provenance{home: true}}}}
}

// setVariable gives a variable one value; an array has it for its first element.
func (e *environment) setVariable(name string, v value) {
	if to := e.followRefs(name); e.hasMark(to, arrayVar) {
		v = append(v[:len(v):len(v)], e.def.vars[to]...)
	}
	e.setWhole(name, v)
}

// setWhole gives a variable all of its value; where that may not happen, one more. A name for
// another variable may stand for itself: its declaration may not have run, or the shell
// knows no such names. Both get the value, and the other variable keeps what it had.
func (e *environment) setWhole(name string, v value) {
	if ownValues[name] {
		v = markUnsure(v, "")
	}
	if to := e.followRefs(name); to != name {
		if old, had := e.def.vars[to]; !had || !old.equalTexts(v) {
			e.addDoubt(OpaqueCommand) // two values are two words, and move those behind them
		}
		e.unsure++
		e.storeValue(to, v)
		e.unsure--
	}
	e.storeValue(name, v)
}

func (e *environment) storeValue(name string, v value) {
	old, had := e.findHeld(name)
	if e.hasMark(name, lowerVar|upperVar) {
		v = e.foldLetters(name, v)
	}
	switch {
	case e.unsure > 0 || e.hasMark(name, fixedVar) && had:
		if !e.budget.takeItems((len(v) + len(old)) / maxAlts) {
			return
		}
		if n := len(v) - len(old); n < 0 || len(old) == 0 || !v[n:].equalTexts(old) { // else an array has kept them
			v = append(v[:len(v):len(v)], clearUnsure(old)...)
		}
		if !had {
			e.markVariable(name, perhapsVar, 0)
		}
	case name != folderName:
		e.chain.rememberValue(name, old)
		if e.hasMark(name, perhapsVar) {
			e.markVariable(name, 0, perhapsVar)
		}
	}
	if e.exports {
		e.markVariable(name, exportedVar, 0)
	}
	e.ownNames().vars[name] = v
}

// findHeld returns what the line knows a variable to hold.
func (e *environment) findHeld(name string) (v value, had bool) {
	if v, had = e.def.vars[name]; had {
		return v, had
	}
	if name == "HOME" || name == "PWD" || name == "OLDPWD" {
		return e.lookUpName(name), true
	}
	return nil, false
}

// foldLetters returns a value in the letters that its variable is declared to have, beside
// the value itself: not each shell does so.
func (e *environment) foldLetters(name string, v value) value {
	out := make(value, 0, 2*len(v))
	for _, f := range v {
		g := slices.Clone(f)
		for i := range g {
			if e.hasMark(name, lowerVar) {
				g[i].s = strings.ToLower(g[i].s)
			} else {
				g[i].s = strings.ToUpper(g[i].s)
			}
		}
		if out = append(out, g); g.text() != f.text() {
			out = append(out, f)
		}
		e.budget.TakeBytes(f.size())
	}
	return out
}

// maxRefs is how many names for names are followed.
const maxRefs = 8

// followRefs returns the variable that a name stands for: declare -n.
func (e *environment) followRefs(name string) string {
	for range maxRefs {
		to := e.def.refs[name]
		if to == "" {
			break
		}
		name = to
	}
	return name
}

// setRef makes a name stand for a variable. The map is another one from then on, so that a
// function's names can be forgotten.
func (e *environment) setRef(name, to string) {
	refs := maps.Clone(e.def.refs)
	setKey(&refs, name, to)
	e.budget.TakeBytes(16 * len(refs))
	e.ownNames().refs = refs
}

// doubtVariable remembers that a variable may not be set any more. Its value stands beside
// that: whether the shell really unsets it is not always sure.
func (e *environment) doubtVariable(name string) {
	if e.budget.IsSpent() { // else many names cost a look at the whole value each
		return
	}
	name = e.followRefs(name)
	v, ok := e.findHeld(name)
	if _, usual := usualValues[name]; usual && !ok {
		v, ok = e.lookUpName(name), true
	}
	if !ok {
		return
	}
	for _, f := range v {
		if !e.budget.TakeBytes(f.size() + 64*len(f)) {
			return
		}
	}
	gone := markUnsure(v, "")
	for _, f := range v {
		if t := f.otherText(); t != "" && t != f.text() { // a third thing it may hold
			gone = append(gone, frags{{s: t, kind: quotedFrag}})
		}
	}
	setKey(&e.ownNames().vars, name, gone)
}

// lookUpVariable returns what a variable may hold. A name for another variable may have a
// value of its own: its declaration may not have run.
func (e *environment) lookUpVariable(name string) value {
	to := e.followRefs(name)
	v := e.lookUpName(to)
	if to == name {
		return v
	}
	if own, ok := e.def.vars[name]; ok && !own.equalTexts(v) {
		v = append(v[:len(v):len(v)], own...)
	}
	return v
}

func (e *environment) lookUpName(name string) value {
	if v, ok := e.def.vars[name]; ok {
		return v
	}
	switch name {
	case "@", "*":
		switch {
		case !e.inFunc: // sh -c has $0 first
			return joinFieldsInOne(e.params[min(1, len(e.params)):])
		case e.params != nil:
			return joinFieldsInOne(e.params)
		}
	case "HOME":
		return e.homeValue()
	case "USER", "LOGNAME", "USERNAME":
		return literalValue(paths.Base(e.env.HomeFolder()))
	case "PWD", "OLDPWD":
		return e.def.vars[folderName]
	case "0":
		if !e.inFunc && len(e.params) > 0 {
			return e.readPositional(name)
		}
		return literalValue("sh")
	}
	if text, ok := usualValues[name]; ok {
		return literalValue(text)
	}
	if isNumber(name) && (!e.inFunc || e.params != nil) {
		return e.readPositional(name)
	}
	return value{{{s: "$" + name, kind: unknownFrag, taint: taintOfName(name)}}}
}

// taintOfName says what a variable holds by its name, and for which hosts.
func taintOfName(name string) taint {
	if !namesSecret(name) {
		return taint{}
	}
	hosts := programs.ReadWords("$"+strings.ToLower(name), nil).TokenHosts
	return taint{leak: leak{token: true}, minted: strings.Join(hosts, " ")}
}

// usualValues are what variables hold that a shell sets by itself.
var usualValues = map[string]string{
	"TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp", "IFS": " \t\n",
	"PATH": "/usr/local/bin:/usr/bin:/bin", "SHELL": "/bin/bash", "BASH": "/bin/bash",
	"EDITOR": "vi", "VISUAL": "vi", "PAGER": "less", "?": "0", "#": "0", "UID": "0", "EUID": "0",
	"$": "1", "!": "1", "PPID": "1", "RANDOM": "1",
	"SECONDS": "1", "LINENO": "1", "-": "hB",
}

// readPositional returns $1 and so on. In a function params start at $1; in a
// command line at $0, as sh -c has them.
func (e *environment) readPositional(name string) value {
	n := 0
	for _, c := range name {
		if n = n*10 + int(c-'0'); n > len(e.params) {
			return literalValue("")
		}
	}
	if e.inFunc {
		n--
	}
	if n < 0 || n >= len(e.params) {
		return literalValue("")
	}
	return value{e.params[n].toFrags()}
}

// setPositionals is "set -- a b": $1 and so on.
func (e *environment) setPositionals(args []field) {
	for i, a := range args {
		switch {
		case a.text == "--":
			args = args[i+1:]
		case a.text != "" && strings.IndexByte("-+", a.text[0]) >= 0:
			continue
		default:
			args = args[i:]
		}
		e.params = slices.Clone(args)
		if !e.inFunc {
			e.params = append(literalFields([]string{"sh"}), e.params...)
		}
		return
	}
}

// separateFields splits with the separators that IFS holds now.
func (e *environment) separateFields(list frags) []field {
	v, ok := e.def.vars["IFS"]
	if !ok || len(v) == 0 || v.isUnknown() || strings.Trim(v[0].text(), " \t\n") == "" {
		return splitFields(list)
	}
	ifs := v[0].text()
	mapped := make(frags, len(list))
	for i, p := range list {
		if p.kind == splitFrag {
			p.s = strings.Map(func(r rune) rune {
				if strings.ContainsRune(ifs, r) {
					return ' '
				}
				return r
			}, p.s)
		}
		mapped[i] = p
	}
	return splitFields(mapped)
}

func (e *environment) cutAtSeparator(line string) (word, rest string) {
	ifs := " \t\n"
	if v := e.lookUpVariable("IFS"); len(v) > 0 && !v.isUnknown() {
		ifs = v[0].text()
	}
	line = strings.TrimLeft(line, " \t")
	if i := strings.IndexAny(line, ifs); i >= 0 {
		return line[:i], line[i+1:]
	}
	return line, ""
}

// worksInHome reports whether the folder was changed to the home folder by "cd".
func (e *environment) worksInHome() bool {
	v := e.def.vars[folderName]
	return len(v) == 1 && len(v[0]) > 0 && v[0][0].home
}

func (e *environment) worksInDev() bool {
	return slices.ContainsFunc(e.def.vars[folderName], func(f frags) bool { return strings.Contains(f.text(), "dev") })
}
