package touch

import (
	"slices"
	"strings"
)

// commandOptions are the options whose value a program runs.
var commandOptions = merged(map[string]launcher{
	"tar gtar bsdtar":                       of("", "", lines("--to-command -I --use-compress-program --rsh-command -F --info-script --new-volume-script --checkpoint-action")),
	"cpio":                                  of("", "", lines("--rsh-command")),
	"zip":                                   of("", "", lines("-TT --unzip-command")),
	"sort":                                  of("", "", lines("--compress-program")),
	"split gsplit":                          of("", "", lines("--filter")),
	"rg":                                    of("", "", lines("--pre --hostname-bin")),
	"fzf sk":                                of("", "", lines("--preview --bind --with-shell")),
	"man":                                   of("", "", lines("-P --pager -H --html")),
	"rsync":                                 of("", "", lines("-e --rsh --rsync-path --early-exec")),
	"ssh scp sftp autossh mosh sshfs":       of("", "", lines("-o -S --ssh")),
	"nc ncat netcat":                        of("", "", lines("-e -c --exec --sh-exec --lua-exec")),
	"svn":                                   of("", "", lines("--editor-cmd --diff-cmd --diff3-cmd --config-option")),
	"hg":                                    of("", "", lines("--config -e --ssh --remotecmd")),
	"dpkg":                                  of("", "", lines("--pre-invoke --post-invoke --status-logger")),
	"apt apt-get aptitude":                  of("", "", lines("-o --option")),
	"rpm rpmbuild rpmspec":                  of("", "", lines("--eval -E --define -D --pipe")),
	"lftp":                                  of("", "", lines("-c -e")),
	"tcpdump":                               of("", "", lines("-z")),
	"strace ltrace":                         of("", "", lines("-o --output")),
	"openvpn":                               of("", "", lines("--up --down --route-up --tls-verify --client-connect --auth-user-pass-verify")),
	"gcc g++ clang cc c++":                  of("", "", lines("-wrapper")),
	"go":                                    of("", "", lines("-exec -toolexec -vettool")),
	"tox":                                   of("", "", lines("-x --override")),
	"mysql mariadb mycli":                   of("", "", lines("--pager")),
	"yt-dlp youtube-dl":                     of("", "", lines("--exec --exec-before-download")),
	"mutt neomutt":                          of("", "", lines("-e")),
	"gpg gpg2":                              of("", "", lines("--photo-viewer --pinentry-program")),
	"cvs":                                   of("", "", lines("-e")),
	"wget":                                  of("", "", lines("--use-askpass")),
	"ansible":                               of("", "", lines("-a --args")),
	"az":                                    of("", "", lines("--scripts --command")),
	"aws":                                   of("", "", lines("--parameters --command --commands")),
	"schtasks":                              of("", "", lines("/tr")),
	"vim vi nvim view ex gvim vimdiff rvim": of("", "", lines("-c --cmd")),
	"emacs emacsclient":                     of("", "", lines("--eval -eval --execute -e")),
	"pg_ctl":                                of("", "", lines("-o -p")),
	"restic borg":                           of("", "", lines("--password-command --stdin-from-command")),
	"sendmail exim":                         of("", "", lines("-be -X")),
})

// optionValues reads what a program was given to run by way of an option.
func (s *shell) optionValues(name string, args []field) {
	if l, ok := commandOptions[name]; ok && !readAsCode(name) {
		for i, a := range args {
			if a.text == "--" {
				break
			}
			opt, val, joined := l.option(a)
			if opt == "" || !slices.Contains(l.lines, opt) || !joined && i+1 == len(args) {
				continue
			}
			if !joined {
				val = args[i+1]
			}
			s.optionValue(name, opt, val)
		}
	}
}

// readAsCode reports whether a program's options hold code that is read in its
// own language.
func readAsCode(name string) bool {
	_, lang := interpreter(name)
	return lang || editors[name]
}

// ownWords reads what programs run that have a way of their own to say it.
func (s *shell) ownWords(name string, args []field, in stream) {
	switch name {
	case "git":
		s.git(args, in)
		s.gitElsewhere(args)
	case "cargo":
		s.values(args, "", []string{"--config"}, func(f field) { s.toldBy(f.text) })
	case "npm", "pnpm", "bun":
		for i, a := range args {
			if key, v, ok := strings.Cut(a.text, "="); ok && i > 0 && strings.HasPrefix(key, "scripts.") {
				s.hooked(a.after(v))
			}
		}
	case "mvn", "mvnw", "mvnd":
		s.mavenRuns(args)
	case "python", "python3", "python2", "ipython":
		s.pythonModule(args, in)
	case "script":
		if ops := skipOptions(args, "EoTImBOt", nil); len(ops) > 1 {
			s.run(ops[1:], in)
		}
	case "make", "gmake", "gnumake", "bmake":
		s.make(args, in)
	case "cmake":
		s.cmake(args, in)
	case "less":
		for _, a := range args {
			if t := strings.TrimLeft(a.text, "+:"); t != a.text {
				s.editorCommand(a.after(t))
			}
		}
	case "socat":
		s.socat(args)
	case "kubectl", "oc":
		s.onNode(args, in)
	case "tmux", "screen", "byobu":
		s.typed(args)
	case "salt", "salt-ssh", "salt-call":
		if i := slices.IndexFunc(args, func(f field) bool { return strings.HasPrefix(f.text, "cmd.") }); i >= 0 {
			for _, a := range args[i+1:] {
				s.hooked(a.after(strings.TrimPrefix(a.text, "cmd=")))
			}
		}
	}
}

// after is the end t of a field's text.
func (f field) after(t string) field {
	return field{text: t, bare: t, unknown: f.unknown, blank: f.blank, proc: f.proc}
}

func (s *shell) optionValue(name, opt string, val field) {
	t := val.text
	switch {
	case opt == "--checkpoint-action":
		if _, cmd, ok := strings.Cut(t, "exec="); ok {
			s.hooked(val.after(cmd))
		}
		return
	case name == "strace" || name == "ltrace":
		if t == "" || t[0] != '|' && t[0] != '!' {
			return // a file
		}
	case opt == "-o" && (name == "ssh" || name == "scp" || name == "sftp" || name == "sshfs" || name == "autossh" || name == "mosh"):
		key, cmd, ok := cutAny(strings.TrimLeft(t, " "), "= ")
		if !ok || !strings.HasSuffix(strings.ToLower(key), "command") || strings.EqualFold(key, "PermitLocalCommand") {
			return
		}
		s.hooked(val.after(cmd))
		return
	case opt == "-S" && (name == "ssh" || name == "autossh"):
		return // a socket
	case opt == "-wrapper":
		t = strings.ReplaceAll(t, ",", " ")
	case name == "ansible":
		s.ansible(val)
		return
	case name == "vim" || name == "vi" || name == "nvim" || name == "view" || name == "ex" || name == "gvim" || name == "vimdiff" || name == "rvim":
		s.editorCommand(val)
		return
	case strings.HasPrefix(name, "emacs"):
		s.code(val, "lisp")
		s.tryText(t, true)
		return
	case opt == "-o" || opt == "--option" || opt == "--config" || opt == "--config-option" || opt == "--define" || opt == "-D":
		if i := strings.IndexAny(t, "= "); i >= 0 {
			t = t[i+1:]
		}
	case opt == "--bind", opt == "--parameters", name == "rpm", name == "exim", name == "sendmail":
		s.embedded(t)
		return
	}
	s.hooked(val.after(t))
}

// embedded reads what stands in the brackets of a text, or behind its "=".
func (s *shell) embedded(text string) {
	if !namesScary(text) {
		return
	}
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("()[]{}=\"'", r) }) {
		s.tryText(part, true)
	}
}

// editorCommand reads a command of vi's or less's language: "!" runs a shell.
func (s *shell) editorCommand(f field) {
	t := strings.TrimLeft(f.text, ": ")
	if cmd, ok := strings.CutPrefix(t, "!"); ok {
		s.hooked(f.after(cmd))
		return
	}
	if i := strings.IndexByte(t, '!'); i > 0 && i < 12 && !strings.ContainsAny(t[:i], "(\"'/") {
		s.tryText(t[i+1:], true) // "%!", "r !", "w !", "silent !"
	}
	if strings.ContainsAny(t, "(") {
		s.code(f, "vim")
	}
}

// typed reads the keys that are sent to a terminal, where a shell reads them.
func (s *shell) typed(args []field) {
	i := slices.IndexFunc(args, func(f field) bool {
		return f.text == "send-keys" || f.text == "send" || f.text == "stuff" || f.text == "if-shell" || f.text == "if" || f.text == "set-hook"
	})
	if i < 0 {
		return
	}
	words := []string{}
	for _, a := range args[i+1:] {
		t := strings.NewReplacer("^M", "\n", `\r`, "\n", `\n`, "\n", "\r", "\n", `\015`, "\n", `\012`, "\n").Replace(a.text)
		if strings.ContainsAny(t, " \t\n") {
			s.hooked(a.after(t))
		}
		words = append(words, strings.ReplaceAll(t, "Space", " "))
	}
	s.tryText(strings.Join(words, ""), true)
	s.tryText(strings.Join(words, " "), true)
}

// socat starts programs by its addresses.
func (s *shell) socat(args []field) {
	for _, a := range args {
		kind, cmd, ok := strings.Cut(a.text, ":")
		if !ok || !slices.Contains([]string{"exec", "system", "shell"}, strings.ToLower(kind)) {
			continue
		}
		s.hooked(a.after(strings.Trim(cmd, `"'`)))
		if i := strings.LastIndexByte(cmd, ','); i > 0 {
			s.hooked(a.after(cmd[:i]))
		}
	}
}

// ansible reads a module's arguments: a command line, or words such as
// "path=/ state=absent".
func (s *shell) ansible(f field) {
	s.hooked(f)
	opts := map[string]string{}
	for w := range strings.FieldsSeq(f.text) {
		if k, v, ok := strings.Cut(w, "="); ok {
			opts[k] = v
		}
	}
	if src := opts["src"]; src != "" {
		s.path(field{text: src, bare: src}, Read)
	}
	target := cmpCode(opts["path"], cmpCode(opts["dest"], opts["name"]))
	if opts["state"] == "absent" && target != "" {
		s.removeOne(field{text: target, bare: target}, true)
		s.path(field{text: target, bare: target}, Delete)
	}
	if dev := opts["dev"]; dev != "" && opts["fstype"] != "" {
		s.run(literals([]string{"mkfs", dev}), stream{})
	}
	if cmd := opts["cmd"]; cmd != "" {
		_, line, _ := strings.Cut(f.text, "cmd=")
		s.hooked(f.after(strings.Trim(line, `"'`)))
	}
}

// cmake -E is a small shell.
func (s *shell) cmake(args []field, in stream) {
	i := slices.IndexFunc(args, func(f field) bool { return f.text == "-E" })
	if i < 0 || i+1 >= len(args) {
		return
	}
	words := slices.Clone(args[i+1:])
	as := map[string][]string{
		"remove_directory": {"rm", "-rf"}, "remove": {"rm", "-f"}, "copy_directory": {"cp", "-r"}, "rename": {"mv"},
		"chdir": {"env", "-C"}, "create_symlink": {"ln", "-s"},
	}
	if to, ok := as[words[0].text]; ok {
		words = append(literals(to), words[1:]...)
	}
	s.run(words, in)
}

// onNode reads a command in the file system of a cluster's node, which a
// debugging pod sees below a folder of its own, and one given without "--".
func (s *shell) onNode(args []field, in stream) {
	ops := operands(args, "nclfs")
	switch {
	case len(ops) > 2 && (ops[0].text == "exec" || ops[0].text == "rsh") && !has(args, "--"):
		s.elsewhere(ops[2:], in)
	case len(ops) > 0 && ops[0].text == "debug":
		i := slices.IndexFunc(args, func(f field) bool { return f.text == "--" })
		if i < 0 || i+1 >= len(args) {
			return
		}
		if args[i+1].text == "chroot" || args[i+1].text == "nsenter" {
			s.run(args[i+1:], in)
			return
		}
		s.elsewhere(args[i+1:], in)
	}
}
