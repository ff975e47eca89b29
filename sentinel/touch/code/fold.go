package code

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is what an expression is, as far as literal texts say. In text and
// list, "$" stands for what can't be known; open is set where there is one.
type value struct {
	text  string
	list  []string
	isSet bool // list holds it: a list, or what a loop goes through
	open  bool
	made  bool // decoded or turned round: what it is was hidden
}

const (
	maxText  = 4096 // bytes of a joined text
	maxList  = 64   // items of a list
	maxVars  = 256
	maxFolds = 8 // expressions inside of each other
)

var (
	unknown = value{text: "$", open: true}
	hidden  = value{text: "$", open: true, made: true}
)

// encodings are the second words of calls that decode.
var encodings = map[string]bool{"base64": true, "hex": true, "rot13": true, "rot_13": true, "base64url": true, "zlib": true}

// texts returns the one text, or all items.
func (v value) texts() []string {
	if v.isSet {
		return v.list
	}
	return []string{v.text}
}

// joinValues is two texts, one behind the other.
func joinValues(a, b value, sep string) value {
	made := a.made || b.made
	if a.isSet || b.isSet {
		out := value{isSet: true, open: a.open || b.open, made: made}
		for _, t := range append(a.texts(), b.texts()...) {
			if len(out.list) < maxList {
				out.list = append(out.list, t)
			}
		}
		return out
	}
	if len(a.text)+len(b.text) > maxText {
		return value{text: a.text[:min(len(a.text), maxText/2)] + "$", open: true, made: made}
	}
	return value{text: a.text + sep + b.text, open: a.open || b.open, made: made}
}

// joinPath joins as path.join does; an absolute piece begins again.
func joinPath(pieces []value) value {
	out := value{}
	for i, p := range pieces {
		switch {
		case i == 0 || strings.HasPrefix(p.text, "/") && len(p.text) > 1:
			out = p
		case strings.HasSuffix(out.text, "/"):
			out = joinValues(out, p, "")
		default:
			out = joinValues(out, p, "/")
		}
	}
	return out
}

func (r *reader) is(i int, sign string) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == signTok && r.toks[i].text == sign
}

func (r *reader) word(i int) string {
	if i < 0 || i >= len(r.toks) || r.toks[i].kind != wordTok {
		return ""
	}
	return r.toks[i].text
}

// fold reads the expression at i, which ends before stop.
func (r *reader) fold(i, stop, depth int) (value, int) {
	v, i := r.foldOne(i, stop, depth)
	for i < stop {
		t := r.toks[i]
		switch {
		case t.kind == joinTok, t.kind == signTok && t.text == r.d.concat,
			t.kind == signTok && t.text == "+" && r.d.concat != ".", t.kind == signTok && t.text == "/" && !r.d.regex:
			w, next := r.foldOne(i+1, stop, depth)
			if t.text == "/" {
				v = joinPath([]value{v, w})
			} else {
				v = joinValues(v, w, "")
			}
			i = next
		case (t.kind == textTok || r.d.concat == "juxtapose" && t.kind == wordTok) && !t.first && r.juxtaposed(i):
			w, next := r.foldOne(i, stop, depth)
			v, i = joinValues(v, w, ""), next
		default:
			return v, i
		}
	}
	return v, i
}

// juxtaposed reports whether texts that stand beside each other are one.
func (r *reader) juxtaposed(i int) bool {
	if r.d.concat == "juxtapose" {
		return !awkWords[r.word(i)]
	}
	return r.d.concat == "+" && r.toks[i-1].kind == textTok
}

var awkWords = map[string]bool{"getline": true, "in": true, "print": true, "printf": true, "if": true, "else": true}

// foldOne reads one operand with what is called on it.
func (r *reader) foldOne(i, stop, depth int) (value, int) {
	r.steps++
	if i >= stop || r.steps > maxSteps {
		return unknown, i
	}
	t := r.toks[i]
	var v value
	switch {
	case depth > maxFolds:
		return unknown, max(r.match[i], i) + 1
	case t.kind == textTok:
		v, i = value{text: t.text}, i+1
	case t.kind == numTok:
		return value{text: t.text}, i + 1
	case r.is(i, "(") && r.d.concat == "lisp":
		return r.foldLisp(i, depth)
	case r.is(i, "("), r.is(i, "["):
		args := r.args(i, depth+1)
		i = max(r.match[i], i) + 1
		if len(args) == 1 && t.text == "(" {
			v = args[0].value
			break
		}
		v.isSet = true
		for _, a := range args {
			if len(v.list) < maxList {
				v.list, v.open = append(v.list, a.texts()...), v.open || a.open
			}
		}
	case t.kind == wordTok:
		v, i = r.foldName(i, stop, depth)
	case t.kind == signTok && (t.text == `\` || t.text == "@" || t.text == "&" || t.text == "?" || t.text == ":" || t.text == "'"):
		return r.foldOne(i+1, stop, depth)
	default:
		if m := r.match[i]; m > i {
			i = m
		}
		return unknown, i + 1
	}
	return r.foldMethods(v, i, stop, depth)
}

// foldName reads a variable, or a call whose result its words say.
func (r *reader) foldName(i, stop, depth int) (value, int) {
	switch r.word(i) {
	case "new", "await", "not", "my", "return", "const", "let", "var", "local":
		return r.foldOne(i+1, stop, depth)
	}
	from := i
	for r.is(i+1, ".") && i+2 < stop && r.word(i+2) != "" {
		if c := r.foldClass(i).class; r.is(i+1, "(") && (c == "join" || c == "same" || c == "home") {
			break
		}
		i += 2
	}
	name := r.foldClass(i)
	key := i + 1
	switch {
	case r.word(i) == "HOME" && i > from || name.class == "home" && (!name.weak || r.is(key, "(") || r.bareCall(i)):
		return value{text: "~"}, max(r.match[min(key, len(r.toks)-1)]*r.bit(key, "("), key-1) + 1
	case (r.is(key, "[") || r.is(key, "{") || r.is(key, "(") || r.is(key, ".")) && r.isEnv(i):
		return r.foldEnv(key, depth)
	case r.is(key, "("):
		return r.foldCall(name, i, depth)
	case r.word(i) == "__dirname":
		return value{text: "."}, i + 1
	case i == from:
		if v, ok := r.vars[r.word(i)]; ok {
			return v, i + 1
		}
	case r.word(i) == "executable" || r.word(i) == "execPath":
		return value{text: map[string]string{"python": "python3", "js": "node"}[r.lang]}, i + 1
	case strings.EqualFold(r.word(i), "sep"):
		return value{text: "/"}, i + 1
	}
	return unknown, i + 1
}

// bit is 1 where the sign stands at i, else 0.
func (r *reader) bit(i int, sign string) int {
	if r.is(i, sign) {
		return 1
	}
	return 0
}

func (r *reader) bareCall(i int) bool { return r.d.bare && r.is(i-1, ".") }

func (r *reader) isEnv(i int) bool {
	switch strings.ToLower(strings.TrimLeft(r.word(i), "$%@")) {
	case "env", "environ", "_env", "_server", "getenv", "environb", "environment":
		return true
	}
	return false
}

// foldEnv reads the variable of the environment that stands at a bracket or dot.
func (r *reader) foldEnv(i, depth int) (value, int) {
	next := i + 2
	name := r.word(i + 1)
	if m := r.match[i]; m > i {
		next = m + 1
		if args := r.args(i, depth+1); len(args) > 0 && !args[0].open {
			name = args[0].text
		}
		if name == "" {
			name = r.word(i + 1)
		}
	} else if name == "get" && r.is(i+2, "(") || name == "fetch" {
		return r.foldEnv(i+2, depth)
	}
	switch name {
	case "HOME", "USERPROFILE":
		return value{text: "~"}, next
	}
	return unknown, next
}

// foldCall reads a call that only puts texts together.
func (r *reader) foldCall(name entry, i, depth int) (value, int) {
	next := max(r.match[i+1], i+1) + 1
	args := r.args(i+1, depth+1)
	if name.class == "decode" || len(args) > 1 && encodings[args[1].text] {
		return decodeArgs(r.word(i), args), next
	}
	switch name.class {
	case "temp":
		return value{text: "/tmp/made"}, next
	case "here":
		return value{text: "."}, next
	}
	if len(args) == 0 {
		return unknown, next
	}
	listed := r.lang == "perl" || r.lang == "php"
	switch {
	case name.class == "join" && listed, name.class == "concat":
		sep, v := "", value{isSet: true}
		if listed {
			sep, v.open, args = args[0].text, args[0].open, args[1:]
		}
		for _, a := range args {
			v = joinValues(v, a.value, "")
		}
		return value{text: cutText(strings.Join(v.list, sep)), open: v.open, made: v.made}, next
	case name.class == "char", name.class == "same" && args[0].isSet && strings.HasPrefix(r.word(i), "byte"):
		return joinRunes(args), next
	case name.class == "join" && !args[0].isSet:
		pieces := make([]value, len(args))
		for k, a := range args {
			pieces[k] = a.value
		}
		return joinPath(pieces), next
	case name.class == "same" && len(args) <= 2 && (!name.weak || len(args) == 1):
		return args[0].value, next
	case args[0].made:
		return hidden, next
	}
	return unknown, next
}

// joinRunes is the text that numbers stand for.
func joinRunes(args []arg) value {
	v := value{}
	for _, a := range args {
		for _, t := range a.texts() {
			n, err := strconv.ParseUint(t, 0, 21)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return hidden
			}
			v.text += string(rune(n))
		}
	}
	return v
}

// foldMethods reads what is called on a value.
func (r *reader) foldMethods(v value, i, stop, depth int) (value, int) {
	for i+1 < stop {
		switch {
		case r.is(i, ".") && r.word(i+1) != "":
			name, at := r.foldClass(i+1), i+2
			var args []arg
			if r.is(at, "(") {
				args = r.args(at, depth+1)
				at = max(r.match[at], at) + 1
			}
			v, i = applyMethod(v, name, r.word(i+1), args), at
		case r.is(i, "[") && r.toks[i-1].kind != signTok:
			turned := r.toks[i-1].kind == textTok || r.is(max(r.match[i]-2, 0), "-") // "x"[::-1]
			v, i = value{text: "$", open: true, made: v.made || turned}, max(r.match[i], i)+1
		case r.is(i, "[") && !r.toks[i].blank:
			v, i = value{text: v.text, list: v.list, isSet: v.isSet, open: true}, max(r.match[i], i)+1
			if !v.isSet {
				v = unknown
			}
		default:
			return v, i
		}
	}
	return v, i
}

func applyMethod(v value, name entry, word string, args []arg) value {
	switch {
	case strings.EqualFold(word, "join") && v.isSet && len(args) <= 1:
		sep := ""
		if len(args) == 1 {
			sep = args[0].text
		}
		return value{text: cutText(strings.Join(v.list, sep)), open: v.open}
	case word == "join" && len(args) == 1 && args[0].isSet:
		return value{text: cutText(strings.Join(args[0].list, v.text)), open: v.open || args[0].open}
	case name.class == "join":
		pieces := []value{v}
		for _, a := range args {
			pieces = append(pieces, a.value)
		}
		return joinPath(pieces)
	case name.class == "home":
		return value{text: "~"}
	case name.class == "decode" || len(args) > 0 && encodings[args[len(args)-1].text]:
		return decodeArgs(word, append([]arg{{value: v}}, args...))
	case name.class == "same" && v.made:
		return v
	case v.made:
		return hidden
	case name.class == "same" && len(args) <= 1:
		return v
	case word == "split" && !v.isSet:
		list := strings.Fields(v.text)
		return value{list: list[:min(len(list), maxList)], isSet: true, open: v.open}
	}
	return unknown
}

func cutText(t string) string { return t[:min(len(t), maxText)] }

// foldLisp reads a list of Lisp: its words, or the text that concat makes.
func (r *reader) foldLisp(i, depth int) (value, int) {
	end := max(r.match[i], i)
	head := strings.ToLower(r.word(i + 1))
	v := value{isSet: true}
	for k := i + 1; k < end; {
		item, next := r.foldOne(k, end, depth+1)
		if k > i+1 || head == "" {
			v.list, v.open = append(v.list, item.texts()...), v.open || item.open
		}
		k = max(next, k+1)
	}
	v.list = v.list[:min(len(v.list), maxList)]
	switch head {
	case "concat", "string-append", "str":
		return value{text: cutText(strings.Join(v.list, "")), open: v.open}, end + 1
	case "list", "quote", "vector", "":
		return v, end + 1
	case "expand-file-name":
		return value{text: strings.Join(v.list[:min(1, len(v.list))], ""), open: v.open || len(v.list) > 1}, end + 1
	}
	return unknown, end + 1
}

// arg is an argument of a call, with its name where it has one.
type arg struct {
	value
	name string
	at   int
}

// args reads what stands in the brackets at i, up to 64 arguments.
func (r *reader) args(i, depth int) []arg {
	if i >= len(r.toks) || r.match[i] <= i {
		return nil
	}
	return r.argsIn(i+1, r.match[i], depth)
}

func (r *reader) argsIn(i, end, depth int) []arg {
	var out []arg
	for i < end && len(out) < maxList && r.steps < maxSteps {
		a := arg{at: i}
		if r.word(i) != "" && (r.is(i+1, "=") || r.is(i+1, ":") || r.is(i+1, "=>")) {
			a.name = r.word(i)
			i += 2
		}
		a.value, i = r.fold(i, end, depth)
		for i < end && !r.is(i, ",") {
			if r.d.concat == "lisp" {
				break
			}
			a.value = unknown // an operator that isn't read
			i = max(r.match[i], i) + 1
		}
		if r.is(i, ",") {
			i++
		}
		out = append(out, a)
	}
	return out
}

// decodeArgs is what a call that decodes makes of a literal text, by the name
// of the call and of the encoding. It stays hidden: it was not to be read.
func decodeArgs(word string, args []arg) value {
	how := strings.ToLower(word)
	for _, a := range args {
		if encodings[a.text] {
			how += " " + a.text
		}
	}
	text := ""
	for _, a := range args {
		if !encodings[a.text] && !a.open && len(a.text) <= maxText && len(a.text) > len(text) {
			text = a.text
		}
	}
	var out []byte
	var err error
	switch {
	case text == "":
		return hidden
	case strings.Contains(how, "hex") || how == "pack" && strings.Trim(text, "0123456789abcdefABCDEF") == "":
		out, err = hex.DecodeString(text)
	case strings.Contains(how, "64") || how == "atob" || how == "unpack1":
		out, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	case strings.Contains(how, "rot"):
		out = []byte(strings.Map(turnLetter, text))
	case strings.Contains(how, "rev"):
		for _, c := range []byte(text) {
			out = append([]byte{c}, out...)
		}
	default:
		return hidden
	}
	if err != nil {
		return hidden
	}
	return value{text: string(out), made: true}
}

// turnLetter is rot13.
func turnLetter(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}
