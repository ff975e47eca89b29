package touch

import "strings"

// of makes a launcher from lists that are words in one string.
func of(subs, values string, more ...func(*launcher)) launcher {
	l := launcher{subs: strings.Fields(subs), values: strings.Fields(values)}
	for _, m := range more {
		m(&l)
	}
	return l
}

func lines(options string) func(*launcher) {
	return func(l *launcher) { l.lines = strings.Fields(options) }
}

func rest(options string) func(*launcher) {
	return func(l *launcher) { l.rest = strings.Fields(options) }
}

func after(n int) func(*launcher) { return func(l *launcher) { l.skip = n } }

func dashed(l *launcher) { l.dash = true }
func every(l *launcher)  { l.all = true }
func spoken(l *launcher) { l.joined = true }
func sets(l *launcher)   { l.sets = true }
func boxed(l *launcher)  { l.box = true }

// nothing is how far a launcher's operands are skipped that hold no command.
const nothing = 1 << 20

// launchers are the programs that run what is among their arguments, wrappers
// aside, whose arguments are a command and nothing else.
var launchers = merged(packageRunners, environments, sandboxes, terminals, repeaters, remotes)

func merged(tables ...map[string]launcher) map[string]launcher {
	out := map[string]launcher{}
	for _, t := range tables {
		for name, l := range t {
			for n := range strings.FieldsSeq(name) {
				out[n] = l
			}
		}
	}
	return out
}

var (
	// packageRunners run a program of a package, or in a project's
	// environment.
	packageRunners = map[string]launcher{
		"npx pnpx bunx":          of("", "-p --package --node-options --registry --cache --userconfig -w --workspace", lines("-c --call")),
		"npm":                    of("exec x", "-p --package --prefix --registry --cache --userconfig -w --workspace", lines("-c --call")),
		"pnpm":                   of("dlx exec", "--package --filter -F -C --dir --allow-build"),
		"yarn":                   of("dlx exec run", "-p --package --cwd"),
		"bun":                    of("x", "--cwd --package -p"),
		"uvx":                    of("", "--from --with --python -p --index --index-url --extra-index-url --directory --project --env-file --with-requirements --cache-dir --refresh-package"),
		"uv":                     of("run tool.run", "--from --with --python -p --index --directory --project --env-file --extra --group --package --with-requirements --with-editable --cache-dir"),
		"pipx":                   of("run", "--spec --python --pip-args --index-url --path"),
		"poetry pipenv pdm rye":  of("run", "-C --directory -P --project -p"),
		"hatch":                  of("run env.run", "-e --env -p --project -i --include -x --exclude"),
		"pixi":                   of("run exec", "-e --environment --manifest-path -s --spec -c --channel"),
		"conda mamba micromamba": of("run", "-n --name -p --prefix --cwd --log-level"),
		"bundle bundler":         of("exec", "--gemfile"),
		"rbenv pyenv nodenv plenv jenv goenv asdf": of("exec", ""),
		"nvm":                       of("exec", "", after(1)),
		"fnm":                       of("exec", "--using --fnm-dir"),
		"volta":                     of("run", "--node --npm --yarn --pnpm"),
		"mise rtx":                  of("exec x", "-C --cd -E --env -j --jobs", lines("-c --command"), dashed),
		"direnv":                    of("exec", "", after(1)),
		"nix":                       of("run shell develop", "-f --file --impure -I --expr --option -k --keep -u --unset --profile -p", rest("-c --command"), dashed),
		"nix-shell":                 of("", "-p --packages -I -A --attr --arg --argstr -E --expr --keep", lines("--run --command"), after(nothing)),
		"guix":                      of("shell environment time-machine", "-m --manifest -C -p -D", dashed),
		"devbox":                    of("run", "-c --config -e --env --env-file"),
		"flox":                      of("activate", "-d --dir -r --remote", dashed),
		"luarocks":                  of("exec", ""),
		"composer":                  of("exec", "-d --working-dir"),
		"mix":                       of("cmd", ""),
		"opam":                      of("exec", "--switch", dashed),
		"stack cabal":               of("exec", "--resolver", dashed),
		"dotenvx dotenv env-cmd":    of("", "-e --env -f --file -c --file-path --override", sets),
		"cross-env cross-env-shell": of("", "", sets),
		"envdir envuidgid":          of("", "", after(1)),
	}
	// environments run a command with secrets, as somebody, or as a service.
	environments = map[string]launcher{
		"doppler":   of("run", "-p --project -c --config -t --token --fallback", lines("--command")),
		"op":        of("run plugin.run", "--env-file --account"),
		"infisical": of("run", "--env --path --projectId --token", lines("--command")),
		"chamber":   of("exec", "", dashed),
		"aws-vault": of("exec", "-d --duration -r --region -b --backend", after(1)),
		"teller":    of("run", "-c --config"),
		"envchain":  of("", "", after(1)),
		"sops":      of("exec-env", "", after(1)),
		"saml2aws":  of("exec", "-a --idp-account"),
		"ssh-agent": of("", "-a -E -t -P -O"),
		"sg":        of("", "", lines("-c --command"), after(1)),
		"capsh":     of("", "--user --uid --gid --groups --chroot --drop --caps --inh --secbits", lines("-c"), after(nothing)),
		"runcon":    of("", "-t --type -u --user -r --role -l --range", after(1)),
		"chpst":     of("", "-u -U -b -e -/ -C -n -l -L -m -d -o -p -f -c -r -t"),
		"setuidgid s6-setuidgid s6-envdir s6-applyuidgid":       of("", "-u -g -G", after(1)),
		"tini dumb-init catatonit pid1 docker-init tini-static": of("", "-p -e -r --rewrite"),
		"start-stop-daemon": of("", "-n --name -p --pidfile -u --user -c --chuid -g --group -d --chdir -N --nicelevel -R --retry -s --signal -k --umask", rest("-x --exec -a --startas")),
		"daemonize":         of("", "-c -e -o -p -l -u -E -a"),
		"daemon":            of("", "-n --name -u --user -D --chdir -o --output -O --stdout -E --stderr -r"),
		"supervise":         of("", "", after(nothing)),
		"systemd-inhibit":   of("", "--what --who --why --mode"),
		"choom":             of("", "-n --adjust -p --pid"),
		"faketime":          of("", "-f", after(1)),
		"datefudge":         of("", "", after(1)),
		"execlineb":         of("", "", lines("-c"), after(nothing)),
		"run0":              of("", "--unit --property --user -u --group -g --nice --chdir -D --setenv --background"),
		"please":            of("", "-u --user -g --group -d --dir"),
		"runas":             of("", "", every),
		"pm2":               of("start", "--name -n -i --interpreter --cwd --watch"),
		"forever":           of("", "", lines("-c")),
	}
	// sandboxes run a command where less can be seen, or more.
	sandboxes = map[string]launcher{
		"bwrap":                     of("", "--chdir --proc --dev --tmpfs --dir --unsetenv --lock-file --hostname --uid --gid --perms --size --cap-add --cap-drop --exec-label --file-label --seccomp --args --info-fd --sync-fd --block-fd"),
		"proot":                     of("", "-r --rootfs -b --bind -w --cwd -q --qemu -k -v -p -m"),
		"schroot":                   of("", "-c --chroot -d --directory -u --user -s --shell -n"),
		"arch-chroot":               of("", "-u", after(1)),
		"apptainer singularity":     of("exec", "-B --bind -H --home -W --pwd --env -e --overlay --net", after(1)),
		"systemd-nspawn":            of("", "-D --directory -M --machine -i --image -u --user --bind --bind-ro -E --setenv --chdir --template"),
		"flatpak-spawn":             of("", "--env --directory --forward-fd --watch-bus"),
		"toolbox":                   of("run", "-c --container -d --distro -r --release"),
		"distrobox distrobox-enter": of("enter", "-n --name", rest("-e --exec"), dashed),
		"lxc incus":                 of("exec", "--env --cwd --user --group", after(1), boxed),
		"pct":                       of("exec", "", after(1), boxed),
		"multipass":                 of("exec", "-d --working-directory", after(1), boxed),
		"machinectl":                of("shell", "-M --machine -E --setenv --uid", after(1), boxed),
		"crictl":                    of("exec", "-r --runtime-endpoint", after(1), boxed),
		"ctr":                       of("task.exec tasks.exec t.exec", "--exec-id -n --namespace", after(1), boxed),
		"nomad":                     of("alloc.exec", "-task -job", after(1), boxed),
		"ip":                        of("netns.exec vrf.exec", "-n", after(1)),
		"jexec":                     of("", "-u -U", after(1)),
		"winpty cygstart":           of("", ""),
		"wsl":                       of("", "-d --distribution -u --user --cd", rest("-e --exec")),
	}
	// terminals run a command where a person may look at it.
	terminals = map[string]launcher{
		"xterm uxterm urxvt rxvt st konsole alacritty foot terminology lxterminal qterminal": of("", "-T -title -name -geometry -fn -bg -fg -t", rest("-e --command"), after(nothing)),
		"gnome-terminal mate-terminal tilix terminator xfce4-terminal ptyxis kgx":            of("", "--title --working-directory --profile --geometry -t", lines("-e --command"), rest("-x --execute"), dashed),
		"kitty ghostty":                     of("", "--title --directory -d -c -o --cwd"),
		"wezterm":                           of("start ssh", "--cwd --class"),
		"tmux":                              of("new new-session neww new-window split-window splitw respawn-pane respawnp respawn-window run run-shell popup display-popup pipe-pane", "-s -n -c -t -x -y -e -F -l -S -L -f"),
		"screen":                            of("", "-S -t -T -c -e -p -h -r -s"),
		"dtach abduco":                      of("", "-e -r", after(1)),
		"zellij":                            of("run", "-n --name --cwd", dashed),
		"byobu":                             of("new new-session new-window", "-s -n -c"),
		"rlwrap socksify tsocks ttyd gotty": of("", "-a -b -c -C -D -f -H -l -O -P -p -q -s -S -t -W -i --port --interface"),
		"asciinema":                         of("rec", "-t --title -i --idle-time-limit", lines("-c --command")),
		"dbus-launch startx xinit xvfb":     of("", ""),
	}
	// repeaters run a command again and again, when something changes, or to
	// measure it.
	repeaters = map[string]launcher{
		"watchexec reflex":                    of("", "-e --exts -w --watch -i --ignore -f --filter -d --debounce -s --signal -r -g --glob -G --inverse-glob -R"),
		"nodemon":                             of("", "-w --watch -e --ext -i --ignore -d --delay --config", lines("-x --exec"), after(nothing)),
		"chokidar chokidar-cli":               of("", "-i --ignore -d --debounce -t --throttle", lines("-c --command"), after(nothing)),
		"onchange":                            of("", "-e --exclude -d --delay -k", dashed),
		"hyperfine":                           of("", "-w --warmup -m --min-runs -M --max-runs -r --runs -n --command-name --export-json --export-markdown --export-csv -L --parameter-list -i -S --shell --style -u --time-unit", lines("-p --prepare -s --setup -c --cleanup -C --conclude"), every),
		"concurrently":                        of("", "-n --names -c --prefix-colors -p --prefix -k -m --max-processes --restart-tries", every),
		"foreman honcho forego overmind":      of("run", "-e --env -f --procfile"),
		"start-server-and-test":               of("", "", every),
		"wait-on":                             of("", "", after(nothing)),
		"wait-for-it wait-for-it.sh wait-for": of("", "-h --host -p --port -t --timeout", dashed),
		"dockerize":                           of("", "-wait -timeout -template -stdout -stderr"),
		"perf":                                of("record stat trace mem c2c sched.record", "-e --event -o --output -F --freq -p --pid -t --tid -C --cpu -r --repeat -x -I -c"),
		"rr heaptrack uftrace kcov bear scan-build ccache distcc": of("", "-o --output -d"),
		"bpftrace": of("", "-p -o -f", lines("-c"), after(nothing)),
		"retry":    of("", "-t --times -d --delay -m --max -s --sleep"),
		"run-one ts tsp nq sem lckdo with-lock-ex ifne zrun timelimit": of("", "-n -L -j -t -T -l -w -W"),
		"mispipe pee":              of("", "", every),
		"srun mpirun mpiexec prun": of("", "-n -np -N -c -p -t -J --ntasks --nodes --partition --time --host -H --hostfile -x --map-by --bind-to"),
		"sbatch":                   of("", "-n -N -c -p -t -J -o -e", lines("--wrap"), after(nothing)),
		"schedtool":                of("", "", rest("-e"), after(nothing)),
		"cargo":                    of("watch", "-w --watch -i --ignore -d --delay -C", lines("-s --shell"), dashed),
		"forfiles":                 of("", "/p /m /d", lines("/c"), after(nothing)),
		"expect":                   of("", "-f -b", lines("-c"), after(nothing)),
	}
	// remotes run a command on another machine, which can be lost as well.
	remotes = map[string]launcher{
		"pssh parallel-ssh pnuke":    of("", "-h --hosts -H --host -l --user -p --par -o --outdir -e --errdir -t --timeout -O --option -x --extra-args -X", spoken),
		"pdsh clush dsh mussh rpdsh": of("", "-w -x -g -l -u -f -t -m -h -H", lines("-c"), spoken),
		"mosh autossh":               of("", "--ssh -M -p --port -i -L -R -D -o", after(1)),
		"fab":                        of("", "-H --hosts -u --user -i --identity", dashed),
		"knife":                      of("ssh", "-x --ssh-user -i -a -P", after(1)),
		"bolt":                       of("command.run", "-t --targets -n --nodes -u --user"),
		"heroku":                     of("run run:detached", "-a --app -r --remote -s --size -e --env --type"),
		"fly flyctl":                 of("ssh.console machine.exec", "-a --app -s -r --region --machine", lines("-C --command"), after(nothing)),
		"gcloud":                     of("compute.ssh alpha.compute.ssh beta.compute.ssh", "--zone --project --tunnel-through-iap", lines("--command"), dashed),
		"vagrant":                    of("ssh", "", lines("-c --command"), after(nothing)),
		"minikube":                   of("ssh", "-p --profile -n --node"),
		"docker-machine":             of("ssh", "", after(1)),
		"colima lima limactl":        of("ssh shell", "--workdir -p --profile"),
		"adb":                        of("shell exec-out", "-s -t -H -P -L", spoken),
		"eb":                         of("ssh", "-n --number -i --instance -e --environment", lines("-c --command"), after(nothing)),
		"ssm-session tsh":            of("ssh", "--proxy --user -l -p --cluster", after(1)),
		"tailscale":                  of("ssh", "", after(1)),
		"psexec psexec64 paexec":     of("", "-u -p -w -n -r -i"),
		"plink":                      of("", "-l -P -pw -i -L -R -D -m", after(1)),
	}
)
