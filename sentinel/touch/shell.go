package touch

import (
	"maps"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The bounds of what is read of one argument's command line. Beyond any of
// them the argument is Unparsed.
const (
	MaxShell    = 128 << 10 // bytes of a command line: what Linux lets sh -c have
	maxOpeners  = 20_000    // brackets, which nest the parser
	maxNesting  = 500       // levels of statements; a && b && c is three
	maxReparse  = 48        // levels of sh -c, eval, wrappers, functions
	maxCommands = 30_000
	maxBytes    = 8 << 20 // produced by expansion
)

// shell reads one command line as bash would, as far as that can be known
// without running it. Assignments, folders changed to and functions are
// followed in order; where a branch may or may not run, both values count.
type shell struct {
	c       *collector
	arg     string
	vars    map[string]value
	funcs   map[string]*syntax.Stmt
	running map[*syntax.Stmt]bool // functions being read, which may be recursive
	params  []string
	inFunc  bool // params are a caller's, or unknown where nil
	cond    int  // inside something that may not run
	depth   int  // of statements
	level   int  // of command lines inside command lines
	quiet   bool // guesswork: text that may be no shell at all
	spent   *budget
}

type budget struct {
	commands, bytes int
	over            bool
}

// stream is what a command reads or writes: its text where that is known, and
// the folders whose every entry it names (find, ls).
type stream struct {
	open, known bool
	text        string
	trees       []string
}

func readLine(c *collector, arg, line string) {
	s := newShell(c, arg)
	s.parse(line)
	s.close()
}

// readList reads a list of words: joined, as one command with its arguments,
// and each item that may be a line of its own.
func readList(c *collector, arg string, list []string) {
	readLine(c, arg, strings.Join(list, " "))
	s := newShell(c, arg)
	s.quiet = true
	s.run(literals(list), stream{})
	for _, item := range list {
		if strings.ContainsAny(item, " \t\n;") {
			s.fork().parse(item)
		}
	}
	s.close()
}

func newShell(c *collector, arg string) *shell {
	s := &shell{
		c: c, arg: arg, vars: map[string]value{}, funcs: map[string]*syntax.Stmt{},
		running: map[*syntax.Stmt]bool{}, spent: &budget{},
	}
	cwd := c.env.Root
	if cwd == "" {
		cwd = unknownCwd
	}
	s.vars["PWD"] = literal(cwd)
	return s
}

func (s *shell) close() {
	if s.spent.over {
		s.c.touch.Unparsed = appendNew(s.c.touch.Unparsed, s.arg)
	}
}

// fork returns a shell whose changes do not come back: ( … ), a pipe's side.
func (s *shell) fork() *shell {
	f := *s
	s.charge(16 * (len(s.vars) + len(s.funcs)))
	f.vars, f.funcs = maps.Clone(s.vars), maps.Clone(s.funcs)
	return &f
}

func (s *shell) stmts(list []*syntax.Stmt, in stream) stream {
	out := stream{open: true, known: true}
	var text strings.Builder // of many statements: adding strings would copy each as often as there are more
	for _, st := range list {
		o := s.stmt(st, in)
		out.known = out.known && o.known && text.Len()+len(o.text) <= MaxShell
		out.trees = append(out.trees, o.trees...)
		if out.known {
			text.WriteString(o.text)
		}
	}
	out.text = text.String()
	return out
}

// maybe reads what may run or not.
func (s *shell) maybe(list []*syntax.Stmt, in stream) {
	s.cond++
	defer func() { s.cond-- }()
	s.stmts(list, in)
}

func (s *shell) stmt(st *syntax.Stmt, in stream) stream {
	if s.depth >= maxNesting {
		s.spent.over = true
	}
	if s.spent.over { // refused anyway: no need to read on
		return stream{open: true}
	}
	s.depth++
	defer func() { s.depth-- }()
	from, cmds := len(s.c.touch.Paths), len(s.c.touch.Commands)
	for _, r := range st.Redirs {
		in = s.redirect(r, in)
	}
	if st.Cmd == nil {
		return in // $(<file)
	}
	to := len(s.c.touch.Paths)
	out := s.command(st.Cmd, in)
	if to > from {
		s.sent(from, to, cmds)
	}
	return out
}

func (s *shell) command(cmd syntax.Command, in stream) stream {
	switch cmd := cmd.(type) {
	case *syntax.CallExpr:
		return s.call(cmd, in)
	case *syntax.BinaryCmd:
		return s.binary(cmd, in)
	case *syntax.Subshell:
		return s.fork().stmts(cmd.Stmts, in)
	case *syntax.Block:
		return s.stmts(cmd.Stmts, in)
	case *syntax.IfClause:
		for c := cmd; c != nil; c = c.Else {
			s.stmts(c.Cond, in)
			s.maybe(c.Then, in)
		}
	case *syntax.WhileClause:
		s.stmts(cmd.Cond, in)
		s.read(cmd.Cond, in)
		s.maybe(cmd.Do, in)
	case *syntax.ForClause:
		s.loop(cmd, in)
	case *syntax.CaseClause:
		s.words(cmd.Word)
		for _, item := range cmd.Items {
			s.words(item.Patterns...)
			s.maybe(item.Stmts, in)
		}
	case *syntax.FuncDecl:
		s.declare(cmd)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			return s.stmt(cmd.Stmt, in)
		}
	case *syntax.CoprocClause:
		return s.fork().stmt(cmd.Stmt, in)
	case *syntax.DeclClause:
		for _, a := range cmd.Args {
			s.assign(a)
		}
	default: // [[ … ]], (( … )), let: only what they substitute runs
		s.inner(cmd)
	}
	return stream{open: true}
}

func (s *shell) binary(b *syntax.BinaryCmd, in stream) stream {
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		from := len(s.c.touch.Paths)
		left := s.fork().stmt(b.X, in)
		left.open = true
		to, cmds := len(s.c.touch.Paths), len(s.c.touch.Commands)
		out := s.fork().stmt(b.Y, left)
		s.sent(from, to, cmds)
		return out
	case syntax.AndStmt:
		x := s.stmt(b.X, in)
		y := s.stmt(b.Y, in)
		return stream{open: true, known: x.known && y.known, text: x.text + y.text}
	}
	s.stmt(b.X, in)
	s.cond++
	defer func() { s.cond-- }()
	s.stmt(b.Y, in)
	return stream{open: true}
}

// inner walks the command substitutions inside a node that runs nothing else.
func (s *shell) inner(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			s.fork().stmts(n.Stmts, stream{})
			return false
		case *syntax.ProcSubst:
			s.fork().stmts(n.Stmts, stream{})
			return false
		}
		return true
	})
}

func (s *shell) words(list ...*syntax.Word) {
	for _, w := range list {
		if w != nil {
			s.expand(w)
		}
	}
}

func (s *shell) loop(f *syntax.ForClause, in stream) {
	switch l := f.Loop.(type) {
	case *syntax.WordIter:
		var v value
		for _, w := range l.Items {
			for _, fl := range flatten(s.expand(w)) {
				v = append(v, fl.frags())
			}
		}
		if !l.InPos.IsValid() {
			v = s.lookup("@")
		}
		s.vars[l.Name.Value] = v
	default:
		s.inner(f.Loop)
	}
	s.maybe(f.Do, in)
}

// read gives the variables of "while read x" what the loop is fed.
func (s *shell) read(cond []*syntax.Stmt, in stream) {
	for _, st := range cond {
		call, ok := st.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "read" {
			continue
		}
		for _, w := range call.Args[1:] {
			if name := w.Lit(); syntax.ValidName(name) {
				s.vars[name] = fed(in)
			}
		}
	}
}

func fed(in stream) value {
	if !in.known {
		return value{{{s: "$read", kind: unknownFrag}}}
	}
	var v value
	for line := range strings.Lines(in.text) {
		v = append(v, frags{{s: strings.TrimSpace(line), kind: quotedFrag}})
	}
	return v
}

func (s *shell) danger(code string) { s.c.danger(code, s.arg) }

func (s *shell) doubt(code string) { s.c.doubt(code, s.arg) }
