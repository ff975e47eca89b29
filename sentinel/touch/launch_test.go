package touch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// dangerous lists the lines in which nothing that can't be undone is seen, and
// harmless those in which it is, or in which a person would be asked.
func dangerous(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		require.NotEmpty(t, shell(t, line).Dangers, line)
	}
}

func harmless(t *testing.T, lines []string) {
	t.Helper()
	for _, line := range lines {
		got := shell(t, line)
		require.Empty(t, got.Dangers, line)
		require.Empty(t, got.Doubts, line)
		require.Empty(t, got.Unread, line)
		require.Empty(t, got.Unparsed, line)
		require.Empty(t, got.Incomplete, line)
	}
}

// A command is the same behind whatever starts it, and what starts a harmless
// one is harmless.
func TestLaunchers(t *testing.T) {
	for _, by := range []string{
		"npx", "npx --yes", "npm exec --", "npm --prefix sub exec", "pnpm dlx", "yarn dlx", "bunx", "bun x", "uvx", "uv run", "uv tool run --from x", "pipx run", "poetry run", "pipenv run", "pdm run", "hatch -e x run", "pixi run",
		"conda run -n base", "micromamba run -p /opt/x", "bundle exec", "rbenv exec", "nvm exec 20", "direnv exec .", "mise exec node@20 --", "nix run nixpkgs#x --", "nix shell nixpkgs#x -c", "nix develop --command", "guix shell x --", "opam exec --",
		"dotenv -e .env --", "cross-env A=b", "doppler run --", "op run --env-file=x --", "chamber exec svc --", "aws-vault exec prod --", "teller run --",
		"tini --", "dumb-init", "catatonit --", "bwrap --ro-bind /usr /usr", "bwrap --dev-bind / /", "proot -r /", "unshare -r", "nsenter -t 1 -m", "setpriv --reuid 0", "runcon u:r:t", "chpst -u root", "s6-setuidgid root", "firejail --quiet",
		"systemd-run --user", "systemd-nspawn -D /x", "schroot -c x --", "arch-chroot /mnt", "start-stop-daemon -S -x /usr/bin/env --", "daemonize", "/lib64/ld-linux-x86-64.so.2", "ld.so --library-path /x",
		"rlwrap", "xterm -e", "gnome-terminal --", "konsole -e", "tmux new -d", "tmux split-window -h", "screen -dm", "dtach -n x", "zellij run --", "dbus-launch", "xvfb-run -a",
		"watchexec -e go --", "reflex -r x --", "onchange '*.go' --", "perf record -g --", "rr record", "retry -t 3 --", "tsp", "run-one", "ifne", "srun -n 2", "mpirun -np 2", "faketime yesterday", "choom -n 9 --",
		"pdsh -w web1", "clush -w web1", "fab -H web1 --", "heroku run", "gcloud compute ssh vm --", "adb shell", "wsl", "wsl -e", "mosh host --", "minikube ssh", "tsh ssh host", "ip netns exec x", "cmake -E env", "cmd /c",
		"poetry run sudo", "npx tini --", "someprogram", "./wrap.sh --", "someprogram -v sudo",
	} {
		t.Run(by, func(t *testing.T) {
			dangerous(t, []string{by + " rm -rf /", by + " dd if=/dev/zero of=/dev/sda"})
			harmless(t, []string{by + " ls -l src", by + " rm -rf build"})
		})
	}
}

// An argument that is a command line is read where the program takes one.
func TestLines(t *testing.T) {
	for _, with := range []string{
		"npx -c '%s'", "npm exec --call='%s'", "nix-shell -p x --run '%s'", "mise exec -c '%s'", "capsh -- -c '%s'", "sg root -c '%s'", "flock x -c '%s'", "script -qc '%s' out", "tmux new -d '%s'", "tmux send-keys -t 0 '%s' Enter", "screen -X stuff '%s'",
		"nodemon --exec '%s'", "hyperfine '%s'", "hyperfine --prepare '%s' ls", "concurrently '%s' 'ls'", "cargo watch -s '%s'", "mispipe '%s' cat", "sbatch --wrap='%s'", "expect -c 'spawn %s'", "doppler run --command='%s'", "sops exec-env f '%s'",
		"pssh -h hosts '%s'", "knife ssh q '%s'", "bolt command run '%s' -t all", "vagrant ssh -c '%s'", "fly ssh console -C '%s'", "gcloud compute ssh vm --command='%s'", "ansible all -m shell -a '%s'", "salt '*' cmd.run '%s'", "heroku run '%s' -a app",
		"socat - EXEC:'%s'", "socat SYSTEM:'%s' -", "nc -l 99 -c '%s'", "ncat -e '%s' -l 99", "az vm run-command invoke --scripts '%s'", "someprogram -x '%s'", "someprogram --hook='%s'", "someprogram '%s'", "parallel -j1 '%s' ::: 1", "xterm -e '%s'",
	} {
		t.Run(with, func(t *testing.T) {
			dangerous(t, []string{fmt.Sprintf(with, "rm -rf /"), fmt.Sprintf(with, "cd /tmp; sudo rm -rf ~")})
			harmless(t, []string{fmt.Sprintf(with, "ls -l src"), fmt.Sprintf(with, "rm -rf build")})
		})
	}
	dangerous(t, []string{
		"parallel 'rm -rf {}' ::: src /etc", "parallel -a <(echo /) rm -rf", "xargs -a <(echo /) rm -rf",
		"kubectl debug node/n -it --image=x -- chroot /host rm -rf /", "cmake -E remove_directory /etc", "tmux send x rm Space -rf Space / Enter",
	})
	harmless(t, []string{
		"ansible web -m file -a 'path=/tmp/x state=absent'", "parallel gzip ::: a.log b.log", "parallel echo {1} {2} ::: a b ::: c d", "xargs -a files.txt wc -l", "concurrently 'npm:watch-*' 'npm:serve'", "kubectl debug node/n -it --image=x",
	})
	dangerous(t, []string{`someprogram -e 'system("rm -rf /")'`, `someprogram --eval 'os.execute("sudo rm -rf /etc")'`})
	harmless(t, []string{`someprogram -e 'print("rm -rf /")'`, `someprogram -e 'system("rm -rf build")'`})
	require.Contains(t, codes(shell(t, `npm exec -c "$LINE"`).Doubts), touch.OpaqueCommand, "what is started can't be known")
}

func codes(list []touch.Danger) (out []string) {
	for _, d := range list {
		out = append(out, d.Code)
	}
	return out
}

// Text about a command is no command, whoever is told it.
func TestText(t *testing.T) {
	for _, say := range []string{
		"git commit -m %s", "git tag -a v1 -m %s", "git log --grep=%s", "git log -S%s", "git grep %s", "grep -rn %s .", "rg %s", "ag %s src", "sed -n /x/p %s", "jq -n --arg a %s .", "echo %s", "printf '%%s' %s", "logger %s", "wall %s", "say %s", "notify-send t %s",
		"gh issue create --title %s --body x", "glab mr note 3 -m %s", "todo add %s", "cowsay %s", "mail -s %s bob@example.com", "slack chat send %s", "llm %s", "curl -d %s https://a.example", "test %s = x", "journalctl -g %s", "read -p %s a",
		"someprogram --message %s", "someprogram --title=%s", "npm version patch -m %s", "hg commit -m %s", "pytest --deselect x -m %s", "expr %s : x", "zenity --question --text=%s",
	} {
		harmless(t, []string{fmt.Sprintf(say, `"rm -rf /"`), fmt.Sprintf(say, `"dd if=/dev/zero of=/dev/sda"`)})
	}
	harmless(t, []string{
		"man rm", "which mkfs.ext4 mkfs.xfs dd", "tldr rm", "apt install coreutils dd rm", "dpkg -S /bin/rm", "cowsay rm -rf /", "someprogram check mkfs.ext4 parted dd", "someprogram 'the line rm -rf / is never run'", "someprogram rm my-item",
		"someprogram find users --name bob", "command -v rm", "complete -F _rm rm", "history 5",
	})
}

// Reading guesses takes time in proportion to the line, however they nest.
func TestGuessesAreBounded(t *testing.T) {
	for _, unit := range []string{"foo rm -rf x ", "sudo foo ", "foo sudo ", "npx ", "git bisect run ", "cmake -E env ", "foo 'rm x' ", "hyperfine 'a b' ", "tmux send-keys 'rm x' ", "echo x >> a; sh a; ", "alias a='a a'; a x; ", "EDITOR='rm x' foo; ", "ln -s a b; rm b/x; "} {
		small := testing.AllocsPerRun(1, func() { shell(t, strings.Repeat(unit, 4<<10/len(unit))) })
		large := testing.AllocsPerRun(1, func() { shell(t, strings.Repeat(unit, 32<<10/len(unit))) })
		require.Less(t, large, 24*small+10_000, unit)
	}
}
