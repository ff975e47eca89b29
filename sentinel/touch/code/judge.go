package code

import (
	"slices"
	"strings"
)

// judgeWordAt looks at one word and what is beside it.
func (r *reader) judgeWordAt(i int) {
	e, low := r.lookUpWord(r.wordAt(i)), strings.ToLower(r.wordAt(i))
	r.process = r.process || low == "child_process" || low == "subprocess" || low == "pty"
	args, called := r.readCallArguments(i)
	for _, other := range readWords()["*"][low] { // a word may be of the network or a database besides
		r.readNetworkCall(other.class, low, args)
		if other.class == "statement" {
			r.readStatement(i)
		}
	}
	if r.isSign(i-1, ".") && r.classAt(i-2) == "net" {
		r.readNetworkCall("net", low, args)
	}
	switch {
	case r.lang == "php" && e.class == "" && strings.HasPrefix(low, "$") && r.isSign(i+1, "(") && !r.isSign(i-1, "."):
		r.f.Unread = true // a call whose name only shows when it runs
	case e.class == "env" && !r.importing:
		r.readEnvironment(i, low)
	case e.class == "", r.importing && e.class != "byname", e.weak && (!r.behindModule(i) || !called && !r.isSign(i-1, ".")):
	case r.wordAt(i-1) == "def" || r.wordAt(i-1) == "function" || r.wordAt(i-1) == "sub":
	case e.class == "never":
		r.f.Unread = true
	case e.class == "input":
		r.f.Input = true
	case e.class == "fork":
		if r.loopsWithoutWaiting() {
			r.f.addEffect("fork_bomb")
		}
	default:
		r.judgeCallAt(i, e, low, args, called)
	}
}

func (r *reader) judgeCallAt(i int, e entry, low string, args []arg, called bool) {
	switch e.class {
	case "folder":
		if called && len(args) > 0 && len(args[0].texts) > 0 && !args[0].isOpen {
			r.folder = r.resolveInFolder(strings.Join(args[0].texts, "/"))
		}
	case "run":
		if !called || len(args) == 0 {
			if args = []arg{r.readReceiver(i)}; len(args[0].texts) == 0 {
				r.ran = true
				r.f.Unread = r.f.Unread || !e.weak || called && r.isSign(i+1, "(")
				return
			}
		}
		r.readStartedProcess(args)
	case "remove":
		r.readRemoval(i, low, args, called)
	case "mode", "owner", "move":
		r.readTreeChange(i, e.class, args, called)
	case "kill":
		for k, a := range args {
			if r.isSign(a.at, "-") && a.at+1 < len(r.toks) && r.toks[a.at+1].text == "1" && (k == 0 || r.d.bare) {
				r.f.addEffect("kill_all")
			} else if a.isOpen && k == 0 && !r.isSign(a.at, "-") && !r.d.bare {
				r.f.Unread = true
			}
		}
	case "eval":
		r.readEvaluatedText(i, args, called)
	case "byname":
		r.readCallByName(low, args)
	case "write", "open", "read", "list":
		switch {
		case !called:
		case e.class == "open":
			r.readOpenedFile(i, args)
		case e.class == "write":
			r.placeArgument(r.targetOfCall(i, args), Path{Access: ToWrite})
		default:
			r.placeArgument(r.targetOfCall(i, args), Path{Access: ToRead, Names: e.class == "list"})
		}
	}
}

// targetOfCall is the first argument, or what the method is called on.
func (r *reader) targetOfCall(i int, args []arg) arg {
	if v := r.readReceiver(i); len(args) == 0 || len(v.texts) > 0 && !v.isOpen {
		return v
	}
	return args[0]
}

// readStartedProcess reads a call that starts a process with these words.
func (r *reader) readStartedProcess(args []arg) {
	r.ran = true
	first, folder := args[0], r.findStartFolder(args)
	words, isList, open := first.texts, first.isList, first.isOpen || first.isMade || !first.isList && len(first.texts) != 1
	for _, a := range args[1:] {
		plain := r.lang != "js" && r.lang != "php" && len(a.texts) > 0
		if (a.isList || plain) && a.name == "" && !r.isSign(a.at, "{") {
			words, isList = append(words[:len(words):len(words)], a.texts...), true
		}
		hidden := a.isList && (a.isOpen || a.isMade) || a.isOpen && r.lang != "python" && r.lang != "js" && r.lang != "lisp"
		open = open || a.name == "" && !r.isSign(a.at, "{") && hidden || r.isSign(a.at, "{") && r.wordAt(a.at+1) == "args"
	}
	r.f.Unread = r.f.Unread || open || slices.ContainsFunc(words, mayBeCut)
	if len(words) == 0 {
		return
	}
	if len(words) > 1 && words[0] == words[1] {
		words = words[1:]
	}
	last := strings.TrimSpace(words[len(words)-1])
	if r.loopsWithoutWaiting() && strings.HasSuffix(last, "&") {
		r.f.addEffect("fork_bomb")
	}
	shell := shells[strings.TrimSuffix(words[0][strings.LastIndexByte(words[0], '/')+1:], " -i")]
	r.f.Unread = r.f.Unread || shell && (last == words[0] || last == "-i" || last == "-l" || last == "-") // what it runs comes from elsewhere
	if isList {
		r.f.Commands = append(r.f.Commands, Command{Words: words, Folder: folder})
	} else if !first.isOpen {
		r.f.addCommandLine(words[0], folder)
	}
}

// findStartFolder returns the folder in which a process starts, empty where the code
// doesn't say.
func (r *reader) findStartFolder(args []arg) string {
	for _, a := range args {
		if (a.name == "cwd" || a.name == "chdir") && len(a.texts) > 0 {
			return r.resolveInFolder(a.texts[0])
		}
		for k := a.at; r.isSign(a.at, "{") && k < min(r.match[a.at], len(r.toks))-2; k++ {
			if r.wordAt(k) == "cwd" && r.toks[k+2].kind == textTok {
				return r.resolveInFolder(r.toks[k+2].text)
			}
		}
	}
	return r.folder
}

var shells = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "cmd": true, "cmd.exe": true, "powershell": true, "pwsh": true,
}

// single remove one file, unless they are told to take all below it.
const single = " unlink unlinksync remove delete truncate truncatesync ftruncate file.remove delete-file deletefile delete_file " +
	"deleteifexists remove_file rmdir rmdirsync safe_unlink unlinkf "

func (r *reader) readRemoval(i int, low string, args []arg, called bool) {
	if r.wordAt(i-1) == "git" || !called && !r.isSign(i-1, ".") && r.lang == "js" {
		return
	}
	p := Path{Access: ToDelete, Tree: !isAmong(single, low)}
	for _, a := range args {
		p.Tree = p.Tree || a.name == "recursive" || r.isSign(a.at, "{")
	}
	r.placeArgument(r.targetOfCall(i, args), p)
	for _, a := range args[min(1, len(args)):] {
		if r.d.bare && len(a.texts) > 0 && a.name == "" {
			r.placeArgument(a, p)
		}
	}
}

func (r *reader) readTreeChange(i int, class string, args []arg, called bool) {
	p := Path{Access: ToWrite, Tree: true, Effect: map[string]string{"mode": "chmod_tree", "owner": "chown_tree", "move": "move_tree"}[class]}
	if class == "move" {
		r.placeArgument(r.targetOfCall(i, args), Path{Access: ToRead | ToDelete, Effect: p.Effect})
		args = args[min(1, len(args)):]
		p = Path{Access: ToWrite}
	}
	found := class == "move"
	for _, a := range append(args, r.readReceiver(i)) {
		if len(a.texts) > 0 {
			found = true
			r.placeArgument(a, p)
		}
	}
	r.f.Unread = r.f.Unread || !found && called
}

// readOpenedFile reads a file that is opened: its mode says for what.
func (r *reader) readOpenedFile(i int, args []arg) {
	p := Path{Access: ToRead}
	if len(args) > 1 && r.lang == "perl" {
		args = args[1:]
	}
	v := r.targetOfCall(i, args)
	for k, a := range args {
		t := strings.TrimSpace(strings.Join(a.texts, " "))
		switch {
		case t == "|-" || t == "-|":
			r.readStartedProcess(args[min(k+1, len(args)-1):])
			return
		case strings.HasPrefix(t, "|") || len(t) > 1 && strings.HasSuffix(t, "|"):
			r.readStartedProcess([]arg{{at: a.at, texts: []string{strings.Trim(t, "| ")}}})
			return
		case strings.Trim(t, "+<>") == "" && t != "" && k+1 < len(args):
			v = args[k+1]
			fallthrough
		case r.lang == "perl" && k == 0 && t != "" && strings.IndexByte("+<>", t[0]) >= 0:
			if strings.Contains(t[:min(2, len(t))], ">") {
				p.Access = ToWrite
			}
			if k == 0 && strings.Trim(t, "+<>") != "" {
				v.texts = []string{strings.TrimLeft(t, "+<>& ")}
			}
		case isWritingMode(t) && (k > 0 || r.isSign(i-1, ".") && len(r.readReceiver(i).texts) > 0), k > 0 && r.writesByFlag(a.at):
			p.Access = ToWrite
		}
	}
	r.placeArgument(v, p)
}

func isWritingMode(t string) bool {
	return t != "" && len(t) <= 4 && strings.Trim(t, "rwxabt+cU") == "" && strings.ContainsAny(t, "wxa+c")
}

// writesByFlag reports whether an argument is like os.O_WRONLY.
func (r *reader) writesByFlag(at int) bool {
	w := r.wordAt(at + 2)
	return strings.HasPrefix(w, "O_") && w != "O_RDONLY"
}

// readEvaluatedText reads code that is run as a text.
func (r *reader) readEvaluatedText(i int, args []arg, called bool) {
	switch behind := strings.ToLower(r.wordAt(i - 2)); {
	case r.isSign(i+1, "{"), len(args) == 0 && r.isSign(i-1, "."), behind == "re" || behind == "regexp" || behind == "regex":
		return
	case !called || len(args) == 0:
	case r.wordAt(args[0].at) == "open" && !args[0].isMade && len(args[0].texts) == 1 && r.isSign(r.match[args[0].at+1]+1, "."):
		r.f.addNamedPath(Path{Text: args[0].texts[0], Access: ToRead | ToExecute}) // exec(open("setup.py").read())
		return
	case !args[len(args)-1].isOpen && len(args[len(args)-1].texts) == 1 && !args[0].isMade:
		a := args[len(args)-1]
		if strings.HasSuffix(r.wordAt(i), "file") || r.lang == "lisp" && r.wordAt(i) == "load" {
			r.f.addNamedPath(Path{Text: a.texts[0], Access: ToRead | ToExecute})
			return
		}
		r.f.Unread = r.f.Unread || r.toks[a.at].joined
		r.f.addInnerCode(r.lang, a.texts[0])
		return
	}
	r.f.Unread = true
}

// readCallByName reads what looks something up by a name that is a text.
func (r *reader) readCallByName(low string, args []arg) {
	if len(args) == 0 {
		return
	}
	named := args[0]
	if (strings.HasSuffix(low, "attr") || low == "apply") && len(args) > 1 {
		named = args[1]
	}
	name := strings.Join(named.texts, "")
	if r.isSign(named.at, ":") {
		name = r.wordAt(named.at + 1)
	} else if r.isSign(named.at, "&") || isAmong(" fn function ", r.wordAt(named.at)) {
		return // a function that stands there
	}
	loads := low == "require" || low == "import"
	r.traffic.Network = r.traffic.Network || loads && isAmong(" net raw ", r.lookUpWord(name).class)
	hidden := r.toks[named.at].joined || len(named.texts) > 1 || name == "" || named.isOpen && !r.isSign(named.at, ":")
	r.f.Unread = r.f.Unread || hidden || r.isDangerous(name)
	if loads && strings.IndexByte("/~", (name + " ")[0]) >= 0 {
		r.placeArgument(named, Path{Access: ToRead})
	}
}

// readIndexedName looks for obj["na" + "me"](…).
func (r *reader) readIndexedName(i int) {
	called := r.isSign(r.match[i]+1, "(")
	if i == 0 || r.toks[i-1].kind == textTok || r.toks[i].blank || !called && !r.isCalmWord(r.wordAt(i-1)) {
		return
	}
	t, a := r.toks[min(i+1, len(r.toks)-1)], r.readArgument(i+1, r.match[i])
	if !called {
		r.f.Unread = r.f.Unread || r.isDangerous(strings.Join(a.texts, "")) // f = os["system"]
		return
	}
	hidden := t.joined || r.isSign(i-1, "]") && r.wordAt(i+1) != "" || a.isOpen && r.isSign(i+2, "(")
	r.f.Unread = r.f.Unread || hidden || r.isDangerous(strings.Join(a.texts, ""))
}

// noteTextSigns gathers what a text says wherever it stands.
func (r *reader) noteTextSigns(t string) {
	r.narrow = r.narrow || strings.HasPrefix(t, "*.") || strings.HasPrefix(t, ".") && len(t) > 2 && len(t) < 8 || t == "__pycache__"
	r.f.Input = r.f.Input || strings.HasPrefix(t, "php://input") || strings.HasPrefix(t, "php://stdin")
	r.traffic.Sends = r.traffic.Sends || t == "POST" || t == "PUT" || t == "PATCH"
	r.process = r.process || t == "child_process" || t == "node:child_process"
	r.hint = r.hint || slices.ContainsFunc(strings.Fields(secretNames), func(s string) bool { return strings.Contains(t, s) })
	if _, p, ok := strings.Cut(t, "resource="); ok && strings.HasPrefix(t, "php://") {
		r.f.addNamedPath(Path{Text: p, Access: ToRead})
	}
	if i := strings.Index(t, "://"); i > 1 && i < 12 {
		r.f.URLs = append(r.f.URLs, cutText(t))
	}
}

const secretNames = ".ssh .ss .aws .env shadow passwd id_rsa id_ed cred secret token .kube .gnupg .netrc"

// wholeMethods hand out all of the environment.
const wholeMethods = " items copy each each_pair map keys values sort inspect toObject "

// readEnvironment looks at the environment: as a whole, or a part of it.
func (r *reader) readEnvironment(i int, low string) {
	if strings.TrimLeft(low, "$%@") == "env" && !r.isSign(i-1, ".") && !r.d.bare && r.lang != "julia" {
		return
	}
	method := r.wordAt(i + 2)
	part := r.isSign(i+1, "[") || r.isSign(i+1, "{") || r.isSign(i+1, "(") && !r.isSign(i+2, ")") ||
		r.isSign(i+1, ".") && method != "" && !isAmong(wholeMethods, method) && !strings.HasPrefix(method, "to_")
	r.f.Environment = r.f.Environment || !part
	for _, s := range [...]string{"KEY", "TOKEN", "SECRET", "PASS", "CRED", "AUTH"} {
		for k := i + 1; k < min(i+4, len(r.toks)); k++ {
			r.f.Credential = r.f.Credential || strings.Contains(strings.ToUpper(r.toks[k].text), s)
		}
	}
	r.reads = r.reads || r.f.Credential
}

// readStatement reads the text that is handed to a database.
func (r *reader) readStatement(i int) {
	if t := i + 2; r.isSign(i+1, "(") && r.isSign(i-1, ".") && t < len(r.toks) && r.toks[t].kind == textTok && len(r.f.Inner) <= maxFound {
		r.f.addInnerCode("sql", r.toks[t].text)
	}
}

func (r *reader) readNetworkCall(class, low string, args []arg) {
	switch class {
	case "send":
		r.traffic.Sends = r.traffic.Sends || !r.importing
		return
	case "raw":
		r.raw = r.raw || low != "socket" || !r.words["gethostname"]
	case "net", "dial":
	default:
		return
	}
	r.traffic.Network = true
	for _, a := range args {
		for _, t := range a.texts {
			r.f.Unread = r.f.Unread || strings.HasSuffix(t, "://") || strings.Contains(t, "://.") // a machine that it doesn't name
			bare := class == "dial" && strings.ContainsAny(t, ".:") && !strings.ContainsAny(t, " \n$")
			if bare && !slices.Contains(r.f.URLs, t) && len(r.f.URLs) < maxFound {
				r.f.URLs = append(r.f.URLs, t)
			}
		}
	}
}

// loopsWithoutWaiting reports whether the code has a loop and no word that takes time.
func (r *reader) loopsWithoutWaiting() bool {
	has := func(words string) bool {
		return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return r.words[w] })
	}
	return has("while loop for redo until setinterval") && !has("wait waitpid waitall sleep _exit exit")
}

// placeArgument adds the paths that an argument names, or says that they can't be known.
func (r *reader) placeArgument(a arg, p Path) {
	if a.isWrapped && !a.isOpen && !a.isList && len(a.texts) > 1 {
		joined := a.texts[0]
		for _, t := range a.texts[1:] {
			switch {
			case a.isAdded && strings.HasPrefix(t, "/"):
				joined += t
			case strings.HasPrefix(t, "/"):
				joined = t
			default:
				joined = strings.TrimSuffix(joined, "/") + "/" + t
			}
		}
		a.texts = []string{cutText(joined)}
	}
	r.reads = r.reads || p.Access&ToRead != 0
	r.f.Unread = r.f.Unread || a.isMade
	for _, t := range a.texts {
		below := t != "" && strings.IndexByte("$/~", t[0]) < 0 && !strings.Contains(t, "..") && t[min(1, len(t)-1)] != ':'
		switch p.Text = r.resolveInFolder(t); {
		case strings.Contains(t, "://") && !strings.HasPrefix(t, "file:"):
			r.traffic.Network = true
		case !a.isOpen || below && r.toks[a.at].text == t:
			r.f.addNamedPath(p)
		case p.Access == ToRead:
			r.f.Unread = r.f.Unread || r.hint || strings.IndexByte("/~", (t + "$")[0]) >= 0 || strings.Trim(t, "$./") == ""
		default:
			r.placeListed(p)
		}
	}
	if r.f.Unread = r.f.Unread || p.Access == ToRead && a.isOpen && r.hint; len(a.texts) == 0 && p.Access != ToRead {
		r.placeListed(p)
	}
}

// resolveInFolder is where a relative path leads from the folder that the code changed to.
func (r *reader) resolveInFolder(t string) string {
	if r.folder == "" || t == "" || strings.IndexByte("/~$", t[0]) >= 0 || strings.Contains(t, ":") {
		return t
	}
	return strings.TrimSuffix(r.folder, "/") + "/" + t
}

// placeListed puts what the code goes through in the place of an operand that
// can't be known. A name below a relative folder is daily work.
func (r *reader) placeListed(p Path) {
	r.f.Unread = r.f.Unread || len(r.listed) == 0 || len(r.listed) == maxArgs
	for _, l := range r.listed {
		r.f.Unread = r.f.Unread || l.isOpen || len(l.texts) == 0
		for _, t := range l.texts {
			wide := t == "" || t[0] == '/' || t[0] == '~' || strings.HasPrefix(t, "..")
			r.f.Unread = r.f.Unread || wide || strings.Trim(t, "./*") == "" && !r.narrow
			if p.Text, p.Tree = t, true; wide || strings.Trim(t, "./*") != "" {
				r.f.addNamedPath(p)
			}
		}
	}
}

// weighWholeCode weighs what only the whole code says.
func (r *reader) weighWholeCode() {
	f, found := r.f, map[string]bool{}
	for _, p := range f.Paths {
		found[p.Text] = true
	}
	for _, t := range r.toks { // absolute paths that nothing else has found
		path := strings.HasPrefix(t.text, "/") && !strings.HasPrefix(t.text, "//") || strings.HasPrefix(t.text, "~/")
		if t.kind == textTok && path && len(t.text) > 1 && !found[t.text] && !strings.ContainsAny(t.text, " \n\t") {
			found[t.text] = true
			f.addNamedPath(Path{Text: t.text})
		}
	}
	sent := r.traffic.Network && (r.traffic.Sends || slices.ContainsFunc(f.URLs, func(u string) bool {
		return strings.HasSuffix(u, "?") || strings.HasSuffix(u, "=") || strings.Contains(u, "$")
	}))
	f.Network, f.Sends = f.Network || r.traffic.Network, f.Sends || sent
	f.Unread = f.Unread || r.steps >= maxSteps || r.process && !r.ran || r.raw && r.ran || sent && (f.Environment || r.reads)
}
