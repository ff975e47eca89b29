package code

import (
	"regexp"
	"strings"
	"sync"
)

// The commands of PowerShell and cmd.exe that remove, write and read files, by
// all their names.
const (
	powerRemoves = " remove-item ri rm rd rmdir del erase clear-content clc unlink "
	powerWrites  = " set-content sc add-content ac out-file tee-object new-item ni mkdir md copy-item cpi cp copy move-item mi mv move rename-item rni ren tee "
	powerReads   = " get-content gc cat type select-string sls import-csv import-clixml get-acl more findstr "
	powerRuns    = " start-process saps start invoke-command icm start-job invoke-item ii call cmd cmd.exe powershell powershell.exe pwsh wsl bash sh "
	powerEvals   = " invoke-expression iex add-type invoke-wmimethod invoke-cimmethod register-scheduledtask new-service set-executionpolicy new-itemproperty set-itemproperty set-mppreference "
	// powerVerbs begin the names of commands that change nothing.
	powerVerbs = " get select where sort measure group foreach write out convertto convertfrom test compare format join split resolve show import export read find search wait new set "
	// powerLoss are commands of such verbs that nobody should lose data to.
	powerLoss = " format-volume format-disk set-disk set-partition set-content "
	powerSafe = " start-sleep start-transcript stop-transcript clear-host invoke-pester invoke-build use-module "
	powerNets = " invoke-webrequest iwr invoke-restmethod irm start-bitstransfer test-netconnection curl wget "
)

func among(list, name string) bool { return strings.Contains(list, " "+name+" ") }

var powerStatic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\[(?:system\.)?io\.(?:file|directory)\]::(\w+)\(\s*(?:['"]([^'"$]+)['"])?`)
})

// powerWord is a word of PowerShell; quoted is set where it stood in quotes.
type powerWord struct {
	text         string
	quoted, open bool
}

// readPowerShell reads statements of PowerShell, or of cmd.exe.
func readPowerShell(f *Findings, text string) {
	low := strings.ToLower(text)
	for _, w := range []string{
		"[scriptblock]", "frombase64string", "reflection", "downloadstring", "downloaddata", "[activator]", "getmethod(", "invokescript", "virtualalloc",
		"dllimport", ".invoke(", "-encodedcommand", "tcpclient", "[diagnostics.process]", "-join", "[char]", "shadowcopy", "wmi",
	} {
		f.Unread = f.Unread || strings.Contains(low, w)
	}
	for _, m := range powerStatic().FindAllStringSubmatch(text, maxFound) {
		access := ToRead
		switch verb := strings.ToLower(m[1]); {
		case strings.HasPrefix(verb, "delete"):
			access = ToDelete
		case strings.HasPrefix(verb, "read") || strings.HasPrefix(verb, "open") || strings.HasPrefix(verb, "get") || strings.HasPrefix(verb, "exists") || strings.HasPrefix(verb, "enum"):
		default:
			access = ToWrite
		}
		f.Unread = f.Unread || m[2] == "" && access != ToRead
		f.addPath(m[2], access)
	}
	var words []powerWord
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '#':
			i += len(text[i:][:endOr(strings.IndexByte(text[i:], '\n'), len(text)-i)])
		case strings.IndexByte(";|\n{}&()", c) >= 0:
			if c == '&' && len(words) == 0 {
				words = append(words, powerWord{text: "&"})
			} else {
				f.readPowerLine(words)
				words = words[:0]
			}
			i++
		case c == '"' || c == '\'':
			body, n := cutPower(text[i:])
			i += n
			open := c == '"' && strings.IndexByte(body, '$') >= 0
			words = append(words, powerWord{body, true, open})
		case c <= ' ' || c == ',':
			i++
		default:
			n := endOr(strings.IndexAny(text[i:], " \t\n;|{}&(),\"'"), len(text)-i)
			w := text[i : i+max(n, 1)]
			words = append(words, wordOfPower(w))
			i += max(n, 1)
		}
		if strings.HasSuffix(text[:i], "://") {
			f.Network = true
		}
	}
	f.readPowerLine(words)
}

// wordOfPower is a word without quotes, its home folder as "~".
func wordOfPower(w string) powerWord {
	w = strings.ReplaceAll(w, "`", "")
	for _, home := range []string{"$home", "$env:home", "$env:userprofile"} {
		if len(w) >= len(home) && strings.EqualFold(w[:len(home)], home) && (len(w) == len(home) || w[len(home)] == '/' || w[len(home)] == '\\') {
			return powerWord{text: "~" + w[len(home):]}
		}
	}
	return powerWord{text: w, open: strings.HasPrefix(w, "$") && !strings.EqualFold(w, "$null")}
}

// cutPower returns a text of PowerShell, whose escape is the backtick.
func cutPower(t string) (string, int) {
	for i := 1; i < len(t); i++ {
		switch t[i] {
		case '`':
			i++
		case t[0]:
			return t[1:i], i + 1
		}
	}
	return t[1:], len(t)
}

func (f *Findings) readPowerLine(words []powerWord) {
	invoked := len(words) > 0 && words[0].text == "&"
	if invoked {
		if words = words[1:]; len(words) == 0 || words[0].open {
			f.Unread = true
			return
		}
	}
	for len(words) > 1 && strings.HasPrefix(words[0].text, "$") { // $x = …
		if len(words) > 2 && words[1].text == "=" {
			words = words[2:]
			continue
		}
		return
	}
	if len(words) == 0 || words[0].quoted && !invoked {
		return
	}
	name := strings.ToLower(strings.TrimSuffix(words[0].text, ".exe"))
	verb, _, cmdlet := strings.Cut(name, "-")
	for _, w := range words[1:] {
		if strings.Contains(w.text, "://") {
			f.Network, f.URLs = true, append(f.URLs, w.text)
		}
		if strings.EqualFold(w.text, "-whatif") || strings.EqualFold(w.text, "-?") || w.text == "/?" {
			return
		}
	}
	switch {
	case among(powerEvals, name):
		if len(words) == 2 && words[1].quoted && !words[1].open && (name == "iex" || name == "invoke-expression") {
			f.Inner = append(f.Inner, Inline{"powershell", words[1].text})
			return
		}
		f.Unread = true
	case among(powerRemoves, name):
		f.placePower(words[1:], ToDelete)
	case among(powerWrites, name):
		f.placePower(words[1:], ToWrite)
	case among(powerReads, name):
		f.placePower(words[1:], ToRead)
	case among(powerNets, name):
		f.Network = true
		for k, w := range words {
			if low := strings.ToLower(w.text); (low == "-body" || low == "-infile" || low == "-headers") && (k+1 == len(words) || words[k+1].open) {
				f.Sends, f.Unread = true, true
			}
			if strings.EqualFold(w.text, "-outfile") && k+1 < len(words) {
				f.addPath(words[k+1].text, ToWrite)
			}
		}
	case among(powerRuns, name) || invoked || !cmdlet && !strings.ContainsAny(name, "$[]@=%.+*?\\<>:") && len(words) > 1 && isLetter(name[0]) && !powerKeywords[name]:
		f.runPower(words, name)
	case among(powerSafe, name):
	case cmdlet && !among(powerVerbs, verb) && isLetter(name[0]), among(powerLoss, name):
		f.Unread = true
	}
}

var powerKeywords = map[string]bool{"if": true, "else": true, "elseif": true, "foreach": true, "for": true, "while": true, "do": true, "function": true, "return": true, "param": true, "try": true, "catch": true, "finally": true, "in": true, "switch": true, "echo": true, "where": true, "select": true, "sort": true, "measure": true}

func (f *Findings) runPower(words []powerWord, name string) {
	list := make([]string, 0, len(words))
	for k, w := range words {
		f.Unread = f.Unread || w.open
		low := strings.ToLower(w.text)
		if k == 0 && among(" start-process saps start call invoke-command icm start-job invoke-item ii ", name) || low == "-filepath" || low == "-argumentlist" || low == "-scriptblock" || low == "-wait" {
			continue
		}
		list = append(list, w.text)
	}
	if len(list) > 0 {
		if own := strings.ToLower(list[0]); own == "powershell" || own == "pwsh" || own == "powershell.exe" {
			f.Unread = f.Unread || len(list) == 1
		}
		f.Commands = append(f.Commands, Command{Words: list})
	}
}

func (f *Findings) placePower(words []powerWord, access Access) {
	tree, seen := false, false
	var texts []string
	for k, w := range words {
		low := strings.ToLower(w.text)
		switch {
		case !w.quoted && (strings.HasPrefix(low, "-") || len(low) <= 3 && strings.HasPrefix(low, "/") && access == ToDelete):
			tree = tree || strings.HasPrefix(low, "-r") || low == "/s"
		case k > 0 && (strings.EqualFold(words[k-1].text, "-value") || strings.EqualFold(words[k-1].text, "-filter") || strings.EqualFold(words[k-1].text, "-itemtype") || strings.EqualFold(words[k-1].text, "-tail") || strings.EqualFold(words[k-1].text, "-pattern")):
		case w.open:
			seen = true
			f.Unread = f.Unread || access != ToRead
		default:
			seen = true
			texts = append(texts, w.text)
		}
	}
	if access == ToWrite && len(texts) > 2 {
		texts = texts[:2]
	}
	for _, t := range texts {
		f.Paths = append(f.Paths, Path{Text: cutText(t), Access: access, Tree: tree})
	}
	f.Unread = f.Unread || !seen && access == ToDelete // what it removes comes from a pipe
}
