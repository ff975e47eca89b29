package touch

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
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
	def     *defined
	shared  bool                  // def is another shell's as well
	running map[*syntax.Stmt]bool // functions being read, which may be recursive
	params  []field
	inFunc  bool // params are a caller's, or unknown where nil
	cond    int  // inside something that may not run
	depth   int  // of statements
	level   int  // of command lines inside command lines
	quiet   bool // guesswork: text that may be no shell at all
	trial   int  // guesses inside guesses
	tried   bool // the words at hand are such a guess already
	made    *made
	spent   *budget
}

// defined is what a command line has defined so far.
type defined struct {
	vars    map[string]value
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	refs    map[string]string   // declare -n: another name for a variable
	calls   map[string][]string // by function: what it calls whatever happens
}

type budget struct {
	commands, bytes int
	over            bool
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
	room := &struct { // in one piece: most command lines are short
		shell
		defined
		budget
		made
	}{}
	room.vars = map[string]value{}
	s := &room.shell
	*s = shell{c: c, arg: arg, def: &room.defined, running: map[*syntax.Stmt]bool{}, spent: &room.budget, made: &room.made}
	cwd := c.env.Root
	if cwd == "" {
		cwd = path.UnknownFolder
	}
	s.def.vars["PWD"] = literal(cwd)
	return s
}

func (s *shell) close() {
	if s.spent.over {
		s.c.touch.Unparsed = appendNew(s.c.touch.Unparsed, s.arg)
	}
}

// fork returns a shell whose changes do not come back: ( … ), a pipe's side.
// What is defined is copied when one of the two changes it.
func (s *shell) fork() *shell {
	s.shared = true
	f := *s
	return &f
}

// put makes a map on first use: most command lines define neither functions
// nor aliases.
func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// own returns the names of this shell alone, to be changed.
func (s *shell) own() *defined {
	if s.shared {
		n := s.def
		s.charge(16 * (len(n.vars) + len(n.funcs) + len(n.aliases)))
		s.def, s.shared = &defined{vars: maps.Clone(n.vars), funcs: maps.Clone(n.funcs), aliases: maps.Clone(n.aliases), refs: maps.Clone(n.refs), calls: maps.Clone(n.calls)}, false
	}
	return s.def
}

func (s *shell) stmts(list []*syntax.Stmt, in stream) stream {
	if len(list) == 1 {
		return s.stmt(list[0], in)
	}
	out := stream{open: true, known: true}
	if !s.quiet && len(list) > 8 { // a script: one command a statement, as a rule
		s.c.touch.Commands = slices.Grow(s.c.touch.Commands, len(list))
	}
	var text strings.Builder
	for _, st := range list {
		o := s.stmt(st, in)
		out.known = out.known && o.known && text.Len()+len(o.text) <= MaxShell
		out.trees = append(out.trees, o.trees...)
		out.some = append(out.some, o.some...)
		out.endless = out.endless || o.endless
		if out.known {
			text.WriteString(o.text)
		}
	}
	if out.known {
		out.text = text.String()
	}
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
	from, cmds, mark := len(s.c.touch.Paths), len(s.c.touch.Commands), len(s.made.pending)
	for _, r := range st.Redirs {
		in = s.redirect(r, in)
	}
	if st.Cmd == nil {
		return in // $(<file)
	}
	if st.Redirs != nil && dialsBack(st.Redirs) {
		in = stream{open: true} // what the other side sends
	}
	to := len(s.c.touch.Paths)
	files := slices.Clone(s.made.pending[mark:])
	s.made.pending = s.made.pending[:mark]
	s.made.into = files
	out := s.command(st.Cmd, in)
	s.made.into = nil
	s.settle(files, out, cmds)
	s.consumers(st, in, out)
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
		s.whiles(cmd, in)
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
		s.decl(cmd)
	default: // [[ … ]], (( … )), let: only what they substitute runs
		s.inner(cmd)
	}
	return stream{open: true}
}

func (s *shell) binary(b *syntax.BinaryCmd, in stream) stream {
	switch b.Op {
	case syntax.Pipe, syntax.PipeAll:
		from := len(s.c.touch.Paths)
		left := s.side(b.X, in)
		left.open = true
		to, cmds := len(s.c.touch.Paths), len(s.c.touch.Commands)
		out := s.side(b.Y, left)
		s.sent(from, to, cmds)
		s.opened(from, to, cmds)
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
		case *syntax.UnaryTest: // [[ -v 'x[$(cmd)]' ]]
			if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.TsVarSet {
				s.subscriptOf(w)
			}
		case *syntax.SglQuoted: // let 'x[$(cmd)]=1'
			s.subscript(n.Value)
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
		s.own().vars[l.Name.Value] = v
	case *syntax.CStyleLoop:
		if l.Cond == nil && floods(f.Do) {
			s.danger(ForkBomb)
		}
		s.inner(f.Loop)
	}
	s.maybe(f.Do, in)
}

// side reads one side of a pipe. One that is a pipe itself has sides of its
// own.
func (s *shell) side(st *syntax.Stmt, in stream) stream {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && (b.Op == syntax.Pipe || b.Op == syntax.PipeAll) {
		return s.stmt(st, in)
	}
	return s.fork().stmt(st, in)
}

func (s *shell) danger(code string) { s.c.danger(code, s.arg) }

func (s *shell) doubt(code string) { s.c.doubt(code, s.arg) }
