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
	case "ftp", "sftp", "lftp", "telnet", "gnuplot", "octave", "mutt", "mail", "mailx":
		if in.known {
			for line := range strings.Lines(in.text) {
				if t := strings.TrimSpace(line); len(t) > 1 && (t[0] == '!' || strings.HasPrefix(t, "~!")) {
					s.guesswork(strings.TrimLeft(t, "~! "))
				}
			}
		}
	case "jq", "gojq", "jaq", "yq":
	case "reg":
		if len(args) > 1 && strings.EqualFold(args[0].text, "delete") && wholeHive.MatchString(args[1].text) {
			s.danger(RmSystem)
		}
	case "regedit":
		s.mentions(args)
	}
}

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

// sed runs what "e" says, and reads and writes what "r" and "w" name.
func (s *shell) sed(args []field) {
	given := false
	take := func(f field) {
		given = true
		s.sedScript(f.text)
	}
	s.values(args, "e", []string{"-e", "--expression", "-ne", "-nE", "-Ee", "-re", "-ie", "-nre", "-rne", "-nEe"}, take)
	if given || flag(args, "f", "file") {
		return
	}
	if ops := operands(args, "lE"); len(ops) > 0 {
		s.sedScript(ops[0].text)
	}
}

// sedScript walks a script's commands. Those that it can't tell it skips to the
// end of the line.
func (s *shell) sedScript(text string) {
	for i := 0; i < len(text); {
		i = sedAddress(text, i)
		if i >= len(text) {
			return
		}
		c := text[i]
		end := i + 1
		if j := strings.IndexByte(text[i:], '\n'); j >= 0 {
			end = i + j
		} else {
			end = len(text)
		}
		rest := strings.TrimSpace(text[i+1 : end])
		switch c {
		case 's', 'y':
			i = s.substitution(text, i)
			continue
		case 'e':
			if rest == "" || rest[0] == ';' || rest[0] == '}' {
				s.opaque("sed") // what stands in the input is run
			}
			s.guesswork(rest)
			i = end
		case 'r', 'R':
			s.path(field{text: rest, bare: rest}, Read)
			i = end
		case 'w', 'W':
			s.writes(field{text: rest, bare: rest})
			i = end
		case 'a', 'i', 'c', ':', 'b', 't', 'T', '#':
			if k := strings.IndexByte(rest, ';'); strings.IndexByte("btT:", c) >= 0 && k >= 0 {
				end = i + 1 + k
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
}

// sedAddress skips what selects the lines.
func sedAddress(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case c == '/' || c == '\\' && i+1 < len(text):
			if c == '\\' {
				i++
			}
			i = sedEnd(text, i+1, text[i]) + 1
		case digit(c) || strings.IndexByte("$,~+! \t\n;{}I", c) >= 0:
			i++
		default:
			return i
		}
	}
	return i
}

// sedEnd returns where the next bare delimiter is.
func sedEnd(text string, i int, q byte) int {
	for ; i < len(text) && text[i] != q; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

// substitution reads s/a/b/flags and returns where it ends. With "e" the result
// is run: whatever stands in the input, if nothing in b says otherwise.
func (s *shell) substitution(text string, i int) int {
	if i+1 >= len(text) {
		return len(text)
	}
	q := text[i+1]
	mid := sedEnd(text, i+2, q)
	end := sedEnd(text, mid+1, q)
	if mid >= len(text) || end >= len(text) {
		return len(text)
	}
	into := strings.ReplaceAll(text[mid+1:end], `\`+string(q), string(q))
	j := end + 1
	for j < len(text) && (letter(text[j]) || digit(text[j])) {
		switch {
		case text[i] != 's':
		case text[j] == 'e' || text[j] == 'E':
			s.guesswork(into)
			if k := strings.IndexAny(into, `&\`); k == 0 || into == "" {
				s.opaque("sed")
			}
		case text[j] == 'w':
			rest, _, _ := strings.Cut(text[j+1:], "\n")
			rest = strings.TrimSpace(rest)
			s.writes(field{text: rest, bare: rest})
			return j + 1 + len(rest)
		}
		j++
	}
	return j
}

// vim runs what stands behind -c and "+", and keys that it is fed.
func (s *shell) vim(name string, args []field, in stream) {
	s.values(args, "", []string{"-c", "--cmd"}, func(f field) { s.exLines(f.text) })
	for _, a := range args {
		if len(a.text) > 1 && a.text[0] == '+' {
			s.exLines(a.text[1:])
		}
	}
	if in.known && (name == "ex" || flag(args, "esS")) {
		s.exLines(in.text)
	}
}

var (
	exBang   = regexp.MustCompile(`^[\s:%.,$'<>\d]*(?:sil(?:ent)?!?\s+)?(?:(?:r(?:ead)?|w(?:rite)?)\s*)?!+\s*(.*)$`)
	exTerm   = regexp.MustCompile(`^[\s:]*(?:sil(?:ent)?!?\s+)?(?:term(?:inal)?!?|sh)\s+(.+)$`)
	exWrite  = regexp.MustCompile(`^[\s:%.,$\d]*(?:w(?:rite)?|sav(?:eas)?|wq|x)!?\s+(?:>>\s*)?([^!\s].*)$`)
	exRead   = regexp.MustCompile(`^[\s:%.,$\d]*(?:r(?:ead)?|e(?:dit)?|so(?:urce)?|split|sp|vs|tabe)!?\s+([^!\s].*)$`)
	exLater  = regexp.MustCompile(`^[\s:]*(?:sil(?:ent)?!?\s+)?(?:au(?:tocmd)?|exe(?:cute)?|norm?(?:al)?|[nvic]?(?:nore)?map|bufdo|windo|argdo|g(?:lobal)?\W|com(?:mand)?)\b`)
	exInner  = regexp.MustCompile(`^[\s:]*(?:lua|py3?|python3?|pyx|ruby|perl|tcl)(?:do)?\s+(.+)$`)
	exInnerL = map[byte]string{'l': "lua", 'p': "python", 'r': "ruby", 't': "tcl"}
)

// exLines reads the commands of ex: one a line, or with bars between.
func (s *shell) exLines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case exBang.MatchString(line):
			s.guesswork(exBang.FindStringSubmatch(line)[1])
		case exTerm.MatchString(line):
			s.guesswork(exTerm.FindStringSubmatch(line)[1])
		case exInner.MatchString(line):
			t := strings.TrimLeft(line, " :")
			lang := exInnerL[t[0]]
			if strings.HasPrefix(t, "perl") {
				lang = "perl"
			}
			inner := exInner.FindStringSubmatch(line)[1]
			s.reads(inner, dialects[lang], lang)
		case exWrite.MatchString(line):
			f := exWrite.FindStringSubmatch(line)[1]
			s.writes(field{text: f, bare: f})
		case exRead.MatchString(line):
			f := exRead.FindStringSubmatch(line)[1]
			s.path(field{text: f, bare: f}, Read)
		default:
			if i := strings.IndexByte(line, '!'); i >= 0 && exLater.MatchString(line) {
				s.guesswork(strings.TrimRight(line[i+1:], `"'`))
			}
			s.reads(line, dialects["vim"], "")
			for part := range strings.SplitSeq(line, "|") {
				if p := strings.TrimSpace(part); len(p) > 1 && p != line && exBang.MatchString(p) {
					s.guesswork(exBang.FindStringSubmatch(p)[1])
				}
			}
		}
	}
}

// editor reads what ed is fed.
func (s *shell) editor(in stream) {
	if !in.known {
		return
	}
	for line := range strings.Lines(in.text) {
		line = strings.TrimSpace(line)
		if m := exBang.FindStringSubmatch(line); m != nil {
			s.guesswork(m[1])
		} else if m := exWrite.FindStringSubmatch(line); m != nil {
			s.writes(field{text: m[1], bare: m[1]})
		} else if m := exRead.FindStringSubmatch(line); m != nil {
			s.path(field{text: m[1], bare: m[1]}, Read)
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
			s.reads(debugPython.FindStringSubmatch(t)[1], dialects["python"], "python")
		case debugCall.MatchString(t):
			s.reads(t, dialect{}, "")
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

var (
	dotShell   = regexp.MustCompile(`(?i)^\s*\.(?:shell|system|sh|sys)\s+(.+)$`)
	dotFile    = regexp.MustCompile(`(?i)^\s*\.(output|once|backup|save|clone|log|trace|excel|open|read|restore|import|load|dump)\s+(.+)$`)
	backShell  = regexp.MustCompile(`\\!\s*([^\n]+)|^\s*(?:system|\\g|pager|tee)\s+([^\n]+)`)
	backFile   = regexp.MustCompile(`\\(o|w|copy|i|ir|include|g|gx|\.|lo_import|lo_export|T|s)\s+([^\n]+)`)
	bangShell  = regexp.MustCompile(`(?im)^\s*(?:!!|!|host\s|:!!)\s*(.+)$`)
	sqlProgram = regexp.MustCompile(`(?i)\b(?:to|from)\s+program\s+(?:e|\$\$)?'((?:[^']|'')*)'`)
	sqlFiles   = regexp.MustCompile(`(?i)\b(copy\b[^;']*\bto|copy\b[^;']*\bfrom|into\s+(?:outfile|dumpfile)|load\s+data(?:\s+local)?\s+infile|attach(?:\s+database)?|vacuum\b[^;']*\binto|\\copy\b[^;']*\bto|\\copy\b[^;']*\bfrom)\s*'([^']+)'`)
	sqlEdit    = regexp.MustCompile(`(?i)\bedit\s*\([^,']*(?:'[^']*'[^,']*)?,\s*'([^']+)'`)
	sqlCalls   = regexp.MustCompile(`(?i)\b(writefile|readfile|load_file|pg_read_file|pg_read_binary_file|lo_import|lo_export|edit|fsdir|pg_ls_dir|read_csv|read_csv_auto|read_text|read_blob|read_json|load_extension|sys_exec|sys_eval|xp_cmdshell)\s*\(?\s*'([^']+)'`)
)

// database reads what its client does beside the database: shells, files.
func (s *shell) database(name string, args []field, in stream, mark string) {
	texts := make([]string, 0, len(args)+1)
	for _, a := range args {
		texts = append(texts, a.text)
		if i := strings.IndexByte(a.text, '='); strings.HasPrefix(a.text, "--") && i > 0 {
			texts = append(texts, a.text[i+1:])
		} else if len(a.text) > 3 && a.text[0] == '-' && a.text[1] != '-' {
			texts = append(texts, a.text[2:])
		}
	}
	if in.known {
		texts = append(texts, in.text)
	}
	for _, t := range texts {
		if len(t) > maxQuery {
			continue // query has said so
		}
		s.sqlText(t)
		switch mark {
		case ".":
			s.dotLines(t)
		case `\`:
			for _, m := range backShell.FindAllStringSubmatch(t, 64) {
				s.guesswork(strings.TrimLeft(m[1]+m[2], "| "))
			}
			s.backFiles(name, t)
		default:
			for _, m := range bangShell.FindAllStringSubmatch(t, 64) {
				s.guesswork(m[1])
			}
		}
	}
}

func (s *shell) dotLines(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := dotShell.FindStringSubmatch(line); m != nil {
			s.guesswork(m[1])
		} else if m := dotFile.FindStringSubmatch(line); m != nil {
			s.filePipe(m[2], strings.IndexAny(strings.ToLower(m[1])[:1], "rild") < 0)
		}
	}
}

// filePipe is a file's name, or a command behind a bar.
func (s *shell) filePipe(arg string, writes bool) {
	arg = strings.TrimSpace(arg)
	if cmd, ok := strings.CutPrefix(strings.Trim(arg, `"'`), "|"); ok {
		s.guesswork(cmd)
		return
	}
	for w := range strings.FieldsSeq(arg) {
		w = strings.Trim(w, `"';`)
		if !rooted(w) {
			continue
		}
		if f := (field{text: w, bare: w}); writes {
			s.writes(f)
		} else {
			s.path(f, Read)
		}
	}
}

func (s *shell) backFiles(_, text string) {
	for _, m := range backFile.FindAllStringSubmatch(text, 64) {
		lower := strings.ToLower(m[2])
		if i := strings.Index(lower, " program "); i >= 0 {
			s.guesswork(strings.Trim(m[2][i+len(" program "):], "' "))
			continue
		}
		writes := m[1] == "o" || m[1] == "w" || m[1] == "g" || m[1] == "lo_export" || m[1] == "T" || m[1] == "s" || m[1] == "copy" && strings.Contains(lower, " to ")
		s.filePipe(m[2], writes)
	}
}

// sqlText reads the statements that run programs or touch the server's files.
func (s *shell) sqlText(text string) {
	if strings.IndexByte(text, '\'') < 0 {
		return
	}
	for _, m := range sqlProgram.FindAllStringSubmatch(text, 64) {
		s.guesswork(strings.ReplaceAll(m[1], "''", "'"))
	}
	for _, m := range sqlFiles.FindAllStringSubmatch(text, 64) {
		f := field{text: m[2], bare: m[2]}
		if how := strings.ToLower(m[1]); strings.HasSuffix(how, "from") || strings.HasSuffix(how, "infile") {
			s.path(f, Read)
		} else if rooted(m[2]) {
			s.writes(f)
		} else {
			s.path(f, Write)
		}
	}
	for _, m := range sqlEdit.FindAllStringSubmatch(text, 64) {
		s.guesswork(m[1])
	}
	for _, m := range sqlCalls.FindAllStringSubmatch(text, 64) {
		f := field{text: m[2], bare: m[2]}
		switch strings.ToLower(m[1]) {
		case "writefile", "lo_export":
			s.writes(f)
		case "sys_exec", "sys_eval", "xp_cmdshell":
			s.guesswork(m[2])
		case "edit":
		default:
			s.path(f, Read)
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
