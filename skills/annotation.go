package skills

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Annotation is a set of x- marks of an argument.
type Annotation uint8

// The annotations.
const (
	Target  Annotation = 1 << iota // who or what is affected; grounding looks here
	Content                        // data; the path scan skips it
	Shell                          // a command line
	Path                           // a file path; bound by the guard's roots
	URL                            // a URL
	Secret                         // never shown or recorded
	Right                          // a right or a switch that the request must speak of
)

var annotationBits = map[string]Annotation{
	"x-target": Target, "x-content": Content, "x-shell": Shell, "x-path": Path, "x-url": URL, "x-secret": Secret,
	"x-right": Right,
}

// Has reports whether all of b are set in a.
func (a Annotation) Has(b Annotation) bool { return a&b == b }

// Arg is one scalar value in a call's arguments.
type Arg struct {
	// Pointer is the JSON pointer of the value.
	Pointer string
	// Name is the name of the property it belongs to; items of a list have
	// the list's name.
	Name string
	// Declared is false for a property that the schema doesn't name.
	Declared bool
	// Marks are the annotations that apply, those of enclosing lists and
	// objects included.
	Marks Annotation
	// Value is a string, json.Number, bool or nil.
	Value any
}

// Text returns the value where it is a string.
func (a Arg) Text() (string, bool) {
	s, ok := a.Value.(string)
	return s, ok
}

// Annotated reports whether the schema carries any of the marks. In skills
// without annotations every string may be a target.
func (s *Skill) Annotated() bool { return s.notes.marked }

// DeclaredArgs returns the names of the top-level arguments that the schema
// declares, sorted.
func (s *Skill) DeclaredArgs() []string {
	seen := map[string]bool{}
	for _, n := range s.notes.root {
		for k := range n.props {
			seen[k] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Declares reports whether the schema names the top-level argument.
func (s *Skill) Declares(name string) bool {
	_, declared := s.notes.root.stepTo(name)
	return declared
}

// Walk calls fn for every scalar in args, in a fixed order: keys sorted, lists
// in order. args is what json.Decoder with UseNumber makes of the arguments.
func (s *Skill) Walk(args map[string]any, fn func(Arg)) {
	w := walker{unmarked: !s.notes.marked, fn: fn}
	w.walkValue(s.notes.root, args, Arg{Declared: true})
}

type walker struct {
	unmarked bool
	fn       func(Arg)
}

func (w walker) walkValue(at view, v any, arg Arg) {
	arg.Marks |= at.unionMarks()
	switch v := v.(type) {
	case map[string]any:
		var few [8]string // most objects have no more keys
		keys := few[:0]
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			sub, declared := at.stepTo(k)
			w.walkValue(sub, v[k], Arg{
				Pointer: arg.Pointer + "/" + escapePointer(k), Name: k,
				Declared: arg.Declared && declared, Marks: arg.Marks | guessMarks(k, w.unmarked),
			})
		}
	case []any:
		for i, e := range v {
			w.walkValue(at.itemAt(i), e, Arg{
				Pointer: arg.Pointer + "/" + strconv.Itoa(i), Name: arg.Name, Declared: arg.Declared, Marks: arg.Marks,
			})
		}
	default:
		// What is a path, a command or a target is not mere data, wherever
		// it is also called that.
		if arg.Marks&(Path|Shell|URL|Target) != 0 {
			arg.Marks &^= Content
		}
		arg.Value = v
		w.fn(arg)
	}
}

func escapePointer(k string) string {
	if strings.IndexByte(k, '~') < 0 && strings.IndexByte(k, '/') < 0 {
		return k
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
}

// guessMarks applies where a schema has no annotations at all: every string
// may be a target, and the usual names of command lines are shell.
func guessMarks(name string, unmarked bool) Annotation {
	if !unmarked {
		return 0
	}
	switch strings.ToLower(name) {
	case "command", "cmd", "script":
		return Target | Shell
	}
	return Target
}

// ArgMarks returns the annotations of a top-level argument, those of what may be in it
// included. declared is false where the schema doesn't name it. In a skill without annotations
// that is none at all: see Annotated.
func (s *Skill) ArgMarks(name string) (marks Annotation, declared bool) {
	at, declared := s.notes.root.stepTo(name)
	if !declared {
		return 0, false
	}
	seen := map[*node]bool{}
	marks = s.notes.root.unionMarks()
	for list := []*node(at); len(list) > 0; {
		n := list[0]
		list = list[1:]
		if seen[n] {
			continue
		}
		seen[n] = true
		marks |= n.marks
		list = append(list, n.subschemas()...)
	}
	return marks, true
}

// RequiredUndeclared returns the top-level arguments that the schema requires
// and neither names nor lets through: every call lacks them. They are sorted.
func (s *Skill) RequiredUndeclared() []string {
	var root struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(s.spec.Parameters, &root) != nil || !s.notes.root.isClosed(true) {
		return nil
	}
	var out []string
	for _, name := range root.Required {
		if _, declared, fits := s.notes.root.followName(name); !declared && !fits {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TakesShell reports whether an argument is, or may hold, a command line.
func (s *Skill) TakesShell() bool {
	seen := map[*node]bool{}
	for list := slices.Clone([]*node(s.notes.root)); len(list) > 0; {
		n := list[0]
		if list = list[1:]; seen[n] {
			continue
		}
		seen[n] = true
		if n.marks.Has(Shell) {
			return true
		}
		for name := range n.props {
			if guessMarks(name, !s.notes.marked).Has(Shell) {
				return true
			}
		}
		list = append(list, n.subschemas()...)
	}
	return false
}
