package bash

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf16"
)

// lineReader reads a text whose lines are commands of a client, an editor or a
// builder: what they run counts.
type lineReader func(s *shell, text string)

// lineReaders are the languages that are no program's code, by the names that
// the table has for them.
func lineReaders() map[string]lineReader {
	return map[string]lineReader{
		"sqlite": readClientSQL, "psql": readClientSQL, "mysql": readClientSQL, "sftp": readTransfer, "crontab": readCrontab,
		"diskpart":          readDiskpart,
		"powershell-base64": readEncoded, "less": readBangs, "kak": readBangs, "mutt": readBangs, "lldb": readDebugger, "gnuplot": readPlots,
		"fzf": readEmbedded, "rpm": readEmbedded, "exim": readEmbedded,
		"matlab": readNumeric, "octave": readNumeric, "tex": readTeX, "roff": readRoff, "c": readIncludes, "urls": readURLList,
		"keys": readKeys, "commas": readCommas, "ansible": readAnsible, "puppet": readResources, "chef": readRecipes,
		"toml": readRecipe, "json": readRecipe, "yaml": readRecipe, "xml": readRecipe, "cmake": readRecipe, "recipe": readRecipe,
		"ninja": readRecipe, "just": readRecipe,
	}
}

// aliasLanguages are other names of languages that package code reads.
var aliasLanguages = map[string]string{"elisp": "lisp", "clojure": "lisp", "applescript": "osascript", "typescript": "js",
	"gradle": "groovy"}

// maxLines is how many lines of such a text are read.
const maxLines = 256

// eachLine calls read for the lines of a text, and asks where there are more
// than are read.
func (s *shell) eachLine(text string, read func(line string)) {
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxLines {
			s.addUnread(UnreadBudget)
			return
		}
		read(strings.TrimSpace(line))
	}
}

// bangs are how clients and editors say that a line is the shell's.
var bangs = []string{"!", "shell ", ".shell ", ".sh ", ".system ", `\!`, "platform shell ", "shell-escape ", "system ", "r !", "w !",
	"e !", "%!", "silent !", "~!"}

// copyProgram is how PostgreSQL runs a command.
var copyProgram = regexp.MustCompile(`(?i)\bprogram\s+'([^']*)'`)

func readBangs(s *shell, text string) {
	s.eachLine(text, func(line string) {
		line = strings.TrimLeft(line, " \t:+")
		if m := copyProgram.FindStringSubmatch(line); m != nil {
			s.runHook(literalField(m[1]))
		}
		for _, mark := range bangs {
			if cmd, ok := strings.CutPrefix(line, mark); ok {
				s.runHook(literalField(cmd))
				return
			}
		}
	})
}

func readDebugger(s *shell, text string) {
	readBangs(s, text)
	s.eachLine(text, func(line string) {
		if script, ok := strings.CutPrefix(line, "script "); ok {
			s.readInline("python", script, 1)
		}
	})
}

func readPlots(s *shell, text string) {
	readBangs(s, text)
	s.readInline("gnuplot", text, 1)
}

// readNumeric reads Matlab and Octave, whose lines may be the shell's.
func readNumeric(s *shell, text string) {
	readBangs(s, text)
	for _, m := range numericRemoves.FindAllStringSubmatch(text, 8) {
		s.removeTarget(literalField(m[1]), true)
	}
	s.readInline("r", text, 1)
}

var numericRemoves = regexp.MustCompile(`\brmdir\s*\(\s*["']([^"']+)["']\s*,\s*["']s`)

// clientRuns are the programs that a database's own functions start.
var clientRuns = regexp.MustCompile(`(?i)\bedit\s*\([^()]*,\s*'([^']*)'\s*\)|\bedit\s*\([^()]*,\s*"([^"]*)"\s*\)|\bsystem\s*\(\s*'([^']*)'`)

func readClientSQL(s *shell, text string) {
	readBangs(s, text)
	for _, m := range clientRuns.FindAllStringSubmatch(text, 8) {
		s.runHook(literalField(m[1] + m[2] + m[3]))
	}
	for _, m := range sqlSends.FindAllStringSubmatch(text, 8) {
		f := literalField(m[1] + m[2])
		s.addPath(f, Path{Access: Read, Sent: true})
		if s.leaksFile(f, false) {
			s.addUnread(SecretSent)
		}
	}
	s.readInline("sql", text, 1)
}

// sqlSends are how a client's own file goes to the server.
var sqlSends = regexp.MustCompile(`(?i)\\copy\s+\S+(?:\s*\([^)]*\))?\s+from\s+'?([^'\s]+)|\blocal\s+infile\s+'([^']+)'`)

// readTransfer reads what a client of another machine is told to send.
func readTransfer(s *shell, text string) {
	readBangs(s, text)
	s.eachLine(strings.ReplaceAll(text, ";", "\n"), func(line string) {
		if w := strings.Fields(line); len(w) > 2 && w[0] == "rm" && strings.HasPrefix(w[1], "-r") {
			s.removeTarget(literalField(w[len(w)-1]), true)
		} else if len(w) > 1 && (w[0] == "put" || w[0] == "mput" || w[0] == "reput" || w[0] == "mirror") {
			f := literalField(w[len(w)-1])
			if w[0] != "mirror" {
				f = literalField(w[1])
			}
			s.addPath(f, Path{Access: Read, Sent: true})
			if s.leaksFile(f, true) {
				s.addUnread(SecretSent)
			}
		}
	})
}

// readCrontab reads the commands of a table.
func readCrontab(s *shell, text string) {
	s.eachLine(text, func(line string) {
		fields, n := strings.Fields(line), 5
		if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
			n = 1
		}
		if len(fields) > n && !strings.HasPrefix(fields[0], "#") {
			s.runHook(literalField(strings.Join(fields[n:], " ")))
		}
	})
}

// readDiskpart looks for the disk that Windows is told to empty.
func readDiskpart(s *shell, text string) {
	s.eachLine(text, func(line string) {
		if w := strings.Fields(strings.ToLower(line)); len(w) > 0 && (w[0] == "clean" || w[0] == "format" || w[0] == "delete") {
			s.addDanger(DeviceWrite)
		}
	})
}

// readEncoded reads PowerShell's encoded commands: UTF-16 in base64.
func readEncoded(s *shell, text string) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) > MaxShell {
		s.addUnread(UnreadCode)
		return
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	s.readInline("powershell", string(utf16.Decode(units)), 1)
}

// readEmbedded reads what stands in the brackets of a text.
func readEmbedded(s *shell, text string) {
	if !namesScary(text) {
		return
	}
	for i, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("()[]{}=\"'", r) }) {
		if i == maxLines {
			s.addUnread(UnreadBudget)
			return
		}
		s.tryLine(part, true)
	}
}

var (
	texRuns   = regexp.MustCompile(`\\(?:immediate\s*)?write18\s*\{([^}]*)\}|\\directlua\s*\{(.*)\}|\\input\|"?([^"]*)`)
	texReads  = regexp.MustCompile(`\\(?:input|include|openin\d*=?|verbatiminput|lstinputlisting)\s*\{?\s*([~/][^}\s\\]*)`)
	roffRuns  = regexp.MustCompile(`(?m)^[.']\s*(?:sy|pso|open\w*)\s+(.*)$`)
	roffReads = regexp.MustCompile(`(?m)^[.']\s*(?:so|mso|cf|trf)\s+(\S+)`)
	incReads  = regexp.MustCompile(`(?m)^\s*#\s*include(?:_next)?\s*["<]([~/][^">]+)`)
)

func readTeX(s *shell, text string) {
	for _, m := range texRuns.FindAllStringSubmatch(text, 16) {
		s.runHook(literalField(m[1] + m[3]))
		if m[2] != "" {
			s.readInline("lua", m[2], 1)
		}
	}
	s.addMatches(texReads, text)
}

func readRoff(s *shell, text string) {
	for _, m := range roffRuns.FindAllStringSubmatch(text, 16) {
		s.runHook(literalField(m[1]))
	}
	s.addMatches(roffReads, text)
}

func readIncludes(s *shell, text string) {
	s.addMatches(incReads, text)
	s.readInline("c", text, 1)
}

func (s *shell) addMatches(re *regexp.Regexp, text string) {
	for _, m := range re.FindAllStringSubmatch(text, 16) {
		s.addAccess(literalField(m[1]), Read)
	}
}

// readURLList reads a list of addresses, or a configuration of curl's.
func readURLList(s *shell, text string) {
	s.eachLine(text, func(line string) {
		key, val, ok := strings.Cut(line, "=")
		if key = strings.Trim(key, " -\t"); ok && !strings.ContainsAny(key, ":/") {
			line = strings.Trim(val, ` "`)
		}
		switch {
		case ok && key == "output":
			s.overwrite(literalField(line))
		case ok && (strings.HasPrefix(line, "@") || key == "upload-file" || key == "T" || strings.HasPrefix(key, "form") && strings.Contains(line, "=@")):
			s.sendListed(line[strings.IndexByte(line, '@')+1:])
		default:
			s.reachHost(line, true)
			s.findMetadata(literalField(line))
			if isFileURL(line) {
				s.addAccess(literalField(line), Read)
			}
		}
	})
}

// sendListed records a file that a client is told to send.
func (s *shell) sendListed(file string) {
	file, _, _ = strings.Cut(file, ";")
	f := literalField(file)
	s.addPath(f, Path{Access: Read, Sent: true})
	if s.leaksFile(f, false) {
		s.addUnread(SecretSent)
	}
}

// keyNames are the keys that are typed for a blank or the end of a line.
var keyNames = strings.NewReplacer("^M", "\n", `\r`, "\n", `\n`, "\n", "\r", "\n", `\015`, "\n", `\012`, "\n", "Space", " ", "Enter",
	"\n", "C-m", "\n")

// readKeys reads the keys that are sent to a terminal, where a shell reads them.
func readKeys(s *shell, text string) {
	text = keyNames.Replace(text)
	s.runHook(literalField(text))
	s.tryLine(strings.ReplaceAll(text, "   ", "\x00"), true)
	s.tryLine(strings.Join(strings.Fields(text), " "), true)
}

// readAnsible reads a module's arguments: a command line, or words such as
// "path=/ state=absent".
func readAnsible(s *shell, text string) {
	s.runHook(literalField(text))
	opts := map[string]string{}
	for w := range strings.FieldsSeq(text) {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		}
	}
	if opts["src"] != "" {
		s.addAccess(literalField(opts["src"]), Read)
	}
	if target := literalField(orElse(opts["path"], orElse(opts["dest"], opts["name"]))); opts["state"] == "absent" && target.text != "" {
		s.removeTarget(target, true)
		s.addAccess(target, Delete)
	}
	if opts["dev"] != "" && opts["fstype"] != "" {
		s.makeFileSystem(literalField(opts["dev"]))
	}
	if _, line, ok := strings.Cut(text, "cmd="); ok {
		s.runHook(literalField(strings.Trim(line, `"'`)))
	}
}

// absentFile is how the languages of configuration managers remove a file.
var absentFile = regexp.MustCompile(`(?s)\b(?:file|tidy)\s*\{\s*["']([^"']+)["'].*?absent|\b(?:directory` +
	`|file)\s*\(?\s*["']([^"']+)["']\s*\)?.*?:delete`)

func readResources(s *shell, text string) {
	for _, m := range absentFile.FindAllStringSubmatch(text, 8) {
		f := literalField(m[1] + m[2])
		s.addAccess(f, Delete)
		s.removeTarget(f, true)
	}
	readEmbedded(s, text)
}

func readRecipes(s *shell, text string) {
	readResources(s, text)
	s.readInline("ruby", text, 1)
}

// runMaven reads the program that Maven's exec plugin is given in two pieces.
func (s *shell) runMaven(args []field) {
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
		s.runHook(literalField(program + " " + rest))
	}
}

func readCommas(s *shell, text string) { s.runHook(literalField(strings.ReplaceAll(text, ",", " "))) }

var (
	unmarked = strings.NewReplacer(`"`, " ", "'", " ", "`", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ", "<", " ", ">", " ", "(",
		" ", ")", " ", `\`, " ", "!", " ", "$", " ", "REMOVE_RECURSE", "rm -rf")
	antDeletes = regexp.MustCompile(`<delete\s[^>]*\bdir\s*=\s*"([^"]+)"`)
)

// readRecipe reads a file that a builder is told to run things by. What it holds
// is in a language of its own: only a loss counts.
func readRecipe(s *shell, text string) {
	if !namesScary(text) && !strings.Contains(text, "REMOVE_RECURSE") && !strings.Contains(text, `"/`) && !strings.Contains(text, `"~`) {
		return
	}
	for _, m := range antDeletes.FindAllStringSubmatch(text, 16) {
		s.removeTarget(literalField(m[1]), true)
	}
	s.eachLine(unmarked.Replace(text), func(line string) {
		if line != "" && line[0] != '#' && !strings.HasPrefix(line, "//") || strings.HasPrefix(line, "//go:generate") {
			s.try(func(f *shell) { f.tryCommands("", literalFields(strings.Fields(line))) })
		}
	})
}

// projectFiles are the files of a project in which a program finds what it
// runs, and their language.
var projectFiles = map[string][2]string{
	"npm": {"json", "package.json"}, "yarn": {"json", "package.json"}, "pnpm": {"json", "package.json"}, "bun": {"json", "package.json"},
	"just": {"recipe", "justfile Justfile"},
	"task": {"recipe", "Taskfile.yml Taskfile.yaml"}, "rake": {"ruby", "Rakefile"}, "ninja": {"recipe", "build.ninja"}, "nox": {"python",
		"noxfile.py"}, "tox": {"recipe", "tox.ini"}, "scons": {"python", "SConstruct"},
	"foreman": {"recipe", "Procfile"}, "honcho": {"recipe", "Procfile"}, "gradle": {"groovy", "build.gradle build.gradle.kts"},
	"ant": {"xml", "build.xml"}, "pre-commit": {"yaml", ".pre-commit-config.yaml"},
	"cargo": {"recipe", "build.rs .cargo/config.toml"}, "make": {"make", "GNUmakefile makefile Makefile"}, "gmake": {"make",
		"GNUmakefile makefile Makefile"},
}

// readProject reads the files of a project that the line itself has made.
func (s *shell) readProject(name string) {
	if len(s.made.files) == 0 {
		return
	}
	p := projectFiles[name]
	for file := range strings.FieldsSeq(p[1]) {
		if m, ok := s.findMade(file); ok && m.known {
			s.readCode(literalField(m.text), p[0])
		}
	}
}
