package touch

import (
	paths "path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
	"github.com/vedette-dev/vedette/skills"
)

// The closed list of codes in Touch.Injected.
const (
	// ShellCommand is a command behind a separator, a substitution, or a call
	// that runs one.
	ShellCommand = "shell_command"
	// ShellSeparator is a separator in a value that could be a command's
	// word, with something behind it that may be another command.
	ShellSeparator = "shell_separator"
)

// names are the marks of arguments that name something and hold no text.
const nameMarks = skills.Target | skills.Path | skills.URL

// maxInject is how much of a value is looked at: a name, an id or a path that
// someone splices into a command line is shorter.
const maxInject = 4096

var (
	// functionBody is how Shellshock starts: an environment variable that is
	// a function, with more behind it.
	functionBody = regexp.MustCompile(`\(\s*\)\s*\{[^{}]{0,64};\s*\}\s*;?\s*\S`)
	// templates run what they hold where a page or a log line is made of them.
	templates = regexp.MustCompile(`(?i)<!--\s*#\s*(exec|include)\b|<\?(php|=)|\$\{\s*jndi:|<%\s*=?\s*[\w.]*(system|exec|eval|runtime)`)
	// expressions are worked out where a template is made of them; one that
	// calls something is no placeholder.
	blanks      = regexp.MustCompile(`\$\{?IFS\b`) // a blank that is none
	expressions = regexp.MustCompile(`\{\{[^{}]*\([^{}]*\}\}|\{%[^{}]*\([^{}]*%\}|#\{[^{}]*\(`)
	// calls run a command line from a program.
	calls = regexp.MustCompile(`\b(system|exec|execv\w*|shell_exec|passthru|popen|proc_open|spawn|` +
		`eval|assert|os\.system|subprocess\.\w+)\s*\(\s*['"]`)
	// words are the values that a command line could be made with: a host, an
	// id, a path, a file name, closed by whatever it may stand in.
	words = regexp.MustCompile(`^[$\w.:/@%+,~=\\#?*\[\]-]*['")}\]]*\s*$`)
)

// addInjected looks for a piece of a command line in an argument that holds none.
// Text for people is left alone: what stands before the first separator must
// be one word, as a host, an id or a path is.
func (c *collector) addInjected(text string, a skills.Arg) {
	if len(text) > maxInject || !strings.ContainsAny(text, " ;|&$`<>({\n%\\") {
		return
	}
	if !strings.ContainsAny(text, ";|&$`<({\n%\\") && (a.Marks&nameMarks == 0 || !isWholeCommand(text)) {
		return // a blank alone separates nothing
	}
	code := ""
	for _, t := range listInjectionForms(text) {
		switch found := findInjectedCode(t, a); {
		case found == ShellCommand:
			code = found
		case code == "":
			code = found
		}
	}
	if d := (Danger{Code: code, Arg: a.Name}); code != "" && !slices.Contains(c.touch.Injected, d) {
		c.touch.Injected = append(c.touch.Injected, d)
	}
}

// listInjectionForms returns text as it is and with its escapes undone.
func listInjectionForms(text string) []string {
	out := []string{text}
	d := text
	for range 2 {
		d = path.DecodePercent(d)
	}
	out = appendNew(out, d)
	for _, t := range out {
		if strings.Contains(t, `\n`) || strings.Contains(t, `\r`) || strings.Contains(t, `\x0a`) {
			out = appendNew(out, strings.NewReplacer(`\r`, "\n", `\n`, "\n", `\x0a`, "\n").Replace(t))
		}
	}
	return out
}

func findInjectedCode(text string, a skills.Arg) string {
	brace := strings.IndexByte(text, '{') >= 0
	if brace && functionBody.MatchString(text) || (brace || strings.IndexByte(text, '<') >= 0) && templates.MatchString(text) ||
		strings.Contains(text, "IFS") && blanks.MatchString(text) {
		return ShellCommand
	}
	name := a.Marks&nameMarks != 0
	if brace && expressions.MatchString(text) || name && isWholeCommand(text) {
		return ShellSeparator
	}
	i := strings.IndexAny(text, ";|&`\n")
	if j := strings.Index(text, "$("); j >= 0 && (i < 0 || j < i) {
		i = j
	}
	if m := findRunningCall(text); m != nil && (i < 0 || m[0] < i) && words.MatchString(text[:m[0]]) {
		return ShellCommand
	}
	switch {
	case i < 0 || i > 512:
		return ""
	case words.MatchString(text[:i]):
	case name:
		// A name may become a command's operand, so it gets no exemption for
		// prose: "8.8.8.8 -c 1; rm -rf /". A blank before code marks is none
		// either; English words still count as such.
		return judgeSeparated(strings.TrimRight(text[:i], " "), text[i:], false)
	default:
		return ""
	}
	if findRunningCall(text[i:]) != nil {
		return ShellCommand
	}
	return judgeSeparated(text[:i], text[i:], name)
}

// findRunningCall finds a call that runs a command line.
func findRunningCall(text string) []int {
	if strings.IndexByte(text, '(') < 0 {
		return nil
	}
	return calls.FindStringIndex(text)
}

// judgeSeparated judges what follows the first separator. word says that the
// argument names something and holds no text.
func judgeSeparated(head, tail string, word bool) string {
	if tail[0] == '`' && strings.HasSuffix(head, " ") && !strings.ContainsAny(head, "./@") {
		return "" // a word of a sentence, and the next one in code marks
	}
	if strings.HasPrefix(tail, "& ") && strings.TrimSpace(head) != "" && !looksLikeHost(head) {
		word = false // "Salt & more"
	}
	inURL := strings.Contains(head, "://")
	best := ""
	for range 16 {
		sep := tail[0]
		subst := sep == '`' || strings.HasPrefix(tail, "$(")
		rest := strings.TrimLeft(tail[1:], ";|&`$( \t\n\r)'\"{}")
		if inURL && !subst && sep != '|' && !strings.ContainsAny(rest, " \t") {
			rest = "" // "?a=b&id=c" and ";jsessionid=" belong to the URL
		}
		switch judgeCommandAt(rest, word || subst, sep) {
		case ShellCommand:
			return ShellCommand
		case ShellSeparator:
			best = ShellSeparator
		}
		i := strings.IndexAny(rest, ";|&`\n")
		if j := strings.Index(rest, "$("); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			break
		}
		tail = rest[i:]
	}
	if best == "" && word && looksLikeHost(head) && strings.IndexByte(";|`$\n", tail[0]) >= 0 && !strings.ContainsAny(tail, "@.") {
		return ShellSeparator // no host has one
	}
	return best
}

// isWholeCommand reports whether a name is a command line instead: a program and
// what no name has behind it.
func isWholeCommand(text string) bool {
	first, rest, ok := strings.Cut(strings.TrimSpace(text), " ")
	if !ok || !isRunnable(first) {
		return false
	}
	next, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return next != "" && (strings.IndexByte("/~", next[0]) >= 0 || len(next) > 1 && next[0] == '-' && isLetter(next[1]))
}

func looksLikeHost(h string) bool {
	h = strings.Trim(h, `'") `)
	return strings.Contains(h, ".") && !strings.ContainsAny(h, "/@\\ ")
}

// judgeCommandAt reports whether text starts with a command. Where the argument is
// no name, an English word counts only with what no sentence has behind it.
func judgeCommandAt(text string, word bool, sep byte) string {
	end := strings.IndexAny(text, " \t\r\n;|&`$<>()\"'{,")
	first, after := text, ""
	if end >= 0 {
		first, after = text[:end], text[end:]
	}
	if first == "" || first != strings.ToLower(first) && !strings.HasPrefix(first, "/") {
		return ""
	}
	if !isRunnable(first) {
		return ""
	}
	args := strings.FieldsFunc(after, func(r rune) bool { return strings.ContainsRune(" \t\n,)}", r) })
	strong := strings.Contains(first, "/") || slices.ContainsFunc(args, func(w string) bool {
		return strings.ContainsAny(w[:1], "-/~$|;&<>`'\"") || strings.Contains(w, "://") || strings.Contains(w, "/.") || hasDigitsAlone(w)
	})
	switch {
	case sep == '|' && (first == "sh" || first == "bash" || first == "zsh" || first == "dash" || first == "ksh"):
		return ShellCommand
	case strong && (word || sep != '\n' || !english[first]):
		return ShellCommand
	case word && (endsCommand(after) || !english[first]):
		return ShellCommand
	case !english[first] && (len(args) > 0 || after != ""):
		return ShellCommand
	case !english[first] && (sep == '`' || sep == ';' || sep == '\n'):
		return ShellSeparator
	}
	return ""
}

// endsCommand reports whether a command ends before text.
func endsCommand(text string) bool {
	text = strings.TrimLeft(text, " \t")
	return text == "" || strings.IndexByte(";|&`)\n\r", text[0]) >= 0
}

// isRunnable reports whether a word names a program: one that is known here, or
// one by its path.
func isRunnable(w string) bool {
	switch dir := paths.Dir(w); dir {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/tmp", "/dev/shm", "/var/tmp":
		return true
	case ".":
	default:
		return false
	}
	if strings.HasPrefix(w, "./") {
		return true
	}
	return w != ":" && (isProgram[w] || knownPrograms()[w])
}

// knownPrograms are those that the table has a row of.
var knownPrograms = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range programs.Programs() {
		out[name] = true
	}
	return out
})

func toSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

var (
	// isProgram are what injected commands start with, beyond the programs of
	// the table.
	isProgram = toSet("id whoami uname hostname netstat ss ifconfig ip arp route ps top pwd env printenv set sleep ping ping6 traceroute " +
		"nslookup dig host " +
		"curl wget nc ncat netcat socat telnet ssh scp sftp ftp tftp who w last users groups uptime lsb_release cd " +
		"kill killall pkill crontab at " +
		"useradd usermod adduser passwd chpasswd mount umount systemctl service reboot shutdown halt poweroff init mkfs dd find " +
		"xargs eval exec source " +
		"mysql psql sqlite3 mongo redis-cli docker kubectl git svn make gcc cc go npm npx pip pip3 apt apt-get yum dnf apk brew " +
		"iptables nft tcpdump nmap " +
		"type ver dir net ipconfig systeminfo tasklist cmd certutil bitsadmin mshta rundll32 reg wmic schtasks del copy move " +
		"start date time test export alias unset fdisk lsblk df free")
	// english are the programs whose names stand in sentences.
	english = toSet("find sort time watch make more less kill who at test date sleep cut join head tail touch look man which type write " +
		"talk last host file go " +
		"patch split cat install start move copy set service mount source top route free reset users groups net env users exec dir view " +
		"sum paste comm diff fold " +
		"tree strings script command unlink trash ed ex ag ack ar tee column most then node bun reg ver w id ip init history wipe " +
		"true false printf alias export init halt nice timeout stat")
)
