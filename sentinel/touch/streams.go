package touch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stream is what a command reads or writes: its text where that is known, and
// the folders whose every entry it names (find, ls), or some entries of which.
type stream struct {
	open, known bool
	endless     bool
	text        string
	trees       []string
	some        []string // "build/*.o", or "build/$entry" where nothing is known
	file        bool     // comes from a file that the line names
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
				s.own().vars[name] = fed(in)
			}
		}
	}
}

func fed(in stream) value {
	var v value
	if in.known {
		for line := range strings.Lines(in.text) {
			if len(v) >= maxAlts {
				break
			}
			v = append(v, frags{{s: strings.TrimSpace(line), kind: quotedFrag}})
		}
		return v
	}
	for _, f := range in.entries() {
		v = append(v, f.frags())
	}
	return v
}

// entries are the items of a stream whose text is not known, one at least.
func (in stream) entries() []field {
	var out []field
	for _, t := range in.trees {
		out = append(out, field{text: t, bare: t, tree: true})
	}
	for _, t := range in.some {
		out = append(out, field{text: t, bare: t, unknown: true})
	}
	if len(out) == 0 {
		out = append(out, field{text: "$read", unknown: true, blank: true})
	}
	return out
}
