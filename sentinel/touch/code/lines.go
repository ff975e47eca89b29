package code

import (
	"regexp"
	"strings"
)

const (
	maxCode  = 16 << 10 // bytes of code
	maxLines = 4 << 10  // bytes of code that patterns read
	maxFound = 512      // findings of a kind
	maxText  = 4096     // bytes of a text
)

// Read says what text does as code in a language: "python", "js", "perl",
// "ruby", "php", "lua", "awk", "sed", "r", "julia", "tcl", "java", "groovy",
// "scala", "kotlin", "go", "elixir", "erlang", "powershell", "cmd",
// "osascript", "lisp", "vim", "ed", "gdb", "make", "m4", "dc", "jq", "sql",
// "mongo", "redis" or "cypher". Any other is read as C would be.
func Read(lang, text string) Findings {
	f := Findings{}
	if limit := readingLimit(lang); len(text) > limit {
		text, f.Unread = text[:limit], true
	}
	text = strings.ReplaceAll(text, "\x00", " ")
	if lang == "cmd" {
		text = strings.ReplaceAll(text, "^", "")
	}
	f.applyRules(readRules()[lang], text)
	if !isAmong(lineLanguages, lang) {
		readProgram(&f, lang, text)
	}
	f.Unread = f.Unread || max(len(f.Paths), len(f.Commands), len(f.URLs), len(f.Inner)) > maxFound
	f.Paths, f.Commands = f.Paths[:min(len(f.Paths), maxFound)], f.Commands[:min(len(f.Commands), maxFound)]
	f.URLs, f.Inner = f.URLs[:min(len(f.URLs), maxFound)], f.Inner[:min(len(f.Inner), maxFound)]
	return f
}

// lineLanguages are read by their patterns alone.
const lineLanguages = " awk sed ed vim gdb make dc bc m4 jq tcl powershell cmd osascript sql redis cypher "

// readingLimit returns how many bytes of a program are read.
func readingLimit(lang string) int {
	if isAmong(lineLanguages, lang) {
		return maxLines
	}
	return maxCode
}

// Cost returns what a caller charges to its budget of bytes for a Read. Reading
// a byte takes longer than expanding one, and patterns take longest. Four
// programs of the longest length that is read cost 1 MiB.
func Cost(lang, text string) int {
	limit := readingLimit(lang)
	return (256 + min(len(text), limit)) * (256 << 10 / limit)
}

func (f *Findings) addCommandLine(line, folder string) {
	if line = strings.TrimSpace(line); line != "" && len(f.Commands) <= maxFound {
		f.Commands = append(f.Commands, Command{Line: line, Folder: folder})
	}
}

// addNamedPath keeps a path that has a name.
func (f *Findings) addNamedPath(p Path) {
	p.Text = cutText(p.Text)
	f.Unread = f.Unread || mayBeCut(p.Text)
	if p.Text != "" && len(f.Paths) <= maxFound {
		f.Paths = append(f.Paths, p)
	}
}

// addInnerCode keeps code inside of the code.
func (f *Findings) addInnerCode(lang, text string) {
	text = cutText(text)
	f.Unread = f.Unread || mayBeCut(text)
	f.Inner = append(f.Inner, Inline{lang, text})
}

func (f *Findings) addEffect(code string) {
	if len(f.Effects) == 0 || f.Effects[len(f.Effects)-1] != code {
		f.Effects = append(f.Effects, code)
	}
}

func cutText(t string) string { return t[:min(len(t), maxText)] }

// mayBeCut reports whether cutText may have cut a text: what it cut off may be the
// half that matters.
func mayBeCut(t string) bool { return len(t) >= maxText }

func isAmong(list, name string) bool { return name != "" && strings.Contains(list, " "+name+" ") }

// applyRules acts on what the patterns of a language find. They look at the code
// as it is without what a "mask" hides; what they find is cut from the text.
func (f *Findings) applyRules(rules []rule, text string) {
	masked, low := text, foldLetters(text)
	for _, r := range rules {
		if r.action == "mask" {
			masked = r.pattern.ReplaceAllStringFunc(masked, blankMasked)
			low = foldLetters(masked)
			continue
		} else if !r.mayMatch(low) {
			continue
		}
		matches := r.pattern.FindAllStringSubmatchIndex(masked, maxFound)
		f.Unread = f.Unread || len(matches) == maxFound
		for _, m := range matches {
			found := ""
			for k := 2; k+1 < len(m) && found == ""; k += 2 {
				if m[k] >= 0 {
					found = strings.TrimSpace(text[m[k]:m[k+1]])
					if bare := strings.Trim(found, quotes); r.action != "start" || !strings.ContainsAny(bare, quotes) {
						found = bare // else they belong to its words
					}
				}
			}
			if !strings.Contains(strings.ToLower(text[m[0]:m[1]]), "-whatif") {
				f.actOnMatch(r.action, found)
			}
		}
	}
}

const quotes = "\"'`"

// foldLetters returns a text in small letters, with the two letters that patterns
// take for an "s" and a "k".
func foldLetters(t string) string { return letters.Replace(strings.ToLower(t)) }

var letters = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// blankMasked blanks a comment; of a text it leaves the quotes, of a part of sed
// its first letter and its last.
func blankMasked(t string) string {
	if strings.HasPrefix(t, "--") || strings.HasPrefix(t, "/*") || t[0] == '#' {
		return strings.Repeat(" ", len(t))
	} else if t[0]|0x20 == 'w' {
		return strings.Repeat("\x02", len(t)) // where
	}
	return t[:1] + strings.Repeat("\x01", max(len(t)-2, 0)) + t[max(len(t)-1, 1):]
}

// startOption is what stands before, between and behind the words that
// PowerShell's Start-Process hands over.
var startOption = regexp.MustCompile(`(?i)\B-(?:argumentlist|args?|filepath|wait|nonewwindow|passthru|windowstyle\s+\w+|verb\s+\w+)\b|,`)

// makeVar is a variable of a makefile, which the shell gets as its own.
var makeVar = regexp.MustCompile(`\$[({]([\w-]+)[)}]`)

// actOnMatch adds what a pattern has found.
func (f *Findings) actOnMatch(action, found string) {
	switch action {
	case "run":
		f.addCommandLine(strings.TrimLeft(found, "|! "), "")
	case "start":
		f.addCommandLine(startOption.ReplaceAllString(found, " "), "")
	case "recipe":
		f.addCommandLine(makeVar.ReplaceAllString(strings.ReplaceAll(found, "$$", "$"), "$${$1}"), "")
	case "read", "write", "delete", "source":
		f.actOnFileWords(action, found)
	case "url":
		f.Network, f.URLs = true, append(f.URLs, cutText(found))
	case "environment":
		f.Environment = true
	case "credential":
		f.Credential = true
	case "cmdlet":
		known, verb := readWords()["powershell"], strings.ToLower(found)
		verb, _, _ = strings.Cut(verb, "-")
		f.Unread = f.Unread || known[verb] == nil && known[strings.ToLower(found)] == nil
	case "unread":
		f.Unread = true
	default:
		if lang, ok := strings.CutPrefix(action, "inner:"); ok {
			f.Inner = append(f.Inner, Inline{lang, found})
		} else {
			f.addEffect(action)
		}
	}
}

// actOnFileWords adds the files among the words of a command. Options are none, nor
// what stands behind "|" or "!".
func (f *Findings) actOnFileWords(action, found string) {
	access := map[string]Access{"read": ToRead, "write": ToWrite, "delete": ToDelete, "source": ToRead | ToExecute}[action]
	count := 0
	for w := range strings.FieldsSeq(found) {
		w = strings.Trim(w, `{}"',`)
		for _, home := range [...]string{"$home", "$env:home", "$env:userprofile"} {
			if low := strings.ToLower(w); low == home || strings.HasPrefix(low, home+"/") || strings.HasPrefix(low, home+`\`) {
				w = "~" + w[len(home):]
			}
		}
		switch {
		case strings.HasPrefix(w, "|") || strings.HasPrefix(w, "!"):
			f.addCommandLine(strings.TrimLeft(found, "|! "), "")
			return
		case strings.HasPrefix(w, "$") && access != ToRead:
			f.Unread = true
		case w != "" && w[0] != '-' && w[0] != '$' && !isAmong(" stdout off ", w) && (len(w) != 2 || w[0] != '/' || access != ToDelete):
			if count++; count < 3 || access != ToWrite { // from, to; what follows is content
				f.addNamedPath(Path{Text: w, Access: access, Tree: access == ToDelete})
			}
		}
	}
	f.Unread = f.Unread || count == 0 && access == ToDelete // what it removes comes from elsewhere
}
