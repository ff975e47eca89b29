package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// kinds are the kinds of values and operands by their names in the table.
var kinds = map[string]kind{
	"data": {role: Data}, "value": {role: Data},
	"read": {role: File, access: Read}, "write": {role: File, access: Write}, "append": {role: File, access: Write},
	"rw": {role: File, access: Read | Write}, "delete": {role: File, access: Delete}, "move": {role: File, access: Read | Delete},
	"run": {role: File, access: Read | Execute}, "list": {role: File, access: Read, names: true}, "folder": {role: Folder},
	"client": {role: File, access: Read, client: true}, "sent": {role: File, access: Read, sent: true},
	"mount": {role: File, access: Read | Write, tree: true, form: mountText},
	"body":  {role: Sent, form: bodyText}, "form": {role: Sent, form: formText},
	"host": {role: Host}, "url": {role: URL}, "assign": {role: Assign},
	"process": {role: Process},
	"code":    {role: Code}, "script": {role: Script}, "start": {role: Script, first: true},
	"line": {role: Line}, "linerest": {role: Line, form: allWords}, "words": {role: Line, form: allWords},
	"shell":   {role: Line, form: asShell},
	"command": {role: Command, form: allWords}, "until": {role: Command, form: untilEnd},
}

// effectCodes are the codes of effects, as package touch lists them.
var effectCodes = map[Class]string{
	Change: " remote_change remote_removal system_change system_removal process_change container_change container_removal history_change" +
		" history_removal database_change ",
	Doubt: " opaque_command unset_tree unknown_target volume_removal project_wipe cloud_destroy database_destroy volume_destroy" +
		" backup_destroy key_destroy persistence" +
		" unread_option unread_program unread_code unread_target unread_budget secret_sent remote_shell ", // those of Touch.Unread
	Danger: " rm_root rm_home rm_system mkfs device_write fork_bomb chmod_tree chown_tree move_tree kill_all volume_destroy operator_command ",
}

func isEffect(class Class, code string) bool {
	return code != "" && strings.Contains(effectCodes[class], " "+code+" ")
}

var classNames = map[string]Class{"danger": Danger, "doubt": Doubt, "change": Change}

var inputNames = map[string]Input{"ignored": Ignored, "shown": Shown, "items": Items, "names": Names, "runs": Runs, "leaves": Leaves}

// addClause compiles one clause into r.
func (r *row) addClause(text string) error {
	var c clause
	for {
		word, rest, _ := strings.Cut(text, " ")
		if word != "if" && word != "unless" {
			break
		}
		tests, then, ok := strings.Cut(rest, ": ")
		if !ok {
			return errors.New(`the condition has no ": " behind it`)
		}
		d, err := r.readCond(word == "unless", tests)
		if err != nil {
			return err
		}
		c.conds, text = append(c.conds, d), strings.TrimSpace(then)
	}
	word, rest, _ := strings.Cut(text, " ")
	if len(c.conds) > 0 && isKind(word) {
		c.values, _ = readKind(word)
		c.options = strings.Fields(rest)
		r.clauses = append(r.clauses, c)
		return nil
	}
	if len(c.conds) == 0 && (word == "flags" || word == "rehearsal" && rest != "" || isKind(word)) {
		return r.addOptions(word, strings.Fields(rest))
	}
	return r.addEffects(c, word, strings.Fields(rest))
}

func isKind(word string) bool {
	name, _, _ := strings.Cut(word, "+")
	name, _, _ = strings.Cut(name, ":")
	_, ok := kinds[name]
	return ok
}

// onlyCore is the effect of a removal that matters only where it is of root, a
// system tree or a home.
const onlyCore = "only_core"

// readKind reads "read+tree" and "code:python".
func readKind(text string) (kind, error) {
	parts := strings.Split(text, "+")
	name, lang, _ := strings.Cut(parts[0], ":")
	k, ok := kinds[name]
	if !ok {
		return k, fmt.Errorf("kind %q is unknown", name)
	}
	if k.lang = lang; lang == "" && (k.role == Script || k.role == Code) {
		return k, errors.New("a script and code need a language: script:sh")
	}
	for _, p := range parts[1:] {
		switch p {
		case "tree":
			k.tree = true
		case "names":
			k.names = true
		case "sent":
			k.sent = true
		case "client":
			k.client = true
		case "remote":
			k.remote = true
		case "box":
			k.boxed = true
		default:
			if p != onlyCore && !isEffect(Danger, p) && !isEffect(Doubt, p) {
				return k, fmt.Errorf("sign %q of a kind is unknown", p)
			}
			k.effect = p
		}
	}
	return k, nil
}

// addEffects compiles a clause that names no options.
func (r *row) addEffects(c clause, word string, rest []string) (err error) {
	one := strings.Join(rest, " ")
	class, t := classNames[word], traitNames[word]
	switch {
	case class != 0 && isEffect(class, one):
		c.effect = Effect{Class: class, Code: one}
	case class != 0:
		return fmt.Errorf("code %q is no %s", one, word)
	case word == "args":
		c.slots, err = readSlots(rest)
	case word == "dash":
		c.dash, err = readPlace(one)
		r.dashes = true
	case word == "here":
		c.here, err = readPlace(one)
	case word == "also" && len(rest) == 2:
		c.text = rest[1]
		c.also, err = readPlace(rest[0])
	case word == "input":
		c.input, err = readInput(one)
	case word == "token":
		c.traits, c.hosts = token, rest
	case t == 0 || one != "":
		return fmt.Errorf("clause %q is unknown", word)
	case len(c.conds) == 0:
		r.traits |= t
		return nil
	default:
		c.traits = t
	}
	r.clauses = append(r.clauses, c)
	return err
}

func readPlace(text string) (*kind, error) {
	k, err := readKind(text)
	return &k, err
}

// readInput reads "runs:sh/leaves".
func readInput(text string) (*input, error) {
	first, held, _ := strings.Cut(text, "/")
	name, lang, _ := strings.Cut(first, ":")
	is, ok := inputNames[name]
	if !ok || (lang == "") == (is == Runs) {
		return nil, fmt.Errorf("input %q is unknown", text)
	}
	in := &input{is: is, held: Shown, lang: lang}
	if held != "" {
		in.held = inputNames[held]
	}
	return in, nil
}

// readSlots reads where operands stand: "data read...".
func readSlots(words []string) ([]slot, error) {
	slots := []slot{}
	for _, w := range words {
		var s slot
		var err error
		if w == "assign*" {
			s.assign, w = true, "assign"
		}
		w, s.each = strings.CutSuffix(w, "...")
		if s.kind, err = readKind(w); err != nil {
			return nil, err
		}
		slots = append(slots, s)
	}
	return slots, nil
}

var (
	operandTests = strings.Fields("1 2 3 4 5 6 7 8 9 last any")
	otherTests   = strings.Fields("none some code")
)

// readCond reads the tests of a condition; options that they name and nothing
// else does are flags.
func (r *row) readCond(not bool, text string) (cond, error) {
	d := cond{not: not}
	for w := range strings.FieldsSeq(text) {
		name, vals, valued := strings.Cut(w, "=")
		var t test
		if valued {
			t.values = strings.Split(vals, ",")
		}
		switch {
		case strings.HasPrefix(name, "-"), strings.HasPrefix(name, "+"), strings.HasPrefix(name, "/"):
			t.option = name
			o := r.findOption(name)
			if i := slices.IndexFunc(r.starts, func(o *option) bool { return o.name == name }); i >= 0 {
				o = r.starts[i]
			}
			if o == nil {
				o = &option{name: name}
				r.placeOption(o)
			}
			o.tested = o.tested || valued
		case valued && slices.Contains(operandTests, name), !valued && slices.Contains(otherTests, name):
			t.what = name
		default:
			return d, fmt.Errorf("condition %q is unknown", w)
		}
		d.tests = append(d.tests, t)
	}
	return d, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// addOptions adds the options of a clause, or the keys of operands where it
// names none.
func (r *row) addOptions(word string, words []string) error {
	var k kind
	values := 0
	if word != "flags" && word != "rehearsal" {
		var err error
		if k, err = readKind(word); err != nil {
			return err
		}
		values = 1
	}
	var keys []keyed
	var options []*option
	for _, w := range words {
		signed := strings.Contains("-+/", w[:1]) && w != "-" //nolint:gocritic // the sign is looked for among signs
		r.words = r.words || word == "flags" && !signed || w[0] == '/' && !r.has(windowsStyle)
		switch i := strings.LastIndexAny(w, "=:"); {
		case signed || word == "flags": // "(" and "!" of find have no sign
			o := readOption(w)
			if o.kind, o.rehearses = k, word == "rehearsal"; o.values == 0 {
				o.values = values
			}
			options = append(options, r.spreadOption(o)...)
		case i < 0 && strings.ContainsAny(w, letters):
			return fmt.Errorf("%q is no option and no key", w)
		default:
			keys = append(keys, keyed{key: strings.ToLower(w[:i+1]), mark: w[i+1:], kind: k})
		}
	}
	if len(options)+len(keys) == 0 {
		return errors.New("it names no option")
	}
	if len(options) == 0 {
		r.keys = append(r.keys, keys...)
	}
	for _, o := range options {
		if len(keys) > 0 {
			o.kind, o.keyed = kind{role: Data}, keys
		}
		r.placeOption(o)
	}
	return nil
}

// readOption reads the signs behind an option.
func readOption(w string) *option {
	o := &option{}
	for more := len(w) > 2 || w == "+*"; more; {
		w, more = o.cutSign(w)
	}
	o.name = w
	return o
}

func (o *option) cutSign(w string) (string, bool) {
	if name, ok := strings.CutSuffix(w, "{2}"); ok {
		o.values = 2
		return name, true
	}
	if name, ok := strings.CutSuffix(w, "{-2}"); ok {
		o.values, o.first = 2, true
		return name, true
	}
	if len(w) < 3 && w != "+*" {
		return w, false
	}
	switch w[len(w)-1] {
	case '?':
		o.joined = true
	case '#':
		o.digits = true
	case '>':
		o.apart = true
	case '~':
		o.shy = true
	case '!':
		o.ends = true
	case '*':
		o.start = true
	default:
		return w, false
	}
	return w[:len(w)-1], true
}

// spreadOption makes "-abc" three options where the row has no long ones of a
// single dash.
func (r *row) spreadOption(o *option) []*option {
	if len(o.name) <= 2 || o.start || strings.HasPrefix(o.name, "--") || r.has(singleStyle) || !strings.Contains("-+", o.name[:1]) { //nolint:gocritic // the sign is looked for among signs
		return []*option{o}
	}
	var out []*option
	for i := 1; i < len(o.name); i++ {
		c := *o
		c.name = string([]byte{o.name[0], o.name[i]})
		out = append(out, &c)
	}
	return out
}

// placeOption adds o to the row. What is said of it later counts more; keys and
// kinds of one option add up.
func (r *row) placeOption(o *option) {
	old := r.ownOption(o.name)
	switch {
	case old == nil:
	case o.rehearses && o.values == 0:
		old.rehearses = true
		return
	case len(o.keyed) > 0:
		old.keyed = append(slices.Clip(old.keyed), o.keyed...)
		if old.values == 0 {
			old.values, old.kind = 1, o.kind
		}
		return
	default:
		o.keyed, o.rehearses = old.keyed, o.rehearses || old.rehearses
	}
	r.options = append(r.options, o)
	switch {
	case o.start:
		r.starts = append(r.starts, o)
	case len(o.name) == 2 && o.name[0] == '-' && o.name[1] < 128:
		r.short[o.name[1]] = uint16(len(r.options))
	case len(o.name) == 2 && o.name[0] == '+' && o.name[1] < 128:
		r.plus[o.name[1]] = uint16(len(r.options))
	default:
		putInto(&r.long, o.name, o)
	}
}

// settleRow works out what follows from all clauses of the row.
func (r *row) settleRow() {
	r.runs = r.runs || slices.ContainsFunc(r.options, func(o *option) bool {
		return o.kind.role.weighs() > 1 || slices.ContainsFunc(o.keyed, func(k keyed) bool { return k.kind.role.weighs() > 1 })
	})
	for _, c := range r.clauses {
		r.runs = r.runs || c.dash != nil || c.input != nil && c.input.is == Runs ||
			slices.ContainsFunc(c.slots, func(s slot) bool { return s.kind.role.weighs() > 1 })
	}
}
