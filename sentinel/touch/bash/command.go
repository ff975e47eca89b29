package bash

import (
	paths "path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

func (s *shell) runCall(ce *syntax.CallExpr, in stream) stream {
	for _, a := range ce.Assigns {
		s.assignVariable(a)
	}
	if len(ce.Args) == 0 {
		return stream{open: true, known: true}
	}
	if len(ce.Args) < 3 && isItself(ce.Args[0]) {
		s.findBreeding(s.started)
	}
	if isPlain(ce.Args) {
		argv := s.made.takeFields()
		defer func() { s.made.giveFields(argv) }()
		argv = appendPlain(argv, ce.Args)
		return s.runWords(slices.Clip(argv), in) // nothing is added behind them
	}
	rest := make([]field, 0, len(ce.Args))
	first := s.expandWord(ce.Args[0])
	for _, w := range ce.Args[1:] {
		if lit, ok := isSimple(w); ok {
			rest = append(rest, literalField(lit))
			continue
		}
		rest = append(rest, flatten(s.expandWord(w))...)
	}
	out := stream{open: true}
	for i, f := range first {
		if i == 8 {
			s.budget.over = true
			break
		}
		if argv := slices.Concat(f, rest); len(argv) > 0 {
			out = s.runWords(argv, in)
		}
	}
	return out
}

// isPlain reports whether words have nothing to expand: most commands.
func isPlain(list []*syntax.Word) bool {
	for _, w := range list {
		if _, ok := isSimple(w); !ok {
			return false
		}
	}
	return true
}

// appendPlain adds the fields of words that have nothing to expand.
func appendPlain(argv []field, list []*syntax.Word) []field {
	if argv = argv[:0]; cap(argv) < len(list) {
		argv = make([]field, 0, max(len(list), 4))
	}
	for _, w := range list {
		argv = append(argv, literalField(w.Parts[0].(*syntax.Lit).Value))
	}
	return argv
}

// takeFields returns room for the words of a command, which gives it back with
// giveFields.
func (m *made) takeFields() []field {
	n := len(m.words)
	if n == 0 {
		return nil
	}
	argv := m.words[n-1]
	m.words = m.words[:n-1]
	return argv
}

func (m *made) giveFields(argv []field) { m.words = append(m.words, argv) }

// runWords reads one command: a function, a builtin, or a program, which says
// what it does with its words.
func (s *shell) runWords(argv []field, in stream) stream {
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
		newXargsJob(s, name, args, in).runItems()
		return stream{open: true}
	case "find", "fd", "fdfind":
		return newSearch(s, name, args).run()
	}
	return s.runProgram(name, argv, in)
}

// runProgram acts on what the table says of a program.
func (s *shell) runProgram(name string, argv []field, in stream) stream {
	if windowsPrograms[name] {
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

// takeRoom returns room for a command, which gives it back with giveRoom.
func (m *made) takeRoom() *room {
	if n := len(m.rooms); n > 0 {
		r := m.rooms[n-1]
		m.rooms = m.rooms[:n-1]
		return r
	}
	return &room{}
}

func (m *made) giveRoom(r *room) { m.rooms = append(m.rooms, r) }

func listWords(words []programs.Word, args []field) []programs.Word {
	for _, f := range args {
		words = append(words, programs.Word{Text: f.text, Known: !f.unknown && f.proc == nil})
	}
	return words
}

// windowsPrograms are Windows' own, whose words a backslash before a blank joins
// in another shell: "C:\ /t".
var windowsPrograms = toSet("del erase rd rmdir format icacls takeown cipher attrib")

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
var shells = toSet("sh bash dash zsh ksh ash mksh fish csh tcsh rbash rzsh ksh93 pdksh yash osh oksh loksh mrsh nu elvish execline " +
	"source .")

func isShell(name string) bool { return shells[name] }

func (r *reporter) addCommand(name string, args []field, opaque bool) {
	if r.quiet {
		return
	}
	cmd := Command{Name: name, Opaque: opaque, Dynamic: opaque, Args: make([]string, len(args))}
	if opaque {
		cmd.Name = ""
		r.addDoubt(OpaqueCommand)
	}
	for i, a := range args {
		cmd.Args[i] = a.text
		cmd.Dynamic = cmd.Dynamic || a.unknown
	}
	r.out.Commands = append(r.out.Commands, cmd)
}

// addOpaque records an interpreter whose program can't be known.
func (r *reporter) addOpaque(name string) {
	if r.quiet {
		return
	}
	r.out.Commands = append(r.out.Commands, Command{Name: name, Dynamic: true, Opaque: true})
	r.addDoubt(OpaqueCommand)
}

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
	if slices.ContainsFunc(args, s.isCore) {
		s.addUnread(UnreadProgram)
	}
}

// scary are the programs that matter under another name, and that text must
// name before it is worth reading as a command.
var scary = toSet("vedette rm srm shred rimraf wipe dd mkfs mke2fs mkswap wipefs blkdiscard sgdisk sfdisk parted hdparm cryptsetup " +
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
	if len(ops) != 1 || !scary[scaryName(ops[0].text)] {
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
	if (name == ownName || s.isSelf(f, name)) && isOperators(args) {
		s.addDanger(Operator)
	}
}

// isSelf reports whether a command is the running program, by its name or by
// where the word leads.
func (s *shell) isSelf(f field, name string) bool {
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
		if isOperator(a, args[i+1:]) {
			return true
		}
		if i == 0 || args[i-1].text == "--" || !strings.HasPrefix(args[i-1].text, "-") || strings.Contains(args[i-1].text, "=") {
			return false
		}
	}
	return false
}

// isOperator reports whether one word, with what follows, is such a command.
func isOperator(command field, rest []field) bool {
	if command.unknown || command.glob {
		return true
	}
	switch command.text {
	case "pause", "journal":
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
	}) || args[0].text == "journal" && args[1].text == "purge") {
		s.addDanger(Operator)
	}
}
