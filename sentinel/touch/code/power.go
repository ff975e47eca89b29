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
	powerWrites  = " set-content sc add-content ac out-file tee-object new-item ni mkdir md copy-item cpi cp copy move-item mi mv move " +
		"rename-item rni ren tee "
	powerReads = " get-content gc cat type select-string sls import-csv import-clixml get-acl more findstr "
	// powerStarts begin a line whose other words are the command.
	powerStarts = " start-process saps start invoke-command icm start-job invoke-item ii call "
	powerRuns   = powerStarts + "cmd powershell pwsh wsl bash sh "
	powerEvals  = " invoke-expression iex add-type invoke-wmimethod invoke-cimmethod register-scheduledtask new-service " +
		"set-executionpolicy new-itemproperty set-itemproperty set-mppreference "
	powerNets = " invoke-webrequest iwr invoke-restmethod irm start-bitstransfer test-netconnection curl wget "
	powerSafe = " start-sleep start-transcript stop-transcript clear-host invoke-pester invoke-build "
	// powerVerbs begin the names of commands that lose nothing, but for powerLoss.
	powerVerbs = " get select where sort measure group foreach write out convertto convertfrom test compare format join split resolve show " +
		"import export read find search wait new set "
	powerLoss     = " format-volume format-disk set-disk set-partition "
	powerKeywords = " if else elseif foreach for while do function return param try catch finally in switch echo where select sort measure "
	// powerOptions have a value that is no file.
	powerOptions = " -value -filter -itemtype -tail -pattern -encoding -delimiter "
	// powerHidden are words of code that runs, and doesn't show what it is.
	powerHidden = "[scriptblock] frombase64string reflection downloadstring downloaddata [activator] getmethod( invokescript virtualalloc " +
		"dllimport .invoke( -encodedcommand tcpclient [diagnostics.process] -join [char] shadowcopy wmi .delete("
)

func among(list, name string) bool { return name != "" && strings.Contains(list, " "+name+" ") }

var powerStatic = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\[(?:system\.)?io\.(?:file|directory)\]::(\w+)\(\s*(?:['"]([^'"$]+)['"])?`)
})

// powerBomb is a loop without end that starts programs, or a script that does.
var powerBomb = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)%0\s*\|\s*%0|` +
		`(?:while\s*\(\s*(?:1|\$true)\s*\)|for\s*\(;;\)|for\s+/l\s+%+\w\s+in\s*\(\d+,0,\d+\)\s*do)[\s{]*(?:start|saps)`)
})

// powerWord is a word of PowerShell; quoted is set where it stood in quotes.
type powerWord struct {
	text         string
	quoted, open bool
}

// readPowerShell reads statements of PowerShell, or of cmd.exe.
func readPowerShell(f *Findings, text string) {
	low := strings.ToLower(text)
	for w := range strings.FieldsSeq(powerHidden) {
		f.Unread = f.Unread || strings.Contains(low, w)
	}
	f.Network = strings.Contains(text, "://")
	if powerBomb().MatchString(text) {
		f.Effects = append(f.Effects, "fork_bomb")
	}
	f.readPowerStatic(text)
	var words, before []powerWord
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '#':
			i += endOr(strings.IndexByte(text[i:], '\n'), len(text)-i)
		case c == '&' && len(words) == 0:
			words = append(words, powerWord{text: "&"})
			i++
		case strings.IndexByte(";|\n{}&()", c) >= 0:
			before = f.readPowerStage(before, words, c == '|')
			words = nil
			i++
		case c == '"' || c == '\'':
			body, n := cutPower(text[i:])
			i += n
			words = append(words, powerWord{body, true, c == '"' && strings.IndexByte(body, '$') >= 0})
		case c <= ' ' || c == ',':
			i++
		default:
			n := max(endOr(strings.IndexAny(text[i:], " \t\n;|{}&(),\"'"), len(text)-i), 1)
			words = append(words, wordOfPower(text[i:i+n]))
			i += n
		}
	}
	f.readPowerStage(before, words, false)
}

// readPowerStatic reads the calls of .NET on files.
func (f *Findings) readPowerStatic(text string) {
	for _, m := range powerStatic().FindAllStringSubmatch(text, maxFound) {
		access := ToWrite
		switch verb := strings.ToLower(m[1]); {
		case strings.HasPrefix(verb, "delete"):
			access = ToDelete
		case strings.HasPrefix(verb, "read") || strings.HasPrefix(verb, "open") || strings.HasPrefix(verb, "get") || verb == "exists":
			access = ToRead
		}
		f.Unread = f.Unread || m[2] == "" && access != ToRead
		f.addPath(m[2], access)
	}
}

// readPowerStage reads one command of a pipe. What the one before it lists is
// what a removal without a name takes; it returns the words of one that lists.
func (f *Findings) readPowerStage(before, words []powerWord, piped bool) []powerWord {
	f.readPowerLine(words)
	if len(words) == 0 {
		return nil
	}
	name := strings.ToLower(words[0].text)
	if len(before) > 0 && among(powerRemoves, name) {
		f.placePower(before[1:], ToDelete)
	}
	if piped && among(" get-childitem gci ls dir get-item gi ", name) {
		return words
	}
	return nil
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

// readPowerLine reads one command.
func (f *Findings) readPowerLine(words []powerWord) {
	invoked := len(words) > 0 && words[0].text == "&"
	if invoked {
		if words = words[1:]; len(words) == 0 || words[0].open {
			f.Unread = true
			return
		}
	}
	for len(words) > 2 && strings.HasPrefix(words[0].text, "$") && words[1].text == "=" { // $x = …
		words = words[2:]
	}
	if len(words) == 0 || words[0].quoted && !invoked || strings.HasPrefix(words[0].text, "$") {
		return
	}
	for _, w := range words[1:] {
		if strings.Contains(w.text, "://") && len(f.URLs) <= maxFound {
			f.URLs = append(f.URLs, cutText(w.text))
		}
		if strings.EqualFold(w.text, "-whatif") || w.text == "-?" || w.text == "/?" {
			return
		}
	}
	f.readPowerCommand(strings.ToLower(strings.TrimSuffix(words[0].text, ".exe")), words, invoked)
}

func (f *Findings) readPowerCommand(name string, words []powerWord, invoked bool) {
	verb, _, cmdlet := strings.Cut(name, "-")
	switch {
	case name == "":
	case (name == "iex" || name == "invoke-expression") && len(words) == 2 && words[1].quoted && !words[1].open:
		f.Inner = append(f.Inner, Inline{"powershell", words[1].text})
	case among(powerEvals, name):
		f.Unread = true
	case among(powerLoss, name):
		f.Unread = true
		f.runPower(words, false)
	case among(powerRemoves, name):
		f.placePower(words[1:], ToDelete)
	case among(powerWrites, name):
		f.placePower(words[1:], ToWrite)
	case among(powerReads, name):
		f.placePower(words[1:], ToRead)
	case among(powerNets, name):
		f.readPowerNet(words)
	case among(powerSafe, name):
	case among(powerRuns, name) || invoked || !cmdlet && isProgram(name) && len(words) > 1:
		f.runPower(words, among(powerStarts, name))
	case cmdlet && isLetter(name[0]) && !among(powerVerbs, verb):
		f.Unread = true
		f.runPower(words, false)
	}
}

func isProgram(name string) bool {
	return isLetter(name[0]) && !strings.ContainsAny(name, "$[]@=%.+*?\\<>:") && !among(powerKeywords, name)
}

func (f *Findings) readPowerNet(words []powerWord) {
	f.Network = true
	for k, w := range words[:len(words)-1] {
		switch strings.ToLower(w.text) {
		case "-body", "-infile", "-headers":
			f.Sends = true
			f.Unread = f.Unread || words[k+1].open
		case "-outfile":
			f.addPath(words[k+1].text, ToWrite)
		}
	}
}

// runPower adds the command that words are, without the word that starts it.
func (f *Findings) runPower(words []powerWord, started bool) {
	list := make([]string, 0, len(words))
	for k, w := range words {
		f.Unread = f.Unread || w.open
		if k == 0 && started || among(" -filepath -argumentlist -scriptblock -wait ", strings.ToLower(w.text)) {
			continue
		}
		list = append(list, w.text)
	}
	if len(list) == 0 || len(f.Commands) > maxFound {
		return
	}
	f.Unread = f.Unread || len(list) == 1 && shells[strings.ToLower(list[0])]
	f.Commands = append(f.Commands, Command{Words: list})
}

// placePower adds the files among the words of a command.
func (f *Findings) placePower(words []powerWord, access Access) {
	tree, seen, count := false, false, 0
	for _, w := range words {
		tree = tree || !w.quoted && (strings.HasPrefix(strings.ToLower(w.text), "-r") || strings.EqualFold(w.text, "/s"))
	}
	for k, w := range words {
		switch {
		case !w.quoted && (strings.HasPrefix(w.text, "-") || len(w.text) <= 3 && len(w.text) > 1 && w.text[0] == '/' && access == ToDelete):
		case k > 0 && among(powerOptions, strings.ToLower(words[k-1].text)):
		case w.open:
			seen = true
			f.Unread = f.Unread || access != ToRead
		case access == ToWrite && count == 2: // from, to; what follows is content
		default:
			seen = true
			count++
			f.add(Path{Text: w.text, Access: access, Tree: tree})
		}
	}
	f.Unread = f.Unread || !seen && access == ToDelete // what it removes comes from a pipe
}
