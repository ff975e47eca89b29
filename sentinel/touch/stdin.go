package touch

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// readsInput runs what a program reads on its input where that is a command
// line; shells and interpreters see to theirs.
func (s *shell) readsInput(name string, args []field, in stream) {
	switch name {
	case "at", "batch":
		s.later(name, args, in)
	case "crontab":
		if ops := operands(args, "u"); len(ops) > 0 {
			if text, ok := s.content(ops[0], in); ok {
				s.crontab(text)
			}
		}
	case "ed", "red":
		s.edits(in)
	case "ex", "vi", "vim", "nvim":
		if flag(args, "se") || name == "ex" || has(args, "-") {
			s.edits(in)
		}
	case "ftp", "sftp", "lftp", "gdb", "lldb", "sqlite3", "mysql", "psql", "mariadb", "duckdb", "telnet", "smbclient":
		s.edits(in)
		for _, a := range args {
			if strings.ContainsAny(a.text, " \t") {
				s.edits(known(a.text))
			}
		}
	case "ssh", "autossh", "mosh", "plink", "rsh", "adb", "su", "sg", "newgrp":
		s.login(name, args, in)
	case "sudo", "doas", "please":
		w := wrappers[name]
		if in.open && flag(args, "si", "shell", "login") && len(skipOptions(args, w.values, w.long)) == 0 {
			s.fork().execute(name, in)
		}
	case "nsenter", "unshare", "chroot", "firejail", "fakeroot", "runuser", "setarch":
		w := wrappers[name]
		if in.open && len(skipOptions(args, w.values, w.long)) <= w.skip && !helps(args) {
			s.fork().execute(name, in)
		}
	case "diskpart":
		s.diskpart(in)
	}
}

// later reads what at and batch run at another time.
func (s *shell) later(name string, args []field, in stream) {
	if flag(args, "lrdVc") {
		return // looks at what is waiting
	}
	for i, a := range args {
		if a.text == "-f" && i+1 < len(args) {
			s.feed("sh", args[i+1], in)
			return
		}
	}
	if in.open && (name == "batch" || len(args) > 0) {
		s.fork().execute("sh", in)
	}
}

// crontab reads the commands of a table.
func (s *shell) crontab(text string) {
	var script strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		n := 5
		if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
			n = 1
		}
		if len(fields) > n && !strings.HasPrefix(fields[0], "#") {
			script.WriteString(strings.Join(fields[n:], " ") + "\n")
		}
	}
	s.hooked(field{text: script.String(), bare: script.String()})
}

// edits reads an editor's or a client's commands: "!" runs a shell in most.
func (s *shell) edits(in stream) {
	if !in.known {
		return
	}
	for i, line := range strings.Split(in.text, "\n") {
		if i == maxItems || len(line) > maxInject {
			return
		}
		line = strings.TrimLeft(line, " \t:")
		if m := copyProgram.FindStringSubmatch(line); m != nil {
			s.hooked(field{text: m[1], bare: m[1]})
		}
		for _, mark := range []string{"!", "shell ", ".shell ", ".system ", `\!`, "platform shell ", "system ", "r !", "w !", "e !"} {
			if cmd, ok := strings.CutPrefix(line, mark); ok {
				s.hooked(field{text: cmd, bare: cmd})
			}
		}
	}
}

// login reads what a shell is given that opens without a command: of another
// user, or on another machine.
func (s *shell) login(name string, args []field, in stream) {
	if !in.open {
		return
	}
	ops := operands(args, "bBcDEeFIiJLlmOoPpQRSWwgG")
	with := len(ops) > 1
	switch name {
	case "su", "newgrp":
		with = flag(args, "c", "command", "session-command") || len(ops) > 2
	case "sg":
		with = len(ops) > 1 || flag(args, "c")
	case "adb":
		with = len(ops) != 1 || ops[0].text != "shell"
	case "ssh":
		with = with || len(ops) == 0 || flag(args, "NTfQVG") && !in.known
	}
	if !with {
		s.fork().execute(name, in)
	}
}

// copyProgram is how PostgreSQL runs a command.
var copyProgram = regexp.MustCompile(`(?i)\bprogram\s+'([^']*)'`)

// diskpart is told by its input which disk to empty.
func (s *shell) diskpart(in stream) {
	for line := range strings.Lines(in.text) {
		words := strings.Fields(strings.ToLower(line))
		if len(words) > 0 && (words[0] == "clean" || words[0] == "format" || words[0] == "delete") {
			s.danger(DeviceWrite)
		}
	}
}

// content is the text of a file that is known: what comes on the input, out of
// <( … ), or was written just before.
func (s *shell) content(f field, in stream) (string, bool) {
	switch {
	case f.proc != nil:
		return f.proc.text, f.proc.known
	case slices.Contains([]string{"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}, f.text):
		return in.text, in.known
	}
	if p, ok := s.madeFile(f.text); ok {
		return p.text, p.known
	}
	return "", false
}

// consumers lets the commands of >( … ) read what is written to them.
func (s *shell) consumers(st *syntax.Stmt, in, out stream) {
	for _, r := range st.Redirs {
		s.consume(r.Word, out)
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
		if call.Args[0].Lit() != "tee" {
			in = stream{}
		}
		for _, w := range call.Args {
			s.consume(w, in)
		}
	}
}

func (s *shell) consume(w *syntax.Word, from stream) {
	if w == nil || len(w.Parts) != 1 {
		return
	}
	if p, ok := w.Parts[0].(*syntax.ProcSubst); ok && p.Op == syntax.CmdOut {
		from.open = true
		s.fork().stmts(p.Stmts, from)
	}
}
