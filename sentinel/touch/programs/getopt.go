package programs

import (
	"slices"
	"strings"
)

// reader goes through the words of one command.
type reader struct {
	args     []Word
	row      *row
	alt      *row // where the words that led to row may lead as well, by a pattern
	deep     *row // the innermost "**" on the way
	descend  int  // how many more words may be those of a subcommand
	use      *Use
	traits   trait
	hits     []hit
	operands []int
	unread   []int
	holds    bool   // a word is, or names, the code that runs
	stdin    *Use   // what a word that stands for it makes of the input
	slots    []slot // the places of operands for the options so far
	laidOut  int    // hits when slots was worked out
	assigns  int    // operands in front that are NAME=value
	stopped  bool   // no more options
	tail     int    // index in operands of a command or words that take all the rest
	room     struct {
		hits     [8]hit
		operands [16]int
	}
}

// hit is an option that was given.
type hit struct {
	option *option
	value  string
}

// Reader reads the words of one command after another and keeps the room that it
// needs for that. The zero value is ready. It isn't safe for concurrent use.
type Reader struct {
	reader reader
	parts  []Part
}

// maxKept is how many parts a Reader keeps room for.
const maxKept = 1 << 14

// ReadWords puts into u what the program name does with args. The Parts hold until
// the Reader reads the next command.
func (d *Reader) ReadWords(name string, args []Word, u *Use) {
	*u = Use{}
	root := findProgram(name)
	if root == nil {
		return
	}
	if d.parts == nil {
		d.parts = make([]Part, 0, min(len(args)+1, 16))
	}
	u.Parts = d.parts
	r := &d.reader
	r.startCommand(root, args, u)
	r.scanAllWords()
	r.finishUse()
	if d.parts = u.Parts[:0]; cap(d.parts) > maxKept {
		d.parts = nil
	}
}

// startCommand makes r as new, but for the room that it has.
func (r *reader) startCommand(root *row, args []Word, u *Use) {
	r.args, r.use, r.row, r.alt, r.deep = args, u, root, nil, root.deep
	r.descend, r.traits, r.holds, r.stdin = maxWords, 0, false, nil
	r.slots, r.laidOut, r.assigns, r.stopped, r.tail = nil, 0, 0, false, -1
	if r.operands == nil {
		r.hits, r.operands = r.room.hits[:0], r.room.operands[:0]
	}
	r.hits, r.operands, r.unread = r.hits[:0], r.operands[:0], r.unread[:0]
}

// ReadWords says what the program name does with args.
func ReadWords(name string, args []Word) (u Use) {
	new(Reader).ReadWords(name, args, &u)
	return u
}

// maxWords is how many words a row's name may have behind the program.
const maxWords = 6

// findProgram returns the row of a program, by its name or by a pattern.
func findProgram(name string) *row {
	t := loaded()
	if r := t.findProgramRow(name); r != nil {
		return r
	}
	name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	if r := t.findProgramRow(name); r != nil {
		return r
	}
	for _, p := range t.patterns {
		if name != "" && (p[0] == name[0] || p[0] == '*') && matchGlob(p, name) {
			return t.findProgramRow(p)
		}
	}
	if bare := strings.TrimRight(name, "0123456789.-"); bare != name && len(bare) > 1 {
		return t.findProgramRow(bare) // python3.12, gcc-13, lua5.4
	}
	return nil
}

func (r *reader) scanAllWords() {
	for i := 0; i < len(r.args) && r.tail < 0; {
		t := r.args[i].Text
		switch {
		case i == 0 && t != "" && t[0] != '-' && r.row.hasTrait(bundleStyle):
			i = r.readCluster(i, 0, '-')
		case t == "--" && (!r.stopped || r.row.dashes):
			i = r.endOptions(i + 1)
		case r.stopped:
			i = r.readOperand(i)
		case r.looksOption(t):
			i = r.readOption(i)
		default:
			i = r.readOperand(i)
		}
	}
}

var dashDash = option{name: "--"}

// endOptions is what "--" says.
func (r *reader) endOptions(i int) int {
	r.stopped = true
	r.noteHit(&dashDash, "")
	for j := range r.row.clauses {
		if c := &r.row.clauses[j]; c.dash != nil && r.meetsConditions(c.conds) && i < len(r.args) {
			if c.dash.form == asShell {
				r.row, r.operands, r.assigns, r.slots, r.stopped = loaded().findProgramRow("sh"), r.operands[:0], 0, nil, false
				return i
			}
			r.addPart(c.dash, i, 0, "--")
			if c.dash.form == allWords {
				return len(r.args)
			}
			return i + 1
		}
	}
	return i
}

func (r *reader) looksOption(t string) bool {
	if r.row.words && r.row.options[t] != nil {
		return true
	}
	if len(t) < 2 {
		return false
	}
	switch t[0] {
	case '-':
		return true
	case '+':
		return r.row.findLetterOption('+', t[1]) != nil || r.row.findOption(t) != nil || r.row.findStartOption(t) != nil
	case '/':
		return r.row.hasTrait(windowsStyle) && r.windowsOption(t) != nil
	}
	return false
}

// windowsOption returns the option "/x" or "/x:value".
func (r *reader) windowsOption(t string) *option {
	name, _, _ := strings.Cut(strings.ToLower(t), ":")
	return r.row.findOption(name)
}

// readOption reads the option at word i and returns the index behind it.
func (r *reader) readOption(i int) int {
	t := r.args[i].Text
	switch {
	case t[0] == '/':
		return r.recordOption(r.windowsOption(t), i, strings.IndexByte(t, ':')+1)
	case strings.HasPrefix(t, "--"):
		return r.readLongOption(i, false)
	}
	if r.row.hasTrait(singleStyle) || r.row.findStartOption(t) != nil || r.row.findOption(t) != nil {
		if next := r.readLongOption(i, true); next > 0 {
			return next
		}
	}
	if t[1] >= '0' && t[1] <= '9' && r.row.findLetterOption('-', '#') != nil && r.row.findLetterOption(t[0], t[1]) == nil {
		return r.recordOption(r.row.findLetterOption('-', '#'), i, 0)
	}
	return r.readCluster(i, 1, t[0])
}

// readLongOption reads an option that is a whole word, with or without "=value". With
// single it returns 0 where the row has none that fits.
func (r *reader) readLongOption(i int, single bool) int {
	t := r.args[i].Text
	name, _, valued := strings.Cut(t, "=")
	if r.row.hasTrait(nocaseStyle) {
		name = strings.ToLower(name)
	}
	o := r.row.findOption(name)
	if o == nil {
		if o = r.row.findStartOption(t); o != nil {
			return r.recordOption(o, i, len(o.name))
		}
	}
	if o == nil && len(name) > 2 && (!single || r.row.hasTrait(abbrevStyle)) {
		if (name == "--help" || name == "--version") && len(r.operands) == 0 {
			r.use.Rehearsal = true
			return i + 1
		}
		o = r.row.completeOption(name)
	}
	switch {
	case o == nil && single && !(r.row.hasTrait(singleStyle) && valued):
		return 0
	case o == nil:
		r.unread = append(r.unread, i)
		return i + 1
	case valued:
		return r.recordOption(o, i, len(name)+1)
	}
	return r.recordOption(o, i, 0)
}

// readCluster reads letters from byte at of word i on, the last of which may
// have a value.
func (r *reader) readCluster(i, at int, sign byte) int {
	t := r.args[i].Text
	next := i + 1
	for j := at; j < len(t); j++ {
		o := r.row.findLetterOption(sign, t[j])
		switch {
		case o == nil && t[j] == '=': // "-x=value" of an option without one
			return next
		case o == nil:
			if n := len(r.unread); n == 0 || r.unread[n-1] != i {
				r.unread = append(r.unread, i)
			}
		case o.values == 0:
			next = max(next, r.recordOption(o, i, 0))
		case o.hasSign(joinedSign):
			end := len(t)
			if o.hasSign(digitsSign) {
				for end = j + 1; end < len(t) && t[end] >= '0' && t[end] <= '9'; {
					end++
				}
			}
			r.addHit(o, i, j+1, t[j+1:end])
			j = end - 1
		case at == 0 || o.hasSign(apartSign):
			next = r.recordValues(o, next)
		default:
			if j+1 == len(t) {
				return r.recordOption(o, i, 0)
			}
			if t[j+1] == '=' && j+2 < len(t) {
				j++
			}
			return max(next, r.recordOption(o, i, j+1))
		}
	}
	return next
}

// recordOption records o, whose value starts at byte from of word i, or is in the
// words that follow where from is 0.
func (r *reader) recordOption(o *option, i, from int) int {
	value := ""
	if from > 0 {
		value = r.args[i].Text[from:]
	}
	switch {
	case o.values == 0 && !o.hasSign(startSign):
		r.noteHit(o, value)
		r.stopped = r.stopped || o.hasSign(endSign)
		return i + 1
	case from > 0 || o.hasSign(joinedSign) || o.hasSign(startSign):
		r.addHit(o, i, from, value)
		return r.stepOverValue(o, i+1)
	}
	return r.recordValues(o, i+1)
}

// recordValues gives o the words from next on.
func (r *reader) recordValues(o *option, next int) int {
	if next+o.values > len(r.args) || o.hasSign(shySign) && strings.HasPrefix(r.args[next].Text, "-") {
		r.noteHit(o, "")
		return next
	}
	at := next
	if !o.first {
		at += o.values - 1
	}
	for n := next; n < next+o.values; n++ {
		if n != at {
			r.addPart(&kind{Part: Part{Role: Data}}, n, 0, o.name)
		}
	}
	r.addHit(o, at, 0, r.args[at].Text)
	return r.stepOverValue(o, next+o.values)
}

// stepOverValue returns the index behind a value that ends at next, and stops where
// the value takes all that follows.
func (r *reader) stepOverValue(o *option, next int) int {
	switch {
	case o.kind.form == untilEnd:
		return min(r.findCommandEnd(next-1)+1, len(r.args))
	case o.kind.form == allWords:
		return len(r.args)
	case o.hasSign(endSign):
		r.stopped = true
	}
	return next
}

// noteHit remembers that o is given: once, where no condition looks at its value.
func (r *reader) noteHit(o *option, value string) {
	if !o.tested && !o.rehearses && slices.ContainsFunc(r.hits, func(h hit) bool { return h.option == o }) {
		return
	}
	r.hits = append(r.hits, hit{o, value})
}

func (r *reader) addHit(o *option, i, from int, value string) {
	r.noteHit(o, value)
	if o.values > 0 && (from > 0 || !o.hasSign(joinedSign)) && from <= len(r.args[i].Text) {
		r.addOptionValue(&o.kind, o.keyed, i, from, o.name)
	}
}

// readOperand reads the operand at word i: a subcommand, a key with its value,
// or one that the row's layout has a place for.
func (r *reader) readOperand(i int) int {
	t := r.args[i].Text
	if r.descend > 0 {
		r.descend--
		if r.descendTo(t) {
			return i + 1
		}
	}
	for n := r.row; n != nil; n = n.optionsParent() {
		if len(n.keys) > 0 {
			if k, at := findKeyedKind(n.keys, t); k != nil {
				r.addPart(&k.kind, i, at, t[:at])
				return i + 1
			}
		}
	}
	r.operands = append(r.operands, i)
	if r.assigns == len(r.operands)-1 && isAssignment(t) {
		r.assigns++
	}
	if r.row.hasTrait(posixStyle) {
		r.stopped = true
	}
	if s := r.slotOfLastOperand(); s != nil && !s.each && s.kind.form == allWords {
		r.tail = len(r.operands) - 1
	} else if s != nil && !s.each && (s.kind.Role == Line || s.kind.Role == Script) {
		r.stopped = true
	}
	return i + 1
}

// descendTo goes on to the row of the subcommand word: below the row, below one
// that a pattern led to as well, or below "**".
func (r *reader) descendTo(word string) bool {
	next := r.row.findSubcommand(word)
	var alt *row
	switch {
	case next != nil:
		alt = r.row.findGlobSubcommand(word, next)
	case r.alt != nil:
		next = r.alt.findSubcommand(word)
	}
	if next == nil && r.deep != nil {
		if next = r.deep.findSubcommand(word); next == nil {
			return false // an operand, or a word on the way
		}
	}
	if next == nil {
		r.descend = 0
		return false
	}
	r.row, r.alt = next, alt
	if next.deep != nil {
		r.deep = next.deep
	}
	r.operands, r.assigns, r.slots = r.operands[:0], 0, nil
	return true
}

// maxTested is the last operand that a condition may name.
const maxTested = 9

// slotOfLastOperand returns the place of the last operand among those in front of a row
// that runs something, nil where it has none. The places are worked out again
// only where an option or one of the first operands is new.
func (r *reader) slotOfLastOperand() *slot {
	if !r.row.runs {
		return nil
	}
	if len(r.operands) < maxTested || len(r.hits) != r.laidOut || r.slots == nil {
		r.slots, r.laidOut = r.chooseSlots(), len(r.hits)
	}
	slots, n := r.slots, len(r.operands)
	if len(slots) > 0 && slots[0].assign {
		if n -= r.assigns; n == 0 {
			return &slots[0]
		}
		slots = slots[1:]
	}
	for i := range slots {
		if n--; n == 0 || slots[i].each {
			return &slots[i]
		}
	}
	return nil
}

func isAssignment(t string) bool {
	i := strings.IndexByte(t, '=')
	if i <= 0 || t[0] >= '0' && t[0] <= '9' {
		return false
	}
	for _, c := range []byte(t[:i]) {
		if c != '_' && c != '%' && c != '(' && c != ')' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}

// Knows reports whether the table has a row of a program.
func Knows(name string) bool { return findProgram(name) != nil }
