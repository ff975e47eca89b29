package touch

import (
	"regexp"
	"slices"
	"strings"
)

// scripted looks at programs that aren't there to run others, and do so when
// their own little languages tell them: editors, debuggers, databases.
func (s *shell) scripted(name string, args []field, in stream) {
	for _, a := range args {
		if a.proc != nil && a.proc.known && !in.known {
			in = *a.proc // -f <( … )
		}
	}
	switch name {
	case "sed", "gsed", "ssed":
		s.sed(args)
		if in.known && slices.ContainsFunc(args, func(f field) bool { return f.proc != nil }) {
			s.sedScript(in.text)
		}
	case "vi", "vim", "nvim", "ex", "view", "vimdiff", "gvim", "rvim", "nvi", "vim.basic", "vim.tiny":
		s.vim(name, args, in)
	case "emacs", "emacsclient", "xemacs", "emacs-nox":
		s.values(args, "", []string{"--eval", "--execute", "-eval", "-e", "-execute"}, func(f field) { s.code(f, "lisp") })
	case "ed", "red":
		s.editor(in)
	case "gdb", "lldb", "gdb-multiarch", "cgdb", "rust-gdb", "rust-lldb", "lldb-server":
		s.debugger(args, in)
	case "sqlite3", "sqlite", "duckdb", "litecli", "sqlcipher":
		s.database(name, args, in, ".")
	case "psql", "pgcli", "mysql", "mariadb", "mycli", "usql":
		s.database(name, args, in, `\`)
	case "sqlplus", "sqlcmd", "isql":
		s.database(name, args, in, "!")
	case "bc", "dc":
		s.calculator(name, args, in)
	case "m4", "gm4":
		s.macros(args, in)
	case "diskpart":
		if in.known && diskpartLoss.MatchString(in.text) {
			s.danger(DeviceWrite)
		}
	case "ftp", "sftp", "lftp", "telnet", "mutt", "mail", "mailx":
		s.bangs(in)
	case "reg":
		if len(args) > 1 && strings.EqualFold(args[0].text, "delete") && wholeHive.MatchString(args[1].text) {
			s.danger(RmSystem)
		}
	}
}

// bangs runs the lines that start with "!" or "~!".
func (s *shell) bangs(in stream) {
	if !in.known {
		return
	}
	for line := range strings.Lines(in.text) {
		if t := strings.TrimSpace(line); len(t) > 1 && (t[0] == '!' || strings.HasPrefix(t, "~!")) {
			s.guesswork(strings.TrimLeft(t, "~! "))
		}
	}
}

// editors are those of them whose options name commands of their own.
var editors = set("vi vim nvim ex view vimdiff gvim rvim nvi vim.basic vim.tiny emacs emacsclient xemacs emacs-nox")

var (
	diskpartLoss = regexp.MustCompile(`(?im)^\s*(?:clean(?:\s+all)?|format\b.*|delete\s+(?:disk|partition|volume)\b.*|convert\s+\w+)\s*$`)
	wholeHive    = regexp.MustCompile(`(?i)^(?:hklm|hkey_local_machine|hkcr|hkey_classes_root|hkcu|hkey_current_user|hku|hkey_users)(?:[\\/]*(?:software|system|sam|security)?[\\/]*)$`)
)

// values hands on what stands behind some options: in the next word, after
// "=", or in the rest of the word for short ones.
func (s *shell) values(args []field, short string, long []string, take func(field)) {
	for i := 0; i < len(args); i++ {
		a := args[i].text
		name, val, joined := strings.Cut(a, "=")
		for _, o := range long {
			switch {
			case a == o && i+1 < len(args):
				i++
				take(args[i])
			case name == o && joined && len(o) > 2:
				take(field{text: val, bare: val, unknown: args[i].unknown})
			default:
				continue
			}
			break
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && strings.IndexByte(short, a[1]) >= 0 {
			take(field{text: a[2:], bare: a[2:], unknown: args[i].unknown})
		}
	}
}

var (
	debugShell  = regexp.MustCompile(`^\s*(?:shell|!|make|platform\s+shell|(?:pipe|\|)\s.*\|)\s*(.+)$`)
	debugPython = regexp.MustCompile(`^\s*(?:python|py|python-interactive|pi|script|guile|gu)\b\s*(?:--\s*)?(.+)$`)
	debugCall   = regexp.MustCompile(`\b(?:system|popen|execl\w*|execv\w*)\s*\(`)
)

// debugger runs what -ex and its kin say.
func (s *shell) debugger(args []field, in stream) {
	line := func(f field) {
		t := f.text
		switch {
		case debugShell.MatchString(t):
			s.guesswork(debugShell.FindStringSubmatch(t)[1])
		case debugPython.MatchString(t):
			s.readsCode(debugPython.FindStringSubmatch(t)[1], dialects["python"], "python")
		case debugCall.MatchString(t):
			s.readsCode(t, dialect{}, "")
		}
	}
	s.values(args, "", []string{"-ex", "--ex", "-iex", "-eval-command", "--eval-command", "-init-eval-command", "--init-eval-command", "-o", "-O", "-k", "-K", "--one-line", "--one-line-before-file"}, line)
	if in.known {
		for l := range strings.Lines(in.text) {
			l = strings.TrimRight(l, "\n")
			line(field{text: l, bare: l})
		}
	}
}

// calculator reads the "!" lines of dc, and of old bc.
func (s *shell) calculator(name string, args []field, in stream) {
	line := func(f field) {
		for l := range strings.Lines(f.text) {
			before, cmd, ok := strings.Cut(l, "!")
			if ok && (name == "dc" || strings.TrimSpace(before) == "") && cmd != "" && strings.IndexByte("<>=", cmd[0]) < 0 {
				s.guesswork(cmd)
			}
		}
	}
	s.values(args, "e", []string{"-e", "--expression"}, line)
	if in.known {
		line(field{text: in.text})
	}
}

var m4Call = regexp.MustCompile("\\b(?:m4_)?e?syscmd\\s*\\(\\s*[`\"\\[]*([^'\\)\\]]*)|\\b(?:s?include|undivert)\\s*\\(\\s*`?([^'\\)]*)")

// macros reads what m4 is told to run and to include.
func (s *shell) macros(args []field, in stream) {
	texts := make([]string, 0, 4)
	if in.known {
		texts = append(texts, in.text)
	}
	for _, a := range args {
		if a.proc != nil && a.proc.known && a.proc.text != in.text {
			texts = append(texts, a.proc.text)
		}
		if strings.HasPrefix(a.text, "-D") {
			texts = append(texts, a.text[2:])
		}
	}
	for _, t := range texts {
		for _, m := range m4Call.FindAllStringSubmatch(t, 64) {
			s.guesswork(m[1])
			s.path(field{text: m[2], bare: m[2]}, Read)
		}
	}
}

var tclRuns = regexp.MustCompile(`\b(?:exec|spawn|system|open\s*"?\{?\|)\s*(?:-\w+\s+|--\s+)*([^\n;\]]+)`)

var tclDeletes = regexp.MustCompile(`\bfile\s+delete\s+((?:-force\s+|--\s+)*)([^\n;\]]+)`)

// tcl reads the commands of Tcl and expect, whose words need no quotes.
func (s *shell) tcl(text string) {
	for _, m := range tclRuns.FindAllStringSubmatch(text, 64) {
		s.guesswork(strings.Trim(m[1], `{}" `))
	}
	for _, m := range tclDeletes.FindAllStringSubmatch(text, 64) {
		for w := range strings.FieldsSeq(m[2]) {
			w = strings.Trim(w, `{}"`)
			f := field{text: w, bare: w, unknown: strings.Contains(w, "$")}
			s.path(f, Delete)
			s.removeOne(f, m[1] != "")
		}
	}
}

var (
	awkPipe  = regexp.MustCompile(`[^|]\|&?\s*["\w]`)
	awkShell = regexp.MustCompile(`\|\s*"(?:/bin/|/usr/bin/)?(?:ba|da|z|k)?sh\b`)
	awkWrite = regexp.MustCompile(`>>?\s*$`)
	awkKnown = regexp.MustCompile(`print\w*\s*\(?\s*"[^"$]*"\s*\)?\s*\|`)
)

// awk reads what only awk has: pipes, files behind ">".
func (s *shell) awk(text string, g *program) {
	piped := awkPipe.MatchString(text)
	if awkShell.MatchString(text) && !awkKnown.MatchString(text) {
		s.opaque("awk")
	}
	for _, p := range g.spans {
		if piped && strings.ContainsAny(p.text, " \t;&|") {
			s.guesswork(p.text)
		}
		if p.text != "" && awkWrite.MatchString(text[max(0, p.at-8):p.at]) && strings.Contains(text, "print") {
			s.writes(field{text: p.text, bare: p.text})
		}
	}
}
