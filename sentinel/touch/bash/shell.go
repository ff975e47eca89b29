package bash

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// shell is one shell as far as its state can be known without running it.
// Assignments, folders changed to and functions are followed in order; where a
// branch may or may not run, both values count.
//
// It is built of layers, each of which knows those below it: a reporter for what is
// found, an environment for what has a name, a view of the files, and the shell,
// which runs.
type shell struct {
	fileView
	running map[*syntax.Stmt]place // functions being read, which may be recursive
	place
	started place // of the script
	nesting int   // of statements
	level   int   // of command lines inside command lines
	trial   int   // guesses inside guesses
	tried   bool  // the words at hand are such a guess already
}

// environment is what has a name in a shell, and where the shell runs.
type environment struct {
	reporter
	env    path.Env
	def    *defined
	shared bool // def is another shell's as well
	params []field
	inFunc bool // params are a caller's, or unknown where nil
	unsure int  // inside something that may not run
}

// defined is what a command line has defined so far.
type defined struct {
	vars    map[string]value
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	refs    map[string]string // declare -n: another name for a variable
}

func newShell(env path.Env, b *Budget) *shell {
	room := &struct { // in one piece: most command lines are short
		shell
		defined
		made
		Findings
	}{}
	room.vars = map[string]value{}
	s := &room.shell
	s.reporter = reporter{out: &room.Findings, budget: b}
	s.env, s.def = env, &room.defined
	s.links, s.made = path.NewLinks(env), &room.made
	s.running = map[*syntax.Stmt]place{}
	cwd := env.Root
	if cwd == "" {
		cwd = path.UnknownFolder
	}
	s.def.vars["PWD"] = literalValue(cwd)
	return s
}

// fork returns a shell whose changes do not come back: ( … ), a pipe's side.
// What is defined is copied when one of the two changes it.
func (s *shell) fork() *shell {
	s.shared = true
	f := *s
	return &f
}

// readAside lets read work with findings of its own and returns those.
func (s *shell) readAside(read func(*shell)) *Findings {
	f := s.fork()
	f.out = &Findings{}
	read(f)
	return f.out
}

// setKey makes a map on first use: most command lines define neither functions
// nor aliases.
func setKey[K comparable, V any](m *map[K]V, name K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[name] = v
}

// ownNames returns the names of this shell alone, to be changed.
func (e *environment) ownNames() *defined {
	if e.shared {
		n := e.def
		e.budget.TakeBytes(16 * (len(n.vars) + len(n.funcs) + len(n.aliases)))
		e.def, e.shared = &defined{vars: maps.Clone(n.vars), funcs: maps.Clone(n.funcs), aliases: maps.Clone(n.aliases),
			refs: maps.Clone(n.refs)}, false
	}
	return e.def
}

func (s *shell) runStatements(list []*syntax.Stmt, in stream) stream {
	if len(list) == 1 {
		return s.runStatement(list[0], in)
	}
	out := stream{open: true, known: true}
	var text strings.Builder
	for _, st := range list {
		o := s.runStatement(st, in)
		out.known = out.known && o.known && text.Len()+len(o.text) <= MaxShell
		out.addNames(o)
		if out.known {
			text.WriteString(o.text)
		}
	}
	if out.known {
		out.text = text.String()
	}
	return out
}

// runUnsure reads what may run or not. What it prints is not known.
func (s *shell) runUnsure(list []*syntax.Stmt, in stream) stream {
	s.unsure++
	s.branches++
	defer func() { s.unsure--; s.branches-- }()
	return stream{open: true, taint: s.runStatements(list, in).taint}
}

func (s *shell) runStatement(st *syntax.Stmt, in stream) stream {
	if s.nesting >= maxNesting {
		s.budget.over = true
	}
	if s.budget.over { // refused anyway: no need to read on
		return stream{open: true}
	}
	s.nesting++
	outer := s.place
	defer func() { s.nesting--; s.place = outer }()
	if st.Background {
		s.aside++
	}
	from, sends, mark := len(s.out.Paths), s.made.sends, len(s.made.pending)
	for _, r := range st.Redirs {
		in = s.readRedirect(r, in)
	}
	if st.Cmd == nil { // "> file", or $(<file)
		s.settleFiles(s.made.pending[mark:], knownStream(""))
		s.made.pending = s.made.pending[:mark]
		return in
	}
	if st.Redirs != nil && dialsBack(st.Redirs) {
		in = stream{open: true, taint: taint{foreign: true}} // what the other side sends
		s.addUnread(RemoteShell)
	}
	to := len(s.out.Paths)
	files := append([]written(nil), s.made.pending[mark:]...)
	s.made.pending = s.made.pending[:mark]
	out := s.runCommand(st.Cmd, in)
	if s.settleFiles(files, out); slices.ContainsFunc(files, func(w written) bool { return w.all }) {
		out.minted = "" // its reader doesn't get it
	}
	s.feedConsumers(st, in, out)
	if s.made.sends > sends {
		s.markSent(from, to)
	}
	return out
}

func (s *shell) runCommand(cmd syntax.Command, in stream) stream {
	out := stream{open: true}
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return s.runCall(cmd, in)
	case *syntax.BinaryCmd:
		return s.runBinary(cmd, in)
	case *syntax.Subshell:
		return s.fork().runStatements(cmd.Stmts, in)
	case *syntax.Block:
		return s.runStatements(cmd.Stmts, in)
	case *syntax.IfClause:
		for c := cmd; c != nil; c = c.Else {
			out.mix(s.runStatements(c.Cond, in).taint)
			out.mix(s.runUnsure(c.Then, in).taint)
		}
	case *syntax.WhileClause:
		return s.runWhile(cmd, in)
	case *syntax.ForClause:
		return s.runFor(cmd, in)
	case *syntax.CaseClause:
		s.expandWords(cmd.Word)
		for _, item := range cmd.Items {
			s.expandWords(item.Patterns...)
			out.mix(s.runUnsure(item.Stmts, in).taint)
		}
	case *syntax.FuncDecl:
		s.declareFunction(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return s.runStatement(cmd.Stmt, in)
		}
	case *syntax.CoprocClause:
		return s.fork().runStatement(cmd.Stmt, in)
	case *syntax.DeclClause:
		return s.declareNames(cmd)
	default: // [[ … ]], (( … )), let: only what they substitute runs
		s.walkInner(cmd)
	}
	return out
}

func (s *shell) runBinary(b *syntax.BinaryCmd, in stream) stream {
	outer := s.place
	defer func() { s.place = outer }()
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		from := len(s.out.Paths)
		left := s.runSide(b.X, in)
		left.open = true
		to, sends, opens := len(s.out.Paths), s.made.sends, s.made.opens
		out := s.runSide(b.Y, left)
		if s.made.sends > sends {
			s.markSent(from, to)
		}
		if s.made.opens > opens {
			s.markOpened(from, to, s.made.trees > 0)
		}
		return out
	case syntax.AndStmt:
		x := s.runStatement(b.X, in)
		if s.aside == 0 {
			s.branches++
		}
		y := s.runStatement(b.Y, in)
		out := stream{open: true, known: x.known && y.known, text: x.text + y.text, taint: x.taint}
		out.mix(y.taint)
		return out
	}
	x := s.runStatement(b.X, in)
	if s.aside > 0 {
		s.branches-- // it goes on beside this shell, whichever of the two runs
	}
	out := s.runUnsure([]*syntax.Stmt{b.Y}, in)
	out.mix(x.taint)
	return out
}

// walkInner walks the command substitutions inside a node that runs nothing else.
func (s *shell) walkInner(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.fork().runStatements(n.Stmts, stream{})
			return false
		case *syntax.ProcSubst:
			s.fork().runStatements(n.Stmts, stream{})
			return false
		case *syntax.SglQuoted: // let 'x[$(cmd)]=1'
			s.readSubscript(n.Value)
		}
		return true
	})
}

func (s *shell) expandWords(list ...*syntax.Word) {
	for _, w := range list {
		if w != nil {
			s.expandWord(w)
		}
	}
}

func (s *shell) runFor(f *syntax.ForClause, in stream) stream {
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		var v value
		for _, w := range l.Items {
			for _, fl := range flatten(s.expandWord(w)) {
				if !s.budget.takeItems(1) {
					return stream{open: true}
				}
				v = append(v, fl.toFrags())
			}
		}
		if !l.InPos.IsValid() {
			v = s.lookUpVariable("@")
		}
		s.ownNames().vars[l.Name.Value] = v
	case *syntax.CStyleLoop:
		if l.Cond == nil && isFlood(f.Do) {
			s.addDanger(ForkBomb)
		}
		s.walkInner(f.Loop)
	}
	return s.runUnsure(f.Do, in)
}

// runSide reads one side of a pipe. One that is a pipe itself has sides of its
// own.
func (s *shell) runSide(st *syntax.Stmt, in stream) stream {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		return s.runStatement(st, in)
	}
	f := s.fork()
	f.aside++
	return f.runStatement(st, in)
}

// markSent marks the files that were read for a command that sends its input,
// those from one index of Paths to another.
func (fv *fileView) markSent(from, to int) {
	for i := from; i < to; i++ {
		p := &fv.out.Paths[i]
		p.Sent = p.Sent || p.Access.Has(Read)
		if p.Sent && !p.Names && fv.leaksFile(literalField(p.Clean), p.Recursive) {
			fv.addUnread(SecretSent)
		}
	}
}

// markOpened marks what was only listed as read where a command takes those
// names for files, and with trees the folders that were listed whole.
func (r *reporter) markOpened(from, to int, trees bool) {
	for i := from; i < to; i++ {
		p := &r.out.Paths[i]
		if strings.Contains(p.Clean, "/**/") || trees && p.Recursive {
			p.Names = false
		}
	}
}
