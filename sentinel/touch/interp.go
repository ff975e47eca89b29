package touch

import (
	"regexp"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

var (
	// runsText are the words with which programs run command lines.
	runsText = set("system popen popen2 popen3 subprocess shell_exec passthru proc_open check_call check_output fork shell exec execl execv execlp execvp execve execsync execfile execfilesync spawn spawnsync spawnl spawnv spawnlp spawnvp " +
		"qx child_process pcntl_exec getoutput getstatusoutput open3 capture2 capture3 command cmd shellout termopen jobstart systemlist process processbuilder shell-command call-process start-process run-program run-command os_execute execute " +
		"createprocess callcommand runcommand readprocess rawsystem executefile execstring getruntime sh syscmd esyscmd async-shell-command shell-command-to-string doshellscript process-lines")
	// removesTrees are the functions that remove a folder with all in it.
	removesTrees = set("rmtree rm_rf rm_r rmsync rm rimraf remove_tree removesync rmdirsync remove_entry remove_entry_secure deltree delete-tree deletesync delete_directory_and_contents remove-item rmdir removeall unlink unlinksync delete-directory delete-directory-tree delete_directory removedir " +
		"remove-directory deletedir deleterecursively removedirectoryrecursive removepathforcibly removeitem removeitematpath emptydirsync emptydir rm_rf! remove_dir delete-directory/files delete-file rm! rm_r! removedirectory cleandirectory deletedirectory del_dir_r")
	breedsText = regexp.MustCompile(`(?i)\bfork\s*(\(\s*\))?\s*while\s+(fork|1|true)|while\s*\(?\s*(1|true)\s*\)?\s*[:{]?\s*(os\.)?fork\b|loop\s*\{\s*fork`)
)

var (
	// pipesToShell is a shell that a program writes to, treeModules a module
	// that is nothing but a removal.
	pipesToShell = regexp.MustCompile(`["']\|\s*(?:/bin/)?(?:ba|da|z|k)?sh["' ]`)
	treeModules  = regexp.MustCompile(`\brequire\(\s*["'](?:rimraf|del|trash|remove)["']\s*\)[\w.\s]*\(\s*\[?\s*["']([^"']+)["']`)
	// credentialModules read a file of secrets that no string names.
	credentialModules = map[string]string{"netrc.netrc(": "~/.netrc", "spwd.getsp": "/etc/shadow", "getspnam(": "/etc/shadow", "getspent(": "/etc/shadow"}
	// translates and assembles make a program out of letters.
	translates = regexp.MustCompile(`\b(?:tr|y)/[^/\n]+/[^/\n]+/[a-z]*\s*;\s*(?:system|exec|eval|qx)\b`)
	assembles  = regexp.MustCompile(`\b(?:pickle|marshal|dill|cloudpickle|jsonpickle)\.(?:loads|decode)\s*\(\s*(?:b["']|base64|codecs|binascii|bytes|zlib|["'])|\b(?:exec|eval)\s*\(\s*(?:""|'')\.join\s*\(`)
)

const maxCode = 64 << 10

// code reads a program in another language: not for what it does, but for the
// command lines and paths in its strings, and for what it calls with them.
func (s *shell) code(f field, lang string) {
	if f.unknown {
		s.opaque("")
	}
	if len(f.text) > maxCode {
		s.spent.over = true
		return
	}
	s.guesswork(f.text)
	s.c.urls(f.text, Host{Arg: s.arg, Shell: true})
	s.readsCode(f.text, dialects[lang], lang)
}

// readsCode reads the strings and calls of a program.
func (s *shell) readsCode(text string, d dialect, name string) {
	if name == "tcl" {
		s.tcl(text)
	}
	if d.holes == "f" {
		s.magic(text)
	}
	if name == "r" {
		s.bangs(known(text))
	}
	g := readProgram(text, d)
	words := g.told()
	s.dialled(g, words)
	if words&startingWord != 0 && (breedsText.MatchString(text) || breedsIn(text)) {
		s.danger(ForkBomb)
	}
	if name == "awk" {
		s.awk(text, g)
	}
	runs, removes := words&runningWord != 0, words&removingWord != 0
	for _, c := range g.calls {
		runs, removes = runs || c.runs() || c.evals(d), removes || c.removesTree() || oneGone[c.name]
	}
	runs = runs || pipesToShell.MatchString(text)
	s.traits(text, runs)
	var all []string
	said := map[string]bool{}
	loose := looseAccess(g)
	for _, p := range g.spans {
		if !p.part {
			all = append(all, p.text)
		}
		s.codePath(text, p, loose)
		if (runs || p.runs) && !said[p.text] && strings.ContainsAny(p.text, " \t\n;|&$`<>(){}") {
			said[p.text] = true
			s.guesswork(p.text)
		}
		if cmd := strings.Trim(p.text, "| "); len(cmd)+1 <= len(strings.TrimSpace(p.text)) && strings.ContainsAny(cmd, " \t/") {
			s.guesswork(cmd) // open("|x"): a program's input or output
		}
		if removes && !p.part && rooted(p.text) && (!p.folded || len(p.text) > 1 && p.text != "~") {
			s.removeOne(field{text: p.text, bare: p.text}, true)
		}
	}
	if runs && len(all) > 1 {
		s.guesswork(strings.Join(all, " "))
	}
	s.report(g, name, said)
}

// traits looks for what gives a program away by its text: one that is put
// together from letters, a module that reads secrets or only removes.
func (s *shell) traits(text string, runs bool) {
	for module, file := range credentialModules {
		if strings.Contains(text, module) {
			s.path(field{text: file, bare: file}, Read)
		}
	}
	for _, m := range treeModules.FindAllStringSubmatch(text, 8) {
		s.removeOne(field{text: m[1], bare: m[1]}, true)
	}
	if runs && (translates.MatchString(text) || assembles.MatchString(text)) || assembles.MatchString(text) {
		s.opaque("")
	}
}

// magic reads IPython's lines for the shell.
func (s *shell) magic(text string) {
	if strings.IndexByte(text, '!') < 0 && strings.IndexByte(text, '%') < 0 {
		return
	}
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		for _, p := range []string{"!!", "!", "%sx ", "%system ", "%%bash", "%%sh", "%%!"} {
			if rest, ok := strings.CutPrefix(t, p); ok && p[0] == t[0] {
				if strings.HasPrefix(p, "%%") { // the whole cell
					rest = text[strings.Index(text, p)+len(p):]
				}
				s.guesswork(rest)
				break
			}
		}
	}
}

// codePath records the file that a string of a program names.
func (s *shell) codePath(text string, p span, loose Access) {
	file, a := fileOf(text, p.text, p.at)
	if a |= p.access; a == 0 {
		a = codeAccess(text, p.at, p.end, loose)
	}
	absolute := strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~")
	switch {
	case strings.ContainsAny(file, "\n\x00") || file == "" || len(file) > path.MaxLength:
		return
	case a == 0 && absolute:
		a = Read
	case a == 0 || !absolute && strings.ContainsAny(file, "*(){};$<>|"):
		return
	}
	f := field{text: file, bare: file}
	if a.Has(Write) {
		s.writes(f)
		a &^= Write
	}
	if a != 0 {
		s.path(f, a)
	}
}
