package bash

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
	foreign     bool     // comes from another machine, or decoded: its text can't be looked at
	secret      bool     // holds credentials or the environment
}

func knownStream(text string) stream { return stream{open: true, known: true, text: text} }

// addNames adds what another stream says of the names in it.
func (in *stream) addNames(o stream) {
	in.trees = append(in.trees, o.trees...)
	in.some = append(in.some, o.some...)
	in.endless = in.endless || o.endless
	in.foreign = in.foreign || o.foreign
	in.secret = in.secret || o.secret
}

// feedLoop gives the variables of "while read x" what the loop is fed.
func (s *shell) feedLoop(cond []*syntax.Stmt, in stream) {
	for _, st := range cond {
		call, ok := st.Cmd.(*syntax.CallExpr)
		if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "read" {
			continue
		}
		for _, w := range call.Args[1:] {
			if name := w.Lit(); syntax.ValidName(name) {
				s.ownNames().vars[name] = fedValue(in)
			}
		}
	}
}

// fedValue is what a variable holds that is read from a stream.
func fedValue(in stream) value {
	var v value
	if in.known {
		for line := range strings.Lines(in.text) {
			if len(v) >= maxAlts {
				break
			}
			v = append(v, frags{{s: strings.TrimSpace(line), kind: quotedFrag, secret: in.secret}})
		}
		return v
	}
	for _, f := range in.listEntries() {
		v = append(v, f.toFrags())
	}
	return v
}

// listedValue is what the names that a command prints make of a word.
func listedValue(in stream) value {
	var v value
	for _, t := range in.trees {
		t = strings.TrimSuffix(strings.TrimSuffix(t, "/*"), "/") + "/*"
		v = append(v, frags{{s: t, bare: t, kind: unknownFrag, fed: true}})
	}
	for _, t := range in.some {
		v = append(v, frags{{s: t, bare: t, kind: unknownFrag, fed: true}})
	}
	return v
}

// listEntries are the items of a stream whose text is not known, one at least.
func (in stream) listEntries() []field {
	var out []field
	for _, t := range in.trees {
		out = append(out, field{text: t, bare: t, tree: true, fed: true})
	}
	for _, t := range in.some {
		out = append(out, field{text: t, bare: t, unknown: true, fed: true})
	}
	if len(out) == 0 {
		out = append(out, field{text: "$read", unknown: true, blank: true, fed: true, secret: in.secret})
	}
	return out
}
