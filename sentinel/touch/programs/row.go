package programs

import (
	"slices"
	"strings"
)

// kind says what a value or an operand is: the part that it becomes, and how far
// it reaches.
type kind struct {
	Part
	remote bool // host:path and addresses are no files
	first  bool // it runs before the code that the words or the input hold
	form   form
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
	signs     string // those that stand behind it in the table
	values    int
	first     bool // of several values the first is of the kind
	rehearses bool
	tested    bool // a condition looks at its value
	kind      kind
	keyed     []keyed
}

// The signs of options.
const (
	joinedSign = '?' // the value is optional, and joined
	digitsSign = '#' // and of digits
	shySign    = '~' // the next word is the value unless it starts with "-"
	apartSign  = '>' // the value is the next word, also inside a cluster
	endSign    = '!' // the options end behind its value
	startSign  = '*' // every word that starts with the name is the option
)

func (o *option) hasSign(sign byte) bool { return strings.IndexByte(o.signs, sign) >= 0 }

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

// clause is a clause with its conditions, all of which must hold.
type clause struct {
	conds []test
	slots []slot        // of "args"
	dash  *kind         // of "dash"
	apply func(*reader) // of others
}

// test reports whether a condition holds for what was read so far.
type test func(*reader) bool

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
	setup

	inherited = singleStyle | abbrevStyle | nocaseStyle | windowsStyle | looseStyle | network
)

var traitNames = map[string]trait{
	"posix": posixStyle, "single": singleStyle, "abbrev": abbrevStyle, "nocase": nocaseStyle, "bundle": bundleStyle, "windows": windowsStyle,
	"own": ownStyle, "loose": looseStyle, "network": network, "reads": reads, "environment": environment, "dumps": dumps,
	"rehearsal": rehearsal, "tree": treeOperands, "names": namesOperands, "setup": setup,
}

// row is what the table says of a program or a subcommand.
type row struct {
	name     string
	parent   *row
	children map[string]*row
	globs    []*row // children whose word has a "*"
	deep     *row   // the child "**"
	dashes   bool   // "--" has a meaning of its own
	words    bool   // some options are words without a sign, such as "("
	options  map[string]*option
	starts   []*option // those with startSign
	keys     []keyed
	clauses  []clause
	traits   trait
	runs     bool // some of its words or its input may be run
}

func (r *row) hasTrait(t trait) bool { return r.traits&t != 0 }

// optionsParent is the row whose options count for r as well.
func (r *row) optionsParent() *row {
	if r.hasTrait(ownStyle) {
		return nil
	}
	return r.parent
}

// findOption returns the option spelt exactly so, of r or a row above it.
func (r *row) findOption(name string) *option {
	for n := r; n != nil; n = n.optionsParent() {
		if o := n.options[name]; o != nil {
			return o
		}
	}
	return nil
}

// findLetterOption returns the option of a letter in a cluster.
func (r *row) findLetterOption(sign, c byte) *option {
	name := [2]byte{sign, c}
	for n := r; n != nil; n = n.optionsParent() {
		if o := n.options[string(name[:])]; o != nil {
			return o
		}
	}
	return nil
}

// findStartOption returns the option that every word that starts so is.
func (r *row) findStartOption(text string) *option {
	var best *option
	for n := r; n != nil; n = n.optionsParent() {
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
	for n := r; n != nil; n = n.optionsParent() {
		for _, o := range n.options {
			if len(o.name) > len(name) && strings.HasPrefix(o.name, name) && (best == nil || o.outweighsOption(best)) {
				best = o
			}
		}
	}
	return best
}

// outweighsOption reports whether o is to be taken where a word may mean p as well.
func (o *option) outweighsOption(p *option) bool {
	a, b := o.values+o.kind.Role.weighLoss(), p.values+p.kind.Role.weighLoss()
	return a > b || a == b && (len(o.name) < len(p.name) || len(o.name) == len(p.name) && o.name < p.name)
}

// weighLoss orders roles by what is lost if one is taken for another.
func (r Role) weighLoss() int {
	switch r {
	case Command, Line, Code, Script:
		return 2
	case 0, Data:
		return 0
	default:
		return 1
	}
}

// findSubcommand returns the row of the subcommand word below r.
func (r *row) findSubcommand(word string) *row {
	if r.hasTrait(nocaseStyle) {
		word = strings.ToLower(word)
	}
	if len(r.children) == 0 {
		return r.findGlobSubcommand(word, nil)
	}
	if c := r.children[word]; c != nil {
		return c
	}
	var found *row
	for name, c := range r.children {
		if r.hasTrait(abbrevStyle) && word != "" && strings.HasPrefix(name, word) && (found == nil || name < found.lastWord()) {
			found = c
		}
	}
	if found != nil {
		return found
	}
	return r.findGlobSubcommand(word, nil)
}

// findGlobSubcommand returns a row but one whose pattern word fits.
func (r *row) findGlobSubcommand(word string, but *row) *row {
	for _, c := range r.globs {
		if c != but && matchGlob(c.lastWord(), word) {
			return c
		}
	}
	return nil
}

func (r *row) lastWord() string { return r.name[strings.LastIndexByte(r.name, ' ')+1:] }

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
