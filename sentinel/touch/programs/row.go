package programs

import (
	"slices"
	"strings"
)

// kind says what a value or an operand is.
type kind struct {
	role                             Role
	access                           Access
	tree, names, sent, client, boxed bool
	remote                           bool // host:path and addresses are no files
	first                            bool // it runs before the code that the words or the input hold
	effect, lang                     string
	form                             form
}

// form is how far a kind reaches, and how its text is taken apart.
type form uint8

const (
	oneWord   form = iota
	allWords       // all words from here on
	untilEnd       // up to ";" or "+"
	bodyText       // "@file" is a file
	formText       // so it is behind "name="
	asShell        // what follows are the words of sh
	mountText      // HOST:INSIDE, or type=bind,source=HOST,target=INSIDE
)

// option is an option of a row.
type option struct {
	name      string
	values    int
	first     bool // of several values the first is of the kind
	joined    bool // the value is optional, and joined
	digits    bool // and of digits
	shy       bool // the next word is the value unless it starts with "-"
	apart     bool // the value is the next word, also inside a cluster
	ends      bool // the options end behind its value
	start     bool // every word that starts with name
	rehearses bool
	tested    bool // a condition looks at its value
	kind      kind
	keyed     []keyed
}

// keyed narrows a kind to values with a key in front.
type keyed struct {
	key, mark string // "core.pager=", "!"
	kind      kind
}

// slot is where operands stand.
type slot struct {
	kind   kind
	each   bool // as many as there are
	assign bool // as many NAME=value as there are
}

// clause is a clause with its conditions.
type clause struct {
	conds  []cond
	slots  []slot // of "args"
	dash   *kind
	here   *kind
	also   *kind
	text   string   // of also
	hosts  []string // of token
	effect Effect
	input  *input
	traits trait
	// values is what the values of options are where the conditions hold.
	values  kind
	options []string
}

type input struct {
	is, held Input // held: where a word holds the code
	lang     string
}

// cond is a condition: one of tests holds, or none does.
type cond struct {
	not   bool
	tests []test
}

type test struct {
	option string   // an option is given
	what   string   // or "1", "last", "any", "none", "some", "code"
	values []string // that the value or the operand is one of
}

// trait is a property of a row, or of what it does.
type trait uint32

const (
	posixStyle trait = 1 << iota
	singleStyle
	abbrevStyle
	nocaseStyle
	bundleStyle
	windowsStyle
	ownStyle
	looseStyle
	network
	reads
	environment
	dumps
	token
	rehearsal
	treeOperands
	namesOperands
	sentOperands

	inherited = singleStyle | abbrevStyle | nocaseStyle | windowsStyle | looseStyle | network
)

var traitNames = map[string]trait{
	"posix": posixStyle, "single": singleStyle, "abbrev": abbrevStyle, "nocase": nocaseStyle, "bundle": bundleStyle, "windows": windowsStyle,
	"own": ownStyle, "loose": looseStyle, "network": network, "reads": reads, "environment": environment, "dumps": dumps, "rehearsal": rehearsal,
	"tree": treeOperands, "names": namesOperands, "sent": sentOperands,
}

// row is what the table says of a program or a subcommand.
type row struct {
	name     string
	at       string // file:line
	parent   *row
	children map[string]*row
	globs    []*row // children whose word has a "*"
	deep     *row   // the child "**"
	dashes   bool   // "--" has a meaning of its own
	words    bool   // some options are words without a sign, such as "("
	options  []*option
	short    [128]uint16 // index+1 of "-x"
	plus     [128]uint16 // index+1 of "+x"
	long     map[string]*option
	starts   []*option
	keys     []keyed
	clauses  []clause
	traits   trait
	runs     bool // some of its words or its input may be run
}

func (r *row) has(t trait) bool { return r.traits&t != 0 }

// findOption returns the option spelt exactly so, of r or a row above it.
func (r *row) findOption(name string) *option {
	for n := r; n != nil; n = n.above() {
		if o := n.ownOption(name); o != nil {
			return o
		}
	}
	return nil
}

func (r *row) ownOption(name string) *option {
	if len(name) == 2 && name[0] != '/' && name[1] < 128 {
		return r.letter(name[0], name[1])
	}
	return r.long[name]
}

// above is the row whose options count for r as well.
func (r *row) above() *row {
	if r.has(ownStyle) {
		return nil
	}
	return r.parent
}

func (r *row) letter(sign, c byte) *option {
	i := uint16(0)
	switch {
	case c >= 128:
	case sign == '-':
		i = r.short[c]
	case sign == '+':
		i = r.plus[c]
	}
	if i == 0 {
		return nil
	}
	return r.options[i-1]
}

// findLetter returns the option of a letter in a cluster.
func (r *row) findLetter(sign, c byte) *option {
	for n := r; n != nil; n = n.above() {
		if o := n.letter(sign, c); o != nil {
			return o
		}
	}
	return nil
}

// findStart returns the option that every word that starts so is.
func (r *row) findStart(text string) *option {
	var best *option
	for n := r; n != nil; n = n.above() {
		for _, o := range n.starts {
			if len(text) > len(o.name) && strings.HasPrefix(text, o.name) && (best == nil || len(o.name) > len(best.name)) {
				best = o
			}
		}
	}
	return best
}

// completeOption returns the option that name is the beginning of; where several
// are, one whose value matters, so that no command is missed.
func (r *row) completeOption(name string) *option {
	var best *option
	for n := r; n != nil; n = n.above() {
		for _, o := range n.options {
			if len(o.name) <= len(name) || !strings.HasPrefix(o.name, name) {
				continue
			}
			if best == nil || o.outweighs(best) {
				best = o
			}
		}
	}
	return best
}

// outweighs reports whether o is to be taken where a word may mean p as well.
func (o *option) outweighs(p *option) bool {
	a, b := o.values+o.kind.role.weighs(), p.values+p.kind.role.weighs()
	return a > b || a == b && len(o.name) < len(p.name)
}

// weighs orders roles by what is lost if one is taken for another.
func (r Role) weighs() int {
	switch r {
	case Command, Line, Code, Script:
		return 2
	case 0, Data:
		return 0
	default:
		return 1
	}
}

// step returns the row of the subcommand word below r.
func (r *row) step(word string) *row {
	if r.has(nocaseStyle) {
		word = strings.ToLower(word)
	}
	if c := r.children[word]; c != nil {
		return c
	}
	if r.has(abbrevStyle) && word != "" {
		var found *row
		for name, c := range r.children {
			if strings.HasPrefix(name, word) && (found == nil || name < found.word()) {
				found = c
			}
		}
		if found != nil {
			return found
		}
	}
	for _, c := range r.globs {
		if matchGlob(c.word(), word) {
			return c
		}
	}
	return nil
}

func (r *row) word() string { return r.name[strings.LastIndexByte(r.name, ' ')+1:] }

// matchGlob reports whether text is as pattern says, in which "*" stands for
// anything.
func matchGlob(pattern, text string) bool {
	head, rest, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		piece, more, ok := strings.Cut(rest, "*")
		if !ok {
			return strings.HasSuffix(text, piece)
		}
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(piece):], more
	}
}

// matchFold reports whether text is one of patterns, in any case of letters;
// `\*` is a star.
func matchFold(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if p == `\*` {
			return text == "*"
		}
		return strings.EqualFold(p, text) || strings.Contains(p, "*") && matchGlob(strings.ToLower(p), strings.ToLower(text))
	})
}
