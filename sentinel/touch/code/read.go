package code

import (
	"slices"
	"strings"
)

const (
	maxCode  = 64 << 10 // bytes of code
	maxSteps = 40_000   // operands read
	maxTail  = 64       // words of a call without brackets
	maxFound = 512      // findings of a kind
)

// dialectOf says how a language whose programs are calls is written. One that
// isn't listed is read as C is.
func dialectOf(lang string) dialect {
	switch lang {
	case "python":
		return dialect{comments: []string{"#"}, quotes: `"'`, concat: "+"}
	case "js":
		return dialect{comments: []string{"//", "/*"}, quotes: "\"'`", holes: '`', concat: "+", regex: true}
	case "perl":
		return dialect{comments: []string{"#"}, quotes: `"'`, holes: '$', concat: ".", regex: true, bare: true, perlish: true}
	case "ruby":
		return dialect{comments: []string{"#"}, quotes: `"'`, holes: '#', concat: "+", regex: true, bare: true, percent: true}
	case "elixir":
		return dialect{comments: []string{"#"}, quotes: `"'`, holes: '#', concat: "<>", bare: true}
	case "php":
		return dialect{comments: []string{"//", "#", "/*"}, quotes: `"'`, holes: '$', concat: ".", bare: true}
	case "lua":
		return dialect{comments: []string{"--"}, quotes: `"'`, concat: "..", decimal: true, bare: true}
	case "awk":
		return dialect{comments: []string{"#"}, quotes: `"`, concat: "juxtapose", regex: true}
	}
	return compiledDialect(lang)
}

// compiledDialect is dialectOf for the languages that aren't mostly scripts.
func compiledDialect(lang string) dialect {
	switch lang {
	case "r":
		return dialect{comments: []string{"#"}, quotes: `"'`, concat: "+"}
	case "julia":
		return dialect{comments: []string{"#"}, quotes: `"`, holes: '$', concat: "*"}
	case "erlang":
		return dialect{comments: []string{"%"}, quotes: `"'`, concat: "++"}
	case "lisp":
		return dialect{comments: []string{";"}, quotes: `"`, concat: "lisp"}
	case "sql":
		return dialect{comments: []string{"--", "/*"}, quotes: "'\"`", literal: true}
	case "vim":
		return dialect{quotes: `"'`, concat: "."}
	case "haskell", "ocaml", "nim", "prolog":
		return dialect{comments: []string{"--", "%", "#"}, quotes: `"`, concat: "++", bare: true}
	case "go", "scala", "kotlin", "groovy":
		holes := map[string]byte{"kotlin": '$', "groovy": '$', "scala": 0, "go": 0}[lang]
		return dialect{comments: []string{"//", "/*"}, quotes: "\"'`", holes: holes, concat: "+"}
	}
	return dialect{comments: []string{"//", "/*"}, quotes: "\"'`", concat: "+"}
}

// reader reads one program.
type reader struct {
	d     dialect
	lang  string
	toks  []token
	match []int // of an opening bracket, where it closes
	open  []int // of a closing bracket, where it opens
	vars  map[string]value
	alias map[string]string
	class []*entry // of the words
	folds []*entry // of those that only put texts together
	src   string
	words map[string]bool // in small letters, and the whole texts
	f     *Findings
	steps int

	importing, ran, process, network, raw, sends, secret, reads bool
	listed                                                      []value
	narrow                                                      string // the end of names that the code looks for
}

// Read says what text does as code in a language: "python", "js", "perl",
// "ruby", "php", "lua", "awk", "sed", "r", "julia", "tcl", "java", "groovy",
// "scala", "kotlin", "go", "elixir", "erlang", "powershell", "cmd",
// "osascript", "lisp", "vim", "ed", "gdb", "make", "m4", "dc", "jq", "sql",
// "mongo", "redis" or "cypher". Any other is read as C would be.
func Read(lang, text string) Findings {
	f := Findings{}
	if len(text) > maxCode {
		text, f.Unread = text[:maxCode], true
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", " ")
	}
	if read, ok := lineReaders()[lang]; ok {
		read(&f, text)
	} else {
		readProgram(&f, lang, text)
	}
	f.limit()
	return f
}

// limit keeps the findings to what a caller can judge.
func (f *Findings) limit() {
	if len(f.Paths) > maxFound || len(f.Commands) > maxFound || len(f.URLs) > maxFound || len(f.Inner) > maxFound {
		f.Unread = true
		f.Paths, f.Commands = f.Paths[:min(len(f.Paths), maxFound)], f.Commands[:min(len(f.Commands), maxFound)]
		f.URLs, f.Inner = f.URLs[:min(len(f.URLs), maxFound)], f.Inner[:min(len(f.Inner), maxFound)]
	}
}

func readProgram(f *Findings, lang, text string) {
	r := &reader{d: dialectOf(lang), lang: lang, f: f, vars: map[string]value{}, alias: map[string]string{}, words: map[string]bool{}}
	r.src, r.toks = text, scan(r.d, text, 0)
	r.pair()
	r.collect()
	if lang == "awk" {
		r.readAwk()
	}
	for i, t := range r.toks {
		r.noteContext(i)
		switch t.kind {
		case wordTok:
			r.readWord(i)
		case signTok:
			r.readSign(i)
		}
	}
	r.conclude()
}

// collect gathers what the whole code says before its calls are read: words,
// variables, and the folders that are listed.
func (r *reader) collect() {
	for i, t := range r.toks {
		r.noteContext(i)
		switch t.kind {
		case wordTok:
			r.words[strings.ToLower(t.text)] = true
		case textTok:
			if len(t.text) < 32 {
				r.words[strings.ToLower(t.text)] = true
			}
			r.readText(t.text)
		}
	}
	r.importing = false
	r.class, r.folds = make([]*entry, len(r.toks)), make([]*entry, len(r.toks))
	for i, t := range r.toks {
		if t.kind == wordTok {
			r.class[i], r.folds[i] = r.lookUp(t.text)
		}
	}
	for i, t := range r.toks {
		if t.kind == wordTok {
			r.assign(i)
		}
	}
	for i := range r.toks {
		if e := r.classOf(i); e.class == "list" && len(r.listed) <= maxList && (!e.weak || r.behindModule(i)) {
			if args, called := r.called(i); called {
				r.listed = append(r.listed, r.target(i, args))
			} else if r.d.bare && r.is(i-1, ".") {
				r.listed = append(r.listed, r.receiver(i))
			} else if r.is(i+1, "[") {
				r.listed = append(r.listed, value{isSet: true, list: r.argsTexts(i + 1)})
			}
		}
	}
}

func (r *reader) argsTexts(i int) (out []string) {
	for _, a := range r.args(i, 1) {
		out = append(out, a.text)
	}
	return out
}

// pair finds the brackets that belong together.
func (r *reader) pair() {
	r.match, r.open = make([]int, len(r.toks)), make([]int, len(r.toks))
	var stack []int
	for i, t := range r.toks {
		r.match[i], r.open[i] = -1, -1
		if t.kind != signTok || len(t.text) != 1 {
			continue
		}
		switch {
		case strings.Contains("([{", t.text): //nolint:gocritic // the text is looked for among signs
			r.match[i] = len(r.toks)
			stack = append(stack, i)
		case strings.Contains(")]}", t.text) && len(stack) > 0: //nolint:gocritic // the text is looked for among signs
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			r.match[top], r.open[i] = i, top
		}
	}
}

// assign remembers what a variable is, and forgets it where it is another
// thing elsewhere.
func (r *reader) assign(i int) {
	name := r.word(i)
	switch {
	case r.is(i-1, ".") && !strings.HasPrefix(name, "$"), name == "$_":
	case r.is(i+1, "=") || r.is(i+1, ":="), r.lang == "r" && r.is(i+1, "<") && r.is(i+2, "-"):
		from := i + 2
		if r.is(i+1, "<") {
			from++
		}
		v, next := r.fold(from, len(r.toks), 1)
		if next < len(r.toks) && !r.toks[next].first && r.toks[next].kind == signTok && !strings.Contains(";,)}", r.toks[next].text) { //nolint:gocritic // the text is looked for among signs
			v = unknown // an operator that isn't read
		}
		k := i
		for k > 1 && r.is(k-1, ",") && r.word(k-2) != "" {
			k -= 2
		}
		if k < i && (r.toks[k].first || k == 0 || r.is(k-1, ";") || r.is(k-1, "(") && r.match[k-1] == i+1) {
			for ; k < i; k += 2 { // a, b = …
				r.setVar(r.word(k), unknown)
			}
			v = unknown
		}
		r.setVar(name, v)
	case (r.word(i+1) == "in" || r.word(i+1) == "of") && (r.word(i-1) == "for" || r.is(i-1, "(") || r.word(i-2) == "for"):
		v, _ := r.fold(i+2, len(r.toks), 1)
		if !v.isSet {
			v = unknown
		}
		r.setVar(name, v)
	case r.is(i+2, "=") && among(" || ? % & | ^ ** && ", r.at(i+1)), among(" += -= .= *= /= =~ <> ", r.at(i+1)) && r.toks[i+1].kind == signTok,
		r.is(i+1, "=>") && r.lang == "js", r.is(i-1, "|") && r.is(i+1, "|"), r.word(i-1) == "as", r.word(i-1) == "lambda":
		r.setVar(name, unknown)
	case among(" def function fun func sub ", r.word(i-1)) && r.is(i+1, "("):
		for k := i + 2; k < r.match[i+1] && k < i+maxList; k++ {
			if r.word(k) != "" {
				r.setVar(r.word(k), unknown)
			}
		}
	}
}

func (r *reader) setVar(name string, v value) {
	if old, ok := r.vars[name]; ok && (old.text != v.text || !slices.Equal(old.list, v.list)) {
		v = unknown
	}
	if len(r.vars) < maxVars {
		r.vars[name] = v
	} else if _, ok := r.vars[name]; ok {
		r.vars[name] = unknown
	}
}

// classOf says what the word at i does in this program.
func (r *reader) classOf(i int) entry {
	if i < 0 || i >= len(r.toks) || r.class[i] == nil {
		return entry{}
	}
	return *r.class[i]
}

// foldClass says how the word at i puts texts together.
func (r *reader) foldClass(i int) entry {
	if i < 0 || i >= len(r.toks) || r.folds[i] == nil {
		return entry{}
	}
	return *r.folds[i]
}

func (r *reader) lookUp(w string) (class, fold *entry) {
	if w == "Function" && r.lang == "js" {
		return &entry{class: "eval"}, nil
	}
	w = strings.ToLower(strings.TrimLeft(w, "@"))
	if a, ok := r.alias[w]; ok {
		w = a
	}
	if i := strings.LastIndexByte(w, ':'); i >= 0 && r.d.concat == "lisp" {
		w = w[i+1:] // of a package
	}
	if i := strings.LastIndexByte(w, '/'); i >= 0 && readWords()["*"][w] == nil {
		w = w[i+1:]
	}
	for _, lang := range [...]string{r.lang, "*"} {
		list := readWords()[lang][w]
		for i := range list {
			if list[i].need != "" && !r.words[list[i].need] {
				continue
			}
			if class == nil {
				class = &list[i]
			}
			if among(" join same home char decode temp here concat ", list[i].class) && fold == nil {
				fold = &list[i]
			}
		}
	}
	return class, fold
}

// noteContext follows where names are only introduced: import, use, and
// { a, b: c } = require(…).
func (r *reader) noteContext(i int) {
	t := r.toks[i]
	if t.first || t.kind == signTok && t.text == ";" {
		r.importing = false
	}
	switch {
	case t.kind == wordTok && (t.text == "import" || t.text == "from" || t.text == "use" || t.text == "package") && !r.is(i+1, "("):
		r.importing = true
	case r.is(i, "{") && r.match[i] < len(r.toks) && (r.is(r.match[i]+1, "=") || r.word(r.match[i]+1) == "from"):
		r.importing = true
	case r.is(i, "=") && r.is(i-1, "}"):
		r.importing = false
	}
	renamed := r.word(i+1) == "as" || r.is(i+1, ":") || r.is(i+1, "=>")
	if r.importing && renamed && r.word(i) != "" && r.word(i+2) != "" && len(r.alias) < maxVars {
		r.alias[strings.ToLower(r.word(i+2))] = strings.ToLower(r.word(i))
	}
	if r.is(i, ":") && r.importing && r.lang == "python" {
		r.importing = false
	}
}

// called returns the arguments of the call at i, if it is one.
func (r *reader) called(i int) ([]arg, bool) {
	next := i + 1
	switch {
	case r.d.concat == "lisp":
		if r.is(i-1, "(") {
			return r.argsIn(next, r.match[i-1], 0), true
		}
		return nil, false
	case r.is(next, "("):
		return r.args(next, 0), true
	case next >= len(r.toks):
		return nil, false
	case r.word(i) == "`":
		return r.argsIn(next, next+1, 0), true
	}
	t := r.toks[next]
	begins := t.kind == textTok || t.kind == numTok || t.kind == wordTok && !among(stopWords, t.text) ||
		r.is(next, "[") && t.blank || r.is(next, ":") || r.is(next, `\`) || r.is(next, "<")
	if !r.d.bare || t.first || !begins {
		return nil, false
	}
	end := next
	for end < len(r.toks) && end < next+maxTail && !r.toks[end].first && !among(stopWords, r.word(end)) {
		if t := r.toks[end]; t.kind == signTok && among(" ; } ) | && || { ", t.text) {
			break
		}
		end = max(r.match[end], end) + 1
	}
	return r.argsIn(next, min(end, len(r.toks)), 0), true
}

// stopWords end a call without brackets.
const stopWords = " if unless while until for foreach do and or then end "

// receiver returns what the method at i is called on.
func (r *reader) receiver(i int) value {
	if !r.is(i-1, ".") {
		return unknown
	}
	k := i - 2
	for steps := 0; k >= 0 && steps < maxList; steps++ {
		if r.open[k] >= 0 {
			k = r.open[k]
			if k > 0 && r.word(k-1) != "" && !r.toks[k].blank {
				k--
			}
		}
		if !r.is(k-1, ".") {
			break
		}
		k -= 2
	}
	if k < 0 {
		return unknown
	}
	if r.word(k-1) == "new" {
		k--
	}
	v, _ := r.fold(k, i-1, 1)
	return v
}

// behindModule reports whether a word stands alone, or behind the name of a
// module that holds such functions.
func (r *reader) behindModule(i int) bool {
	if !r.is(i-1, ".") {
		return true
	}
	if r.is(i-2, ")") || r.is(i-2, "]") {
		k := r.open[i-2]
		return k > 0 && (r.word(k-1) == "require" || r.classOf(k-1).class == "module" || r.classOf(k-1).class == "join")
	}
	for _, e := range readWords()["*"][r.nameBefore(i)] {
		if e.class == "module" {
			return true
		}
	}
	return false
}

func (r *reader) nameBefore(i int) string {
	w := strings.ToLower(r.word(i - 2))
	if a, ok := r.alias[w]; ok {
		return a
	}
	return w
}
