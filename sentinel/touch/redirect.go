package touch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (s *shell) redirect(r *syntax.Redirect, in stream) stream {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return stream{open: true, known: true}
		}
		return s.given(r.Hdoc, "")
	case syntax.WordHdoc:
		return s.given(r.Word, "\n")
	}
	for _, f := range flatten(s.expand(r.Word)) {
		switch r.Op {
		case syntax.RdrIn:
			s.path(f, Read)
			s.socket(f)
			in = stream{open: true, file: !f.unknown && !strings.HasPrefix(f.text, "/dev/") && !strings.HasPrefix(f.text, "/proc/")}
			if f.proc != nil {
				in = *f.proc
			}
		case syntax.RdrInOut:
			s.path(f, Read|Write)
			s.socket(f)
		case syntax.DplIn, syntax.DplOut:
			if !digits(f.text) && f.text != "-" {
				s.writes(f)
			}
		default:
			s.writes(f)
		}
	}
	return in
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
	if slices.ContainsFunc(s.resolve(f.text), device) {
		s.danger(DeviceWrite)
	}
}

// declare reads a function's body once with parameters that nobody knows; each
// call reads it again with its own.
func (s *shell) declare(f *syntax.FuncDecl) {
	if f.Name == nil || f.Body == nil {
		return
	}
	if breeds(f) {
		s.danger(ForkBomb)
	}
	s.funcs[f.Name.Value] = f.Body
	s.invoke(f.Name.Value, nil, stream{})
}

func (s *shell) invoke(name string, args []field, in stream) stream {
	body := s.funcs[name]
	if s.running[body] || s.level > maxReparse {
		return stream{open: true}
	}
	s.running[body] = true
	params, inFunc := s.params, s.inFunc
	s.params, s.inFunc = nil, true
	for _, a := range args {
		s.params = append(s.params, a.text)
	}
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
