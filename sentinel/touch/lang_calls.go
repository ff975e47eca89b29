package touch

import (
	"strings"
)

// What functions of other languages do, by the last of their names.
var (
	forks    = set("fork forkpty pcntl_fork vfork")
	codeRuns = set("system exec execsync execfile execfilesync spawn spawnsync popen popen2 popen3 check_call check_output getoutput getstatusoutput shell_exec passthru proc_open pcntl_exec execl execle execlp execlpe execv execve execvp " +
		"execvpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp posix_spawn capture2 capture2e capture3 open3 os_execute create_subprocess_shell create_subprocess_exec shellout system2 shell-command call-process call-process-shell-command termopen jobstart systemlist async-shell-command shell-command-to-string doshellscript run-program run-shell-command start-process process-lines callcommand readprocess")
	// runsOf are names that run a command where they belong to one of runners.
	runsOf   = set("run call cmd command execute sh shell process start exec spawn system popen")
	runners  = set("subprocess sp os child_process cp kernel process runtime getruntime sys io util vm.command deno bun proc commands platform shell")
	evalOf   = set("builtins __builtins__ window globalthis global vm kernel self module codeop")
	manyGone = set("rmtree rm_rf rm_r rm_rf! rm_r! remove_tree rimraf remove_entry remove_entry_secure remove_dir deltree removesync rmsync emptydirsync emptydir removeall removedir deletedir deleterecursively removedirectoryrecursive rmdirsync " +
		"deletedirectory delete-directory delete_directory removeitem rm_tree rmrf deleteall delete_tree removepathforcibly deletetree del_dir_r delete-directory-tree delete-directory/files")
	treeRemovers = manyGone
	oneGone      = set("remove unlink unlinksync rm rmdir removedirs delete rm_f safe_unlink unlinkf del erase delete-file deletefile file.delete rm! rmdir! removefile delete_file removeitematpath")
	codeEvals    = set("eval exec loadstring instance_eval class_eval module_eval eval_string runinthiscontext runinnewcontext runincontext invoke-expression iex eval-string execscript assert create_function fromstring! compile")
	joins        = set("join joinpath resolve path purepath posixpath pureposixpath paths.get file catfile catdir joinpath! path_join file.join pathname filename fullpath fspath expanduser expand_path abspath realpath normalize normpath get absolute joinedpath with_segments realpathsync toabsolutepath")
	unchanged    = set("str decode encode tostring string bytes bytearray strip trim chomp lstrip rstrip lower upper downcase tolowercase touppercase expanduser resolve absolute as_posix to_s to_str freeze list tuple iter sorted set text repr sync toarray vec from text_type as_string absolutepath tobytes intern values getpath to_path topath utf8 map filter flat shuffle sort unique uniq")
	hands        = set("map array_map array_walk foreach each filter apply lapply sapply walk call_user_func call_user_func_array pmap starmap submit partial flatmap some every do_each mapc mapcar for-each")
	homes        = set("home homedir")
	temps        = set("mkdtemp gettempdir tmpdir mktmpdir temporarydirectory mkdtempsync mktemp namedtemporaryfile sys_get_temp_dir tempdir tmpname mkstemp tempnam createtempdirectory tempname")
	heres        = set("getcwd cwd pwd getwd")
	listings     = set("glob iglob rglob listdir scandir iterdir walk walksync readdirsync readdir children entries find opendir list_dir ls list.files fwalk filetree filewalker walkfiles listfiles globsync")
)

// callOf is what a call gives; the call itself is kept.
func (g *program) callOf(self val, on, last string, list []val) val {
	if at := strings.LastIndexByte(on, '.'); at >= 0 {
		on = on[at+1:]
	}
	g.called(call{name: last, on: on, self: self, args: list})
	first := unknownVal()
	if len(list) > 0 {
		first = list[0]
	}
	if hands[last] {
		g.handed(self, list)
	}
	if v, ok := g.decoded(self, first, last, list); ok {
		return v
	}
	switch {
	case homes[last] && len(list) == 0, last == "expanduser" && first.s == "~", last == "file.expand_path" && first.s == "~":
		return textOf("~")
	case (last == "getenv" || last == "getproperty" || last == "get" && on == "environ" || last == "fetch" && on == "env" || last == "get_env" || last == "var" && on == "env") && (first.s == "HOME" || first.s == "user.home" || first.s == "USERPROFILE"):
		return textOf("~")
	case temps[last]:
		return textOf("/tmp/x")
	case heres[last]:
		return textOf(".")
	case listings[last]:
		return g.listing(self, first, last)
	}
	return g.strings(self, first, on, last, list)
}

// decoded is a call that undoes an encoding.
func (g *program) decoded(self, first val, last string, list []val) (val, bool) {
	how, from := decoding[last], first
	if how != "" && len(list) == 0 {
		from = self
	}
	switch last {
	case "decode", "unpack", "unpack1", "tostring", "from", "pack", "decode!", "decode16!", "base64":
		for i, a := range list {
			if h := encodings[strings.ToLower(a.s)]; h != "" && a.text() && (i > 0 || len(list) == 1 || last == "pack") {
				how = h
				from = first
				if i == 0 {
					from = self
				}
				if last == "pack" && i == 0 && len(list) > 1 {
					from = list[1]
				}
			}
		}
		if last == "tostring" && how != "" && !strings.ContainsAny(self.s, "=") && self.known {
			return self, true // Buffer.from(…, "base64").toString("base64") is rare
		}
	}
	if how == "" {
		return val{}, false
	}
	if from.many && len(from.list) > 0 {
		from = from.list[0]
	}
	if g.undos++; g.undos > 16 {
		return unknownVal(), true
	}
	return undo(how, from), true
}

// listing is a call that names the entries of a folder.
func (g *program) listing(self, first val, last string) val {
	base, pattern := first, "*"
	switch last {
	case "rglob", "glob", "iglob", "globsync":
		if !self.known || self.many {
			return val{s: first.s, shown: first.shown, known: first.text(), each: true}
		}
		base, pattern = self, first.s
	case "listdir", "readdirsync", "readdir", "ls", "list_dir":
		// the names alone, which are joined to the folder again
		return val{s: "*", shown: "*", known: true, each: true}
	case "children", "entries", "find", "iterdir", "list.files", "opendir":
		if base.blank() {
			base = self
		}
	case "walk":
		if base.blank() {
			base = self
		}
		if base.text() { // of the three, two are names
			return val{s: base.s, shown: base.shown, known: true, each: true}
		}
	}
	if !base.text() {
		return val{shown: "$", each: true}
	}
	v := joinPath([]val{base, textOf(pattern)}, false)
	v.each = true
	return v
}

// strings are the calls that make text of text.
func (g *program) strings(self, first val, on, last string, list []val) val {
	switch last {
	case "chr", "fromcharcode", "char", "fromcodepoint", "codepoint":
		return runes(list)
	case "map":
		if len(list) == 2 && list[1].many {
			if v := runes(list[1].list); v.known && v.s != "" {
				return val{many: true, known: true, list: []val{v}}
			}
		}
	case "bytes", "bytearray", "uint8array", "from":
		if first.many {
			return runes(first.list)
		}
		return first
	case "list":
		if g.d.comment == ";" {
			return val{many: true, list: list, known: allKnown(list)}
		}
	case "paste0", "string-append", "strcat", "str_c":
		return joinList(textOf(""), list)
	case "paste":
		return joinList(textOf(" "), list)
	case "join", "implode", "join_paths", "string-join":
		if v, ok := joinedValues(self, on, list); ok {
			return v
		}
	case "reverse", "strrev", "reversed", "reverse!":
		if len(list) == 0 {
			return reverseVal(self)
		}
		return reverseVal(first)
	default:
		return g.changed(self, first, on, last, list)
	}
	return g.paths(self, first, on, last, list)
}

// changed are the calls that change a text, cut it or fill it in.
func (g *program) changed(self, first val, on, last string, list []val) val {
	switch last {
	case "concat", "append", "plus":
		return joinList(textOf(""), append([]val{self}, list...))
	case "replace", "gsub", "sub", "replaceall", "str_replace":
		return replaced(self, list)
	case "split":
		switch {
		case first.text() && self.text():
			return splitText(self.s, first.s)
		case len(list) == 0 && self.text():
			v := val{many: true, known: true}
			for w := range strings.FieldsSeq(self.s) {
				v.list = append(v.list, textOf(w))
			}
			return v
		}
	case "format", "sprintf", "string.format":
		if self.text() && last == "format" && on != "string" {
			return format(self.s, list, true)
		}
		if len(list) > 0 && first.text() {
			return format(first.s, list[1:], false)
		}
	default:
		return g.looked(self, first, on, last, list)
	}
	return g.paths(self, first, on, last, list)
}

// looked are the calls that look something up: a function by its name, a file.
func (g *program) looked(self, first val, on, last string, list []val) val {
	switch last {
	case "getattr", "getfield", "getmethod", "attrgetter", "methodcaller", "method", "send", "__send__", "public_send":
		return g.named(list, last)
	case "read", "readfile", "readfilesync", "read_text", "read_bytes", "file_get_contents", "slurp", "readtextfilesync":
		return val{shown: "$", file: self.file || first.known}
	case "open", "fopen":
		return val{shown: "$", file: first.known && !strings.Contains(first.s, "://")}
	}
	return g.paths(self, first, on, last, list)
}

// paths are the calls that join paths, and those that change nothing here.
func (g *program) paths(self, first val, on, last string, list []val) val {
	switch {
	case joins[last] && len(list) > 0 && !first.num:
		if (last == "joinpath" || last == "resolve") && (self.text() || self.s != "") {
			list = append([]val{self}, list...)
		}
		return joinPath(list, last == "resolve" || last == "join" && on != "file")
	case unchanged[last] && (self.known || self.s != "" || self.many || self.each):
		return self
	case unchanged[last] && len(list) > 0:
		return first
	case last == "compile" && len(list) > 0:
		return first
	}
	return unknownVal()
}

// joinedValues is ", ".join(list), list.join(", "), join(", ", list), path.join(a, b).
func joinedValues(self val, on string, list []val) (val, bool) {
	switch {
	case self.many:
		sep := textOf("")
		if len(list) > 0 {
			sep = list[0]
		}
		return joinList(sep, self.list), true
	case len(list) == 1 && list[0].many && self.known:
		return joinList(self, list[0].list), true
	case len(list) == 2 && list[1].many:
		return joinList(list[0], list[1].list), true
	case len(list) > 1 && on == "" && list[0].text():
		return joinList(list[0], list[1:]), true
	}
	return val{}, false
}

func replaced(self val, list []val) val {
	if len(list) >= 3 && !self.known {
		self, list = list[2], list[:2]
	}
	if len(list) < 2 || !self.text() || !list[0].text() || !list[1].text() || len(list[1].s) > 64 || list[0].s == "" {
		return unknownVal()
	}
	return textOf(strings.ReplaceAll(self.s, list[0].s, list[1].s))
}

func splitText(s, sep string) val {
	v := val{many: true, known: true}
	if len(s) > 1024 {
		return unknownVal()
	}
	for part := range strings.SplitSeq(s, sep) {
		v.list = append(v.list, textOf(part))
	}
	return v
}

// named is a function that is looked up by its name: getattr(os, "system").
func (g *program) named(list []val, last string) val {
	for i, a := range list {
		name := strings.ToLower(a.s)
		if a.text() && (codeRuns[name] || codeEvals[name] || treeRemovers[name] || forks[name] || oneGone[name]) {
			if strings.HasSuffix(last, "send") || last == "method" {
				g.called(call{name: name, on: "kernel", args: list[i+1:]})
			}
			return val{shown: "$", fn: name}
		}
	}
	return unknownVal()
}

// handed is a function that is given to another one, which calls it with each
// of what it is given as well: map(os.remove, list).
func (g *program) handed(self val, list []val) {
	for i, f := range list {
		name := f.fn
		if t := strings.ToLower(f.s); name == "" && f.text() && (codeRuns[t] || treeRemovers[t] || oneGone[t] || forks[t]) {
			name = t
		}
		if name == "" {
			continue
		}
		given := append(append([]val{}, list[:i]...), list[i+1:]...)
		if len(given) == 0 {
			given = []val{self}
		}
		for _, v := range given {
			g.called(call{name: name, on: "os", args: []val{v}})
		}
	}
}

func (g *program) called(c call) {
	if len(g.calls) >= maxCalls || g.inner > 0 && !g.last {
		return
	}
	// What a function does with a parameter is done by its callers.
	for _, a := range c.args {
		if a.param != "" && g.owner[a.param] == "" && (c.runs() || c.evals(g.d) || c.removesTree()) {
			g.owner[a.param] = c.name
		}
	}
	if as := g.owner[c.name+"()"]; as != "" {
		g.calls = append(g.calls, call{name: as, on: "os", args: c.args})
	}
	g.calls = append(g.calls, c)
}

func (c call) runs() bool {
	return codeRuns[c.name] && !(c.name == "exec" && c.self.known) || runsOf[c.name] && runners[c.on]
}

func (c call) evals(d dialect) bool {
	switch c.name {
	case "exec":
		return d.holes == "f" && (c.on == "" || evalOf[c.on])
	case "function":
		return d.holes == "`"
	case "assert", "create_function":
		return d.dot && d.quotes == 0
	case "compile", "fromstring!", "iex":
		return false
	case "eval":
		return c.on == "" || evalOf[c.on]
	}
	return codeEvals[c.name] || c.name == "load" && d.decimal
}

func (c call) removesTree() bool { return treeRemovers[c.name] }
