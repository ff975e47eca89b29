package code

import (
	"regexp"
	"strings"
	"sync"
)

// lineReaders are the languages whose programs are lines of commands.
var lineReaders = sync.OnceValue(func() map[string]func(*Findings, string) {
	return map[string]func(*Findings, string){
		"sed": readSed, "ed": readEditor, "vim": readVim, "gdb": readDebugger, "make": readMake,
		"dc": readCalculator, "bc": readCalculator, "m4": readMacros,
		"jq": readJq, "tcl": readTcl, "powershell": readPowerShell, "cmd": readPowerShell, "osascript": readAppleScript,
		"sql": readSQL, "mongo": readMongo, "redis": readRedis, "cypher": readCypher,
	}
})

func (f *Findings) addLine(line string) {
	line = strings.TrimSpace(line)
	if line == "" {
		return
	}
	if len(f.Commands) <= maxFound {
		f.Commands = append(f.Commands, Command{Line: line})
	}
}

func (f *Findings) addPath(text string, access Access) {
	f.add(Path{Text: strings.TrimSpace(text), Access: access})
}

// add keeps a path that has a name.
func (f *Findings) add(p Path) {
	if p.Text = cutText(p.Text); p.Text != "" && len(f.Paths) <= maxFound {
		f.Paths = append(f.Paths, p)
	}
}

// readSed reads a script of sed: its e, r and w are commands and flags.
func readSed(f *Findings, text string) {
	for i := 0; i < len(text); {
		i = skipAddress(text, i)
		if i >= len(text) {
			return
		}
		c := text[i]
		i++
		line, _, _ := strings.Cut(text[i:], "\n")
		switch c {
		case 'e':
			f.Unread = f.Unread || strings.TrimSpace(line) == ""
			f.addLine(strings.TrimSuffix(strings.TrimSpace(line), "}"))
			i += len(line)
		case 'w', 'W':
			f.addPath(line, ToWrite)
			i += len(line)
		case 'r', 'R':
			f.addPath(line, ToRead)
			i += len(line)
		case 'a', 'i', 'c':
			for strings.HasSuffix(line, `\`) && i+len(line) < len(text) {
				more, _, _ := strings.Cut(text[i+len(line)+1:], "\n")
				line = text[i : i+len(line)+1+len(more)]
			}
			i += len(line)
		case 's', 'y':
			i = f.readSubstitute(text, i, c)
		case '#':
			i += len(line)
		case ':', 'b', 't', 'T':
			i += len(line[:endOr(strings.IndexAny(line, ";}"), len(line))])
		}
	}
}

func endOr(i, otherwise int) int {
	if i < 0 {
		return otherwise
	}
	return i
}

// skipAddress skips blanks, braces and addresses.
func skipAddress(text string, i int) int {
	for i < len(text) {
		switch c := text[i]; {
		case strings.IndexByte(" \t\n;{}!,~+$", c) >= 0 || isDigit(c):
			i++
		case c == '/' || c == '\\' && i+1 < len(text):
			if c == '\\' {
				i++
			}
			_, n := cutDelimited(text[i:])
			i += n
			for i < len(text) && (text[i] == 'I' || text[i] == 'M') {
				i++
			}
		default:
			return i
		}
	}
	return i
}

func (f *Findings) readSubstitute(text string, i int, c byte) int {
	if i >= len(text) {
		return i
	}
	end := text[i]
	part := i
	for n := range 2 {
		if n == 1 {
			part = i + 1
		}
		for i++; i < len(text) && text[i] != end; i++ {
			if text[i] == '\\' {
				i++
			}
		}
	}
	if i++; i > len(text) {
		f.Unread = true // it ends inside
		return len(text)
	}
	replacement := text[min(part, i-1) : i-1]
	for c == 's' && i < len(text) && strings.IndexByte(" \t;}\n", text[i]) < 0 {
		switch text[i] {
		case 'e':
			f.Unread = true // what was matched runs
			f.addLine(strings.NewReplacer(`\/`, "/", `\&`, "&").Replace(replacement))
		case 'w':
			line, _, _ := strings.Cut(text[i+1:], "\n")
			f.addPath(line, ToWrite)
			return i + 1 + len(line)
		}
		i++
	}
	return i
}

// readEditor reads the commands of ed.
func readEditor(f *Findings, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "0123456789,$.;%+-")
		f.readEditorLine(line)
	}
}

// readEditorLine reads what editors of that family share: !cmd, r, w, e.
func (f *Findings) readEditorLine(line string) {
	if strings.HasPrefix(line, "!") {
		f.addLine(strings.TrimLeft(line, "!"))
		return
	}
	m := editorFile().FindStringSubmatch(line)
	if m == nil {
		return
	}
	name := strings.TrimSpace(m[3])
	switch {
	case strings.HasPrefix(name, "!"):
		f.addLine(name[1:])
	case m[1][0] == 'w' || m[1][0] == 'W' || m[1][0] == 'x' || strings.HasPrefix(m[1], "sav") || strings.HasPrefix(m[1], "up"):
		f.addPath(strings.TrimLeft(name, "> "), ToWrite)
	case strings.HasPrefix(m[1], "so"):
		f.addPath(name, ToRead|ToExecute)
	default:
		f.addPath(name, ToRead)
	}
}

var editorFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(w|W|wq|write|r|read|e|E|edit|sav|saveas|x|xit|up|update|so|source|f|file|tabe|tabedit|sp|split|vs|vsplit)` +
		`(!)?(?:\s+(\S.*)|\s*(!.+))?$`)
})

var vimCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(py|python|py3|python3|pyx|pythonx|lua|luado|perl|perldo|ruby|rubydo|rub|tcl|mzscheme)(?:\s+(.+)|$)`)
})

// readVim reads the commands of vi and vim.
func readVim(f *Findings, text string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '|' }) {
		line = strings.TrimLeft(strings.TrimSpace(line), ":%0123456789,$. ")
		for _, w := range []string{"silent! ", "silent ", "sil! ", "sil ", "noautocmd ", "exe ", "execute "} {
			line = strings.TrimPrefix(line, w)
		}
		if strings.HasPrefix(line, "au") {
			_, cmd, _ := strings.Cut(line, " !")
			f.addLine(cmd)
			continue
		}
		if m := vimCode().FindStringSubmatch(line); m != nil {
			lang := strings.TrimSuffix(strings.TrimRight(m[1], "3x"), "do")
			if strings.HasPrefix(lang, "py") {
				lang = "python"
			}
			f.Inner = append(f.Inner, Inline{lang, m[2]})
			continue
		}
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, `"`) {
			f.readEditorLine(strings.Trim(line, `"'`)) // execute "…"
			continue
		}
		if head, rest, _ := strings.Cut(line, " "); among(" ter term terminal make gr grep! ", head) {
			f.addLine(rest)
			continue
		}
		f.readEditorLine(line)
	}
	readProgram(f, "vim", text)
}

var debugLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:(shell|!|make|platform\s+shell|pipe|\|)\s*(.+)|` +
		`(python|py|python-interactive|pi|script|guile|gu)\s+(?:--\s*)?(.+)|` +
		`(source|restore|dump|generate-core-file|gcore|add-symbol-file|save)\s+(.+))$`)
})

// readDebugger reads the commands of gdb and lldb.
func readDebugger(f *Findings, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		m := debugLine().FindStringSubmatch(line)
		switch {
		case m == nil:
			if strings.IndexByte(line, '(') >= 0 {
				readProgram(f, "c", line)
			}
		case m[1] == "pipe" || m[1] == "|":
			_, cmd, _ := strings.Cut(m[2], "|")
			f.addLine(cmd)
		case m[1] != "":
			f.addLine(m[2])
		case m[3] != "":
			f.Inner = append(f.Inner, Inline{"python", m[4]})
		default:
			words := strings.Fields(m[6])
			access := ToWrite
			if m[5] == "source" {
				access = ToRead | ToExecute
			}
			f.addPath(words[len(words)-1], access)
		}
	}
}

var makeCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[({](?:shell\s+([^()]*)[)}]|file\s*>>?\s*([^,()]*))|(?m)^\s*[\w.-]+\s*!=\s*(.+)$`)
})

// readMake reads the recipes of a makefile.
func readMake(f *Findings, text string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	vars := map[string]string{}
	for line := range strings.Lines(text) {
		recipe, ok := strings.CutPrefix(line, "\t")
		if !ok && !strings.HasPrefix(line, "#") {
			if name, val, is := strings.Cut(line, "="); is && len(vars) < maxVars && strings.IndexByte(name, ';') < 0 {
				if name = strings.TrimSpace(strings.TrimRight(name, ":?+ ")); name == "SHELL" || name == ".SHELLFLAGS" {
					f.addLine(val)
				}
				vars[name] = cutText(strings.TrimSpace(val))
				continue
			}
			if _, rest, is := strings.Cut(line, ":"); is {
				_, recipe, ok = strings.Cut(rest, ";")
			}
		}
		if ok {
			f.addLine(fillMake(strings.TrimLeft(strings.TrimSpace(recipe), "@+- "), vars))
		}
	}
	for _, m := range makeCall().FindAllStringSubmatch(text, maxFound) {
		f.addLine(m[1])
		f.addPath(m[2], ToWrite)
		f.addLine(m[3])
	}
}

var makeVar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\$|\$[({]([\w.-]+)[)}]`) })

// fillMake puts the values of variables in their places, one deep; a value that
// isn't known stays a variable for the shell.
func fillMake(line string, vars map[string]string) string {
	left := maxCode
	return makeVar().ReplaceAllStringFunc(line, func(m string) string {
		if m == "$$" {
			return "$"
		}
		name := m[2 : len(m)-1]
		v, ok := vars[name]
		if left -= len(v); !ok || left < 0 {
			return "${" + strings.NewReplacer(".", "_", "-", "_").Replace(name) + "}"
		}
		return v
	})
}

// readCalculator reads the lines of dc and bc that run a command.
func readCalculator(f *Findings, text string) {
	for line := range strings.Lines(text) {
		if _, cmd, ok := strings.Cut(line, "!"); ok && cmd != "" && strings.IndexByte("<>=", cmd[0]) < 0 {
			f.addLine(cmd)
		}
	}
}

var macroCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\\b(?:m4_)?e?syscmd\\s*\\(\\s*[`\"\\[]*([^'\\)\\]]*)|\\b(?:s?include|undivert)\\s*\\(\\s*`?([^'\\)]*)")
})

func readMacros(f *Findings, text string) {
	for _, m := range macroCall().FindAllStringSubmatch(text, maxFound) {
		f.addLine(m[1])
		f.addPath(m[2], ToRead)
	}
}

var (
	jqFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:import|include)\s+"([^"]*)"`) })
	jqEnv  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^.\w$"])(?:env|\$ENV)(?:$|[^\w.\[]|\.$|\[\])`)
	})
)

func readJq(f *Findings, text string) {
	for _, m := range jqFile().FindAllStringSubmatch(text, maxFound) {
		f.addPath(m[1], ToRead)
	}
	f.Environment = jqEnv().MatchString(text)
}

var tclCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s;{\["])(exec|spawn|system|eval|subst|uplevel|interp|load|source|socket|open|` +
		`file\s+(?:delete|rename|copy|mkdir|attributes))(?:\s+([^\n;\]]+)|[\s\]]|$)`)
})

// readTcl reads the commands of Tcl and expect, whose words need no quotes.
func readTcl(f *Findings, text string) {
	socket := false
	for _, m := range tclCall().FindAllStringSubmatch(text, maxFound) {
		open := strings.ContainsAny(m[2], "$[") || strings.TrimSpace(m[2]) == ""
		words := strings.Fields(strings.NewReplacer("{", " ", "}", " ", `"`, " ").Replace(m[2]))
		for len(words) > 0 && strings.HasPrefix(words[0], "-") && m[1] != "spawn" {
			words = words[1:]
		}
		rest := strings.Join(words, " ")
		switch kind := strings.Fields(m[1]); {
		case m[1] == "exec" || m[1] == "spawn" || m[1] == "system", strings.HasPrefix(rest, "|"):
			f.addLine(strings.TrimLeft(rest, "| "))
			f.Unread = f.Unread || open || socket
		case len(kind) == 2:
			access := map[string]Access{"delete": ToDelete, "rename": ToRead | ToDelete, "copy": ToRead}[kind[1]]
			for _, w := range words {
				f.add(Path{Text: w, Access: max(access, ToRead), Tree: access == ToDelete})
			}
			f.Unread = f.Unread || open && kind[1] == "delete"
		case m[1] == "socket":
			socket = true
			f.Network, f.URLs = true, append(f.URLs, words...)
		case m[1] == "open":
			access := ToRead
			if len(words) > 1 && isMode(strings.ToLower(words[1])) {
				access = ToWrite
			}
			f.addPath(strings.Join(words[:min(1, len(words))], ""), access)
		case m[1] == "source":
			f.addPath(rest, ToRead|ToExecute)
		default:
			f.Unread = true
		}
	}
}

var appleCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)do\s+(?:shell\s+)?script\s+(?:"((?:[^"\\]|\\.)*)"\s*(&)?|(.))|` +
		`\b(delete|restart|shut\s+down|erase|keystroke|run\s+script|load\s+script|system\s+attribute)\b`)
})

func readAppleScript(f *Findings, text string) {
	for _, m := range appleCall().FindAllStringSubmatch(text, maxFound) {
		f.addLine(strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(m[1]))
		f.Unread = f.Unread || m[2] != "" || m[3] != "" || m[4] != ""
	}
}

// readAwk reads what only awk has: pipes, and files behind ">" and "<".
func (r *reader) readAwk() {
	printing, from := false, 0
	for i, t := range r.toks {
		switch {
		case t.kind == wordTok && (t.text == "print" || t.text == "printf"):
			printing, from = true, i+1
		case t.first || r.is(i, ";") || r.is(i, "}"):
			printing = false
		case (r.is(i, ">") || r.is(i, ">>")) && printing && r.open[max(i-1, 0)] < from:
			v, _ := r.fold(i+1, len(r.toks), 1)
			r.place(v, ToWrite, false, "")
		case r.is(i, "<") && r.awkGets(i):
			v, _ := r.fold(i+1, len(r.toks), 1)
			r.place(v, ToRead, false, "")
		case r.is(i, "|") || r.is(i, "|&"):
			r.readAwkPipe(i, printing, from)
		case t.kind == textTok && strings.HasPrefix(t.text, "/inet"):
			r.raw, r.network = true, true
		case t.kind == wordTok && t.text == "ENVIRON" && !r.is(i+1, "["):
			r.f.Environment = true
		}
	}
}

func (r *reader) awkGets(i int) bool {
	return r.word(i-1) == "getline" || r.word(i-2) == "getline"
}

// readAwkPipe reads a pipe to or from a command.
func (r *reader) readAwkPipe(i int, printing bool, from int) {
	r.ran = true
	var v value
	if r.word(i+1) == "getline" {
		k := i - 1
		for k > 0 && (r.toks[k-1].kind == textTok || r.word(k-1) != "" && r.word(k-1) != "while") && !r.toks[k].first {
			k--
		}
		v, _ = r.fold(k, i, 1)
	} else if v, _ = r.fold(i+1, len(r.toks), 1); printing {
		printed, _ := r.fold(from, i, 1)
		switch name := v.text[strings.LastIndexByte(v.text, '/')+1:]; {
		case v.open || !shells[name] && !strings.HasPrefix(name, "python"):
		case printed.open:
			r.f.Unread = true
		default:
			r.addCommand([]string{printed.text}, false)
			return
		}
	}
	r.f.Unread = r.f.Unread || v.open
	if !v.open {
		r.addCommand([]string{v.text}, false)
	}
}
