package touch

import (
	"strings"
)

// language says how an interpreter takes its program.
type language struct {
	name   string   // of its dialect
	code   string   // short options whose value is the program
	stops  string   // short options that take the rest of their word
	values string   // short options that take the next word
	long   []string // options that take the program as their next word, or behind "=" or ":"
	verbs  []string // subcommands whose operand is the program
	first  bool     // the first operand is the program: awk
	plain  bool     // operands are no programs of its own
	mild   bool     // what it reads is mostly data
}

var (
	evalOption = []string{"--eval", "--evaluate", "-eval", "--expr", "--expression", "--execute"}
	nodeLike   = language{name: "js", code: "ep", stops: "rC", long: []string{"--eval", "--print", "-pe"}}
	jvmLike    = language{name: "jvm", code: "e", long: []string{"--eval", "--execute", "-execute-snippet"}, plain: true}
	lispLike   = language{name: "lisp", code: "ec", long: []string{"--eval", "-eval", "-x", "-p", "-b"}, plain: true}
	pythonLike = language{name: "python", code: "c", stops: "m", values: "WX"}
	shellLike  = language{code: "c", long: []string{"--commands", "--command"}}
	awkLike    = language{name: "awk", first: true, values: "Fvlih", code: "e"}
)

var languages = map[string]language{
	"python": pythonLike, "pypy": pythonLike, "ipython": pythonLike, "bpython": pythonLike, "jython": pythonLike, "micropython": pythonLike, "graalpy": pythonLike, "hy": {name: "lisp", code: "c"}, "sage": pythonLike, "pythonw": pythonLike, "py": pythonLike, "xonsh": pythonLike,
	"perl": {name: "perl", code: "eE", stops: "MmIDV"}, "raku": {name: "perl", code: "e", stops: "MI"}, "perl6": {name: "perl", code: "e", stops: "MI"},
	"ruby": {name: "ruby", code: "e", stops: "rIECKWT"}, "jruby": {name: "ruby", code: "e", stops: "rIECKWT"}, "truffleruby": {name: "ruby", code: "e", stops: "rIECKWT"}, "irb": {name: "ruby"}, "pry": {name: "ruby", code: "e"}, "mruby": {name: "ruby", code: "e"}, "crystal": {name: "ruby", verbs: []string{"eval"}, plain: true, mild: true},
	"node": nodeLike, "nodejs": nodeLike, "tsx": nodeLike, "ts-node": nodeLike, "ts-node-esm": nodeLike, "esno": nodeLike, "esr": nodeLike, "jiti": nodeLike, "babel-node": nodeLike, "coffee": nodeLike, "electron": nodeLike,
	"bun": {name: "js", code: "ep", long: []string{"--eval", "--print"}, plain: true}, "deno": {name: "js", verbs: []string{"eval"}, plain: true, mild: true}, "qjs": nodeLike, "d8": nodeLike, "gjs": {name: "js", code: "c"}, "mujs": {name: "js"}, "jjs": {name: "js", code: "e"}, "rhino": {name: "js", code: "e"}, "osascript": {name: "js", code: "e", values: "ls"},
	"php": {name: "php", code: "rBRE", values: "dzcf", long: []string{"--run", "--process-code", "--process-begin", "--process-end"}}, "hhvm": {name: "php"},
	"lua": {name: "lua", code: "e", stops: "l"}, "luajit": {name: "lua", code: "e", stops: "l"}, "texlua": {name: "lua", code: "e"}, "luau": {name: "lua"}, "moon": {name: "lua", code: "e"}, "fennel": {name: "lisp", code: "e", long: evalOption},
	"tclsh": {name: "tcl"}, "wish": {name: "tcl"}, "expect": {name: "tcl", code: "c"}, "jimsh": {name: "tcl", code: "e"},
	"awk": awkLike, "gawk": awkLike, "mawk": awkLike, "nawk": awkLike, "goawk": awkLike, "original-awk": awkLike,
	"rscript": {name: "r", code: "e"}, "r": {name: "r", code: "e", stops: "f", plain: true}, "littler": {name: "r", code: "e"}, "julia": {name: "julia", code: "eE", long: []string{"--eval", "--print"}, stops: "LJpt"},
	"octave": {name: "r", long: evalOption}, "octave-cli": {name: "r", long: evalOption}, "matlab": {name: "r", long: []string{"-batch", "-r"}, plain: true}, "scilab": {name: "r", code: "e", plain: true}, "gnuplot": {name: "r", code: "e", mild: true}, "maxima": {name: "r", long: []string{"--batch-string"}, mild: true, plain: true},
	"elixir": {name: "elixir", code: "e", long: []string{"--eval", "--rpc-eval"}, stops: "Sr"}, "iex": {name: "elixir", code: "e", long: evalOption, plain: true}, "mix": {name: "elixir", verbs: []string{"eval"}, code: "e", plain: true, mild: true}, "erl": {name: "erlang", long: evalOption, plain: true}, "escript": {name: "erlang"},
	"groovy": {name: "jvm", code: "e"}, "groovysh": {name: "jvm", code: "e"}, "scala": jvmLike, "scala-cli": jvmLike, "amm": {name: "jvm", code: "c", plain: true}, "kotlin": jvmLike, "kotlinc": jvmLike, "kscript": jvmLike, "jshell": {name: "jvm"}, "dotnet-script": {name: "jvm", verbs: []string{"eval"}}, "csi": {name: "lisp", code: "e", long: []string{"-eval"}},
	"swift": {name: "swift", code: "e", plain: true, mild: true}, "dart": {name: "jvm", plain: true, mild: true}, "rust-script": {name: "jvm", code: "e"}, "rdmd": {name: "jvm", long: evalOption}, "nim": {name: "python", long: []string{"--eval"}, plain: true, mild: true}, "yaegi": {name: "jvm", code: "e"},
	"ghc": {name: "ml", code: "e", plain: true, mild: true}, "ghci": {name: "ml", code: "e", plain: true}, "runghc": {name: "ml", code: "e"}, "runhaskell": {name: "ml", code: "e"}, "ocaml": {name: "ml", code: "e"}, "utop": {name: "ml", code: "e"}, "stack": {name: "ml", verbs: []string{"eval"}, plain: true, mild: true}, "dune": {name: "ml", plain: true, mild: true}, "fsi": {name: "ml", long: []string{"--exec"}}, "sml": {name: "ml"}, "swipl": {name: "erlang", code: "gt", plain: true}, "gprolog": {name: "erlang", long: []string{"--query-goal", "--entry-goal"}, plain: true},
	"guile": lispLike, "racket": lispLike, "sbcl": lispLike, "clisp": lispLike, "ecl": lispLike, "ccl": lispLike, "clojure": lispLike, "clj": lispLike, "bb": lispLike, "scheme": lispLike, "mit-scheme": lispLike, "chez": lispLike, "gosh": lispLike, "newlisp": lispLike, "janet": lispLike, "abcl": lispLike, "gsi": lispLike,
	"nu": shellLike, "elvish": shellLike, "yash": shellLike, "osh": shellLike, "ysh": shellLike, "murex": shellLike, "mrsh": shellLike, "oksh": shellLike, "loksh": shellLike,
	"pwsh": {name: "power"}, "powershell": {name: "power"}, "pwsh-preview": {name: "power"}, "cmd": {name: "cmd"}, "command.com": {name: "cmd"},
}

// interpreter returns how name takes programs: "python3.12" is python.
func interpreter(name string) (language, bool) {
	l, ok := languages[name]
	if !ok {
		l, ok = languages[strings.TrimRight(strings.TrimSuffix(name, "t"), "0123456789.-")]
	}
	return l, ok
}

// interpret looks for a program among an interpreter's arguments, or on its
// input.
func (s *shell) interpret(name string, l language, args []field, in stream) {
	switch l.name {
	case "power":
		s.powershell(name, args, in)
		return
	case "cmd":
		s.commandCom(args, in)
		return
	}
	script := false
	for i := 0; i < len(args); i++ {
		a := args[i].text
		switch opt, val, joined := l.longOption(args[i]); {
		case opt && joined:
			s.code(val, l.name)
			script = true
		case opt && i+1 < len(args):
			i++
			s.code(args[i], l.name)
			script = true
		case opt:
		case len(a) > 1 && a[0] == '-' && a[1] != '-':
			took := s.shortOption(l, args[i:], &script)
			i += took
		case a == "-" || strings.HasPrefix(a, "--"):
		default:
			i += s.operand(name, l, args[i:], &script)
		}
	}
	switch {
	case script || flag(args, "Vvh", "version", "help"):
	case in.known:
		s.code(field{text: in.text, bare: in.text}, l.name)
	case in.open && !l.mild && !in.file: // a file's program is the file's, as an operand's is
		s.opaque(name)
	}
}

// longOption reports whether a is an option whose value is a program.
func (l language) longOption(a field) (is bool, val field, joined bool) {
	for _, o := range l.long {
		if a.text == o {
			return true, field{}, false
		}
		if rest, ok := strings.CutPrefix(a.text, o); ok && (rest[0] == '=' || rest[0] == ':') && len(rest) > 1 {
			return true, field{text: rest[1:], bare: rest[1:], unknown: a.unknown}, true
		}
	}
	return false, field{}, false
}

// shortOption reads a cluster of short options and returns how many further
// words it takes.
func (s *shell) shortOption(l language, args []field, script *bool) int {
	a := args[0].text
	switch {
	case l.code != "" && l.inline(a[1:]):
		s.inlineCode(l, args)
		*script = true
		return 1
	case l.first && strings.HasPrefix(a, "-f"):
		*script = true
		if len(a) == 2 && len(args) > 1 {
			if args[1].proc != nil {
				s.piece("awk", l, args[1])
			}
			s.path(args[1], Read|Execute)
			return 1
		}
		s.path(args[0].cut(2), Read|Execute)
		return 0
	case len(a) == 2 && strings.IndexByte(l.values, a[1]) >= 0 && len(args) > 1:
		s.mentions(args[1:2])
		return 1
	}
	s.mentions(args[:1])
	return 0
}

// operand reads what is no option: the script, or what it is given.
func (s *shell) operand(name string, l language, args []field, script *bool) int {
	a := args[0]
	for _, v := range l.verbs {
		if a.text == v && !*script {
			*script = true
			for i := 1; i < len(args); i++ {
				if !strings.HasPrefix(args[i].text, "-") {
					s.code(args[i], l.name)
					return i
				}
			}
			return 0
		}
	}
	switch {
	case !*script && a.proc != nil && !l.first:
		s.piece(name, l, a)
	case !*script && l.first:
		s.code(a, l.name)
	case !*script && !l.plain:
		*script = true
		s.feed(name, a, stream{})
		s.mentions(args[1:]) // the rest is the script's
		return len(args) - 1
	case l.first:
		s.path(a, Read)
	default:
		s.mentions(args[:1])
	}
	*script = true
	return 0
}

// piece reads the program that <( … ) prints.
func (s *shell) piece(name string, l language, f field) {
	if f.proc.known {
		s.code(field{text: f.proc.text, bare: f.proc.text}, l.name)
		return
	}
	s.opaque(name)
}

// inline reports whether a cluster of short options holds the one for code.
func (l language) inline(cluster string) bool {
	for i := range len(cluster) {
		if strings.IndexByte(l.code, cluster[i]) >= 0 {
			return true
		}
		if strings.IndexByte(l.stops, cluster[i]) >= 0 || strings.IndexByte(l.values, cluster[i]) >= 0 {
			return false
		}
	}
	return false
}

// inlineCode reads what follows -e: the rest of the word, or the next one.
func (s *shell) inlineCode(l language, args []field) {
	at := strings.IndexAny(args[0].text[1:], l.code)
	if rest := args[0].text[at+2:]; len(rest) > 1 {
		s.code(field{text: rest, bare: rest, unknown: args[0].unknown}, l.name)
	}
	if len(args) > 1 {
		s.code(args[1], l.name)
	}
}
