package programs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kinds are the kinds of values and operands by their names in the table, forms
// how those are read that aren't one word.
var (
	kinds = map[string]Part{
		"data": {Role: Data}, "value": {Role: Data},
		"read": {Role: File, Access: Read}, "write": {Role: File, Access: Write}, "append": {Role: File, Access: Write},
		"rw": {Role: File, Access: Read | Write}, "delete": {Role: File, Access: Delete}, "move": {Role: File, Access: Read | Delete},
		"run": {Role: File, Access: Read | Execute}, "list": {Role: File, Access: Read, Extent: Extent{Names: true}}, "folder": {Role: Folder},
		"client": {Role: File, Access: Read, Client: true}, "sent": {Role: File, Access: Read, Sent: true},
		"mount": {Role: File, Access: Read | Write, Extent: Extent{Tree: true}}, "body": {Role: Sent}, "form": {Role: Sent},
		"host": {Role: Host}, "url": {Role: URL}, "assign": {Role: Assign}, "process": {Role: Process}, "code": {Role: Code},
		"script": {Role: Script}, "start": {Role: Script}, "line": {Role: Line}, "linerest": {Role: Line}, "words": {Role: Line},
		"shell": {Role: Line}, "command": {Role: Command}, "until": {Role: Command},
	}
	forms = map[string]form{"mount": mountText, "body": bodyText, "form": formText, "linerest": allWords, "words": allWords,
		"shell": asShell, "command": allWords, "until": untilEnd}
)

// effectCodes are the codes of effects, as package touch lists them.
var effectCodes = map[Class]string{
	Change: " remote_change remote_removal system_change system_removal process_change container_change container_removal history_change" +
		" history_removal database_change ",
	Doubt: " opaque_command unset_tree unknown_target volume_removal project_wipe cloud_destroy database_destroy volume_destroy" +
		" backup_destroy key_destroy persistence" +
		" unread_option unread_program unread_code unread_target unread_budget secret_sent remote_shell ", // those of Touch.Unread
	Danger: " rm_root rm_home rm_system mkfs device_write fork_bomb chmod_tree chown_tree move_tree kill_all volume_destroy operator_command ",
}

func isEffectCode(class Class, code string) bool {
	return code != "" && strings.Contains(effectCodes[class], " "+code+" ")
}

var classNames = map[string]Class{"danger": Danger, "doubt": Doubt, "change": Change}

var inputNames = map[string]Input{"ignored": Ignored, "shown": Shown, "items": Items, "names": Names, "runs": Runs, "leaves": Leaves}

// compileClause compiles one clause into r.
func (r *row) compileClause(text string) error {
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
		t, err := r.compileCondition(word == "if", tests)
		if err != nil {
			return err
		}
		c.conds, text = append(c.conds, t), strings.TrimSpace(then)
	}
	word, rest, _ := strings.Cut(text, " ")
	words := strings.Fields(rest)
	switch {
	case !isKindWord(word) && word != "flags" && (word != "rehearsal" || rest == ""):
		return r.compileEffect(c, word, words)
	case c.conds == nil:
		return r.compileOptions(word, words)
	}
	k, err := r.compileKind(word)
	c.apply = func(a *reader) { a.retypeValues(words, k) }
	r.clauses = append(r.clauses, c)
	return err
}

func isKindWord(word string) bool {
	name, _, _ := strings.Cut(word, "+")
	name, _, _ = strings.Cut(name, ":")
	return kinds[name].Role != 0
}

// onlyCore is the effect of a removal that matters only where it is of root, a
// system tree or a home.
const onlyCore = "only_core"

// compileKind reads "read+tree" and "code:python".
func (r *row) compileKind(text string) (kind, error) {
	signs := strings.Split(text, "+")
	name, lang, _ := strings.Cut(signs[0], ":")
	k := kind{Part: kinds[name], form: forms[name], first: name == "start"}
	if k.Lang = lang; k.Role == 0 {
		return k, fmt.Errorf("kind %q is unknown", name)
	}
	if lang == "" && (k.Role == Script || k.Role == Code) {
		return k, errors.New("a script and code need a language: script:sh")
	}
	flags := map[string]*bool{"tree": &k.Tree, "names": &k.Names, "sent": &k.Sent, "client": &k.Client, "remote": &k.remote, "box": &k.Boxed}
	for _, sign := range signs[1:] {
		switch flag := flags[sign]; {
		case flag != nil:
			*flag = true
		case sign != onlyCore && !isEffectCode(Danger, sign) && !isEffectCode(Doubt, sign):
			return k, fmt.Errorf("sign %q of a kind is unknown", sign)
		default:
			k.Effect = sign
		}
	}
	return k, nil
}

// compileEffect compiles a clause that names no options.
func (r *row) compileEffect(c clause, word string, rest []string) (err error) {
	one := strings.Join(rest, " ")
	class, t := classNames[word], traitNames[word]
	switch {
	case class != 0 && !isEffectCode(class, one):
		return fmt.Errorf("code %q is no %s", one, word)
	case class != 0:
		c.apply = func(a *reader) { a.use.Effects = append(a.use.Effects, Effect{Class: class, Code: one}) }
	case word == "args":
		c.slots, err = r.compileSlots(rest)
	case word == "dash" || word == "here" || word == "also" && len(rest) == 2:
		err = r.compilePlace(&c, word, rest)
	case word == "input":
		err = r.compileInput(&c, one)
	case word == "token":
		c.apply = func(a *reader) { a.traits, a.use.TokenHosts = a.traits|token, append(a.use.TokenHosts, rest...) }
	case t == 0 || one != "":
		return fmt.Errorf("clause %q is unknown", word)
	case c.conds == nil:
		r.traits |= t
		return nil
	default:
		c.apply = func(a *reader) { a.traits |= t }
	}
	r.clauses = append(r.clauses, c)
	return err
}

// compilePlace compiles what is touched in no word of its own.
func (r *row) compilePlace(c *clause, word string, rest []string) error {
	k, err := r.compileKind(rest[0])
	p := k.Part
	switch word {
	case "dash":
		c.dash, r.dashes, r.runs = &k, true, true
	case "here":
		c.apply = func(a *reader) {
			if !slices.ContainsFunc(a.use.Parts, Part.isOperand) {
				a.use.Here = p
			}
		}
	default:
		p.Arg, p.Text = -1, rest[1]
		c.apply = func(a *reader) { a.use.Parts = append(a.use.Parts, p) }
	}
	return err
}

// compileInput compiles "runs:sh/leaves": behind the slash stands what counts where a
// word holds the code.
func (r *row) compileInput(c *clause, text string) error {
	first, held, _ := strings.Cut(text, "/")
	name, lang, _ := strings.Cut(first, ":")
	is, ok := inputNames[name]
	if !ok || (lang == "") == (is == Runs) {
		return fmt.Errorf("input %q is unknown", text)
	}
	other := Shown
	if held != "" {
		other = inputNames[held]
	}
	r.runs = r.runs || is == Runs
	c.apply = func(a *reader) {
		if a.use.Input, a.use.InputLang = is, lang; is == Runs && a.holds {
			a.use.Input, a.use.InputLang = other, ""
		}
	}
	return nil
}

// compileSlots reads where operands stand: "data read...".
func (r *row) compileSlots(words []string) ([]slot, error) {
	slots := []slot{}
	for _, w := range words {
		var s slot
		var err error
		w, s.assign = strings.CutSuffix(w, "*")
		w, s.each = strings.CutSuffix(w, "...")
		if s.kind, err = r.compileKind(w); err != nil {
			return nil, err
		}
		r.runs = r.runs || s.kind.Role.weighLoss() > 1
		slots = append(slots, s)
	}
	return slots, nil
}

// compileCondition reads the tests of a condition: "if" wants that one holds, "unless"
// that none does.
func (r *row) compileCondition(wanted bool, text string) (test, error) {
	var tests []test
	for w := range strings.FieldsSeq(text) {
		t := r.compileTest(w)
		if t == nil {
			return nil, fmt.Errorf("condition %q is unknown", w)
		}
		tests = append(tests, t)
	}
	return func(a *reader) bool {
		return slices.ContainsFunc(tests, func(t test) bool { return t(a) }) == wanted
	}, nil
}

// compileTest reads one test. An option that it names and nothing else does is a
// flag.
func (r *row) compileTest(text string) test {
	name, list, valued := strings.Cut(text, "=")
	values := strings.Split(strings.ReplaceAll(list, `\,`, "\x00"), ",")
	for i, v := range values { // `\,` is a comma
		values[i] = strings.ReplaceAll(v, "\x00", ",")
	}
	if strings.IndexByte("-+/", name[0]) >= 0 {
		o := r.findOption(name)
		if i := slices.IndexFunc(r.starts, func(o *option) bool { return o.name == name }); i >= 0 {
			o = r.starts[i]
		}
		if o == nil {
			o = &option{name: name}
			r.placeOption(o)
		}
		o.tested = o.tested || valued
		return func(a *reader) bool {
			return slices.ContainsFunc(a.hits, func(h hit) bool { return h.option.name == name && (!valued || matchFold(values, h.value)) })
		}
	}
	fits := func(a *reader, i int) bool {
		return i >= 0 && i < len(a.operands) && matchFold(values, a.args[a.operands[i]].Text)
	}
	if n, err := strconv.Atoi(name); err == nil && valued && n > 0 && n <= maxTested {
		return func(a *reader) bool { return fits(a, n-1) }
	}
	switch text[:min(len(text), 5)] {
	case "none", "some":
		return func(a *reader) bool { return a.hasAssignmentsAlone() == (text == "none") }
	case "last=":
		return func(a *reader) bool { return fits(a, len(a.operands)-1) }
	}
	if name != "any" || !valued {
		return nil
	}
	return func(a *reader) bool {
		return slices.ContainsFunc(a.operands, func(i int) bool { return matchFold(values, a.args[i].Text) })
	}
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// compileOptions adds the options of a clause, or the keys of operands where it
// names none.
func (r *row) compileOptions(word string, words []string) error {
	var k kind
	var err error
	values := 0
	if isKindWord(word) {
		k, err = r.compileKind(word)
		values = 1
	}
	var keys []keyed
	var options []*option
	for _, w := range words {
		signed := strings.IndexByte("-+/", w[0]) >= 0 && w != "-"
		r.words = r.words || word == "flags" && !signed || w[0] == '/' && !r.hasTrait(windowsStyle)
		switch i := strings.LastIndexAny(w, "=:"); {
		case signed || word == "flags": // "(" and "!" of find have no sign
			o := option{kind: k, values: values, rehearses: word == "rehearsal"}
			options = append(options, r.spreadOption(o, w)...)
		case i < 0 && strings.ContainsAny(w, letters):
			return fmt.Errorf("%q is no option and no key", w)
		default:
			keys = append(keys, keyed{key: strings.ToLower(w[:i+1]), mark: w[i+1:], kind: k})
		}
	}
	switch {
	case len(options)+len(keys) == 0:
		return errors.Join(err, errors.New("it names no option"))
	case len(options) == 0:
		r.keys = append(r.keys, keys...)
	case len(keys) > 0:
		for _, o := range options {
			o.kind, o.keyed = kind{Part: Part{Role: Data}}, keys
		}
	}
	for _, o := range options {
		r.placeOption(o)
	}
	return err
}

// spreadOption reads the signs behind an option, and makes "-abc" three options
// where the row has no long ones of a single dash.
func (r *row) spreadOption(o option, w string) []*option {
	if name, ok := strings.CutSuffix(w, "{-2}"); ok {
		w, o.values, o.first = name, 2, true
	} else if name, ok := strings.CutSuffix(w, "{2}"); ok {
		w, o.values = name, 2
	}
	for last := len(w) - 1; (last > 1 || w == "+*") && strings.IndexByte("?#~>!*", w[last]) >= 0; last-- {
		w, o.signs = w[:last], o.signs+w[last:]
	}
	if o.name = w; len(w) <= 2 || o.hasSign(startSign) || strings.HasPrefix(w, "--") || r.hasTrait(singleStyle) ||
		strings.IndexByte("-+", w[0]) < 0 {
		return []*option{&o}
	}
	var out []*option
	for i := 1; i < len(w); i++ {
		c := o
		c.name = string([]byte{w[0], w[i]})
		out = append(out, &c)
	}
	return out
}

// placeOption adds o to the row. What is said of it later counts more; keys and
// kinds of one option add up.
func (r *row) placeOption(o *option) {
	r.runs = r.runs || o.kind.Role.weighLoss() > 1 || slices.ContainsFunc(o.keyed, func(k keyed) bool { return k.kind.Role.weighLoss() > 1 })
	switch old := r.options[o.name]; {
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
	if o.hasSign(startSign) {
		r.starts = append(r.starts, o)
		return
	}
	putIntoMap(&r.options, o.name, o)
}
