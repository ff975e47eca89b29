package touch

import "strings"

// tables are the tables and rules of this package that say something of a
// program by its name. A command line names few programs many times, and each
// is looked up here once for all of them.
type tables uint32

const (
	inOptions   tables = 1 << iota // optionValues
	inLaunchers                    // launcherOf
	inShells                       // shells
	inLanguages                    // interpreter
	inWrappers                     // wrappers
	inUses                         // useOf
	inDisks                        // disk
	inTrees                        // containers, tars, digs
	inLists                        // lists, listers
	inFinders                      // gathers, by a table
	inStores                       // loses
	inChanges                      // changes
	inPrinters                     // unnamed
	inFilters                      // filters
)

// facts are the tables that each of the usual programs is in. A name that is
// none of them may match a rule about the beginning or the end of names, so it
// counts as in all: see about.
var facts = factsAbout("echo printf cd pwd true false : export test [ ls cat grep egrep fgrep sed awk head tail wc sort uniq cut tr tee xargs find " +
	"cp mv rm mkdir rmdir touch ln chmod chown stat file date sleep basename dirname realpath readlink which diff cmp du df ps env set unset source . " +
	"git go npm npx node yarn pnpm make cmake python python3 pip pip3 cargo rustc ruby perl php java javac gcc g++ clang docker kubectl curl wget ssh scp rsync " +
	"tar gzip gunzip zip unzip jq yq rg fd less more vi vim nano sh bash sudo id whoami uname hostname kill pkill tsc eslint prettier pytest mvn gradle")

// fact is what is known of one program.
type fact struct {
	in  tables
	use use // where in has inUses
}

func factsAbout(names string) map[string]fact {
	out := map[string]fact{}
	for name := range strings.FieldsSeq(names) {
		u, _ := useOf(name)
		out[name] = fact{lookUp(name), u}
	}
	return out
}

// lookUp asks every table.
func lookUp(name string) tables {
	var t tables
	in := func(bit tables, yes bool) {
		if yes {
			t |= bit
		}
	}
	_, options := commandOptions[name]
	_, starts := launcherOf(name)
	_, lang := interpreter(name)
	_, wraps := wrappers[name]
	_, known := useOf(name)
	_, wipes := wipers[name]
	in(inOptions, options)
	in(inLaunchers, starts)
	in(inShells, shells[name])
	in(inLanguages, lang)
	in(inWrappers, wraps)
	in(inUses, known)
	in(inDisks, wipes || formats(name))
	in(inTrees, containers[name] || tars[name] || digs[name])
	in(inLists, lists[name] || listers[name])
	in(inFinders, locates[name] || greps[name] || uploads[name] != "")
	in(inStores, keepsElsewhere(name))
	in(inChanges, changesMore(name))
	in(inPrinters, printers[name])
	in(inFilters, filters[name] != nil)
	return t
}

// about returns the tables that name may be in; a table that is not among them
// says nothing of it.
func (s *shell) about(name string) tables {
	if s.c.lastName != name || name == "" {
		s.c.remind(name)
	}
	return s.c.lastFact.in
}

// remind looks a program up.
func (c *collector) remind(name string) {
	f, ok := facts[name]
	if !ok {
		f.in = ^tables(0)
		if f.use, ok = useOf(name); !ok {
			f.in &^= inUses
		}
	}
	c.lastName, c.lastFact = name, f
}

// useOf is the function of that name; it remembers the last answer.
func (s *shell) useOf(name string) (use, bool) {
	known := s.about(name)&inUses != 0
	return s.c.lastFact.use, known
}

// Pieces of arrays that one call's commands share: what they hold lives as
// long as the call's Touch, and most are short.
const (
	fieldsAtOnce = 32
	wordsAtOnce  = 64
)

// fields returns room for n fields.
func (c *collector) fields(n int) []field {
	if n > fieldsAtOnce/4 {
		return make([]field, 0, n)
	}
	if len(c.spareFields) < n {
		c.spareFields = make([]field, min(fieldsAtOnce, 4+2*len(c.touch.Commands)+n))
	}
	out := c.spareFields[:0:n]
	c.spareFields = c.spareFields[n:]
	return out
}

// words returns n empty texts.
func (c *collector) words(n int) []string {
	if n == 0 || n > wordsAtOnce/4 {
		return make([]string, n)
	}
	if len(c.spareWords) < n {
		c.spareWords = make([]string, min(wordsAtOnce, 4+4*len(c.touch.Commands)+n))
	}
	out := c.spareWords[:n:n]
	c.spareWords = c.spareWords[n:]
	return out
}
