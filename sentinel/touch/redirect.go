package touch

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) redirect(r *syntax.Redirect, in stream) stream {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return stream{open: true, known: true}
		}
		return s.opens(r, s.given(r.Hdoc, ""), in)
	case syntax.WordHdoc:
		return s.opens(r, s.given(r.Word, "\n"), in)
	}
	for _, f := range flatten(s.expand(r.Word)) {
		switch r.Op {
		case syntax.RdrIn:
			s.path(f, Read)
			s.socket(f)
			in = s.opens(r, s.fileStream(f), in)
		case syntax.RdrInOut:
			s.path(f, Read|Write)
			s.socket(f)
		case syntax.DplIn, syntax.DplOut:
			if from, ok := s.made.fds[f.text]; ok && r.Op == syntax.DplIn {
				in = from
			}
			if !digits(f.text) && f.text != "-" {
				s.writes(f)
			}
		default:
			s.writes(f)
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
		host = host || ok && (strings.HasPrefix(l.Value, "/dev/tcp/") || strings.HasPrefix(l.Value, "/dev/udp/")) && r.Op != syntax.RdrIn
		back = back || r.N != nil && r.N.Value == "0" && (r.Op == syntax.DplOut || r.Op == syntax.DplIn) || r.Op == syntax.DplIn && r.N == nil || r.Op == syntax.RdrInOut && (r.N == nil || r.N.Value == "0")
	}
	return host && back
}

// opens gives a descriptor what is read from it; the standard input is given
// to the command.
func (s *shell) opens(r *syntax.Redirect, from, in stream) stream {
	if r.N == nil || r.N.Value == "0" {
		return from
	}
	fd := r.N.Value
	if name := strings.Trim(fd, "{}"); name != fd {
		s.made.next++
		fd = strconv.Itoa(9 + s.made.next)
		s.set(name, literal(fd))
	}
	remember(s, &s.made.fds, fd, from)
	return in
}

// fileStream is what a file holds, where it was written just before.
func (s *shell) fileStream(f field) stream {
	if f.proc != nil {
		return *f.proc
	}
	m, made := s.madeFile(f.text)
	if made && m.known {
		return stream{open: true, known: true, text: m.text}
	}
	named := !f.unknown && !strings.HasPrefix(f.text, "/dev/") && !strings.HasPrefix(f.text, "/proc/")
	return stream{open: true, file: named && !m.foreign}
}

// given is the stream of a here-document or a here-string.
func (s *shell) given(w *syntax.Word, end string) stream {
	alts := s.texts(w, end == "")
	if len(alts) != 1 || alts.unknown() {
		return stream{open: true}
	}
	return stream{open: true, known: true, text: alts[0].text() + end}
}

// writes records that a redirect or a tool overwrites f.
func (s *shell) writes(f field) {
	s.path(f, Write)
	s.socket(f)
	if s.onDevice(f) {
		s.danger(DeviceWrite)
	}
	if f.tree || f.text == "/" { // each file below: nobody writes to a folder itself
		f.tree = true
		s.removeOne(f, true)
	}
}

// declare reads a function's body once with parameters that nobody knows; each
// call reads it again with its own.
func (s *shell) declare(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	if s.breeds(f) {
		s.danger(ForkBomb)
	}
	put(&s.own().funcs, f.Name.Value, f.Body)
	s.invoke(f.Name.Value, nil, stream{})
}

func (s *shell) invoke(name string, args []field, in stream) stream {
	body := s.def.funcs[name]
	if s.running[body] || s.level > maxReparse {
		return stream{open: true}
	}
	s.running[body] = true
	params, inFunc := s.params, s.inFunc
	s.inFunc = true
	s.params = slices.Clone(args)
	s.cond++
	s.level++
	defer func() {
		s.params, s.inFunc = params, inFunc
		delete(s.running, body)
		s.cond--
		s.level--
	}()
	return s.stmt(body, in)
}

// socket records the host of /dev/tcp/HOST/PORT, which bash connects to.
func (s *shell) socket(f field) {
	if rest, ok := strings.CutPrefix(f.text, "/dev/tcp/"); ok {
		s.reach(strings.SplitN(rest, "/", 2)[0], true)
	} else if rest, ok := strings.CutPrefix(f.text, "/dev/udp/"); ok {
		s.reach(strings.SplitN(rest, "/", 2)[0], true)
	}
}
