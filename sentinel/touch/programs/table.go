package programs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

//go:embed table/*.tbl
var tableFiles embed.FS

// loaded reads the table when it is first asked. The table is part of the
// program and its test compiles all of it: an error can't be met here.
var loaded = sync.OnceValue(func() *table {
	t, _ := loadTable(tableFiles)
	return t
})

// table is all rows as they are written, and those of the programs that were
// asked for, compiled.
type table struct {
	entries  map[string]*entry  // by their whole names
	names    map[string]*family // by their first words
	patterns []string           // first words with a "*"
}

// family is all rows of a program.
type family struct {
	names []string            // whole
	row   atomic.Pointer[row] // compiled, once it was asked for
}

// entry is a row as it is written.
type entry struct {
	at, names, text string
}

func loadTable(files fs.FS) (*table, error) {
	t := &table{entries: map[string]*entry{}, names: map[string]*family{}}
	names, err := fs.Glob(files, "table/*.tbl")
	errs := []error{err}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		errs = append(errs, err, t.addFile(name, string(text)))
	}
	slices.Sort(t.patterns)
	return t, errors.Join(errs...)
}

// addFile takes a file apart into rows.
func (t *table) addFile(file, text string) error {
	var list []*entry
	var errs []error
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		switch {
		case line == "" || line[0] == '#' || strings.HasPrefix(line, "@source "):
		case line[0] == ' ' && len(list) > 0:
			list[len(list)-1].text += line
		default:
			list = append(list, &entry{at: fmt.Sprintf("%s:%d", file, n), text: line})
		}
	}
	for _, e := range list {
		var ok bool
		if e.names, e.text, ok = strings.Cut(e.text+" ", ": "); !ok || e.names[0] == ' ' {
			errs = append(errs, fmt.Errorf("%s: the row has no \": \" behind its names, or starts with a blank", e.at))
			continue
		}
		errs = append(errs, t.addEntry(e))
	}
	return errors.Join(errs...)
}

// addEntry spells the names of an entry out: "a|b c, d" is "a c", "b c" and "d".
func (t *table) addEntry(e *entry) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(e.names, "|  ", "|"), ", ") { // they go on in the next line
		spelt := []string{""}
		for i, word := range strings.Fields(name) {
			var next []string
			for alt := range strings.SplitSeq(word, "|") {
				if i == 0 {
					alt = strings.ToLower(alt)
				}
				for _, s := range spelt {
					next = append(next, strings.TrimSpace(s+" "+alt))
				}
			}
			spelt = next
		}
		for _, s := range spelt {
			if old := t.entries[s]; old != nil && old != e {
				return fmt.Errorf("%s: row %q is already in %s; join the two", e.at, s, old.at)
			} else if old == e {
				continue // the same in another case of letters
			}
			first, _, _ := strings.Cut(s, " ")
			f := t.names[first]
			if f == nil {
				f = &family{}
				t.names[first] = f
				if strings.Contains(first, "*") {
					t.patterns = append(t.patterns, first)
				}
			}
			f.names, t.entries[s] = append(f.names, s), e
		}
	}
	return nil
}

// findProgramRow returns the rows of a program, compiled; nil where it has none. Every
// row in the table compiles: see its test.
func (t *table) findProgramRow(name string) *row {
	f := t.names[name]
	if f == nil || name[0] == '@' {
		return nil
	}
	r := f.row.Load()
	if r == nil {
		r, _ = t.compileProgram(name)
		f.row.Store(r)
	}
	return r
}

// compileProgram compiles the rows whose names start with the word name, those
// of few words first: they hand down to those below them.
func (t *table) compileProgram(name string) (*row, error) {
	root := &row{name: name}
	var errs []error
	var names []string
	if f := t.names[name]; f != nil {
		names = slices.Clone(f.names)
	}
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(a, " ") - strings.Count(b, " ") })
	for _, n := range names {
		e := t.entries[n]
		clauses, err := t.collectClauses(e, 0)
		r := root
		for _, word := range strings.Fields(n)[1:] {
			r = r.placeChildRow(word)
		}
		errs = append(errs, err, r.compileRow(e.at, clauses))
	}
	return root, errors.Join(errs...)
}

// compileRow adds clauses to a row; its manners first, for they say how options
// are spelt.
func (r *row) compileRow(at string, clauses []string) error {
	for _, c := range clauses {
		if t, ok := traitNames[c]; ok {
			r.traits |= t
		}
	}
	r.inheritTraits()
	var errs []error
	for _, c := range clauses {
		if err := r.compileClause(c); err != nil {
			errs = append(errs, fmt.Errorf("%s: clause %q: %w", at, c, err))
		}
	}
	return errors.Join(errs...)
}

// collectClauses returns the clauses of an entry, those of the rows it is like
// where it says so.
func (t *table) collectClauses(e *entry, depth int) ([]string, error) {
	var out []string
	for c := range strings.SplitSeq(e.text, ";") {
		c = strings.TrimSpace(c)
		like, ok := strings.CutPrefix(c, "like ")
		switch {
		case ok:
			other := t.entries[like]
			if other == nil || depth > 8 {
				return nil, fmt.Errorf("%s: no row is named %q, or it is like itself", e.at, like)
			}
			more, err := t.collectClauses(other, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, more...)
		case c != "":
			out = append(out, c)
		}
	}
	return out, nil
}

// inheritTraits takes over the manners of the row above.
func (r *row) inheritTraits() {
	if r.parent != nil && !r.hasTrait(ownStyle) {
		r.traits |= r.parent.traits & inherited
		r.runs = r.runs || r.parent.runs
	}
}

// placeChildRow returns the row of a word behind r's name, which it makes where
// there is none.
func (r *row) placeChildRow(word string) *row {
	c := &row{name: r.name + " " + word, parent: r}
	c.inheritTraits()
	switch {
	case word == "**" && r.deep == nil:
		r.deep = c
		return c
	case word == "**":
		return r.deep
	case strings.Contains(word, "*"):
		if i := slices.IndexFunc(r.globs, func(g *row) bool { return g.name == c.name }); i >= 0 {
			return r.globs[i]
		}
		r.globs = append(r.globs, c)
		return c
	case r.children[word] == nil:
		putIntoMap(&r.children, word, c)
	}
	return r.children[word]
}

func putIntoMap[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// Programs returns the names of all programs in the table, sorted; a name may
// hold "*", such as "mkfs.*".
func Programs() []string {
	names := slices.Collect(maps.Keys(loaded().names))
	names = slices.DeleteFunc(names, func(n string) bool { return n[0] == '@' || n[0] == '$' })
	slices.Sort(names)
	return names
}
