package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// action is one simple command being acted on: what the table says of its words,
// part by part.
type action struct {
	s    *shell
	at   *shell // in the folder where the program was told to work
	name string
	argv []field
	args []field
	use  programs.Use
	in   stream
	out  stream
	ran  int      // commands inside of it
	kept []string // where boxed commands see folders, and which

	before  counts
	counted map[origin]targets
}

func (a *action) run() stream {
	s := a.s
	if v := s.def.vars["GIT_WORK_TREE"]; a.name == "git" && len(v) > 0 && !v.isUnknown() {
		a.at = s.enterFolder(literalField(v[0].text()))
	}
	if a.use.Rehearsal {
		s.mentionWords(a.args)
		return a.printOutput()
	}
	for _, e := range a.use.Effects {
		s.addEffect(e)
	}
	for _, p := range a.use.Parts {
		a.actOnPart(p)
	}
	if a.use.Here.Role == programs.File {
		a.touchFile(a.use.Here, literalField("."))
	}
	a.reportUnread()
	a.reportSecrets()
	a.readGivenLists()
	a.readProject()
	a.addLookedUp()
	a.readInput()
	a.trackFiles()
	if !a.use.Known {
		a.tryUnknown()
	} else {
		s.mentionWords(a.listUncovered())
	}
	a.noteTraits()
	if a.ran > 0 {
		return a.out
	}
	return a.printOutput()
}

// printOutput is what the program prints, as far as that can be known.
func (a *action) printOutput() stream {
	args, in := a.args, a.in
	if a.use.Setup {
		return knownStream(":\n")
	}
	if a.name == "cat" && len(a.s.made.files) > 0 {
		if m, ok := a.s.findMadeFile(joinTexts(args)); ok && m.known {
			args, in = nil, knownStream(m.text)
		}
	}
	out := a.s.printText(a.name, args, in)
	out.secret = out.secret || a.use.Environment || a.use.Input == programs.Shown && a.in.secret || a.showsSecret() ||
		a.s.made.tells > a.before.tells
	a.markSecrets(&out)
	out.coded = !out.known && !a.use.Dumps && (out.coded || a.use.Input == programs.Shown && a.in.coded || a.s.made.codes > a.before.codes)
	out.foreign = !out.known && (out.foreign || a.use.Network && !a.use.Dumps || decoders.has(a.name) ||
		a.use.Input == programs.Shown && a.in.foreign)
	return out
}

// showsSecret reports whether a program prints what a file of credentials holds.
func (a *action) showsSecret() bool {
	for i := range a.use.Parts {
		p := &a.use.Parts[i]
		if p.Role != programs.File || p.Access != programs.Read || p.Names || p.Client {
			continue
		}
		if f := a.fieldOf(p); f.proc != nil && f.proc.secret || a.s.leaksFile(f, false) {
			return true
		}
	}
	return false
}

// fieldOf returns the words that a part stands in.
func (a *action) fieldOf(p *programs.Part) field {
	if p.Arg < 0 || p.Arg >= len(a.args) {
		return literalField(p.Text)
	}
	return a.args[p.Arg].slice(p.From, p.To)
}

// wordCost is what a word of a command inside of a command counts for, in bytes.
const wordCost = 16

// wordsOf returns the words of a Command or a Line, the first from its byte on.
func (a *action) wordsOf(p programs.Part) []field {
	end := min(max(p.End, p.Arg+1), len(a.args))
	if !a.s.budget.TakeBytes(wordCost * (end - p.Arg)) { // each command inside of a command has its own
		return nil
	}
	list := slices.Clone(a.args[p.Arg:end])
	if len(list) > 0 {
		list[0] = list[0].slice(p.From, p.To)
	}
	return list
}

func (a *action) actOnPart(p programs.Part) {
	if p.Role == programs.Data && (saysText.has(a.name) || textOptions.has(p.Option) || p.Option == "" && findsText.has(a.name)) {
		return // text that names no file
	}
	f := a.fieldOf(&p)
	switch p.Role {
	case programs.File:
		a.touchFile(p, f)
	case programs.Folder:
		a.enterFolder(f)
	case programs.Command:
		a.runCommandPart(p)
	case programs.Line:
		a.runLinePart(p)
	case programs.Code:
		a.at.readCode(f, p.Lang)
	case programs.Script:
		a.at.runScript(orElse(p.Lang, a.name), f, a.in, a.listParameters(p))
	case programs.Host, programs.URL:
		a.reachPartHost(p, f)
	case programs.Assign:
		if name, val, ok := strings.Cut(f.text, "="); ok {
			a.assignVariable(name, f.withText(val))
		}
	case programs.Data:
		a.at.mentionWords([]field{f})
		a.reportSecretFile(p, f)
	case programs.Sent:
		a.sendText(p, f)
	case programs.Process:
		if isEveryProcess(a.name, f) {
			a.s.addDanger(KillAll)
		}
	}
}

// enterFolder is the folder that the parts behind it work in.
func (a *action) enterFolder(f field) {
	if f.text == "" {
		return
	}
	a.at.addAccess(f, Mention)
	if unpacks[a.name] {
		if k, _ := a.at.findTree(f.text); k == path.RootTree { // over all there is
			a.s.addUnread(UnreadTarget)
		}
	}
	a.at = a.at.enterFolder(f)
}

// sendText looks at text that goes to another machine.
func (a *action) sendText(p programs.Part, f field) {
	if f.secret && !a.isOwnToken(p, f) || f.token && !logsIn[p.Option] && !a.asksForToken(f) {
		a.s.addUnread(SecretSent)
	}
	a.s.findMetadata(f)
	if strings.HasPrefix(f.text, "@") {
		p.Sent, p.Access = true, programs.Read
		a.touchFile(p, f)
	}
}

// saysText are the programs whose words are text that names no file, findsText
// those whose operand without an option is a pattern or a program.
var (
	saysText = newWordSet("echo printf true false : export man which type whereis hash tr test [ [[ expr read let set unset alias declare " +
		"local typeset readonly")
	findsText = newWordSet("grep egrep fgrep rg ag ack zgrep sed awk gawk mawk jq yq xq perl ruby python python3 node find fd")
)

// unpacks are the programs that write what an archive or a patch says.
var unpacks = toSet("tar gtar bsdtar cpio pax unzip patch 7z 7za unrar bsdcpio ar")

// logsIn are the options in which a client shows who it is.
var logsIn = toSet("-H --header -u --user --oauth2-bearer --password --token --auth -a")

// isEveryProcess reports whether a signal goes to all there are.
func isEveryProcess(name string, f field) bool {
	if name == "kill" {
		return f.text == "-1"
	}
	return !f.unknown && strings.Trim(f.text, ".*^$") == "" && (f.text != "." || name == "pkill")
}

// assignVariable gives a variable its value for the commands that follow.
func (a *action) assignVariable(name string, f field) {
	v := value{f.toFrags()}
	if a.at == a.s {
		a.at = a.s.fork()
	}
	a.at.setVariable(name, v)
	a.at.markVariable(name, exportedVar, 0)
	a.at.bindVariable(name, v)
}

// listParameters are the words behind a script or a line, which it knows as $1.
func (a *action) listParameters(p programs.Part) []field {
	from := min(max(p.Arg+1, 0), len(a.args))
	return a.args[from:]
}

func (a *action) runCommandPart(p programs.Part) {
	words := a.wordsOf(p)
	if len(words) == 0 {
		return
	}
	a.ran++
	switch {
	case p.Boxed:
		for _, f := range words {
			if strings.Contains(f.text, "://") {
				a.s.findMetadata(f)
			}
		}
		a.out = a.at.runBoxed(a.seeOutside(words), a.in, len(a.kept) > 0)
	case strings.ContainsAny(words[0].text, " \t\n;|&") || len(words) == 1 && words[0].blank:
		a.out = a.at.runCommandLine(words[0])
	default:
		a.out = a.at.fork().runWords(words, a.in)
	}
	a.reportShell(words[0].text)
}

func (a *action) runLinePart(p programs.Part) {
	words := a.wordsOf(p)
	if len(words) == 0 || isScriptName(words[0].text) {
		return
	}
	a.reportToken(words)
	if p.Lang == "git" { // of an alias
		a.at.runHook(words[0].withText("git " + words[0].text))
		return
	}
	if lang := orElse(p.Lang, "sh"); !isShellName(lang) {
		a.at.readCode(joinFields(words), lang)
		return
	}
	a.ran++
	if a.name == "env" { // in the line of its -S "\_" is a blank
		line := literalField(strings.ReplaceAll(words[0].text, `\_`, " "))
		if a.out = a.at.runCommandLine(line); len(words) > 1 {
			a.out = a.at.fork().runWords(append(literalFields(strings.Fields(line.text)), words[1:]...), a.in)
		}
		return
	}
	a.reportShell(words[0].text)
	lang := orElse(p.Lang, "sh")
	switch {
	case p.Boxed:
		a.out = a.at.runBoxed(literalFields([]string{"sh", "-c", joinTexts(words)}), a.in, false)
	case len(words) > 1:
		a.out = a.at.fork().evalWords(words)
	case isShellName(a.name):
		a.out = a.at.runScriptText(lang, words[0], a.listParameters(p))
	case words[0].blank && programOptions[p.Option]:
		a.at.addOpaque("")
	case p.Option != "":
		a.at.runHook(words[0])
	default:
		a.out = a.at.runCommandLine(words[0])
	}
	if list := strings.Fields(joinTexts(words)); a.in.known && len(list) > 0 && isShellName(programName(list[0])) && !isShellName(a.name) {
		a.at.fork().runWords(literalFields(list), a.in)
	}
}

// isScriptName reports whether a word is a script of the project, or a pattern
// of several: "npm:watch-*".
func isScriptName(text string) bool {
	by, _, ok := strings.Cut(text, ":")
	return ok && (by == "npm" || by == "pnpm" || by == "yarn" || by == "bun" || by == "deno")
}

// reportShell notes a shell that is handed to another machine.
func (a *action) reportShell(first string) {
	word, _, _ := strings.Cut(strings.TrimSpace(first), " ")
	name := programName(word)
	if a.use.Network && isDialer[a.name] && (isShellName(name) || name == "cmd" || name == "powershell") {
		a.s.addUnread(RemoteShell)
	}
}

// reportToken notes a secret among the words for another machine.
func (a *action) reportToken(words []field) {
	if a.name == "ssh" && slices.ContainsFunc(words, func(f field) bool { return f.token || f.secret }) {
		a.s.addUnread(SecretSent)
	}
}

// isDialer are the programs that join a command to a connection.
var isDialer = toSet("nc ncat netcat socat telnet openssl")

// seeOutside maps the paths of a boxed command to where they are on this
// machine.
func (a *action) seeOutside(words []field) []field {
	out := slices.Clone(words)
	for i, f := range out {
		for j := 0; j+1 < len(a.kept); j += 2 {
			inside, host := a.kept[j], a.kept[j+1]
			f.text, f.bare = mapInside(f.text, inside, host), mapInside(f.bare, inside, host)
		}
		out[i] = f
	}
	return out
}

func mapInside(text, inside, host string) string {
	if text == inside {
		return host + "/"
	}
	return strings.ReplaceAll(text, inside+"/", host+"/")
}

// listUncovered are the words that no part stands in: what they hold may be a
// path. Those behind a line or code are its parameters.
func (a *action) listUncovered() []field {
	first := 0
	for first < len(a.args) && !mayNamePath(a.args[first].text) {
		first++
	}
	if first == len(a.args) { // most
		return nil
	}
	var out []field
	covered, parameters := a.markCoveredWords()
	for i, f := range a.args {
		option := len(f.text) > 1 && f.text[0] == '-'
		if covered[i] || !mayNamePath(f.text) || !option && (i > parameters || saysText.has(a.name) || findsText.has(a.name)) {
			continue
		}
		out = append(out, f)
	}
	return out
}

func mayNamePath(text string) bool {
	for i := range len(text) {
		switch text[i] {
		case '/', '~', '.', ':':
			return true
		}
	}
	return false
}

// markCoveredWords marks the words that a part stands in, and returns where the
// parameters of a line or of code begin.
func (a *action) markCoveredWords() (covered []bool, parameters int) {
	covered, parameters = make([]bool, len(a.args)), len(a.args)
	for _, p := range a.use.Parts {
		if p.Arg < 0 || p.Arg >= len(a.args) {
			continue
		}
		covered[p.Arg] = true
		switch p.Role {
		case programs.Line, programs.Command:
			for i := p.Arg; i < min(p.End, len(a.args)); i++ {
				covered[i] = true
			}
		}
		if p.Role == programs.Line || p.Role == programs.Code || p.Role == programs.Script {
			parameters = min(parameters, p.Arg)
		}
	}
	return covered, parameters
}

// reportUnread names the options that the program's row does not, where they
// stand before code or a command.
func (a *action) reportUnread() {
	if len(a.use.Unread) == 0 {
		return
	}
	runs := slices.ContainsFunc(a.use.Parts, func(p programs.Part) bool {
		return p.Role == programs.Command || p.Role == programs.Line || p.Role == programs.Code || p.Role == programs.Script
	})
	if runs || a.use.Input == programs.Runs {
		a.s.addUnread(UnreadOption)
		a.s.tryCommands(a.name, a.args)
	}
}

// partitioners do to a disk as their input says.
var partitioners = newWordSet("fdisk gdisk cfdisk sgdisk sfdisk parted")

// readInput does with the standard input what the program does.
func (a *action) readInput() {
	if partitioners.has(a.name) && a.in.open && !hasFlag(a.args, "l", "list") && slices.ContainsFunc(a.args, a.s.isOnDevice) {
		a.s.addDanger(DeviceWrite)
	}
	switch a.use.Input {
	case programs.Leaves:
		a.sendInput()
	case programs.Runs:
		if a.in.secret && a.use.Network {
			a.s.addUnread(SecretSent)
		}
		forkProcess(a.at).runStream(a.use.InputLang, a.name, a.in)
	case programs.Names:
		a.readNameList()
	case programs.Shown, programs.Ignored, programs.Items:
	}
}

func (a *action) sendInput() {
	a.s.made.sends++
	if a.in.known { // some clients take lines for the shell
		readShellEscapes(a.s, a.in.text)
	}
	if a.in.known && strings.Contains(strings.ToLower(a.in.text), "flush_all") { // of memcached
		a.s.addDoubt(DatabaseLoss)
	}
	if a.in.secret || a.in.dump && a.use.Network && a.leavesAlone() || a.in.token && a.use.Network && a.ran == 0 && !a.keepsSecrets() {
		a.s.addUnread(SecretSent)
	}
}

// textOptions are the options whose value is text for people.
var textOptions = newWordSet("-m --message --msg --title --body --text --comment --note --notes --desc --description --subject --summary " +
	"--prompt --query --grep --pattern --regex --regexp --label --reason --name --content --match --search")

// programOptions are those whose value a program is likely to run.
var programOptions = toSet("-c -e -x -E -X -ex -o --exec --execute --cmd --command --run --eval --shell --hook --script --call --do " +
	"--on-change --before --after --pre --post")

// tryUnknown reads the words of a program that no row is of: what they mention,
// what was just written under its name, and what they would be as a command.
func (a *action) tryUnknown() {
	s := a.s
	s.mentionWords(a.args)
	if s.replayFile("", a.argv[0], a.args) {
		return
	}
	for i, f := range a.args {
		opt, val, joined := strings.Cut(f.text, "=")
		if textOptions.has(opt) || i > 0 && textOptions.has(a.args[i-1].text) {
			continue
		}
		if joined && !strings.ContainsAny(f.text, " \n") {
			f = f.withText(val)
		}
		if s.namesCoreTree(f) || len(f.text) > 2 && f.text[0] == '-' && s.namesCoreTree(f.slice(2, 0)) {
			s.addUnread(UnreadProgram)
		}
		if i > 0 && programOptions[a.args[i-1].text] && strings.ContainsAny(f.text, "({`$;") {
			s.tryCode(f)
		}
	}
	s.tryCommands(a.name, a.args)
}

// noteTraits remembers what a command says of the whole line: whether it only
// reads, and whether it takes names for files.
func (a *action) noteTraits() {
	s := a.s
	if !a.use.Known || !a.use.Reads || a.use.Network {
		s.made.impure = s.made.impure || !s.quiet && !instant.has(a.name)
	}
	if a.use.Input == programs.Items {
		s.made.opens++
	}
}

// startCommand makes a as new, each field of it, but for its use, which is put into
// it next.
func (a *action) startCommand(s *shell, name string, argv []field, in stream) {
	a.s, a.at, a.name, a.argv, a.args = s, s, name, argv, argv[1:]
	a.in, a.out, a.before = in, stream{open: true}, s.made.counts
	a.ran, a.kept, a.counted = 0, nil, nil
}

// room is what acting on one command needs. Commands that follow each other share
// one, those inside of others have their own.
type room struct {
	action
	reader programs.Reader
	words  []programs.Word
}

func listWords(words []programs.Word, args []field) []programs.Word {
	for i := range args {
		f := &args[i]
		words = append(words, programs.Word{Text: f.text, Known: !f.unknown && f.proc == nil})
	}
	return words
}
