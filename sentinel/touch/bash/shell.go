package bash

import (
	"maps"
	"slices"
	"strconv"
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
	started place  // of the script
	linked  *chain // of the "&&" that the statement at hand is the left side of
	nesting int    // of statements
	level   int    // of command lines inside command lines
	trial   int    // guesses inside guesses
	tried   bool   // the words at hand are such a guess already
}

func newShell(env path.Env, b *Budget) *shell {
	room := &struct { // in one piece: most command lines are short
		shell
		defined
		made
		Findings
		textRoom
	}{}
	room.vars = map[string]value{}
	s := &room.shell
	s.reporter = reporter{out: &room.Findings, budget: b, texts: &room.textRoom}
	s.env, s.def = env, &room.defined
	s.links, s.made = path.NewLinks(env), &room.made
	s.running = map[*syntax.Stmt]place{}
	cwd := env.Root
	if cwd == "" {
		cwd = path.UnknownFolder
	}
	s.def.vars[folderName] = literalValue(cwd)
	return s
}

// fork returns a shell whose changes do not come back: ( … ), a pipe's side.
// What is defined is copied when one of the two changes it.
func (s *shell) fork() *shell {
	s.shared = true
	f := *s
	f.chain = nil // what it assigns doesn't come back
	return &f
}

// readAside lets read work with findings of its own and returns those.
func (s *shell) readAside(read func(*shell)) *Findings {
	f := s.fork()
	f.out = &Findings{}
	read(f)
	return f.out
}

func (s *shell) runStatements(list []*syntax.Stmt, in stream) stream {
	if len(list) == 1 {
		return s.runStatement(list[0], in)
	}
	out := stream{open: true, known: true}
	s.growCommands(len(list))
	var text strings.Builder
	for _, st := range list {
		o := s.runStatement(st, in)
		out.known = out.known && o.known && len(o.others) == 0 && text.Len()+len(o.text) <= MaxShell
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
	if st.Background { // a shell of its own
		s = s.fork()
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
		s.markSentPaths(from, to)
	}
	return out
}

func (s *shell) runCommand(cmd syntax.Command, in stream) stream {
	out := stream{open: true}
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return s.runCallExpr(cmd, in)
	case *syntax.BinaryCmd:
		return s.runBinary(cmd, in)
	case *syntax.Subshell:
		return s.fork().runStatements(cmd.Stmts, in)
	case *syntax.Block:
		return s.runStatements(cmd.Stmts, in)
	case *syntax.IfClause:
		unsure := s.unsure
		for c := cmd; c != nil; c = c.Else {
			out.mix(s.runStatements(c.Cond, in).taint)
			out.mix(s.runUnsure(c.Then, in).taint)
			s.unsure = unsure + 1 // what elif asks may not run
		}
		s.unsure = unsure
	case *syntax.WhileClause:
		return s.runWhileLoop(cmd, in)
	case *syntax.ForClause:
		return s.runForLoop(cmd, in)
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
		return declareNames(s, cmd)
	default: // [[ … ]], (( … )), let: only what they substitute runs
		s.walkSubstitutions(cmd)
	}
	return out
}

func (s *shell) runBinary(b *syntax.BinaryCmd, in stream) stream {
	outer := s.place
	defer func() { s.place = outer }()
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		from := len(s.out.Paths)
		left := s.runPipeSide(b.X, in)
		left.open = true
		others := left.others
		left.others = nil
		to, sends, opens := len(s.out.Paths), s.made.sends, s.made.opens
		out := s.runPipeSide(b.Y, left)
		for _, text := range others {
			left.text, left.known = text, true
			takeReading(s, s.readAside(func(g *shell) { g.runPipeSide(b.Y, left) }), to, true)
		}
		if s.made.sends > sends {
			s.markSentPaths(from, to)
		}
		if s.made.opens > opens {
			s.markOpenedPaths(from, to, s.made.trees > 0)
		}
		return out
	case syntax.AndStmt:
		return runChain(s, b, in)
	}
	x := s.runStatement(b.X, in)
	if s.aside > 0 {
		s.branches-- // it goes on beside this shell, whichever of the two runs
	}
	out := s.runUnsure([]*syntax.Stmt{b.Y}, in)
	out.mix(x.taint)
	return out
}

// walkSubstitutions walks the command substitutions inside a node that runs nothing else.
func (s *shell) walkSubstitutions(n syntax.Node) {
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

// readQuotedSubscripts reads what stands in quotes inside a node and may be an index.
func (s *shell) readQuotedSubscripts(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if q, ok := n.(*syntax.SglQuoted); ok {
			s.readSubscript(q.Value)
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

func (s *shell) runForLoop(f *syntax.ForClause, in stream) stream {
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		var v value
		for _, w := range l.Items {
			for _, fl := range flattenFields(s.expandWord(w)) {
				if !s.budget.takeItems(1) {
					return stream{open: true}
				}
				v = append(v, fl.toFrags())
			}
		}
		if !l.InPos.IsValid() {
			v = s.lookUpVariable("@")
		}
		if len(v) > 0 { // a loop over nothing leaves its name alone
			unsure := s.unsure
			if v.isUnsure() {
				s.unsure++
			}
			s.setVariable(l.Name.Value, v)
			s.unsure = unsure
		}
	case *syntax.CStyleLoop:
		if l.Cond == nil && isFlood(f.Do) {
			s.addDanger(ForkBomb)
		}
		s.walkSubstitutions(f.Loop)
	}
	return s.runUnsure(f.Do, in)
}

// runPipeSide reads one side of a pipe. One that is a pipe itself has sides of its
// own.
func (s *shell) runPipeSide(st *syntax.Stmt, in stream) stream {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		return s.runStatement(st, in)
	}
	f := s.fork()
	f.aside++
	return f.runStatement(st, in)
}

// place is where a function was called: how many sides of pipes and background
// commands are around it, and how many parts that may not run.
type place struct{ aside, branches int }

// findBreeding looks for what starts itself beside itself, whatever happens: a
// fork bomb under any name. from is where it was started first.
func (s *shell) findBreeding(from place) {
	if s.aside > from.aside && s.branches == from.branches {
		s.addDanger(ForkBomb)
	}
}

// isItself reports whether a word is the script that is running.
func isItself(w *syntax.Word) bool {
	parts := w.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
		parts = q.Parts
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return w.Lit() == "%0" || ok && len(parts) == 1 &&
		p.Param != nil && p.Exp == nil && (p.Param.Value == "0" || p.Param.Value == "BASH_SOURCE")
}

// runWhileLoop reads a loop. One that never ends and waits for nothing that it starts
// fills the machine with processes.
func (s *shell) runWhileLoop(w *syntax.WhileClause, in stream) stream {
	if isConstant(w.Cond, w.Until) && isFlood(w.Do) {
		s.addDanger(ForkBomb)
	}
	s.runStatements(w.Cond, in)
	s.branches-- // what is in it runs as long as the condition holds
	out := s.runUnsure(w.Do, in)
	s.branches++
	return out
}

// isConstant reports whether a loop's condition never changes.
func isConstant(cond []*syntax.Stmt, until bool) bool {
	if len(cond) != 1 {
		return false
	}
	switch cmd := cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 {
			return false
		}
		name := cmd.Args[0].Lit()
		if until {
			return name == "false"
		}
		return name == "true" || name == ":" || name == "[" && len(cmd.Args) == 3 && cmd.Args[1].Lit() == "1"
	case *syntax.ArithmCmd:
		w, ok := cmd.X.(*syntax.Word)
		return ok && !until && w.Lit() == "1"
	}
	return false
}

// instant are the commands that take no time.
var instant = newWordSet("echo printf true : let disown")

// isFlood reports whether a loop's body starts something in the background and
// does nothing that takes time.
func isFlood(body []*syntax.Stmt) bool {
	starts := false
	for _, st := range body {
		if st.Background {
			starts = true
			continue
		}
		if sub, ok := st.Cmd.(*syntax.Subshell); ok && isFlood(sub.Stmts) {
			starts = true
			continue
		}
		call, ok := st.Cmd.(*syntax.CallExpr)
		if !ok {
			return false
		}
		if len(call.Args) > 0 && !instant.has(call.Args[0].Lit()) {
			return false
		}
	}
	return starts
}

func (s *shell) readRedirect(r *syntax.Redirect, in stream) stream {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return stream{open: true, known: true}
		}
		return s.openDescriptor(r, s.readHereText(r.Hdoc, ""), in)
	case syntax.WordHdoc:
		return s.openDescriptor(r, s.readHereText(r.Word, "\n"), in)
	}
	for _, f := range flattenFields(s.expandWord(r.Word)) {
		switch r.Op {
		case syntax.RdrIn:
			s.addAccess(f, Read)
			s.dialSocket(f)
			in = s.openDescriptor(r, s.readFileStream(f, in), in)
		case syntax.RdrInOut:
			s.addAccess(f, Read|Write)
			s.dialSocket(f)
			in = s.openDescriptor(r, s.readFileStream(f, in), in)
		case syntax.DplIn, syntax.DplOut:
			if from, ok := s.made.fds[f.text]; ok && r.Op == syntax.DplIn {
				in = from
			}
			if !isNumber(f.text) && f.text != "-" {
				s.overwriteFile(f)
			} else if s.made.fds[f.text].source == fromSocket {
				s.made.pending = append(s.made.pending, written{to: literalField(sockets[0]), all: r.N == nil || r.N.Value == "1"})
			}
		default:
			s.overwriteFile(f)
			if isSocketPath(f.text) {
				s.openDescriptor(r, stream{open: true, source: fromSocket}, in)
			}
			s.made.pending = append(s.made.pending, written{
				to: f, add: r.Op == syntax.AppOut || r.Op == syntax.AppAll, all: r.N == nil || r.N.Value == "1",
			})
		}
	}
	return in
}

// dialsBack reports whether a command's output goes to a host, and its input
// comes from where its output goes.
func dialsBack(list []*syntax.Redirect) bool {
	host, back := false, false
	for _, r := range list {
		if r.Word == nil || len(r.Word.Parts) == 0 {
			continue
		}
		l, ok := r.Word.Parts[0].(*syntax.Lit)
		host = host || ok && isSocketPath(l.Value) && r.Op != syntax.RdrIn
		zero := r.N != nil && r.N.Value == "0"
		back = back || zero && (r.Op == syntax.DplOut || r.Op == syntax.DplIn) || r.Op == syntax.DplIn && r.N == nil || r.Op == syntax.RdrInOut &&
			(r.N == nil || zero)
	}
	return host && back
}

// openDescriptor gives a descriptor what is read from it; the standard input is
// given to the command.
func (s *shell) openDescriptor(r *syntax.Redirect, from, in stream) stream {
	if r.N == nil || r.N.Value == "0" {
		return from
	}
	fd := r.N.Value
	if name := strings.Trim(fd, "{}"); name != fd {
		s.made.next++
		fd = strconv.Itoa(9 + s.made.next)
		s.setVariable(name, literalValue(fd))
	}
	rememberKey(s.budget, &s.made.fds, fd, from)
	return in
}

// readHereText is the stream of a here-document or a here-string.
func (s *shell) readHereText(w *syntax.Word, end string) stream {
	alts := s.expandUnsplit(w, end == "")
	out := stream{open: true}
	for _, f := range alts {
		for _, p := range f {
			out.secret = out.secret || p.secret
		}
	}
	if len(alts) == 1 && !alts.isUnknown() {
		out.known, out.text = true, alts[0].text()+end
	}
	return out
}

// declareFunction reads a function's body once with parameters that can't be
// known; each call reads it again with its own.
func (s *shell) declareFunction(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	setKey(&s.ownNames().funcs, f.Name.Value, f.Body)
	s.fork().callFunction(f.Name.Value, nil, stream{}) // it may never be called: what it assigns is no variable yet
}

func (s *shell) callFunction(name string, args []field, in stream) stream {
	body := s.def.funcs[name]
	from, runs := s.running[body]
	if runs {
		s.findBreeding(from)
	}
	if runs || s.level > maxLevels {
		return stream{open: true}
	}
	s.running[body] = place{s.aside, s.branches}
	params, inFunc, refs, locals := s.params, s.inFunc, s.def.refs, s.locals
	s.inFunc, s.locals = true, nil
	s.params = slices.Clone(args)
	s.unsure++
	s.level++
	defer func() {
		s.params, s.inFunc = params, inFunc
		s.forgetRefs(refs)
		forgetLocals(s, locals)
		delete(s.running, body)
		s.unsure--
		s.level--
	}()
	return s.runStatement(body, in)
}

// forgetRefs takes back the names for names that a function has declared for itself.
func (s *shell) forgetRefs(before map[string]string) {
	if maps.Equal(s.def.refs, before) {
		return
	}
	now := s.def.refs
	s.ownNames().refs = before
	for _, name := range s.globals {
		if to := now[name]; to != "" {
			s.setRef(name, to)
		}
	}
}

// feedConsumers lets the commands of >( … ) read what is written to them.
func (s *shell) feedConsumers(st *syntax.Stmt, in, out stream) {
	for _, r := range st.Redirs {
		if p, ok := findConsumer(r.Word); ok {
			s.feedConsumer(p, out)
		}
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		for _, w := range call.Args {
			p, ok := findConsumer(w)
			switch {
			case !ok:
			case call.Args[0].Lit() == "tee":
				s.feedConsumer(p, in)
			default:
				s.feedConsumer(p, stream{})
			}
		}
	}
}

// findConsumer returns the >( … ) that a word is.
func findConsumer(w *syntax.Word) (*syntax.ProcSubst, bool) {
	if w == nil || len(w.Parts) != 1 {
		return nil, false
	}
	p, ok := w.Parts[0].(*syntax.ProcSubst)
	return p, ok && p.Op == syntax.CmdOut
}

func (s *shell) feedConsumer(p *syntax.ProcSubst, from stream) {
	from.open = true
	s.fork().runStatements(p.Stmts, from)
}

// closeFindings says how far the line was read.
func (s *shell) closeFindings() Findings {
	f := s.out
	if s.budget.over {
		s.addUnread(UnreadBudget)
	}
	stopped := f.Unparsed || f.Incomplete || len(f.Dangers)+len(f.Doubts)+len(f.Changes)+len(f.Unread) > 0
	f.Plain = !stopped && !s.made.impure && len(f.Commands) > 0 &&
		!slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Opaque }) &&
		!slices.ContainsFunc(f.Paths, func(p Path) bool { return p.Access&(Write|Delete|Execute) != 0 || p.Sent })
	return *f
}
