package touch

import (
	"slices"
	"strings"
)

const (
	// maxTries is how many of an unknown program's arguments are read as
	// commands, and maxTrial how deep such guesses may nest.
	maxTries = 6
	maxTrial = 3
)

// scary are the programs that an argument must name before it is worth
// reading as a command.
var scary = set("vedette rm srm shred rimraf wipe dd mkfs mke2fs mkswap wipefs blkdiscard sgdisk sfdisk parted hdparm cryptsetup lvremove vgremove pvremove zpool zfs " +
	"chmod chown chgrp mv find fd rsync sh bash dash zsh ksh ash fish busybox toybox sudo doas su env nohup xargs eval exec python python2 python3 perl ruby node php tee truncate " +
	"cp rd del trash trash-put killall5 chroot ssh unlink rmdir badblocks newfs remove-item cmd powershell pwsh")

// textual are the programs whose words are text: what they say, look for,
// keep, send or install is never run.
var textual = set("echo printf true false : test [ [[ expr let read man tldr cheat whatis apropos info help type which whereis hash locate mlocate plocate compgen complete bind history fc " +
	"rg ag ack ast-grep semgrep git hg svn jj bzr fossil p4 cvs gh glab hub tea jira linear todo todo.sh task bd trello notion logger systemd-cat wall write say espeak espeak-ng festival " +
	"notify-send osascript zenity kdialog dialog whiptail gum cowsay cowthink figlet toilet banner lolcat boxes yes fortune mail mailx sendmail mutt msmtp swaks slack slack-cli telegram-send ntfy pushover " +
	"signal-cli mosquitto_pub kafka-console-producer kcat apt apt-get apt-cache apt-file aptitude dpkg dpkg-query rpm yum dnf pacman yay zypper apk brew port snap pip pip3 gem go cargo rustup " +
	"curl wget http https xh httpie grpcurl websocat llm ollama claude codex gemini aichat sgpt chatgpt aider goose copilot opencode mods fabric pbcopy xclip xsel wl-copy clip " +
	"journalctl ausearch auditctl dmesg redis-cli mongosh mongo sqlite3 psql mysql mariadb shellcheck shfmt bashate explainshell howdoi fzf sk export declare typeset local readonly unset alias unalias set shopt " +
	"docker podman nerdctl docker-compose podman-compose kubectl oc aws gcloud az terraform tofu pulumi helm vedette date cal bc seq sleep kill pkill pgrep pidof ps top lsof fuser id whoami groups getent " +
	"update-alternatives systemctl service launchctl useradd usermod userdel groupadd chsh passwd visudo ufw iptables nft ip ss netstat ping dig host nslookup mdbook pandoc diff patch cut tr")

// textOptions are the options whose value is text for people.
var textOptions = set("-m --message --msg --title --body --text --comment --note --notes --desc --description --subject --summary --prompt --query --grep --pattern --regex --regexp --label --reason --name --content --match --search")

// programOptions are those whose value a program is likely to run.
var programOptions = set("-c -e -x -E -X -ex -o --exec --execute --cmd --command --run --eval --shell --hook --script --call --do --on-change --before --after --pre --post")

// attempt reads the arguments of a program that nobody knows as if it ran
// them: from each word that names a program on, and each that may be a command
// line. Only what can't be undone counts; most programs run nothing.
func (s *shell) attempt(name string, args []field) {
	if s.trial >= maxTrial || textual[name] || shells[name] || s.quiet && s.trial == 0 {
		return // the last: text that may be another language's, whose words are no programs
	}
	left := maxTries
	for i := 0; i < len(args) && left > 0; i++ {
		a := args[i]
		opt, val, joined := strings.Cut(a.text, "=")
		switch {
		case textOptions[a.text]:
			i++
		case textOptions[opt]:
		case scary[programWord(a.text)]:
			if s.suffix(args[i:]) {
				left--
			}
		case strings.ContainsAny(a.text, " \t\n"):
			runs := i > 0 && programOptions[args[i-1].text]
			if joined && len(opt) > 1 && opt[0] == '-' {
				a.text, runs = val, runs || programOptions[opt]
			}
			if s.tryText(a.text, runs) {
				left--
			}
		}
	}
}

// programWord is the name in a word that may be a program or the path of one.
func programWord(w string) string {
	w = w[strings.LastIndexByte(w, '/')+1:]
	if strings.HasPrefix(w, "mkfs.") {
		return "mkfs"
	}
	return w
}

// suffix tries words as a command.
func (s *shell) suffix(words []field) bool {
	name := programName(words[0].text)
	if s.tried {
		return false
	}
	if formats(name) && !slices.ContainsFunc(words[1:], func(f field) bool { return strings.ContainsAny(f.text, `/\`) }) {
		return false // a list of programs
	}
	s.try(func(f *shell) {
		f.tried = true // what follows has been tried already
		f.run(words, stream{})
	})
	return true
}

// tryText tries text as a command line. With runs it stands where programs
// take one; otherwise a sentence is left alone.
func (s *shell) tryText(text string, runs bool) bool {
	text = strings.TrimLeft(text, " \t\n!:|\\")
	if !namesScary(text) || !runs && sentence(text) {
		return false
	}
	s.try(func(f *shell) {
		f.tried = !runs
		if runs && len(text) <= maxCode {
			f.code(field{text: text, bare: text}, "") // of whatever language
			return
		}
		f.parse(text)
	})
	return true
}

// try reads with a shell whose Touch is thrown away but for its dangers.
func (s *shell) try(read func(*shell)) {
	t := s.aside(func(f *shell) {
		f.quiet = true
		f.trial++
		read(f)
	})
	for _, d := range t.Dangers {
		s.danger(d.Code)
	}
}

// aside lets read work with a Touch of its own and returns that.
func (s *shell) aside(read func(*shell)) *Touch {
	f, c := s.fork(), *s.c
	c.touch, c.hosts = Touch{}, map[Host]bool{}
	f.c = &c
	read(f)
	return &c.touch
}

// namesScary reports whether a scary program stands somewhere in text.
func namesScary(text string) bool {
	for text != "" {
		i := strings.IndexAny(text, " \t\n;|&()`'\"$<>{}!\\=,")
		if i < 0 {
			return scary[programWord(text)]
		}
		if i > 1 && scary[programWord(text[:i])] {
			return true
		}
		text = text[i+1:]
	}
	return false
}

// smallWords make a sentence.
var smallWords = set("the is are was were will would should can could not never don't does what how why when please because instead")

// sentence reports whether text has the small words that no command has.
func sentence(text string) bool {
	for w := range strings.FieldsSeq(text) {
		if smallWords[strings.ToLower(strings.Trim(w, ".,:;!?"))] {
			return true
		}
	}
	return false
}
