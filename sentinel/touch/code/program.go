package code

import (
	"slices"
	"strings"
)

const (
	maxArgs  = 64     // arguments of a call
	maxSteps = 50_000 // tokens of arguments
)

// reader reads one program.
type reader struct {
	d           dialect
	lang        string
	toks        []token
	match, open []int // of a bracket, where its other half stands
	words       map[string]bool
	class       []entry
	f           *Findings
	steps       int
	folder      string // that the code has changed to
	hint        bool   // a text is a part of a secret's name
	importing   bool   // names are only introduced here
	listing
	signs
}

// listing is what the code goes through.
type listing struct {
	listed []arg
	narrow bool // the code looks for the end of a name
}

// signs are what the words say that only the end of the whole code weighs.
type signs struct {
	process, ran bool // a word of processes stands there; one was started
	raw, reads   bool // a connection without a protocol; files or credentials are read
	traffic      Traffic
}

func readProgram(f *Findings, lang, text string) {
	if lang == "mongo" {
		lang = "js"
	}
	r := &reader{d: dialectOf(lang), lang: lang, f: f, words: map[string]bool{}}
	r.toks = joinAdjacentTexts(r.d.concat, scanTokens(lang, text, 0))
	if r.pairBrackets(); r.fillBoundNames() {
		r.toks = joinAdjacentTexts(r.d.concat, r.toks)
		r.pairBrackets()
	}
	r.collectWholeCode()
	for i, t := range r.toks {
		r.noteImportAt(i)
		switch {
		case t.kind == wordTok:
			r.judgeWordAt(i)
		case r.isSign(i, "["):
			r.readIndexedName(i)
		case r.isSign(i, "&") && r.isSign(i+1, ":") && r.isDangerous(r.wordAt(i+2)): // each(&:unlink)
			f.Unread = true
			for _, t := range r.readReceiver(i - 2).texts {
				f.addNamedPath(Path{Text: t, Access: ToDelete, Tree: true})
			}
		case r.isSign(i, "!!") && lang == "scala":
			f.Unread = true
		case r.isSign(i, "!") && lang == "scala" && r.isSign(i-1, "."):
			r.readStartedProcess([]arg{r.readReceiver(i)})
		}
	}
	r.weighWholeCode()
}

// joinAdjacentTexts makes one text of two that stand side by side, with the sign
// between them that joins texts.
func joinAdjacentTexts(concat string, toks []token) []token {
	out := toks[:0]
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if t.kind == textTok && t.open {
			i += fillTextHoles(&t, toks[i+1:])
		}
		sign := i+1 < len(toks) && len(out) > 0 && t.kind == signTok && (t.text == concat || t.text == "+") && concat != ""
		if sign && toks[i+1].kind == textTok && out[len(out)-1].kind == textTok && !out[len(out)-1].open {
			last := &out[len(out)-1]
			if len(last.text)+len(toks[i+1].text) < maxText {
				last.text += toks[i+1].text
				last.joined, last.open, last.made = true, toks[i+1].open, last.made || toks[i+1].made
				i++
				continue
			}
		}
		out = append(out, t)
	}
	return out
}

// fillTextHoles fills a text whose holes hold a text each, and returns how many
// tokens those are.
func fillTextHoles(t *token, inside []token) int {
	parts := strings.Split(t.text, "$")
	n := 3 * (len(parts) - 1)
	if n > len(inside) || n > maxArgs {
		return 0
	}
	text, made := parts[0], t.made
	for k, p := range parts[1:] {
		g := inside[3*k:]
		if g[0].text != "(" || g[1].kind != textTok || g[1].open || g[2].text != ")" {
			return 0
		}
		text += g[1].text + p
		made = made || g[1].made
	}
	t.text, t.made, t.open, t.joined = cutText(text), made, false, true
	return n
}

func (r *reader) pairBrackets() {
	r.match, r.open = make([]int, len(r.toks)), make([]int, len(r.toks))
	var stack []int
	for i, t := range r.toks {
		r.match[i], r.open[i] = -1, -1
		switch {
		case t.kind != signTok || len(t.text) != 1:
		case t.text[0] == '(' || t.text[0] == '[' || t.text[0] == '{':
			r.match[i] = len(r.toks)
			stack = append(stack, i)
		case len(stack) > 0 && (t.text[0] == ')' || t.text[0] == ']' || t.text[0] == '}'):
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			r.match[top], r.open[i] = i, top
		}
	}
}

// collectWholeCode gathers what the whole code says before its calls are read.
func (r *reader) collectWholeCode() {
	for _, t := range r.toks {
		if t.kind == wordTok || t.kind == textTok && len(t.text) < 32 {
			r.words[strings.ToLower(t.text)] = true
		}
		if t.kind == textTok {
			r.noteTextSigns(t.text)
		}
	}
	r.class = make([]entry, len(r.toks))
	for i, t := range r.toks {
		if t.kind == wordTok {
			r.class[i] = r.lookUpWord(t.text)
		}
	}
	for i := range r.toks {
		args, called := r.readCallArguments(i)
		switch c := r.classAt(i); {
		case c == "list" && r.isSign(i+1, "["):
			r.listed = append(r.listed, r.readArgument(i+1, r.match[i+1]))
		case c == "list" && called:
			r.listed = append(r.listed, r.targetOfCall(i, args))
		case c == "temp" && called:
			r.listed = append(r.listed, arg{texts: []string{"made"}})
		case (r.wordAt(i) == "in" || r.wordAt(i) == "of") && (r.isSign(i+1, "(") || r.isSign(i+1, "[")):
			if a := r.readArgument(i+1, r.match[i+1]); len(a.texts) > 0 {
				r.listed = append(r.listed, a)
			}
		}
		r.listed = r.listed[:min(len(r.listed), maxArgs)]
	}
}

func (r *reader) isSign(i int, sign string) bool {
	return i >= 0 && i < len(r.toks) && r.toks[i].kind == signTok && r.toks[i].text == sign
}

// wordAt returns the word at i, "" where there is none.
func (r *reader) wordAt(i int) string {
	if i < 0 || i >= len(r.toks) || r.toks[i].kind != wordTok {
		return ""
	}
	return r.toks[i].text
}

func (r *reader) classAt(i int) string {
	if i < 0 || i >= len(r.toks) {
		return ""
	}
	return r.class[i].class
}

// lookUpWord returns what a word does in this program.
func (r *reader) lookUpWord(w string) entry {
	if w == "Function" && r.lang == "js" {
		return entry{class: "eval"}
	}
	w = strings.ToLower(strings.TrimLeft(w, "@"))
	if i := strings.LastIndexAny(w, ":/"); i >= 0 && i+1 < len(w) && readWords()["*"][w] == nil {
		w = w[i+1:] // of a package
	}
	for _, lang := range [...]string{r.lang, "*"} {
		for _, e := range readWords()[lang][w] {
			if e.need == "" || r.words[e.need] {
				return e
			}
		}
	}
	return entry{}
}

// isDangerous reports whether a name is of something that runs or removes.
func (r *reader) isDangerous(name string) bool {
	return isAmong(" run remove eval never mode owner fork kill ", r.lookUpWord(name).class)
}

// noteImportAt follows where names are only introduced: import, use, and
// { a, b: c } = require(…). One that gets another name can't be followed.
func (r *reader) noteImportAt(i int) {
	t := r.toks[i]
	brace := r.isSign(i, "{") && r.match[i] < len(r.toks) && (r.isSign(r.match[i]+1, "=") || r.wordAt(r.match[i]+1) == "from")
	switch {
	case t.kind == wordTok && (t.text == "import" || t.text == "from" || t.text == "use" || t.text == "package") && !r.isSign(i+1, "("), brace:
		r.importing = true
	case t.first, t.kind == signTok && (t.text == ";" || t.text == "=" || t.text == ":" && r.lang == "python"):
		r.importing = false
	}
	if r.importing && (r.wordAt(i+1) == "as" || r.isSign(i+1, ":") || r.isSign(i+1, "=>")) && r.isDangerous(r.wordAt(i)) {
		r.f.Unread = true
	}
}

// stopWords end a call without brackets.
const stopWords = " if unless while until for foreach do and or then end "

// readCallArguments returns the arguments of the call at i, if it is one.
func (r *reader) readCallArguments(i int) ([]arg, bool) {
	next := i + 1
	switch {
	case r.classAt(i) == "" && r.classAt(i-2) != "net":
		return nil, false
	case r.lang == "lisp":
		if r.isSign(i-1, "(") {
			return r.readArguments(next, r.match[i-1]), true
		}
		return nil, false
	case next >= len(r.toks):
		return nil, false
	case r.wordAt(i) == "`":
		return r.readArguments(next, next+1), true
	case r.isSign(next, "("):
		return r.readArguments(next+1, r.match[next]), true
	}
	t := r.toks[next]
	begins := t.kind == textTok || t.kind == numTok || t.kind == wordTok && !isAmong(stopWords, t.text) ||
		r.isSign(next, "[") && t.blank || r.isSign(next, ":") || r.isSign(next, `\`) || r.isSign(next, "<")
	if !r.d.bare || t.first || !begins {
		return nil, false
	}
	end := next
	for end < len(r.toks) && end < next+maxArgs && r.steps < maxSteps && !r.toks[end].first && !isAmong(stopWords, r.wordAt(end)) {
		if t := r.toks[end]; t.kind == signTok && isAmong(" ; } ) | && || { ", t.text) {
			break
		}
		end = max(r.match[end], end) + 1
		r.steps++
	}
	return r.readArguments(next, min(end, len(r.toks))), true
}

// readReceiver returns what the method at i is called on.
func (r *reader) readReceiver(i int) arg {
	if !r.isSign(i-1, ".") {
		return arg{isOpen: true}
	}
	k := i - 2
	for n := 0; k >= 0 && n < maxArgs; n++ {
		if r.open[k] >= 0 {
			if k = r.open[k]; r.wordAt(k-1) != "" && !r.toks[k].blank {
				k--
			}
		}
		if !r.isSign(k-1, ".") {
			break
		}
		k -= 2
	}
	return r.readArgument(max(k, 0), i-1)
}

// behindModule reports whether a word stands alone, or behind the name of a
// module that holds such functions.
func (r *reader) behindModule(i int) bool {
	if r.isSign(i-1, ".") && (r.isSign(i-2, ")") || r.isSign(i-2, "]")) {
		k := r.open[i-2]
		return r.wordAt(k-1) == "require" || r.isCalmWord(r.wordAt(k-1))
	}
	before := readWords()["*"][strings.ToLower(r.wordAt(i-2))]
	return !r.isSign(i-1, ".") || slices.ContainsFunc(before, func(e entry) bool { return e.class == "module" })
}

// isCalmWord reports whether a word stands beside a path and leaves it what it is.
func (r *reader) isCalmWord(w string) bool {
	return slices.ContainsFunc(readWords()["*"][strings.ToLower(w)], func(e entry) bool { return isAmong(" join same module ", e.class) })
}

// arg is an argument of a call, as far as its literal texts say it.
type arg struct {
	name           string
	at             int
	texts          []string
	isList, isOpen bool // isOpen: there is more than the texts
	isMade         bool // what it is was hidden
	joining
}

// joining says how the texts of an argument make one.
type joining struct {
	isWrapped bool // they stand in a call: Path("x"), join("x", "y")
	isAdded   bool // a sign joins them
	isGlued   bool // a call joins them as they are
}

func (r *reader) readArguments(i, end int) (out []arg) {
	for i < end && i < len(r.toks) && len(out) < maxArgs && r.steps < maxSteps {
		to := i
		for to < end && to < len(r.toks) && !r.isSign(to, ",") {
			to = max(r.match[to], to) + 1
			if r.lang == "lisp" {
				break
			}
		}
		a := r.readArgument(i, min(to, end))
		if !r.isSign(i, ",") {
			out = append(out, a)
		}
		if i = to; r.isSign(to, ",") {
			i++
		}
	}
	r.f.Unread = r.f.Unread || len(out) == maxArgs
	return out
}

// readArgument reads the tokens from i to end as one argument.
func (r *reader) readArgument(i, end int) arg {
	a := arg{at: i, isList: r.isSign(i, "[") || r.isSign(i, "(") || r.isSign(i, "'")}
	if r.wordAt(i) != "" && (r.isSign(i+1, "=") || r.isSign(i+1, ":") || r.isSign(i+1, "=>")) {
		a.name = r.wordAt(i)
		i += 2
	}
	for ; i < end && i < len(r.toks); i++ {
		r.steps++
		switch t, class := r.toks[i], r.classAt(i); {
		case t.kind == textTok:
			a.texts = append(a.texts[:len(a.texts):len(a.texts)], cutText(t.text))
			a.isOpen = a.isOpen || t.open
			a.isMade = a.isMade || t.made || encodings[t.text] || r.isSign(i+1, "[") || i+1 < end && r.isSign(i+1, ".") && r.d.concat != "."
		case class == "decode":
			a.isOpen, a.isMade = true, true
		case class == "home":
			a.texts, a.isWrapped = append(a.texts, "~"), true
		case class == "env" && i+2 < end && strings.EqualFold(r.toks[i+2].text, "HOME") &&
			(r.isSign(i+1, ".") || r.isSign(i+1, "{") || r.isSign(i+1, "[")):
			a.texts, a.isWrapped = append(a.texts, "~"), true
			if i += 2; r.isSign(i-1, "{") || r.isSign(i-1, "[") {
				i++
			}
		case t.text == "require" && i+3 < end && r.toks[i+2].text == "path", r.isSign(i+1, ".") && r.classAt(i+2) == "self":
			if t.text == "require" {
				i, a.isWrapped = i+3, true
			}
		case class == "glue":
			a.isGlued = i == a.at && r.isSign(i+1, "(") && r.match[i+1]+1 == end || i == a.at+1 && r.isSign(a.at, "(") && r.match[a.at]+1 == end
			a.isMade = a.isMade || !a.isGlued
		case class == "self":
			a.texts = append(a.texts, "python3")
		case class == "here":
			a.texts, a.isWrapped = append(a.texts, "."), true
		case class == "wrap":
			a.isList, a.isMade = true, a.isMade || a.isGlued
		case t.kind == wordTok && (t.text == "new" || r.isCalmWord(t.text)):
			a.isWrapped = true
		case r.isSign(i, "]") && i+1 < end && r.isSign(i+1, "."):
			a.isMade = true // ["x", "y"].join
		case r.isSign(i, "+"), r.isSign(i, r.d.concat):
			a.isAdded = true
		case t.kind == wordTok && t.text != "`", t.kind == signTok && !isAmong(" + . , ( ) [ ] ' / ! <> ", t.text):
			a.isOpen = true
		}
		if len(a.texts) > maxArgs || r.steps >= maxSteps {
			a.isOpen = true
			break
		}
	}
	if a.isGlued && len(a.texts) > 1 && !a.isOpen {
		a.texts, a.isList = []string{cutText(strings.Join(a.texts, ""))}, false
	}
	a.isList = a.isList && !a.isWrapped
	return a
}

// encodings are the names of those that hide a text.
var encodings = map[string]bool{"base64": true, "hex": true, "rot13": true, "rot_13": true, "base64url": true, "zlib": true}
