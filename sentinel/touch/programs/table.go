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
)

//go:embed table/*.tbl
var tableFiles embed.FS

// table is all rows: the programs by their names, and those whose name is a
// pattern.
type table struct {
	programs map[string]*row
	globs    []*row
}

// loaded parses the table when it is first asked. The table is part of the
// program and its test reads all of it, so that an error can't be met here.
var loaded = sync.OnceValue(func() *table {
	t, err := loadTable(tableFiles)
	if err != nil {
		panic(err)
	}
	return t
})

// Programs returns the names of all programs in the table, sorted; a name may
// hold "*", such as "mkfs.*".
func Programs() []string {
	t := loaded()
	names := slices.Collect(maps.Keys(t.programs))
	for _, g := range t.globs {
		names = append(names, g.name)
	}
	slices.Sort(names)
	return names
}

// entry is a row as it is written.
type entry struct {
	at, names, text string
}

func loadTable(files fs.FS) (*table, error) {
	names, err := fs.Glob(files, "table/*.tbl")
	if err != nil {
		return nil, err
	}
	var entries []entry
	var errs []error
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		found, err := splitEntries(name, string(text))
		entries, errs = append(entries, found...), append(errs, err)
	}
	b := builder{table: &table{programs: map[string]*row{}}, byName: map[string]entry{}}
	for _, e := range entries {
		errs = append(errs, b.addEntry(e))
	}
	for depth := range maxWords { // rows hand down to those below them
		for _, e := range entries {
			errs = append(errs, b.addRows(e, depth))
		}
	}
	return b.table, errors.Join(errs...)
}

// splitEntries takes a file apart into rows, and checks their order.
func splitEntries(file, text string) ([]entry, error) {
	var out []entry
	var errs []error
	last := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, " \t\r\n")
		at := fmt.Sprintf("%s:%d", file, n)
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "@source "):
			last = ""
		case line[0] == ' ' || line[0] == '\t':
			if len(out) == 0 {
				errs = append(errs, fmt.Errorf("%s: a line starts with a blank and no row is above it; start the row at the left edge", at))
				continue
			}
			out[len(out)-1].text += line
		default:
			names, rest, ok := strings.Cut(line+" ", ": ")
			if !ok {
				errs = append(errs, fmt.Errorf("%s: the row has no \": \" behind its names", at))
				continue
			}
			if names < last {
				errs = append(errs, fmt.Errorf("%s: row %q stands behind %q; sort the rows of a section", at, names, last))
			}
			last = names
			out = append(out, entry{at: at, names: names, text: strings.TrimSpace(rest)})
		}
	}
	return out, errors.Join(errs...)
}

func splitClauses(text string) []string {
	var out []string
	for c := range strings.SplitSeq(text, ";") {
		if c = strings.TrimSpace(c); c != "" {
			out = append(out, c)
		}
	}
	return out
}

// builder makes rows of entries.
type builder struct {
	table  *table
	byName map[string]entry
}

// spellNames writes out "a|b c, d": "a c", "b c", "d".
func spellNames(names string) []string {
	var out []string
	for name := range strings.SplitSeq(names, ", ") {
		spelt := []string{""}
		for word := range strings.FieldsSeq(name) {
			var next []string
			for alt := range strings.SplitSeq(word, "|") {
				for _, s := range spelt {
					next = append(next, strings.TrimSpace(s+" "+alt))
				}
			}
			spelt = next
		}
		out = append(out, spelt...)
	}
	return out
}

func (b *builder) addEntry(e entry) error {
	for _, name := range spellNames(e.names) {
		if old, ok := b.byName[name]; ok {
			return fmt.Errorf("%s: row %q is already in %s; join the two", e.at, name, old.at)
		}
		b.byName[name] = e
	}
	return nil
}

// maxWords is how many words a row's name may have.
const maxWords = 6

// addRows compiles an entry into a row for each of its names of so many words
// behind the program's.
func (b *builder) addRows(e entry, depth int) error {
	if strings.HasPrefix(e.names, "@") {
		return nil
	}
	clauses, err := b.collectClauses(e, 0)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range spellNames(e.names) {
		if strings.Count(name, " ") != depth {
			continue
		}
		r := b.placeRow(name)
		r.stated, r.at = true, e.at
		for _, c := range clauses { // manners first: they say how options are spelt
			if t, ok := traitNames[c]; ok {
				r.traits |= t
			}
		}
		r.inheritTraits()
		for _, c := range clauses {
			if err := r.addClause(c); err != nil {
				errs = append(errs, fmt.Errorf("%s: clause %q: %w", e.at, c, err))
			}
		}
		r.settleRow()
	}
	return errors.Join(errs...)
}

// inheritTraits takes over the manners of the row above.
func (r *row) inheritTraits() {
	if r.parent != nil && !r.has(ownStyle) {
		r.traits |= r.parent.traits & inherited
		r.runs = r.runs || r.parent.runs
	}
}

// collectClauses returns the clauses of an entry, those of the rows it is like
// first.
func (b *builder) collectClauses(e entry, depth int) ([]string, error) {
	var out []string
	for _, c := range splitClauses(e.text) {
		like, ok := strings.CutPrefix(c, "like ")
		if !ok {
			out = append(out, c)
			continue
		}
		other, known := b.byName[strings.TrimSpace(like)]
		if !known || depth > 8 {
			return nil, fmt.Errorf("%s: no row is named %q, or it is like itself", e.at, like)
		}
		more, err := b.collectClauses(other, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// placeRow returns the row of a name, with the rows on the way to it.
func (b *builder) placeRow(name string) *row {
	program, rest, more := strings.Cut(name, " ")
	r := b.table.programs[program]
	if r == nil && strings.Contains(program, "*") {
		if i := slices.IndexFunc(b.table.globs, func(g *row) bool { return g.name == program }); i >= 0 {
			r = b.table.globs[i]
		} else {
			r = newRow(program, nil)
			b.table.globs = append(b.table.globs, r)
		}
	}
	if r == nil {
		r = newRow(program, nil)
		b.table.programs[program] = r
	}
	for more {
		var word string
		word, rest, more = strings.Cut(rest, " ")
		r = r.placeChild(word)
	}
	return r
}

func newRow(name string, parent *row) *row {
	r := &row{name: name, parent: parent}
	r.inheritTraits()
	return r
}

func (r *row) placeChild(word string) *row {
	switch {
	case word == "**":
		if r.deep == nil {
			r.deep = newRow(r.name+" **", r)
		}
		return r.deep
	case strings.Contains(word, "*"):
		for _, c := range r.globs {
			if c.word() == word {
				return c
			}
		}
		c := newRow(r.name+" "+word, r)
		r.globs = append(r.globs, c)
		return c
	}
	c := r.children[word]
	if c == nil {
		c = newRow(r.name+" "+word, r)
		put(&r.children, word, c)
	}
	return c
}

func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}
