package bash

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) readRedirect(r *syntax.Redirect, in stream) stream {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return stream{open: true, known: true}
		}
		return s.openDescriptor(r, s.readGiven(r.Hdoc, ""), in)
	case syntax.WordHdoc:
		return s.openDescriptor(r, s.readGiven(r.Word, "\n"), in)
	}
	for _, f := range flatten(s.expandWord(r.Word)) {
		switch r.Op {
		case syntax.RdrIn:
			s.addAccess(f, Read)
			s.dialSocket(f)
			in = s.openDescriptor(r, s.readFile(f, in), in)
		case syntax.RdrInOut:
			s.addAccess(f, Read|Write)
			s.dialSocket(f)
			in = s.openDescriptor(r, s.readFile(f, in), in)
		case syntax.DplIn, syntax.DplOut:
			if from, ok := s.made.fds[f.text]; ok && r.Op == syntax.DplIn {
				in = from
			}
			if !isNumber(f.text) && f.text != "-" {
				s.overwrite(f)
			} else if s.made.fds[f.text].source == fromSocket {
				s.made.pending = append(s.made.pending, written{to: literalField(sockets[0]), all: r.N == nil || r.N.Value == "1"})
			}
		default:
			s.overwrite(f)
			if isSocket(f.text) {
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
		host = host || ok && isSocket(l.Value) && r.Op != syntax.RdrIn
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
	remember(s.budget, &s.made.fds, fd, from)
	return in
}

// readFile is what a file holds: what comes on the input, out of <( … ), or was
// written just before.
func (fv *fileView) readFile(f field, in stream) stream {
	switch {
	case f.proc != nil:
		return *f.proc
	case isStandard(f.text):
		return in
	}
	m, made := fv.findMade(f.text)
	if made && m.known {
		return stream{open: true, known: true, text: m.text, taint: m.taint}
	}
	named := !f.unknown && !strings.HasPrefix(f.text, "/dev/") && !strings.HasPrefix(f.text, "/proc/")
	m.secret = m.secret || holdsSecrets(f.text)
	out := stream{open: true, taint: m.taint}
	switch {
	case isSocket(f.text):
		out.source = fromSocket
	case named && !m.foreign:
		out.source = fromFile
	}
	return out
}

// readGiven is the stream of a here-document or a here-string.
func (s *shell) readGiven(w *syntax.Word, end string) stream {
	alts := s.readTexts(w, end == "")
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

// overwrite records that a redirect or a tool writes over f.
func (fv *fileView) overwrite(f field) {
	fv.addAccess(f, Write)
	fv.writeTarget("", f, Write)
	if f.text == "/" { // each file below: nothing writes to a folder itself
		f.tree = true
		fv.removeTarget(f, true)
	}
}

// declareFunction reads a function's body once with parameters that can't be
// known; each call reads it again with its own.
func (s *shell) declareFunction(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	setKey(&s.ownNames().funcs, f.Name.Value, f.Body)
	s.callFunction(f.Name.Value, nil, stream{})
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
	params, inFunc := s.params, s.inFunc
	s.inFunc = true
	s.params = slices.Clone(args)
	s.unsure++
	s.level++
	defer func() {
		s.params, s.inFunc = params, inFunc
		delete(s.running, body)
		s.unsure--
		s.level--
	}()
	return s.runStatement(body, in)
}

// sockets are where bash finds the hosts that it connects to.
var sockets = []string{"/dev/tcp/", "/dev/udp/"}

func isSocket(text string) bool {
	return slices.ContainsFunc(sockets, func(dir string) bool { return strings.HasPrefix(text, dir) })
}

// dialSocket records the host of /dev/tcp/HOST/PORT, which bash connects to.
func (r *reporter) dialSocket(f field) {
	for _, dev := range sockets {
		if rest, ok := strings.CutPrefix(f.text, dev); ok {
			r.reachHost(strings.SplitN(rest, "/", 2)[0], true)
		}
	}
}

// feedConsumers lets the commands of >( … ) read what is written to them.
func (s *shell) feedConsumers(st *syntax.Stmt, in, out stream) {
	for _, r := range st.Redirs {
		s.feedConsumer(r.Word, out)
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		if call.Args[0].Lit() != "tee" {
			in = stream{}
		}
		for _, w := range call.Args {
			s.feedConsumer(w, in)
		}
	}
}

func (s *shell) feedConsumer(w *syntax.Word, from stream) {
	if w == nil || len(w.Parts) != 1 {
		return
	}
	if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
		from.open = true
		s.fork().runStatements(p.Stmts, from)
	}
}
