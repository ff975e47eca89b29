package code

import (
	"slices"
	"strings"
)

// readWord looks at one word and what is beside it.
func (r *reader) readWord(i int) {
	e := r.classOf(i)
	low := strings.ToLower(r.word(i))
	r.readSecret(i, low)
	if low == "child_process" || low == "subprocess" || low == "pty" {
		r.process = true
	}
	if r.is(i-1, ".") && r.classOf(i-2).class == "net" {
		args, _ := r.called(i)
		r.readNet("net", low, args)
	}
	if e.class == "" || r.importing && e.class != "byname" && e.class != "net" && e.class != "raw" {
		r.readVariableCall(i)
		return
	}
	args, called := r.called(i)
	if e.weak && !r.behindModule(i) {
		return
	}
	switch e.class {
	case "never":
		r.f.Unread = true
	case "input":
		r.f.Input = true
	case "net", "raw", "dial", "send":
		r.readNet(e.class, low, args)
	case "kill":
		r.readKill(args, called)
	case "fork":
		r.readFork()
	case "run", "remove", "write", "open", "mode", "owner", "move", "eval", "byname", "read", "list":
		if r.word(i-1) == "def" || r.word(i-1) == "function" || r.word(i-1) == "sub" {
			return
		}
		r.readCall(i, e, low, args, called)
	}
	for _, other := range readWords()["*"][low] { // a word may be of the network besides
		if e.class != other.class && (other.class == "net" || other.class == "raw" || other.class == "dial" || other.class == "send") {
			r.readNet(other.class, low, args)
		}
	}
}

func (r *reader) readCall(i int, e entry, low string, args []arg, called bool) {
	if !called && !r.is(i-1, ".") && e.weak {
		return
	}
	switch e.class {
	case "run":
		r.readRun(i, e, args, called)
	case "remove":
		r.readRemove(i, low, args, called)
	case "write":
		if called && low == "writefile" && r.lang == "vim" && len(args) > 1 {
			r.place(args[1].value, ToWrite, false, "")
		} else if called {
			r.place(r.target(i, args), ToWrite, false, "")
		}
	case "open":
		if called {
			r.readOpen(i, args)
		}
	case "mode", "owner", "move":
		r.readChange(i, e.class, args, called)
	case "eval":
		r.readEval(i, args, called)
	case "byname":
		r.readName(low, args)
	case "read", "list":
		if called {
			from := len(r.f.Paths)
			r.place(r.target(i, args), ToRead, false, "")
			for k := from; k < len(r.f.Paths); k++ {
				r.f.Paths[k].Names = e.class == "list"
			}
		}
	}
}

// target is the first argument, or what the method is called on where it has
// none.
func (r *reader) target(i int, args []arg) value {
	if v := r.receiver(i); v.text != "$" && !v.open || len(args) == 0 {
		if v.text != "$" || v.isSet || len(args) == 0 {
			return v
		}
	}
	for _, a := range args {
		if a.name == "" || a.name == "path" || a.name == "file" || a.name == "atPath" {
			return a.value
		}
	}
	return unknown
}

func (r *reader) readRun(i int, e entry, args []arg, called bool) {
	r.ran = true
	if !called || len(args) == 0 {
		if v := r.receiver(i); !v.open {
			r.addCommand(v.texts(), v.isSet)
		} else if !e.weak || called && r.is(i+1, "(") {
			r.f.Unread = true
		}
		return
	}
	var words []string
	first := args[0]
	open := first.open
	isList := first.isSet
	words = append(words, first.texts()...)
	made := first.made
	for _, a := range args[1:] {
		made = made || a.made
		more := r.lang != "js" && r.lang != "php" && r.lang != "awk" && a.name == ""
		switch {
		case r.is(a.at, "{") || a.name != "":
		case a.isSet, more && a.text != "$":
			words, isList, open = append(words, a.texts()...), true, open || a.open
		case more && a.open && r.lang != "python" && r.lang != "lisp":
			open = true
		}
	}
	if len(words) > 1 && words[0] == words[1] {
		words = words[1:]
	}
	r.f.Unread = r.f.Unread || open || made
	r.addCommand(words, isList)
}

var shells = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "cmd": true, "cmd.exe": true, "powershell": true, "pwsh": true,
}

func (r *reader) addCommand(words []string, isList bool) {
	if len(words) == 0 {
		return
	}
	last := strings.TrimSpace(words[len(words)-1])
	if r.loops() && strings.HasSuffix(last, "&") {
		r.f.Effects = append(r.f.Effects, "fork_bomb")
	}
	first := words[0][strings.LastIndexByte(words[0], '/')+1:]
	switch last {
	case words[0], "-i", "-l", "-":
		r.f.Unread = r.f.Unread || shells[strings.TrimSuffix(first, " -i")] // what it runs comes from elsewhere
	}
	switch {
	case len(words) == 1 && strings.Trim(words[0], "$ ") == "":
	case isList:
		r.f.Commands = append(r.f.Commands, Command{Words: slices.Clone(words)})
	default:
		r.f.Commands = append(r.f.Commands, Command{Line: words[0]})
	}
}

// single remove one file, unless they are told to take all below it.
const single = " unlink unlinksync remove delete truncate truncatesync ftruncate file.remove delete-file deletefile delete_file " +
	"deleteifexists remove_file rmdir rmdirsync safe_unlink unlinkf "

func (r *reader) readRemove(i int, low string, args []arg, called bool) {
	if r.word(i-1) == "git" || r.is(i-1, ":") && !called {
		r.f.Unread = r.f.Unread || r.is(i-1, ":")
		return
	}
	if !called && !r.is(i-1, ".") && r.lang == "js" {
		return
	}
	v := r.target(i, args)
	tree := !among(single, low)
	for k, a := range args {
		tree = tree || a.name == "recursive" || r.is(a.at, "{") || k > 0 && r.lang == "vim" && strings.Contains(a.text, "r")
	}
	if r.d.bare || r.lang == "lisp" {
		for _, a := range args[min(1, len(args)):] {
			if a.text != "$" && !a.open && a.name == "" {
				v = joinValues(value{isSet: true, list: v.texts(), open: v.open}, a.value, "")
			}
		}
	}
	r.place(v, ToDelete, tree, "")
}

func (r *reader) readChange(i int, class string, args []arg, called bool) {
	effect := map[string]string{"mode": "chmod_tree", "owner": "chown_tree", "move": "move_tree"}[class]
	if class == "move" {
		v := r.target(i, args)
		r.place(v, ToRead|ToDelete, false, effect)
		for _, a := range args[min(1, len(args)):] {
			if !a.open && a.text != v.text {
				r.place(a.value, ToWrite, false, "")
			}
		}
		return
	}
	if v := r.receiver(i); !v.open && v.text != "" {
		r.place(v, ToWrite, false, effect)
		return
	}
	found := false
	for _, a := range args {
		if a.isSet || a.text != "" && (a.open || r.toks[a.at].kind != numTok) && a.name == "" {
			found = true
			r.place(a.value, ToWrite, true, effect)
		}
	}
	r.f.Unread = r.f.Unread || !found && called
}

// readOpen reads a file that is opened: its mode says for what.
func (r *reader) readOpen(i int, args []arg) {
	access := ToRead
	v := r.target(i, args)
	if len(args) > 1 && (r.lang == "perl" || v.open && r.toks[args[0].at].kind == wordTok && r.d.bare && r.lang != "ruby") {
		args = args[1:]
		v = args[0].value
	}
	if r.is(i-1, ".") && len(args) == 1 && isMode(args[0].text) && !v.open && v.text == args[0].text {
		v = r.receiver(i)
	}
	for k, a := range args {
		t := strings.TrimSpace(a.text)
		switch {
		case a.open:
			if k < len(args)-1 || k == 0 {
				continue
			}
			if strings.Contains(r.textOf(a.at, 12), "O_") && !strings.Contains(r.textOf(a.at, 12), "O_RDONLY") {
				access = ToWrite
			}
		case t == "|-" || t == "-|":
			r.readRun(i, entry{}, args[k+1:], true)
			return
		case strings.HasPrefix(t, "|") || len(t) > 1 && strings.HasSuffix(t, "|"):
			r.addCommand([]string{strings.Trim(t, "| ")}, false)
			return
		case k > 0 && isMode(t):
			access = ToWrite
		case r.lang == "perl" && strings.Trim(t, "+<>") == "" && t != "":
			if t != "<" {
				access = ToWrite
			}
			if k+1 < len(args) {
				v = args[k+1].value
			}
		case r.lang == "perl" && k == 0 && strings.IndexByte("+<>", (t + " ")[0]) >= 0:
			if strings.Contains(t[:min(2, len(t))], ">") {
				access = ToWrite
			}
			v.text = strings.TrimLeft(t, "+<>& ")
		}
	}
	r.place(v, access, false, "")
}

func isMode(t string) bool {
	return t != "" && len(t) <= 4 && strings.Trim(t, "rwxabt+cU") == "" && strings.ContainsAny(t, "wxa+c")
}

// textOf is the words from i on, for a look at what they are.
func (r *reader) textOf(i, n int) string {
	var b strings.Builder
	for k := i; k < len(r.toks) && k < i+n; k++ {
		b.WriteString(r.toks[k].text)
		b.WriteByte(' ')
	}
	return b.String()
}

// readEval reads code that is run as a text.
func (r *reader) readEval(i int, args []arg, called bool) {
	switch {
	case r.is(i+1, "{"), called && len(args) == 0 && r.is(i-1, "."):
	case !called:
		r.f.Unread = r.f.Unread || !r.is(i-1, ".")
	case r.is(i-1, ".") && (r.nameBefore(i) == "re" || r.nameBefore(i) == "regexp"):
	case len(args) == 0:
		r.f.Unread = true
	case r.word(i) == "Function" && !args[len(args)-1].open:
		r.f.Inner = append(r.f.Inner, Inline{r.lang, args[len(args)-1].text})
	case !args[0].open && !args[0].isSet:
		r.f.Unread = r.f.Unread || args[0].made || r.inPieces(args[0].at)
		if strings.HasSuffix(r.word(i), "file") || r.lang == "lisp" && r.word(i) == "load" {
			r.f.add(Path{Text: args[0].text, Access: ToRead | ToExecute})
			return
		}
		r.f.Inner = append(r.f.Inner, Inline{r.lang, args[0].text})
	case r.word(args[0].at) == "open" && r.is(args[0].at+1, "("): // exec(open("setup.py").read())
		inner := r.args(args[0].at+1, 1)
		if len(inner) == 0 || inner[0].open || len(args) > 1 && args[1].name == "" && r.lang != "python" {
			r.f.Unread = true
			return
		}
		end := r.match[args[0].at+1]
		if !r.is(end+1, ".") || r.word(end+2) != "read" || !r.is(end+5, ")") {
			r.f.Unread = true
		}
		r.f.add(Path{Text: inner[0].text, Access: ToRead | ToExecute})
	default:
		r.f.Unread = true
	}
}

// readName reads what looks something up by a name that is a text.
func (r *reader) readName(low string, args []arg) {
	if len(args) == 0 {
		return
	}
	named := args[0]
	if (strings.HasSuffix(low, "attr") || low == "apply") && len(args) > 1 {
		named = args[1]
	}
	name := strings.ToLower(strings.TrimLeft(named.text, ":$"))
	symbol := r.is(named.at, ":") && r.word(named.at+1) != ""
	if symbol {
		name = strings.ToLower(r.word(named.at + 1))
	}
	r.f.Unread = r.f.Unread || r.inPieces(named.at)
	if e := readWords()["*"][strings.TrimPrefix(name, "node:")]; low == "require" && len(e) > 0 && e[0].class == "net" {
		r.network = true
	}
	switch {
	case r.is(named.at, "&") || strings.HasPrefix(low, "array_") && r.toks[named.at].kind == wordTok && named.open:
		if r.word(named.at) == "fn" || r.word(named.at) == "function" {
			return
		}
		r.f.Unread = r.f.Unread || !r.is(named.at, "&")
	case named.open && !symbol:
		r.f.Unread = true
	case strings.HasSuffix(name, "child_process") || name == "subprocess" || name == "pty":
		r.process = true
	case low == "require" || low == "import":
		r.f.Unread = r.f.Unread || r.isDangerous(name)
		if strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~") {
			r.place(named.value, ToRead, false, "")
		}
	default:
		r.f.Unread = r.f.Unread || r.isDangerous(name)
	}
}

// inPieces reports whether the text at i is put together from more: a name or
// code that is written so hides what it is.
func (r *reader) inPieces(i int) bool {
	if i+1 >= len(r.toks) || r.toks[i].kind != textTok {
		return false
	}
	return r.toks[i+1].kind == joinTok || r.is(i+1, r.d.concat) || r.is(i+1, "+") || r.is(i+1, ".")
}

// isDangerous reports whether a name is of something that runs or removes.
func (r *reader) isDangerous(name string) bool {
	for _, lang := range []string{r.lang, "*"} {
		for _, e := range readWords()[lang][name] {
			switch e.class {
			case "run", "remove", "eval", "never", "mode", "owner", "fork", "kill":
				return true
			}
		}
	}
	return false
}

// readVariableCall looks for a call whose name only shows when it runs.
func (r *reader) readVariableCall(i int) {
	if r.lang == "php" && strings.HasPrefix(r.word(i), "$") && r.is(i+1, "(") && !r.is(i-1, ".") {
		r.f.Unread = true
	}
}

// readSign looks for obj["na" + "me"](…).
func (r *reader) readSign(i int) {
	switch {
	case r.is(i, "!") && r.toks[i].first && r.lang == "python": // IPython
		line, _, _ := strings.Cut(r.src[r.toks[i].at+1:], "\n")
		r.f.addLine(strings.TrimLeft(line, "!"))
	case r.is(i, "[") && r.is(r.match[i]+1, "(") && i > 0 && r.toks[i-1].kind != textTok && !r.toks[i].blank:
		v, _ := r.fold(i+1, r.match[i], 1)
		made := r.inPieces(i+1) || r.is(i-1, "]") && r.word(i+1) != "" || v.open && r.is(i+2, "(")
		r.f.Unread = r.f.Unread || made || !v.open && r.isDangerous(strings.ToLower(v.text))
	case r.is(i, "&") && r.word(i+1) == "" && r.is(i+1, ":") && r.isDangerous(strings.ToLower(r.word(i+2))):
		r.f.Unread = true
		if r.classOf(i+2).class == "remove" {
			r.placeListed(ToDelete, "")
		}
	case r.is(i, "!") && r.is(i-1, ".") && r.lang == "scala", r.is(i, "!!") && r.lang == "scala":
		r.readRun(i, entry{}, nil, false)
	}
}

func (r *reader) readText(t string) {
	switch {
	case len(t) > maxText:
	case strings.HasPrefix(t, "*.") || strings.HasPrefix(t, ".") && len(t) > 2 && len(t) < 8 || t == "__pycache__":
		r.narrow = strings.TrimPrefix(t, "*")
	case strings.HasPrefix(t, "php://input"), strings.HasPrefix(t, "php://stdin"):
		r.f.Input = true
	case t == "POST" || t == "PUT" || t == "PATCH":
		r.sends = true
	case t == "child_process" || t == "node:child_process":
		r.process = true
	}
	if i := strings.Index(t, "://"); i > 1 && i < 12 && !strings.HasPrefix(t, "file") {
		r.f.URLs = append(r.f.URLs, cutText(t))
	}
}

// readSecret looks for the environment: as a whole, or a secret of it.
func (r *reader) readSecret(i int, low string) {
	if !r.isEnv(i) || r.importing {
		return
	}
	plain := strings.TrimLeft(low, "$%@")
	if plain == "env" && !r.is(i-1, ".") && !r.d.bare {
		return
	}
	method := r.word(i + 2)
	single := r.is(i+1, "[") || r.is(i+1, "{") || r.is(i+1, "(") ||
		r.is(i+1, ".") && method != "" && method != "items" && method != "copy" && !strings.HasPrefix(method, "to_")
	if !single || r.is(i+1, "(") && r.is(i+2, ")") {
		r.f.Environment = true
		return
	}
	upper := strings.ToUpper(r.textOf(i+1, 4))
	for _, s := range []string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH"} {
		r.secret = r.secret || strings.Contains(upper, s)
	}
}

func (r *reader) readNet(class, low string, args []arg) {
	switch class {
	case "send":
		r.sends = r.sends || !r.importing
		return
	case "raw":
		r.raw = r.raw || low != "socket" || !r.words["gethostname"]
	}
	r.network = true
	for _, a := range args {
		for _, t := range a.texts() {
			bare := class == "dial" && strings.ContainsAny(t, ".:") && !strings.ContainsAny(t, " \n$")
			if (bare || strings.Contains(t, "://")) && !slices.Contains(r.f.URLs, t) && len(r.f.URLs) < maxFound {
				r.f.URLs = append(r.f.URLs, t)
			}
		}
	}
}

func (r *reader) readKill(args []arg, called bool) {
	if !called {
		return
	}
	for k, a := range args {
		minus := r.is(a.at, "-")
		switch {
		case minus && r.at(a.at+1) == "1" && (k == 0 || r.d.bare):
			r.f.Effects = append(r.f.Effects, "kill_all")
			return
		case !minus && a.open && k == 0 && r.lang != "perl" && r.lang != "ruby":
			r.f.Unread = true
		}
	}
}

func (r *reader) at(i int) string {
	if i < 0 || i >= len(r.toks) {
		return ""
	}
	return r.toks[i].text
}

// readFork looks for processes that breed: a fork in a loop that waits for
// nothing.
func (r *reader) readFork() {
	if r.loops() {
		r.f.Effects = append(r.f.Effects, "fork_bomb")
	}
}

// loops reports whether the code has a loop and no word that takes time.
func (r *reader) loops() bool {
	for _, w := range []string{"wait", "waitpid", "waitall", "sleep", "_exit", "exit"} {
		if r.words[w] {
			return false
		}
	}
	return r.words["while"] || r.words["loop"] || r.words["for"] || r.words["redo"] || r.words["until"] || r.words["setinterval"]
}

// place adds the paths that a value names, or says that they can't be known.
func (r *reader) place(v value, access Access, tree bool, effect string) {
	if access&ToRead != 0 {
		r.reads = true
	}
	r.f.Unread = r.f.Unread || v.made
	for _, t := range v.texts() {
		t = cutText(t)
		below := t != "" && strings.IndexByte("$/~", t[0]) < 0 && !strings.Contains(t, "..") && t[min(1, len(t)-1)] != ':'
		switch {
		case t == "":
			r.f.Unread = r.f.Unread || access != ToRead
		case strings.Contains(t, "://") && !strings.HasPrefix(t, "file:"):
			r.f.URLs = append(r.f.URLs, t)
			r.network = true
		case !v.open || below:
			r.f.add(Path{Text: t, Access: access, Tree: tree, Effect: effect})
		case access == ToRead:
			if !strings.HasPrefix(t, "$") || hints(t) {
				r.f.Unread = true
				r.f.add(Path{Text: t, Access: access})
			}
		default:
			r.placeListed(access, effect)
		}
	}
	if v.isSet && len(v.list) == 0 && access != ToRead {
		r.f.Unread = true
	}
}

// hints reports whether pieces of a name are those of a secret's.
func hints(t string) bool {
	return slices.ContainsFunc(strings.Fields(secretNames), func(s string) bool { return strings.Contains(t, s) })
}

const secretNames = ".ssh .aws .env shadow passwd id_rsa id_ed cred secret token .kube .gnupg .netrc key"

// placeListed puts the folders that the code lists in the place of an operand
// that can't be known. A name below a relative folder is daily work.
func (r *reader) placeListed(access Access, effect string) {
	if len(r.listed) == 0 || len(r.listed) > maxList {
		r.f.Unread = true
		return
	}
	for _, l := range r.listed {
		for _, t := range l.texts() {
			wide := l.open || t == "" || t[0] == '/' || t[0] == '~' || strings.HasPrefix(t, "..")
			r.f.Unread = r.f.Unread || wide || strings.Trim(t, "./*") == "" && r.narrow == ""
			if strings.Trim(t, "./*") == "" && t != "" && !wide {
				t = "./**/*" + r.narrow
			}
			if !l.open {
				r.f.add(Path{Text: t, Access: access, Tree: true, Effect: effect})
			}
		}
	}
}

// mention adds the absolute paths that stand in the code and that nothing else
// has found.
func (r *reader) mention() {
	found := map[string]bool{}
	for _, p := range r.f.Paths {
		found[p.Text] = true
	}
	for i, t := range r.toks {
		if i > 0 && (r.toks[i-1].kind == joinTok || r.is(i-1, "+") || r.is(i-1, r.d.concat)) {
			continue // the end of a longer text
		}
		if t.kind != textTok || len(t.text) < 2 || len(t.text) > maxText || found[t.text] || len(found) > maxFound {
			continue
		}
		if strings.HasPrefix(t.text, "/") && !strings.HasPrefix(t.text, "//") || strings.HasPrefix(t.text, "~/") {
			if !strings.ContainsAny(t.text, " \n\t") {
				found[t.text] = true
				r.f.add(Path{Text: t.text})
			}
		}
	}
}

// conclude weighs what only the whole code says.
func (r *reader) conclude() {
	f := r.f
	r.mention()
	if r.steps > maxSteps || r.process && !r.ran {
		f.Unread = true
	}
	if r.raw && r.ran {
		f.Unread = true // a shell for another machine
	}
	sent := r.network && (r.sends || slices.ContainsFunc(f.URLs, func(u string) bool {
		return strings.HasSuffix(u, "?") || strings.HasSuffix(u, "=") || strings.Contains(u, "$")
	}))
	f.Network, f.Sends = f.Network || r.network, f.Sends || sent
	if sent && (f.Environment || r.secret || r.reads) {
		f.Unread = true
	}
}
