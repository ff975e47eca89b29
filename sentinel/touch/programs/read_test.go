package programs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

var roleNames = map[programs.Role]string{
	programs.File: "file", programs.Command: "command", programs.Line: "line", programs.Code: "code", programs.Script: "script",
	programs.Host: "host", programs.URL: "url", programs.Folder: "folder", programs.Assign: "assign", programs.Data: "data",
	programs.Sent: "body", programs.Process: "process",
}

var (
	inputNames = []string{"", "shown", "items", "names", "runs ", "leaves"}
	classNames = []string{"", "change", "doubt", "danger"}
)

type mark struct {
	on   bool
	name string
}

func spellMarks(b *strings.Builder, sign string, marks []mark) {
	for _, m := range marks {
		if m.on {
			b.WriteString(sign + m.name)
		}
	}
}

// spellUse writes a use as one line: its row, then its parts but data, and an
// input that is more than shown.
func spellUse(args []programs.Word, u programs.Use) string {
	var b strings.Builder
	b.WriteString(u.Row)
	for _, p := range u.Parts {
		if p.Role != programs.Data {
			spellPart(&b, args, p)
		}
	}
	if u.Input > programs.Shown {
		b.WriteString(" | input " + inputNames[u.Input] + u.InputLang)
	}
	for _, e := range u.Effects {
		fmt.Fprintf(&b, " | %s %s", classNames[e.Class], e.Code)
	}
	spellMarks(&b, " | ",
		[]mark{{u.Here.Role != 0, "here"}, {u.Rehearsal, "rehearsal"}, {u.Environment, "environment"}, {u.Token, "token"}, {u.Dumps, "dumps"}})
	for _, t := range u.Unread {
		b.WriteString(" | unread " + t)
	}
	return b.String()
}

func spellPart(b *strings.Builder, args []programs.Word, p programs.Part) {
	b.WriteString(" | " + roleNames[p.Role])
	if p.Role == programs.File {
		b.WriteByte(' ')
		for i, letter := range "rwdx" {
			if p.Access&(1<<i) != 0 {
				b.WriteRune(letter)
			}
		}
	}
	spellMarks(b, " ", []mark{
		{p.Tree, "tree"}, {p.Names, "names"}, {p.Sent, "sent"}, {p.Client, "client"}, {p.Boxed, "box"},
		{p.Effect != "", p.Effect}, {p.Lang != "", p.Lang},
	})
	words := []string{p.Text}
	if p.Arg >= 0 {
		words = words[:0]
		for _, w := range args[p.Arg:p.End] {
			words = append(words, w.Text)
		}
		if p.To > 0 {
			words[0] = words[0][:p.To]
		}
		words[0] = words[0][p.From:]
	}
	b.WriteString(" <" + strings.Join(words, " ") + ">")
}

// splitWords takes a line apart at blanks, with single quotes round words.
func splitWords(line string) (name string, args []programs.Word) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var w strings.Builder
		for line != "" && line[0] != ' ' {
			if line[0] == '\'' {
				text, rest, _ := strings.Cut(line[1:], "'")
				w.WriteString(text)
				line = rest
				continue
			}
			w.WriteByte(line[0])
			line = line[1:]
		}
		words = append(words, w.String())
	}
	for _, w := range words[1:] {
		args = append(args, programs.Word{Text: w, Known: true})
	}
	return words[0], args
}

// requireUses reads each line and compares what it does.
func requireUses(t *testing.T, lines map[string]string) {
	t.Helper()
	for line, want := range lines {
		name, args := splitWords(line)
		require.Equal(t, want, spellUse(args, programs.ReadWords(name, args)), line)
	}
}

func TestShells(t *testing.T) {
	requireUses(t, map[string]string{
		"bash -euo pipefail -c 'rm -rf /'":  "bash | line <rm -rf />",
		"bash -ceuo pipefail 'rm -rf /'":    "bash | line <rm -rf />",
		"bash -oe pipefail -c X":            "bash | line <X>",
		"bash -eO extglob -c X":             "bash | line <X>",
		"bash +o posix -O extglob -c X a b": "bash | line <X>",
		"bash --norc -c -- X":               "bash | line <X>",
		"bash script.sh -c X":               "bash | script sh <script.sh>",
		"bash -x -- script.sh":              "bash | script sh <script.sh>",
		"bash -s -- a":                      "bash | input runs sh",
		"bash -":                            "bash | input runs sh",
		"bash /dev/stdin a":                 "bash | input runs sh",
		"bash --rcfile x":                   "bash | script sh <x> | input runs sh",
		"bash --norc-ish -c X":              "bash | line <X> | unread --norc-ish",
		"bash --norc-ish":                   "bash | input runs sh | unread --norc-ish",
		"bash --version":                    "bash | input runs sh | rehearsal",
		"sh -eo pipefail -c X":              "sh | line <X>",
		"zsh -eo pipefail -c X":             "zsh | line zsh <X>",
		"fish -NC X":                        "fish | line fish <X>",
		"fish --init-command=X -c Y":        "fish | line fish <X> | line fish <Y>",
		"csh -c X":                          "csh | line csh <X>",
		"busybox sh -c X":                   "busybox | command <sh -c X>",
		"eval rm -rf '$X'":                  "eval | line <rm -rf $X>",
		"exec -a x rm y":                    "exec | command <rm y>",
		"command -v rm":                     "command | command <rm> | rehearsal",
		"command rm x":                      "command | command <rm x>",
		"trap 'rm x' EXIT":                  "trap | line <rm x>",
		"mapfile -C 'rm x' -c 1":            "mapfile | line <rm x>",
	})
}

func TestWrappers(t *testing.T) {
	requireUses(t, map[string]string{
		"env":                                      "env | environment",
		"env A=b":                                  "env | assign <A=b> | environment",
		"env -i - A=b C=d rm x":                    "env | assign <A=b> | assign <C=d> | command <rm x>",
		"env -u X -C /tmp ls":                      "env | folder </tmp> | command <ls>",
		"env -S 'rm -rf' /":                        "env | line <rm -rf />",
		"env -vS'rm -rf' /":                        "env | line <rm -rf />",
		"env --split-string='rm -rf' /":            "env | line <rm -rf />",
		"env --frob rm x":                          "env | command <rm x> | unread --frob",
		"sudo -u x -- rm -rf /":                    "sudo | command <rm -rf />",
		"sudo -nu root FOO=1 rm x":                 "sudo | assign <FOO=1> | command <rm x>",
		"sudo -s":                                  "sudo | input runs sh",
		"sudo -i rm -rf /":                         "sudo | line <rm -rf />",
		"sudo -e /etc/hosts":                       "sudo | file rw </etc/hosts>",
		"sudo -l":                                  "sudo | rehearsal",
		"sudo -kW rm x":                            "sudo | command <rm x> | unread -kW",
		"su - bob -c 'rm -rf /'":                   "su | line <rm -rf />",
		"su -c 'rm -rf /' root":                    "su | line <rm -rf />",
		"su root -- -c X":                          "sh | line <X>",
		"runuser -u bob -- rm x":                   "runuser | command <rm x>",
		"nice -n5 rm x":                            "nice | command <rm x>",
		"nice -5 rm x":                             "nice | command <rm x>",
		"nice -n 5 rm x":                           "nice | command <rm x>",
		"timeout -k 5 10 rm -rf /":                 "timeout | command <rm -rf />",
		"timeout -s9 10 rm -rf /":                  "timeout | command <rm -rf />",
		"timeout --sig KILL 5s rm -r x":            "timeout | command <rm -r x>",
		"stdbuf -oL rm x":                          "stdbuf | command <rm x>",
		"nohup rm -rf /":                           "nohup | command <rm -rf />",
		"taskset -c 0,1 rm x":                      "taskset | command <rm x>",
		"chroot --userspec=a /mnt rm x":            "chroot | folder </mnt> | command <rm x>",
		"chroot /mnt":                              "chroot | folder </mnt> | input runs sh",
		"strace -fo '|sh' ls":                      "strace | line <sh> | command <ls>",
		"strace -fo out ls":                        "strace | file w <out> | command <ls>",
		"flock /tmp/l -c X":                        "flock | line <X> | file w </tmp/l>",
		"flock -n 9 rm x":                          "flock | file w <9> | command <rm x>",
		"script -qc 'rm x' /dev/null":              "script | line <rm x> | file w </dev/null>",
		"unshare -r rm x":                          "unshare | command <rm x>",
		"nsenter -t 1 -m rm x":                     "nsenter | command <rm x>",
		"bwrap --bind / / --dev /dev rm x":         "bwrap | command <rm x>",
		"systemd-run --on-active=5 rm x":           "systemd-run | command <rm x> | doubt persistence",
		"start-stop-daemon -S -x /bin/rm -- -rf /": "start-stop-daemon | file rx </bin/rm> | command <-rf /> | doubt opaque_command",
	})
}

func TestSearches(t *testing.T) {
	requireUses(t, map[string]string{
		"xargs -I{} sh -c 'rm {}'":                    "xargs | command <sh -c rm {}> | input items",
		"xargs -0 -n1 rm -rf":                         "xargs | command <rm -rf> | input items",
		"xargs -a list rm":                            "xargs | file r <list> | command <rm> | input items",
		"parallel -j4 rm {} ::: a b":                  "parallel | line <rm {} ::: a b> | input items",
		"find . -name '*.pyc' -delete":                "find | file d tree <.>",
		"find -delete":                                "find | here",
		"find / -type f -exec rm {} ; -print":         "find | command <rm {}> | file r tree names </>",
		"find . ( -name a -o -empty ) -exec cat {} +": "find | command <cat {}> | file r tree names <.>",
		"find . -fprintf /etc/x %p":                   "find | file w </etc/x> | file r tree names <.>",
		"fd -x rm {}":                                 "fd | command <rm {}> | here",
		"fd pat dir -X rm":                            "fd | command <rm> | file r tree names <dir>",
		"watch -n1 rm x":                              "watch | line <rm x>",
		"watch -x rm x":                               "watch | command <rm x>",
	})
}

func TestLaunchers(t *testing.T) {
	requireUses(t, map[string]string{
		"npx -y rimraf /":                     "npx | command <rimraf />",
		"npx -c 'rm x'":                       "npx | line <rm x>",
		"npm exec -- rm x":                    "npm exec | command <rm x>",
		"npm pkg set scripts.a='rm x'":        "npm pkg | line <rm x> | change system_change",
		"npm --prefix d run build":            "npm run",
		"uv run --with x python -c X":         "uv run | command <python -c X>",
		"uv run a.py":                         "uv run | script python <a.py>",
		"uv run -":                            "uv run | input runs python",
		"uvx --from x ruff":                   "uvx | command <ruff>",
		"poetry -C d run rm x":                "poetry run | folder <d> | command <rm x>",
		"bundle exec rake a":                  "bundle exec | command <rake a>",
		"xterm -T t -e sh -c X":               "xterm | command <sh -c X>",
		"gnome-terminal -- sh -c X":           "gnome-terminal | command <sh -c X>",
		"tmux new -d 'rm x'":                  "tmux new | line <rm x>",
		"tmux -L s send-keys -t 0 'rm' Enter": "tmux send-keys | line <rm Enter>",
		"screen -dmS x sh -c X":               "screen | command <sh -c X>",
		"screen -S x -X stuff 'rm x'":         "screen | line <rm x>",
		"hyperfine -p 'rm x' 'sleep 1' ls":    "hyperfine | line <rm x> | line <sleep 1> | line <ls>",
		"concurrently -n a,b 'npm:a' 'rm x'":  "concurrently | line <npm:a> | line <rm x>",
		"mpirun -np 4 rm x":                   "mpirun | command <rm x>",
		"nix-shell -p x --run 'rm x'":         "nix-shell | line <rm x>",
		"nix develop -c rm x":                 "nix develop | command <rm x>",
		"sbatch --wrap='rm x'":                "sbatch | line <rm x>",
		"wait-for-it h:80 -- rm x":            "wait-for-it | command <rm x>",
	})
}

func TestInterpreters(t *testing.T) {
	requireUses(t, map[string]string{
		"python3 -Wignore -c X":               "python3 | code python <X>",
		"python3.12 -W ignore -Ic X a b":      "python | code python <X>",
		"python3 -Im pip install x":           "python3 | command <pip install x>",
		"python3 x.py -c foo":                 "python3 | script python <x.py>",
		"python3 -":                           "python3 | input runs python",
		"python3 --frob -c X":                 "python3 | code python <X> | unread --frob",
		"perl -lne X f":                       "perl | code perl <X> | file r <f>",
		"perl -pi -e X f":                     "perl | code perl <X> | file rw <f>",
		"perl -i.bak -pe X f":                 "perl | code perl <X> | file rw <f>",
		"perl -0777 -F: -lane X f":            "perl | code perl <X> | file r <f>",
		"perl -Mstrict -e X -- a":             "perl | code perl <X> | file r <a>",
		"ruby -rfileutils -e X":               "ruby | code ruby <X>",
		"node -p -e X":                        "node | code js <X>",
		"node -pe X":                          "node | code js <X>",
		"node --eval=X":                       "node | code js <X>",
		"node -r a/b x.js":                    "node | script js <x.js>",
		"php -r X":                            "php | code php <X>",
		"awk -F: '{print $1}' /etc/passwd":    "awk | code awk <{print $1}> | file r </etc/passwd>",
		"awk -f x.awk f":                      "awk | script awk <x.awk> | file r <f>",
		"gawk -i inplace X f":                 "gawk | code awk <X> | file rw <f>",
		"sed -i s/a/b/ f g":                   "sed | code sed <s/a/b/> | file rw <f> | file rw <g>",
		"sed -n -e 1p -e 2p f":                "sed | code sed <1p> | code sed <2p> | file r <f>",
		"sed --in-place=.bak -e X f":          "sed | code sed <X> | file rw <f>",
		"pwsh -NoProfile -Comm Remove-Item x": "pwsh | line powershell <Remove-Item x>",
		"pwsh -enc AAAA":                      "pwsh | code powershell-base64 <AAAA>",
		"cmd.exe /C rd /s x":                  "cmd | line cmd <rd /s x>",
		"R -e X":                              "r | code r <X>",
		"lua -e X":                            "lua | code lua <X>",
		"java -cp x -jar a.jar -c X":          "java | file rx <a.jar>",
		"osascript -e X":                      "osascript | code applescript <X>",
		"emacs --batch --eval X":              "emacs | code elisp <X>",
		"vim -c '!rm x' +q f":                 "vim | code vim <!rm x> | code vim <q> | file rw <f>",
		"ex -s x":                             "ex | file rw <x> | input runs ed",
		"less +!ls f":                         "less | code less <!ls> | file r <f>",
	})
}

func TestFilesAndBuilders(t *testing.T) {
	requireUses(t, map[string]string{
		"cp -r a b c":                       "cp | file r tree <a> | file r tree <b> | file w <c>",
		"cp --targ=d a b":                   "cp | file w <d> | file r <a> | file r <b>",
		"mv a b":                            "mv | file rd move_tree <a> | file w <b>",
		"ln -s a b":                         "ln | file r tree <a> | file w <b>",
		"rm --recurs --force x":             "rm | file d tree <x>",
		"rm -rf -- -x":                      "rm | file d tree <-x>",
		"rm x -rf":                          "rm | file d tree <x>",
		"chmod -R 777 /":                    "chmod | file w tree names chmod_tree </>",
		"chmod -w f":                        "chmod | file w names chmod_tree <f>",
		"chmod u=rw,go= f":                  "chmod | file w names client chmod_tree <f>",
		"chown -R bob:bob /":                "chown | file w tree names chown_tree </>",
		"ls -la":                            "ls | here",
		"ls --color=auto /x":                "ls | file r names </x>",
		"head -5 f":                         "head | file r <f>",
		"kill -9 -1":                        "kill | process <-1> | change process_change",
		"kill -s KILL -1":                   "kill | process <-1> | change process_change",
		"kill -KILL 12":                     "kill | process <12> | change process_change",
		"kill -1":                           "kill | process <-1> | change process_change",
		"kill -l":                           "kill | rehearsal",
		"grep -e x -f y z":                  "grep | file r <y> | file r <z>",
		"grep -rn TODO":                     "grep | here",
		"rg --pre 'sh x' foo .":             "rg | line <sh x> | file r tree <.>",
		"sort --compress-prog='sh x' f":     "sort | line <sh x> | file r <f>",
		"split --filter='sh x' f":           "split | line <sh x> | file r <f>",
		"man -P 'sh x' ls":                  "man | line <sh x>",
		"tar --to-command='rm x' -xf a.tar": "tar | line <rm x> | file r <a.tar> | here",
		"tar xzf a.tgz -C /etc":             "tar | file r <a.tgz> | folder </etc> | here",
		"tar czf /tmp/o.tgz src -C /x y":    "tar | file w </tmp/o.tgz> | file r tree <src> | folder </x> | file r tree <y>",
		"tar -cf - a":                       "tar | file r tree <a> | dumps",
		"tar cf o --checkpoint-action=exec='sh x' a": "tar | file w <o> | line <sh x> | file r tree <a>",
		"tar -I 'sh x' -cf a b":                      "tar | line <sh x> | file w <a> | file r tree <b>",
		"zip -T -TT 'sh x' a.zip b":                  "zip | line <sh x> | file w <a.zip> | file r <b>",
		"make -C d CC=x all":                         "make | folder <d> | assign <CC=x>",
		"make -f -":                                  "make | input runs make",
		"go run -exec 'sh x' main.go":                "go run | line <sh x> | script go <main.go>",
		"cargo watch -s 'rm x'":                      "cargo watch | line <rm x>",
		"cmake -E remove_directory /":                "cmake | command <remove_directory />",
		"gcc -wrapper rm,-rf,/ x.c":                  "gcc | line commas <rm,-rf,/> | file r <x.c>",
	})
}

// What the words of a program don't say is no guess: an unknown program is told
// apart from one that does nothing.
func TestUnknownProgram(t *testing.T) {
	require.Equal(t, programs.Use{}, programs.ReadWords("frobnicate", []programs.Word{{Text: "-rf"}}))
	require.True(t, programs.ReadWords("rm", nil).Known)
	require.Contains(t, programs.Programs(), "ld-linux*")
}

// FuzzReadWords holds that no words make the reader panic, and that every piece
// lies inside its word.
func FuzzReadWords(f *testing.F) {
	for _, line := range benchLines {
		f.Add(line)
	}
	f.Add("tar --checkpoint-action=exec= -")
	f.Add("perl -0 -i -e")
	f.Add("find -exec ; -delete")
	names := programs.Programs()
	f.Fuzz(func(t *testing.T, line string) {
		if len(line) > 4096 || strings.Trim(line, " ") == "" {
			return
		}
		name, args := splitWords(line)
		requireInside(t, args, programs.ReadWords(name, args))
		requireInside(t, args, programs.ReadWords(names[len(line)%len(names)], args))
	})
}

func requireInside(t *testing.T, args []programs.Word, u programs.Use) {
	t.Helper()
	for _, p := range u.Parts {
		if p.Arg == -1 {
			require.NotEmpty(t, p.Text)
			continue
		}
		require.True(t, p.Arg >= 0 && p.Arg < len(args) && p.End > p.Arg && p.End <= len(args), "%+v of %d words", p, len(args))
		text := args[p.Arg].Text
		require.True(t, p.From >= 0 && p.From <= len(text) && (p.To == 0 || p.To >= p.From && p.To <= len(text)), "%+v in %q", p, text)
	}
}

// What is read of a line takes time and memory in step with its length: here
// every word is an option with a value, or an operand of a row that runs things.
func TestManyWords(t *testing.T) {
	for _, line := range []string{"tar -C x a", "hyperfine -w 1 a", "env A=1", "sudo A=1 -u x", "gawk -i x", "find -exec x ;"} {
		name, rest, _ := strings.Cut(line, " ")
		_, args := splitWords("x " + strings.Repeat(rest+" ", 64<<10/(len(rest)+1)))
		u := programs.ReadWords(name, args)
		require.True(t, u.Known, line)
		require.LessOrEqual(t, len(u.Parts), len(args), line)
		requireInside(t, args, u)
	}
}
