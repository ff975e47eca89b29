package touch

import (
	"regexp"
	"slices"
	"strings"
)

// told are the programs that take what they run from a file of their own kind,
// and read one on their input as well.
var told = set("ninja just task go-task ant gradle gradlew scons rake nox invoke ansible-playbook cmake nmap incrontab ssh scp sftp nroff groff troff gp jupyter zx sbatch " +
	"terraform tofu nvim crystal swipl octave maxima gnuplot pytest supervisord procmail fetchmail logrotate conky i3 sway sxhkd")

// projectFiles are the files of a project in which a program finds what it
// runs.
var projectFiles = map[string]string{
	"npm": "package.json", "yarn": "package.json", "pnpm": "package.json", "bun": "package.json", "just": "justfile Justfile", "task": "Taskfile.yml Taskfile.yaml",
	"rake": "Rakefile", "ninja": "build.ninja", "nox": "noxfile.py", "tox": "tox.ini", "scons": "SConstruct", "foreman": "Procfile", "honcho": "Procfile",
	"gradle": "build.gradle build.gradle.kts", "ant": "build.xml", "pre-commit": ".pre-commit-config.yaml", "cargo": "build.rs .cargo/config.toml",
}

// configured reads the files that a program is told to run things by, where the
// line itself makes them: "just -f <(printf …)", "echo … > package.json; npm
// run x". What they hold is in a language of their own: only a loss counts.
func (s *shell) configured(name string, args []field, in stream) {
	if _, known := useOf(name); known || textual[name] && name != "task" && name != "terraform" && name != "tofu" && name != "cargo" && name != "go" {
		return
	}
	_, lang := interpreter(name)
	for i, a := range args {
		switch {
		case a.proc != nil && a.proc.known && !shells[name] && !lang:
			s.toldBy(a.proc.text)
		case told[name] && slices.Contains([]string{"-", "/dev/stdin", "/dev/fd/0"}, a.text) && in.known:
			s.toldBy(in.text)
			return
		case name == "go" && strings.HasSuffix(a.text, ".go"), told[name] && i > 0 && args[i-1].text[0] == '-':
			if m, ok := s.madeFile(a.text); ok && m.known {
				s.toldBy(m.text)
			}
		}
	}
	if told[name] && in.known {
		s.toldBy(in.text)
	}
	for f := range strings.FieldsSeq(projectFiles[name]) {
		if m, ok := s.madeFile(f); ok && m.known {
			s.toldBy(m.text)
		}
	}
}

var unmarked = strings.NewReplacer(`"`, " ", "'", " ", "`", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ", "<", " ", ">", " ", "(", " ", ")", " ", `\`, " ", "!", " ", "$", " ", "REMOVE_RECURSE", "rm -rf")

// antDeletes is how Ant removes a folder.
var antDeletes = regexp.MustCompile(`<delete\s[^>]*\bdir\s*=\s*"([^"]+)"`)

// toldBy reads the text of such a file.
func (s *shell) toldBy(text string) {
	if len(text) > maxCode {
		s.spent.over = true
		return
	}
	if !namesScary(text) && !strings.Contains(text, "REMOVE_RECURSE") && !strings.Contains(text, `"/`) && !strings.Contains(text, `"~`) {
		return
	}
	s.try(func(f *shell) { f.code(field{text: text, bare: text}, "") })
	for _, m := range antDeletes.FindAllStringSubmatch(text, 16) {
		s.removeOne(field{text: m[1], bare: m[1]}, true)
	}
	n := 0
	for line := range strings.Lines(unmarked.Replace(text)) {
		if n++; n > maxItems {
			s.spent.over = true
			return
		}
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' && !strings.HasPrefix(t, "//") || strings.HasPrefix(t, "//go:generate") {
			s.try(func(f *shell) { f.attempt("", literals(strings.Fields(t))) })
		}
	}
}

// texRuns is how TeX runs a command, texReads how it reads a file; roff has
// its requests.
var (
	texRuns   = regexp.MustCompile(`\\(?:immediate\s*)?write18\s*\{([^}]*)\}|\\directlua\s*\{(.*)\}|\\input\|"?([^"]*)`)
	texReads  = regexp.MustCompile(`\\(?:input|include|openin\d*=?|verbatiminput|lstinputlisting)\s*\{?\s*([~/][^}\s\\]*)`)
	roffRuns  = regexp.MustCompile(`(?m)^[.']\s*(?:sy|pso|open\w*)\s+(.*)$`)
	roffReads = regexp.MustCompile(`(?m)^[.']\s*(?:so|mso|cf|trf)\s+(\S+)`)
	incReads  = regexp.MustCompile(`(?m)^\s*#\s*include(?:_next)?\s*["<]([~/][^">]+)`)
	texts     = set("tex pdftex latex pdflatex xelatex xetex lualatex luatex context latexmk")
	roffs     = set("nroff groff troff man-db soelim")
	compilers = set("gcc g++ cc c++ clang clang++ cpp tcc")
)

// typeset reads what typesetters and compilers are told by their own text.
func (s *shell) typeset(name string, args []field, in stream) {
	var list []string
	if in.known {
		list = append(list, in.text)
	}
	if texts[name] {
		for _, a := range args {
			list = append(list, a.text)
		}
	}
	for _, t := range list {
		switch {
		case texts[name]:
			for _, m := range texRuns.FindAllStringSubmatch(t, 16) {
				s.hooked(field{text: m[1] + m[3], bare: m[1] + m[3]})
				if m[2] != "" {
					s.code(field{text: m[2], bare: m[2]}, "lua")
				}
			}
			s.readsAll(texReads, t)
		case roffs[name]:
			for _, m := range roffRuns.FindAllStringSubmatch(t, 16) {
				s.hooked(field{text: m[1], bare: m[1]})
			}
			s.readsAll(roffReads, t)
		case compilers[name]:
			s.readsAll(incReads, t)
		}
	}
}

func (s *shell) readsAll(re *regexp.Regexp, text string) {
	for _, m := range re.FindAllStringSubmatch(text, 16) {
		s.path(field{text: m[1], bare: m[1]}, Read)
	}
}

// pythonModules are those that run code among their arguments, or on their
// input, and the options that take it.
var pythonModules = map[string]string{"timeit": "-s --setup", "pdb": "-c", "trace": "", "code": "", "cProfile": "-c", "profile": "-c", "IPython": "-c", "asyncio": "", "bdb": "", "ptpython": "-c", "bpython": "-c"}

// pythonModule reads "python -m timeit CODE" and its kin.
func (s *shell) pythonModule(args []field, in stream) {
	i := slices.IndexFunc(args, func(f field) bool { return f.text == "-m" })
	if i < 0 || i+1 >= len(args) {
		return
	}
	options, ok := pythonModules[args[i+1].text]
	if !ok {
		return
	}
	for _, a := range args[i+2:] {
		if args[i+1].text == "timeit" || options != "" && strings.ContainsAny(a.text, "(") {
			s.code(a, "python")
		}
	}
	if in.known {
		s.code(field{text: in.text, bare: in.text}, "python")
	}
}

// mavenRuns reads the program that Maven's exec plugin is given in two pieces.
func (s *shell) mavenRuns(args []field) {
	program, rest := "", ""
	for _, a := range args {
		if v, ok := strings.CutPrefix(a.text, "-Dexec.executable="); ok {
			program = v
		}
		if v, ok := strings.CutPrefix(a.text, "-Dexec.args="); ok {
			rest = v
		}
	}
	if program != "" {
		s.hooked(field{text: program + " " + rest, bare: program + " " + rest})
	}
}
