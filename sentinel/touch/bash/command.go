package bash

import (
	paths "path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

func (s *shell) runCallExpr(ce *syntax.CallExpr, in stream) stream {
	if len(ce.Args) == 0 {
		for _, a := range ce.Assigns {
			assignVariable(s, a)
		}
		return stream{open: true, known: true}
	}
	if len(ce.Args) < 3 && isItself(ce.Args[0]) {
		s.findBreeding(s.started)
	}
	argv := s.made.takeFields(len(ce.Args))
	defer func() { s.made.giveFields(argv) }()
	var choices []choice
	name, ok := s.readLiteral(ce.Args[0])
	if ok { // most
		argv, choices = s.appendWords(append(argv, literalField(name)), ce.Args[1:])
		stays := lasting.has(name) || s.def.funcs[name] != nil
		return runAssigned(s, ce.Assigns, stays, func() stream { return runReadings(s, nil, argv, choices, in) })
	}
	first := s.expandWord(ce.Args[0])
	argv, choices = s.appendWords(argv, ce.Args[1:])
	return runAssigned(s, ce.Assigns, true, func() stream { return s.runAlternatives(first, argv, choices, in) })
}

// runAlternatives runs a command once for each value that its first word may have.
func (s *shell) runAlternatives(first [][]field, rest []field, choices []choice, in stream) stream {
	out := stream{open: true}
	for i, f := range first {
		if i == 8 {
			s.budget.over = true
			break
		}
		if len(f)+len(rest) > 0 {
			out = runReadings(s, f, rest, choices, in)
		}
	}
	return out
}

// appendWords adds the fields of words, and returns which of them are one of several.
func (s *shell) appendWords(argv []field, list []*syntax.Word) (words []field, choices []choice) {
	for _, w := range list {
		if text, ok := s.readLiteral(w); ok {
			argv = append(argv, literalField(text))
			continue
		}
		alts, from := s.expandWord(w), len(argv)
		argv = append(argv, flattenFields(alts)...)
		if len(alts) > 1 {
			choices = append(choices, choice{from: from, to: len(argv), alts: alts})
		}
	}
	return argv, choices
}

// runWords reads one command: a function, a builtin, or a program, which says
// what it does with its words.
func (s *shell) runWords(argv []field, in stream) stream {
	if !slices.ContainsFunc(argv, hasOther) {
		return s.runEachWord(argv, in)
	}
	from := len(s.out.Paths)
	t, text, known := readOther(s, argv, in)
	out := s.runEachWord(argv, in)
	takeReading(s, t, from, false)
	if known && text != out.text {
		out.others = append(out.others, text)
	}
	return out
}

// runEachWord is runWords for words in whose place no others may stand.
func (s *shell) runEachWord(argv []field, in stream) stream {
	if len(argv) == 0 || !s.budget.takeStep() {
		return stream{open: true}
	}
	if s.level++; s.level > maxLevels {
		s.budget.over = true
	}
	defer func() { s.level-- }()
	if s.budget.over {
		return stream{open: true}
	}
	name, sure := nameProgram(argv[0])
	name = s.findRenamed(argv[0], name)
	args := argv[1:]
	s.addCommand(name, args, !sure)
	s.findOperator(argv[0], name, args)
	if !sure {
		s.guessOperator(argv[0], args)
		s.guessRemoval(argv[0], args)
		if name == "" {
			return stream{open: true}
		}
	}
	if from, ok := s.made.running[argv[0].text]; ok {
		s.findBreeding(from)
	}
	if s.def.funcs[argv[0].text] != nil {
		return s.callFunction(argv[0].text, args, in)
	}
	if out, ok := s.runBuiltin(argv[0], name, args, in); ok {
		return out
	}
	if out, ok := s.locateProgram(name, args); ok {
		return out
	}
	if strings.Contains(argv[0].text, "/") && s.replayFile("", argv[0], args) {
		return stream{open: true}
	}
	switch name {
	case "xargs", "parallel":
		newXargsJob(s, name, args, in).runEachItem()
		return stream{open: true}
	case "find", "fd", "fdfind":
		return newSearch(s, name, args).run()
	}
	return s.runProgram(name, argv, in)
}

// runProgram acts on what the table says of a program.
func (s *shell) runProgram(name string, argv []field, in stream) stream {
	if windowsPrograms.has(name) {
		argv = splitDrives(argv)
	}
	room := s.made.takeRoom()
	defer s.made.giveRoom(room)
	room.words = listWords(room.words[:0], argv[1:])
	a := &room.action
	a.startCommand(s, name, argv, in)
	room.reader.ReadWords(name, room.words, &a.use)
	if !a.use.Known {
		if base := paths.Base(argv[0].text); base != name {
			room.reader.ReadWords(base, room.words, &a.use) // R
		}
	}
	return a.run()
}

// windowsPrograms are Windows' own, whose words a backslash before a blank joins
// in another shell: "C:\ /t".
var windowsPrograms = newWordSet("del erase rd rmdir format icacls takeown cipher attrib")

func splitDrives(argv []field) []field {
	out := make([]field, 0, len(argv))
	for _, a := range argv {
		drive, rest, ok := strings.Cut(a.text, ": ")
		if !ok || len(drive) != 1 {
			out = append(out, a)
			continue
		}
		out = append(append(out, literalField(drive+":")), literalFields(strings.Fields(rest))...)
	}
	return out
}

// nameProgram returns the base name that f runs; sure is false where it may be
// another.
func nameProgram(f field) (name string, sure bool) {
	if f.unknown {
		// "$JAVA_HOME/bin/java" is java whatever the variable holds.
		i := strings.LastIndexByte(f.text, '/')
		j := strings.LastIndexByte(f.bare, '/')
		if i < 0 || j < 0 || f.text[i:] != f.bare[j:] {
			return programName(f.bare), false
		}
	}
	return programName(f.text), !f.glob || f.text == "["
}

func programName(text string) string {
	if text == "." || isPlainName(text) { // the first is the other name of source, not a folder
		return text
	}
	name := strings.ToLower(paths.Base(strings.ReplaceAll(text, `\`, "/")))
	if i := strings.IndexByte(name, '^'); i > 0 {
		name = strings.ReplaceAll(name, "^", "") // of cmd, to which it means nothing
	}
	if len(name) > 2 && strings.IndexByte("=^ez", name[0]) >= 0 {
		for _, mark := range []string{"=", "^", "e:", "zf_"} { // of zsh, nu, elvish
			name = strings.TrimPrefix(name, mark)
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, ".exe"), ".")
}

// isPlainName reports whether text is a name as most programs have: small
// letters and digits.
func isPlainName(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < 'a' || c > 'z') && !isDigit(c) {
			return false
		}
	}
	return text != ""
}

// shells are the programs that read command lines, by the name of their language.
var shells = newWordSet("sh bash dash zsh ksh ash mksh fish csh tcsh rbash rzsh ksh93 pdksh yash osh oksh loksh mrsh nu elvish execline " +
	"source .")

func isShellName(name string) bool { return shells.has(name) }

// destroyers are the programs that a pattern in a command's name is tried
// against.
var destroyers = []string{"rm", "dd", "mkfs", "mkfs.ext4", "mkfs.xfs", "mv", "chmod", "chown", "shred", "wipefs", "find", "kill"}

// guessRemoval looks for what an unknown program would destroy: as rm, where its
// words only make sense to that, or as each program that its name's pattern
// fits. A core path is asked about whatever it is.
func (s *shell) guessRemoval(f field, args []field) {
	for _, n := range destroyers {
		fits, _ := paths.Match(paths.Base(f.text), n)
		if fits && !f.unknown || f.unknown && n == "rm" && hasFlag(args, "rR", "recursive") {
			s.tryWords(append(literalFields([]string{n}), args...))
		}
	}
	if slices.ContainsFunc(args, s.namesCoreTree) {
		s.addUnread(UnreadProgram)
	}
}

// scary are the programs that matter under another name, and that text must
// name before it is worth reading as a command.
var scary = newWordSet("vedette rm srm shred rimraf wipe dd mkfs mke2fs mkswap wipefs blkdiscard sgdisk sfdisk parted hdparm cryptsetup " +
	"lvremove vgremove pvremove zpool zfs chmod chown chgrp mv find fd rsync sh bash dash zsh ksh ash fish busybox toybox sudo doas su " +
	"env nohup xargs eval exec python python2 python3 perl ruby node php tee truncate cp rd del trash trash-put killall5 chroot ssh " +
	"unlink rmdir badblocks newfs remove-item cmd powershell pwsh")

// scaryName is the name in a word that may be a program or the path of one.
func scaryName(w string) string {
	w = w[strings.LastIndexByte(w, '/')+1:]
	if strings.HasPrefix(w, "mkfs.") {
		return "mkfs"
	}
	return w
}

// locateProgram is what "which rm" prints: only for programs that matter under
// another name.
func (s *shell) locateProgram(name string, args []field) (stream, bool) {
	switch {
	case name == "which", name == "command" && hasFlag(args, "v"), name == "type" && hasFlag(args, "pP"), name == "whereis" && hasFlag(args,
		"b"):
	default:
		return stream{}, false
	}
	ops := listOperands(args, "")
	if len(ops) != 1 || !scary.has(scaryName(ops[0].text)) {
		return stream{}, false
	}
	return knownStream("/usr/bin/" + scaryName(ops[0].text) + "\n"), true
}

// ownName is what this program's command line is called, whatever the running
// binary is.
const ownName = "vedette"

// findOperator looks for this program's own commands that are its operators' alone:
// they lift pauses and erase or open what is sealed. The rest of it only reads
// configurations and cases, and is free.
func (s *shell) findOperator(f field, name string, args []field) {
	if (name == ownName || s.isOwnProgram(f, name)) && isOperators(args) {
		s.addDanger(Operator)
	}
}

// isOwnProgram reports whether a command is the running program, by its name or by
// where the word leads.
func (s *shell) isOwnProgram(f field, name string) bool {
	self := s.env.Program
	if self == "" {
		return false
	}
	if s.made.self == "" {
		s.made.self = programName(self)
	}
	if name == s.made.self {
		return true
	}
	if f.unknown || !strings.Contains(f.text, "/") {
		return false
	}
	return slices.ContainsFunc(s.resolvePath(f.text), func(p string) bool { return p == self || s.links.Follow(p) == self })
}

// isOperators reports whether the words after the program's name are, or may
// turn out to be, an operator's command. The command is the first word that is
// no option; behind an option it may be that one's value, and the next counts
// too.
func isOperators(args []field) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !a.unknown && len(a.text) > 1 && a.text[0] == '-' {
			continue
		}
		if isOperatorWord(a, args[i+1:]) {
			return true
		}
		if i == 0 || args[i-1].text == "--" || !strings.HasPrefix(args[i-1].text, "-") || strings.Contains(args[i-1].text, "=") {
			return false
		}
	}
	return false
}

// isOperatorWord reports whether one word, with what follows, is such a command.
func isOperatorWord(command field, rest []field) bool {
	if command.unknown || command.glob {
		return true
	}
	switch command.text {
	case "pause", "journal", "habits", "approvals", "approval":
		return !asksHelp(rest)
	case "ledger": // its records are no secret, what the journal holds of them is
		return slices.ContainsFunc(rest, func(f field) bool { return f.unknown || strings.HasPrefix(f.text, "--values") })
	}
	return false
}

// guessOperator looks for the same behind a name that can't be known for sure: a
// pattern that this program's name fits, or words that make sense to nothing
// else.
func (s *shell) guessOperator(f field, args []field) {
	if !f.unknown {
		for _, n := range []string{ownName, paths.Base(s.env.Program)} {
			if ok, _ := paths.Match(paths.Base(f.text), n); ok && isOperators(args) {
				s.addDanger(Operator)
			}
		}
		return
	}
	if len(args) > 1 && (args[0].text == "pause" && slices.ContainsFunc(args[1:], func(a field) bool {
		opt, _, _ := strings.Cut(a.text, "=")
		return slices.Contains([]string{"--lift", "--all", "--user", "--skill"}, opt)
	}) || args[0].text == "journal" && args[1].text == "purge" ||
		args[0].text == "habits" && args[1].text == "revoke" ||
		(args[0].text == "approvals" || args[0].text == "approval") && slices.Contains([]string{"approve", "deny", "show"}, args[1].text)) {
		s.addDanger(Operator)
	}
}

// runBuiltin runs the words of a shell that change the shell itself: they give a
// name a value, another name to a command, or keep a line for later. first is
// the command's first word as it stands.
func (s *shell) runBuiltin(first field, name string, args []field, in stream) (stream, bool) {
	if line, ok := s.def.aliases[first.text]; ok {
		out := s.runAlias(first.text, line, args, in)
		s.weighProgram(first, args, in)
		return out, true
	}
	done := stream{open: true, known: true}
	switch name {
	case "cd", "pushd", "chdir":
		s.changeFolder(args)
	case "eval":
		return s.evalWords(args), true
	case "source", ".":
		if ops := listOperands(args, ""); len(ops) > 0 {
			s.runScript("source", ops[0], in, ops[1:])
		}
	case "read":
		s.readIntoNames(args, in)
	case "mapfile", "readarray":
		s.readIntoArray(args, in)
		return done, false
	case "printf":
		if len(args) < 2 || args[0].text != "-v" {
			return done, false
		}
		s.readSubscript(args[1].text)
		assignName(s, args[1].text, substitutedValue(s.printText(name, args[2:], in)))
	case "shift":
		s.params = s.params[min(1, len(s.params)):]
	case "command", "exec", "builtin":
		rest := listOperands(args, "a")
		if len(rest) > 0 && changesShell[rest[0].text] { // "builtin cd /" changes this shell
			return s.runWords(args[len(args)-len(rest):], in), true
		}
		return stream{open: true}, len(rest) == 0
	default:
		return done, s.runKeepingBuiltin(name, args)
	}
	return done, true
}

// changesShell are the builtins that change the shell they run in.
var changesShell = toSet("declare typeset local export readonly " +
	"cd pushd chdir eval source . read mapfile readarray printf shift set alias unset")

// runKeepingBuiltin runs the builtins that keep words for later; it reports whether
// there is no more to be said of them.
func (s *shell) runKeepingBuiltin(name string, args []field) bool {
	switch name {
	case "declare", "typeset", "local", "export", "readonly":
		declareWords(s, name, args)
	case "set":
		setExports(s, args)
		s.setPositionals(args)
	case "alias":
		s.defineAliases(args)
	case "hash":
		if len(args) == 3 && args[0].text == "-p" {
			setKey(&s.ownNames().aliases, args[2].text, args[1].text)
		}
	case "unset", "let", "test", "[", "wait":
		unsets := name == "unset" && !hasFlag(args, "f")
		for _, a := range args {
			s.readSubscript(a.text)
			if unsets {
				n, _, _ := strings.Cut(a.text, "[")
				s.doubtVariable(n)
			}
		}
	case "fc", "history":
		if len(args) > 1 && args[0].text == "-s" {
			s.guessLine(joinTexts(args[1:]))
		}
	case "enable":
		if hasFlag(args, "f") {
			s.addOpaque("enable")
		}
	case "bind", "zargs":
		readForeign(s, joinTexts(args))
		return name == "zargs"
	}
	return false
}

func (s *shell) changeFolder(args []field) {
	ops := listOperands(args, "")
	if v := s.def.vars["CDPATH"]; len(ops) == 1 && len(v) > 0 && !v.isUnknown() && !strings.HasPrefix(ops[0].text, "/") &&
		!strings.HasPrefix(ops[0].text, ".") {
		dir, _, _ := strings.Cut(v[0].text(), ":")
		ops[0] = ops[0].withText(strings.TrimSuffix(dir, "/") + "/" + ops[0].text)
	}
	if len(ops) == 0 {
		s.setFolder(s.homeValue())
		return
	}
	var v value
	for _, f := range ops { // several are one of several
		if f.text == "-" {
			v = append(v, s.lookUpVariable("OLDPWD")...)
			continue
		}
		if !f.unknown {
			s.addPath(f, Path{Access: Read, Extent: Extent{Names: true}})
		}
		v = append(v, s.valueOfFolder(f)...)
		if hasOther(f) && f.other != "" {
			v = append(v, s.valueOfFolder(literalField(f.other))...)
		}
	}
	s.setFolder(v)
}

// enterFolder is the shell as if it had changed to a folder.
func (s *shell) enterFolder(dir field) *shell {
	if dir.text == "" {
		return s
	}
	v := s.valueOfFolder(dir)
	f := s.fork()
	f.unsure = 0
	setKey(&f.ownNames().vars, folderName, v)
	return f
}

// evalWords parses the joined words again.
func (s *shell) evalWords(args []field) stream {
	if slices.ContainsFunc(args, func(f field) bool { return f.unsure }) {
		s.weighOtherLine(joinFields(args))
	}
	unknown := slices.ContainsFunc(args, func(f field) bool { return f.unknown })
	if !unknown {
		text := joinTexts(args)
		if !s.budget.TakeBytes(len(text)) { // the words of an eval in an eval are joined at each
			return stream{open: true}
		}
		return s.parseText(text)
	}
	for _, a := range args {
		if a.unknown {
			s.addOpaque("eval")
			s.guessLine(a.bare)
		}
	}
	s.guessLine(joinTexts(args))
	return stream{open: true}
}

func (s *shell) defineAliases(args []field) {
	if len(args) > 1 && !strings.Contains(args[0].text, "=") { // of csh and fish
		s.guessLine(joinTexts(args[1:]))
		setKey(&s.ownNames().aliases, args[0].text, joinTexts(args[1:]))
	}
	for _, a := range args {
		if n, line, ok := strings.Cut(a.text, "="); ok {
			if !a.unknown {
				setKey(&s.ownNames().aliases, n, line)
			}
			s.guessLine(line)
		}
	}
}

// runAlias runs a line with the words that follow its alias. An alias does not
// mean itself.
func (s *shell) runAlias(name, line string, args []field, in stream) stream {
	f := s.fork()
	delete(f.ownNames().aliases, name)
	if strings.ContainsAny(line, ";|&<>()$`\"'\\") {
		return f.parseText(line + " " + joinTexts(args))
	}
	return f.runWords(append(literalFields(strings.Fields(line)), args...), in)
}

// weighProgram reads a command as the program that its alias hides: many a shell looks at no
// alias. What that would do beyond the alias, a person should see.
func (s *shell) weighProgram(first field, args []field, in stream) {
	if !programs.Knows(programName(first.text)) {
		return
	}
	t := s.readAside(func(g *shell) {
		delete(g.ownNames().aliases, first.text)
		g.quiet = true
		g.runWords(append([]field{first}, args...), in)
	})
	unseen := len(t.Dangers) > 0 || hasNew(s.out.Doubts, t.Doubts) || hasNew(s.out.Unread, t.Unread)
	for _, p := range t.Paths {
		switch {
		case slices.Contains(s.out.Paths, p):
		case p.Access&(Write|Delete|Execute) != 0 || p.Sent:
			unseen = true
		default:
			s.out.Paths = append(s.out.Paths, p)
		}
	}
	if unseen {
		s.addDoubt(OpaqueCommand)
	}
}

// hasNew reports whether a list of codes has one that another lacks.
func hasNew(have, list []string) bool {
	return slices.ContainsFunc(list, func(code string) bool { return !slices.Contains(have, code) })
}

// readSubscript runs what the index of an array element substitutes.
func (s *shell) readSubscript(text string) {
	if i := strings.IndexByte(text, '['); i > 0 && strings.ContainsAny(text[i:], "$`") {
		s.guessLine(text[i+1:])
	}
}

func (s *shell) readQuotedSubscript(w *syntax.Word) {
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.SglQuoted); ok {
			s.readSubscript(q.Value)
		}
	}
}

// readIntoNames is "read a b": the first line of what it is fed, split at IFS, or all
// words of it in one array.
func (s *shell) readIntoNames(args []field, in stream) {
	s.made.opens++
	names := listOperands(args, "dDiknNptu")
	if len(names) == 0 {
		names = literalFields([]string{"REPLY"})
	}
	line, _, _ := strings.Cut(in.text, "\n")
	for i, n := range names {
		s.readSubscript(n.text)
		v := fedValue(in)
		switch {
		case !in.known:
		case hasFlag(args, "a"):
			for v = nil; line != "" && len(v) < maxAlts; {
				var word string
				word, line = s.cutAtSeparator(line)
				v = append(v, frags{{s: word, kind: quotedFrag}})
			}
		case i < len(names)-1:
			var word string
			word, line = s.cutAtSeparator(line)
			v = literalValue(word)
		default:
			v = literalValue(strings.TrimSpace(line))
		}
		if hasFlag(args, "a") {
			s.markVariable(n.text, arrayVar, headlessVar)
			s.setWhole(n.text, v)
			continue
		}
		assignName(s, n.text, v)
	}
}

func (s *shell) readIntoArray(args []field, in stream) {
	s.made.opens++
	name := "MAPFILE"
	if ops := listOperands(args, "dnOsuCc"); len(ops) > 0 {
		name = ops[0].text
	}
	s.markVariable(name, arrayVar, headlessVar)
	v := fedValue(in)
	if hasFlag(args, "O") { // elements before the first that is read stay
		old, _ := s.findHeld(name)
		v = append(old[:len(old):len(old)], v...)
		s.budget.takeItems(len(v) / maxAlts)
	}
	s.setWhole(name, v)
}

// commandVars are the variables whose value some program runs.
var commandVars = toSet("GIT_SSH_COMMAND GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_ASKPASS GIT_EXTERNAL_DIFF " +
	"GIT_PROXY_COMMAND GIT_CONFIG_PARAMETERS SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR EDITOR VISUAL FCEDIT PAGER MANPAGER BAT_PAGER " +
	"SYSTEMD_PAGER SYSTEMD_EDITOR PSQL_PAGER PSQL_EDITOR DELTA_PAGER AWS_PAGER GH_PAGER GH_EDITOR GH_BROWSER GLAB_EDITOR BROWSER " +
	"LESSOPEN LESSCLOSE LESS PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH HGEDITOR SVN_EDITOR BORG_RSH BORG_PASSCOMMAND " +
	"RESTIC_PASSWORD_COMMAND FZF_DEFAULT_COMMAND FZF_DEFAULT_OPTS FZF_CTRL_T_COMMAND KUBE_EDITOR KUBECTL_EXTERNAL_DIFF RUSTC_WRAPPER " +
	"RUSTC SHELL CC CXX LD AR MAKE SHELL_COMMAND NPM_CONFIG_SCRIPT_SHELL npm_config_script_shell npm_config_git npm_config_editor " +
	"MANOPT GOFLAGS TAR_OPTIONS PS0 PS1 PS2 PS4 precmd")

// proxies are the variables that name the host that clients go to first.
var proxies = toSet("http_proxy https_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY AWS_EC2_METADATA_SERVICE_ENDPOINT " +
	"AWS_CONTAINER_CREDENTIALS_FULL_URI GCE_METADATA_HOST")

// startFiles are the variables that name a program to run first, and what
// runs it.
var startFiles = map[string]string{"BASH_ENV": "bash", "ENV": "sh", "PYTHONSTARTUP": "python", "RUBYOPT": "ruby", "PERL5OPT": "perl",
	"NODE_OPTIONS": "node", "JAVA_TOOL_OPTIONS": "java", "_JAVA_OPTIONS": "java"}

// bindVariable reads the value that a variable is given for the sake of the programs
// that run it.
func (s *shell) bindVariable(name string, v value) {
	if len(v) == 0 {
		return
	}
	lib := name == "LD_PRELOAD" || name == "LD_AUDIT" || name == "DYLD_INSERT_LIBRARIES"
	if cacheVars[name] && s.namesCoreTree(fieldOfFrags(v[0])) {
		s.addUnread(UnreadTarget)
	}
	if proxies[name] {
		s.findMetadata(literalField(v[0].text()))
	}
	if strings.HasPrefix(name, "BASH_FUNC_") || strings.HasPrefix(strings.TrimSpace(v[0].text()), "() {") {
		_, body, _ := strings.Cut(v[0].text(), "{") // a function, and what Shellshock ran behind it
		s.guessLine("{" + body)
		s.guessLine(strings.TrimSuffix(strings.TrimSpace(body), "}"))
		for part := range strings.SplitSeq(body, "}") {
			s.guessLine(strings.TrimLeft(part, "; "))
		}
	}
	if !lib && !commandVars[name] && !namesRunner(name) && startFiles[name] == "" && !strings.HasPrefix(name, "GIT_CONFIG_VALUE_") {
		return
	}
	for _, fr := range v[:min(len(v), 4)] {
		s.bindRunnerField(name, fieldOfFrags(fr), lib)
	}
}

func (s *shell) bindRunnerField(name string, f field, lib bool) {
	switch {
	case lib:
		s.loadLibraries(f)
		return
	case startFiles[name] != "":
		s.readStartFile(startFiles[name], f)
		return
	case strings.HasPrefix(name, "PS") && len(name) == 3:
		if !strings.Contains(f.text, "$(") && !strings.Contains(f.text, "`") {
			return // a prompt without a command in it
		}
		f = f.withText(`true "` + strings.NewReplacer(`"`, `\"`, `\$(`, "$(").Replace(f.text) + `"`)
	case optionVars[name]:
		_, cmd, _ := strings.Cut(f.text, "exec=")
		f = f.withText(cmd)
	}
	if !strings.Contains(f.text, " ") {
		s.doubtPassedProgram(f)
	}
	s.runHook(f)
}

// optionVars hold options, one of which names what is run.
var optionVars = toSet("TAR_OPTIONS GOFLAGS")

// cacheVars are the variables that name the folder that a program's "clean"
// removes.
var cacheVars = toSet("GOCACHE GOMODCACHE CARGO_TARGET_DIR npm_config_cache NPM_CONFIG_CACHE YARN_CACHE_FOLDER CCACHE_DIR PIP_CACHE_DIR")

// namesRunner reports whether a build tool runs what a variable of this name
// holds: CARGO_TARGET_…_RUNNER, RUSTC_WORKSPACE_WRAPPER.
func namesRunner(name string) bool {
	return strings.HasPrefix(name, "CARGO_") && (strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LINKER")) ||
		strings.HasPrefix(name, "RUSTC_") && strings.HasSuffix(name, "_WRAPPER") ||
		name == "CMAKE_C_COMPILER_LAUNCHER" || name == "CMAKE_CXX_COMPILER_LAUNCHER"
}

func (s *shell) readStartFile(by string, f field) {
	switch {
	case (by == "bash" || by == "sh") && (strings.Contains(f.text, "$(") || strings.Contains(f.text, "`")):
		s.guessLine(`true "` + f.text + `"`) // its name is expanded first
	case f.proc != nil, strings.Contains(f.text, "/") && !strings.ContainsAny(f.text, " ="):
		s.runScript(by, f, stream{}, nil)
	case by != "bash" && by != "sh" && strings.ContainsAny(f.text, "-("):
		s.mentionWords(literalFields(strings.Fields(f.text)))
		s.readCode(f, "")
	}
}

// substituteItems puts the items where replace stands, or at the end.
func (s *shell) substituteItems(words []field, replace string, items []field) []field {
	out, found := make([]field, 0, len(words)+len(items)), false
	for _, w := range words {
		switch {
		case w.text == replace:
			out, found = append(out, items...), true
		case strings.Contains(w.text, replace) && len(items) > 0:
			found = true
			it := items[0]
			if !s.budget.TakeBytes(len(w.text) + strings.Count(w.text, replace)*len(it.text)) {
				return out
			}
			w.text = strings.ReplaceAll(w.text, replace, it.text)
			w.bare = strings.ReplaceAll(w.bare, replace, it.bare)
			w.unknown, w.fed = w.unknown || it.unknown, w.fed || it.fed
			w.mix(it.taint)
			out = append(out, w)
		default:
			out = append(out, w)
		}
	}
	if !found {
		out = append(out, items...)
	}
	return out
}
