package bash

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf16"
)

// lineReaders are the languages whose lines are commands of a client, an editor
// or a builder, by the names that the table has for them.
func lineReaders() map[string]func(s *shell, text string) {
	out := map[string]func(s *shell, text string){
		"sqlite": readClientSQL, "psql": readClientSQL, "mysql": readClientSQL, "sftp": readTransfer, "powershell-base64": readEncoded,
		"urls": readURLList, "less": readShellEscapes, "kak": readShellEscapes,
		"mutt": readShellEscapes, "crontab": readForeign,
	}
	for lang := range strings.FieldsSeq("fzf rpm exim tex roff keys commas ansible puppet chef toml json yaml xml " +
		"cmake recipe ninja just lldb " +
		"matlab octave diskpart mvn gnuplot") {
		out[lang] = readForeign
	}
	return out
}

// What matters in a language that isn't read here: words that act on a place,
// how a place looks (files that pass aside), and words that need none.
var (
	foreignMarks = regexp.MustCompile(`(?i)absent\b|:delete\b|REMOVE_RECURSE|<delete\s|\b(?:system|dos|unix|rmdir)\b|mkfs|fstype=` +
		`|\\input\||^[.']\s*(?:sy|pso)\b`)
	foreignPlace = regexp.MustCompile(`(?:^|[\s"'(={,:>|])[/~]`)
	foreignPower = regexp.MustCompile(`(?i)write18|directlua.*\b(?:os|io)\.|^\s*script\b|^\s*(?:clean|format|delete)\b` +
		`|^(?:rm|dd|shred|sh|bash|mkfs\S*)$|["'\s{(=@](?:/etc/(?:shadow|sudoers)|~/\.|/root/)`)
	foreignReads = regexp.MustCompile(`(?:\\(?:input|include|openin\d*=?|verbatiminput|lstinputlisting)\s*\{?` +
		`|(?m:^[.'])\s*(?:so|mso|cf|trf)|\bsrc=)\s*([~/][^}\s\\]*)`)
	passing = regexp.MustCompile(`/(?:var/)?tmp/[\w.-]+`)
)

// readForeign looks at a text in a language of its own, in which commands stand
// in other marks than a shell's: what may do harm in it is asked about.
func readForeign(s *shell, text string) {
	s.addMatchedPaths(foreignReads, text)
	text = keyNames.Replace(text)
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxLines {
			s.addUnread(UnreadBudget)
			return
		}
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' || strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "//go:") {
			continue
		}
		words := unmarked.Replace(line)
		s.tryAside(func(f *shell) { f.tryCommands("", literalFields(strings.Fields(words))) })
		placed := foreignPlace.MatchString(passing.ReplaceAllString(line, ""))
		if placed && (foreignMarks.MatchString(line) || namesScaryProgram(words)) || foreignPower.MatchString(line) {
			s.addUnread(UnreadCode)
		}
	}
}

var (
	// keyNames are the keys that are typed for a blank or the end of a line.
	keyNames = strings.NewReplacer("^M", "\n", `\r`, "\n", `\n`, "\n", "\r", "\n", `\015`, "\n", `\012`, "\n", "Space", " ", "Enter", "\n",
		"C-m", "\n")
	unmarked = strings.NewReplacer(`"`, " ", "'", " ", "`", " ", "{", " ", "}", " ", "[", " ", "]", " ", ",", " ", "<", " ", ">", " ", "(",
		" ", ")", " ", `\`, " ", "!", " ", "$", " ", ";", " ", "=", " ")
)

// aliasLanguages are other names of languages that package code reads.
var aliasLanguages = map[string]string{"elisp": "lisp", "clojure": "lisp", "applescript": "osascript", "typescript": "js",
	"gradle": "groovy"}

// bangs are how clients and editors say that a line is the shell's.
var bangs = []string{"!", "shell ", ".shell ", ".sh ", ".system ", `\!`, "platform shell ", "shell-escape ", "system ", "r !", "w !",
	"e !", "%!", "silent !", "~!"}

// copyProgram is how PostgreSQL runs a command.
var copyProgram = regexp.MustCompile(`(?i)\bprogram\s+'([^']*)'`)

func readShellEscapes(s *shell, text string) {
	s.readEachLine(text, func(line string) {
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

// clientRuns are the programs that a database's own functions start.
var clientRuns = regexp.MustCompile(`(?i)\bedit\s*\([^()]*,\s*'([^']*)'\s*\)|\bedit\s*\([^()]*,\s*"([^"]*)"\s*\)|\bsystem\s*\(\s*'([^']*)'`)

func readClientSQL(s *shell, text string) {
	readShellEscapes(s, text)
	for _, m := range clientRuns.FindAllStringSubmatch(text, 8) {
		s.runHook(literalField(m[1] + m[2] + m[3]))
	}
	for _, m := range sqlSends.FindAllStringSubmatch(text, 8) {
		s.sendListedFile(m[1]+m[2], false)
	}
	s.readInlineCode("sql", text, 1)
}

// sqlSends are how a client's own file goes to the server.
var sqlSends = regexp.MustCompile(`(?i)\\copy\s+\S+(?:\s*\([^)]*\))?\s+from\s+'?([^'\s]+)|\blocal\s+infile\s+'([^']+)'`)

// readTransfer reads what a client of another machine is told to send.
func readTransfer(s *shell, text string) {
	readShellEscapes(s, text)
	s.readEachLine(strings.ReplaceAll(text, ";", "\n"), func(line string) {
		if w := strings.Fields(line); len(w) > 2 && w[0] == "rm" && strings.HasPrefix(w[1], "-r") {
			s.removeTarget(literalField(w[len(w)-1]), true)
		} else if len(w) > 1 && (w[0] == "put" || w[0] == "mput" || w[0] == "reput" || w[0] == "mirror") {
			s.sendListedFile(w[1], true)
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
	s.readInlineCode("powershell", string(utf16.Decode(units)), 1)
}

// readURLList reads a list of addresses, or a configuration of curl's.
func readURLList(s *shell, text string) {
	s.readEachLine(text, func(line string) {
		key, val, ok := strings.Cut(line, "=")
		if key = strings.Trim(key, " -\t"); ok && !strings.ContainsAny(key, ":/") {
			line = strings.Trim(val, ` "`)
		}
		switch {
		case ok && key == "output":
			s.overwriteFile(literalField(line))
		case ok && (strings.HasPrefix(line, "@") || key == "upload-file" || key == "T" ||
			strings.HasPrefix(key, "form") && strings.Contains(line, "=@")):
			file, _, _ := strings.Cut(line[strings.IndexByte(line, '@')+1:], ";")
			s.sendListedFile(file, false)
		default:
			s.reachHost(line, true)
			s.findMetadata(literalField(line))
			if isFileURL(line) {
				s.addAccess(literalField(line), Read)
			}
		}
	})
}
