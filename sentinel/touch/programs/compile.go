package programs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// kinds are the kinds of values and operands by their names in the table.
var kinds = map[string]kind{
	"data": {role: Data}, "value": {role: Data}, "read": {role: File, access: Read}, "write": {role: File, access: Write}, "append": {role: File, access: Write},
	"rw": {role: File, access: Read | Write}, "delete": {role: File, access: Delete}, "move": {role: File, access: Read | Delete},
	"run": {role: File, access: Read | Execute}, "list": {role: File, access: Read, names: true}, "folder": {role: Folder},
	"client": {role: File, access: Read, client: true}, "sent": {role: File, access: Read, sent: true}, "body": {role: Sent, form: bodyText},
	"form": {role: Sent, form: formText}, "host": {role: Host}, "url": {role: URL}, "assign": {role: Assign}, "process": {role: Process},
	"code": {role: Code}, "script": {role: Script}, "line": {role: Line}, "linerest": {role: Line, form: allWords}, "words": {role: Line, form: allWords},
	"start": {role: Script, first: true}, "shell": {role: Line, form: asShell}, "mount": {role: File, access: Read | Write, tree: true, form: mountText}, "command": {role: Command, form: allWords}, "until": {role: Command, form: untilEnd},
}

// effectCodes are the codes of effects, as package touch lists them.
var effectCodes = map[Class][]string{
	Change: {"remote_change", "remote_removal", "system_change", "system_removal", "process_change", "container_change", "container_removal", "history_change", "history_removal", "database_change"},
	Doubt: {"opaque_command", "unset_tree", "unknown_target", "volume_removal", "project_wipe", "cloud_destroy", "database_destroy", "volume_destroy", "backup_destroy", "key_destroy",
		"persistence"},
	Danger: {"rm_root", "rm_home", "rm_system", "mkfs", "device_write", "fork_bomb", "chmod_tree", "chown_tree", "move_tree", "kill_all", "volume_destroy", "operator_command"},
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
			if p != onlyCore && !slices.Contains(effectCodes[Danger], p) && !slices.Contains(effectCodes[Doubt], p) {
				return k, fmt.Errorf("sign %q of a kind is unknown", p)
			}
			k.effect = p
		}
	}
	return k, nil
}

// addEffects compiles a clause that names no options.
func (r *row) addEffects(c clause, word string, rest []string) error {
	one := ""
	if len(rest) == 1 {
		one = rest[0]
	}
	if class := classNames[word]; class != 0 {
		if !slices.Contains(effectCodes[class], one) {
			return fmt.Errorf("code %q is no %s", one, word)
		}
		c.effect = Effect{Class: class, Code: one}
		r.clauses = append(r.clauses, c)
		return nil
	}
	switch word {
	case "args":
		return r.addArgs(c, rest)
	case "dash", "here":
		k, err := readKind(one)
		if err != nil {
			return err
		}
		if word == "dash" {
			c.dash, r.dashes = &k, true
		} else {
			c.here = &k
		}
	case "also":
		if len(rest) != 2 {
			return errors.New("also needs a kind and a text")
		}
		k, err := readKind(rest[0])
		if err != nil {
			return err
		}
		c.also, c.text = &k, rest[1]
	case "input":
		is, held, _ := strings.Cut(one, "/")
		name, lang, _ := strings.Cut(is, ":")
		c.input = &input{is: inputNames[name], held: inputNames[held], lang: lang}
		if held == "" {
			c.input.held = Shown
		}
		if _, ok := inputNames[name]; !ok || (lang == "") == (name == "runs") {
			return fmt.Errorf("input %q is unknown", one)
		}
	default:
		t, ok := traitNames[word]
		if !ok || len(rest) > 0 {
			return fmt.Errorf("clause %q is unknown", word)
		}
		if c.traits = t; len(c.conds) == 0 {
			r.traits |= t
			return nil
		}
	}
	r.clauses = append(r.clauses, c)
	return nil
}

func (r *row) addArgs(c clause, words []string) error {
	c.slots = []slot{}
	for _, w := range words {
		var s slot
		var err error
		if w == "assign*" {
			s.assign, w = true, "assign"
		}
		w, s.each = strings.CutSuffix(w, "...")
		if s.kind, err = readKind(w); err != nil {
			return err
		}
		c.slots = append(c.slots, s)
	}
	r.clauses = append(r.clauses, c)
	return nil
}

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
			if r.findOption(name) == nil && r.findStart(name) == nil && !slices.ContainsFunc(r.starts, func(o *option) bool { return o.name == name }) {
				r.placeOption(&option{name: name})
			}
		case valued && (len(name) == 1 && name[0] >= '1' && name[0] <= '9' || name == "last" || name == "any"), !valued && (name == "none" || name == "some" || name == "code"):
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
		if word == "flags" && (w == "-" || !strings.Contains("-+/", w[:1])) {
			r.words = true // "(" and "!" of find
			r.placeOption(&option{name: w})
			continue
		}
		if w[0] != '-' && w[0] != '+' && w[0] != '/' {
			i := strings.LastIndexAny(w, "=:")
			if i < 0 && strings.ContainsAny(w, letters) {
				return fmt.Errorf("%q is no option and no key", w)
			}
			keys = append(keys, keyed{key: strings.ToLower(w[:i+1]), mark: w[i+1:], kind: k})
			continue
		}
		r.words = r.words || w[0] == '/' && !r.has(windowsStyle)
		o := readOption(w)
		if o.kind = k; o.values == 0 {
			o.values = values
		}
		o.rehearses = word == "rehearsal"
		options = append(options, r.spreadOption(o)...)
	}
	if len(words) == 0 {
		return errors.New("it names no option")
	}
	if len(options) == 0 && len(keys) > 0 {
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
	if w == "-#" {
		o.name = w
		return o
	}
	for more := true; more; {
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
	if len(o.name) <= 2 || o.start || strings.HasPrefix(o.name, "--") || r.has(singleStyle) || o.name[0] == '/' {
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
		put(&r.long, o.name, o)
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
