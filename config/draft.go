package config

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/vedette-dev/vedette/skills"
)

// Draft is what could be read of a configuration with mistakes. The checks of
// other packages go on from it, so that one pass finds every mistake. Never decide
// or run anything by it.
type Draft struct {
	// Config is complete but for what is broken, which has its default. Nil
	// where the file can't be read at all.
	Config *Config
	// Unsure are skills with mistakes, as far as they could be mended to look at
	// the way they run. Nothing can be said of their arguments.
	Unsure []LoadedSkill
	// Names are those of all skills with mistakes.
	Names []string
	// Partial is true where there are skills besides whose names are unknown.
	Partial bool

	mistakes Errors
	marked   map[Position]bool
}

// Inspect is Load for a configuration that may have mistakes. Draft.Err returns
// them.
func Inspect(path string, opts Options) *Draft {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return &Draft{mistakes: Errors{{File: path, Msg: "the working directory is gone; give an absolute path"}}}
	}
	l := newLoader(path, disk{}, dir, opts)
	src, err := l.files.readFile(path)
	if err != nil {
		return &Draft{mistakes: Errors{{File: path, Msg: readFailureText(err)}}}
	}
	d := &Draft{marked: map[Position]bool{}}
	if l.readAll(src) {
		d.Config, d.Unsure, d.Names, d.Partial = l.cfg, l.unsure, l.mistakenNames, l.namesMissing
	}
	d.mistakes = l.out.list
	if d.Config != nil && len(d.mistakes) > 0 {
		d.markMistakes(l)
	}
	return d
}

// markMistakes marks what holds a mistake. A key that is missing there may be a
// misspelt one.
func (d *Draft) markMistakes(l *loader) {
	at := map[Position]bool{}
	for _, m := range d.mistakes {
		at[m.Pos()] = true
		d.marked[m.Pos()] = true
	}
	for i := range l.root.entries {
		e := &l.root.entries[i]
		d.markWithMistakes(e.val, e.pos, at)
	}
	for _, n := range l.cfg.where.skills {
		d.markWithMistakes(n, n.pos, at)
	}
}

// markWithMistakes reports whether a mistake stands in n, and marks n and its key where
// one does.
func (d *Draft) markWithMistakes(n *node, key Position, mistakes map[Position]bool) bool {
	found := mistakes[n.pos] || mistakes[key]
	for i := range n.entries {
		e := &n.entries[i]
		found = d.markWithMistakes(e.val, e.pos, mistakes) || found
	}
	for _, item := range n.items {
		found = d.markWithMistakes(item, item.pos, mistakes) || found
	}
	if found {
		d.marked[n.pos], d.marked[key] = true, true
	}
	return found
}

// Err returns all mistakes: those of the reading, and of later those that don't
// follow from them. Nil where there are none.
func (d *Draft) Err(later error) error {
	all := problems{list: append(Errors(nil), d.mistakes...)}
	var rest []error
	for _, e := range errorLeaves(later) {
		var at *Error
		switch {
		case !errors.As(e, &at):
			rest = append(rest, e)
		case !d.marked[at.Pos()]:
			all.list = append(all.list, at)
		}
	}
	err := all.sortedError()
	if err == nil || len(d.mistakes) == 0 {
		return errors.Join(append([]error{err}, rest...)...)
	}
	return err // what has no place may follow from what has one
}

// errorLeaves takes a tree of errors apart.
func errorLeaves(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var out []error
		for _, e := range many.Unwrap() {
			out = append(out, errorLeaves(e)...)
		}
		return out
	}
	return []error{err}
}

// mendSkill makes a skill of a declaration with mistakes, so that other packages
// can look at the way it runs. It returns nil where that would only find what
// follows from them.
func mendSkill(p pendingSkill, s *skills.Skill) *skills.Skill {
	spec := p.spec
	if spec.Run.Kind == "" || len(spec.Parameters) == 0 {
		return nil // the arguments may stand under a misspelt key
	}
	if s != nil {
		return s
	}
	if !skills.ValidName(spec.Name) {
		return nil
	}
	if !spec.Effect.Valid() {
		spec.Effect = skills.Irreversible
	}
	spec.Reaches, spec.Output, spec.Approval, spec.Timeout = "", "", "", 0
	if s, err := skills.Compile(spec); err == nil {
		return s
	}
	spec.Parameters = mendSchema(spec.Parameters)
	mended, err := skills.Compile(spec)
	if err != nil {
		return nil
	}
	return mended
}

// mendSchema keeps of a schema the properties that compile by themselves; of
// the others their names.
func mendSchema(raw json.RawMessage) json.RawMessage {
	var in struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	for name, p := range in.Properties {
		one, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]json.RawMessage{name: p}})
		if err == nil {
			_, err = skills.Compile(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: one})
		}
		if err != nil {
			in.Properties[name] = json.RawMessage("true")
		}
	}
	out, err := json.Marshal(map[string]any{"type": "object", "properties": in.Properties, "required": in.Required})
	if err != nil || in.Required == nil {
		out, err = json.Marshal(map[string]any{"type": "object", "properties": in.Properties})
	}
	if err != nil { // it was read from JSON
		return nil
	}
	return out
}
