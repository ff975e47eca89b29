package exec

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// redTarget is what the attempts are aimed at, all of it outside the sandbox.
type redTarget struct {
	victim
	socket, name, tcp, udp string
	own, pid, key          string
	seen                   *net.UDPConn
	segment, process       int
}

func newRedTarget(t *testing.T) redTarget {
	t.Helper()
	v := redTarget{victim: newVictim(t)}
	v.socket, v.name = filepath.Join(v.dir, "s"), v.dir
	for _, a := range v.attempts {
		kind, operand, _ := strings.Cut(a, "=")
		switch kind {
		case "tcp":
			v.tcp = operand
		case "signal":
			v.pid = operand
		}
	}
	var err error
	v.process, err = strconv.Atoi(v.pid)
	require.NoError(t, err)
	require.NoError(t, os.Symlink("secret-target", filepath.Join(v.dir, "link")))
	v.seen, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.seen.Close() })
	v.udp = v.seen.LocalAddr().String()
	key := 0x5eed0000 + os.Getpid()
	v.key = strconv.Itoa(key)
	v.segment, err = unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o600)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := unix.SysvShmCtl(v.segment, unix.IPC_RMID, nil)
		require.NoError(t, err, "the shared memory outside was removed")
	})
	return v
}

// markers is everything outside that an attempt could have changed.
func (v redTarget) markers(t *testing.T) map[string]any {
	t.Helper()
	out := v.state(t)
	entries, err := os.ReadDir(v.dir)
	require.NoError(t, err)
	for _, e := range entries {
		out["entry "+e.Name()] = e.Type()
	}
	var lim unix.Rlimit
	require.NoError(t, unix.Prlimit(v.process, unix.RLIMIT_CPU, nil, &lim))
	prio, err := unix.Getpriority(unix.PRIO_PROCESS, v.process)
	require.NoError(t, err)
	var cpus unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(v.process, &cpus))
	sched, err := unix.SchedGetAttr(v.process, 0)
	require.NoError(t, err)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", v.process))
	require.NoError(t, err)
	var segment unix.SysvShmDesc
	_, err = unix.SysvShmCtl(v.segment, unix.IPC_STAT, &segment)
	require.NoError(t, err)
	core, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	for k, x := range map[string]any{"limit": lim, "priority": prio, "cpus": cpus, "policy": sched.Policy,
		"process":  strings.Contains("TZX", strings.Fields(string(stat))[2]), //nolint:gocritic // the state is one letter
		"attached": segment.Atime, "core": string(core)} {
		out[k] = x
	}
	return out
}

// redRow is one attempt, what it tries, and what may come of it.
type redRow struct{ attempt, tries, want string }

// refuse is any error.
const refuse = "refused"

// outsideRows are attempts on what lies outside; they hold in every grade but where
// open says that it is documented.
func outsideRows(v redTarget) []redRow {
	up := strings.Repeat("../", 20)
	f := v.file
	return []redRow{
		{"read=" + f, "read a file", refuse}, {"read:up=" + up + f, "read it by going up", refuse},
		{"read:self=/proc/self/root" + f, "read it through its own root", refuse}, {"read:cwd=/proc/self/cwd/" + up + f,
			"read it through its own folder", refuse},
		{"read:init=/proc/1/root" + f, "read it through PID 1's root", refuse}, {"read:pid=/proc/" + v.pid + "/root" + f,
			"read it through a process outside", refuse},
		{"read:vedette=/proc/" + strconv.Itoa(os.Getpid()) + "/environ", "read Vedette's environment", refuse},
		{"read:vedettemem=/proc/" + strconv.Itoa(os.Getpid()) + "/mem", "read Vedette's memory", refuse},
		{"read:vedettemaps=/proc/" + strconv.Itoa(os.Getpid()) + "/maps", "read Vedette's map of memory", refuse},
		{"write:vedettemem=/proc/" + strconv.Itoa(os.Getpid()) + "/mem", "write Vedette's memory", refuse},
		{"write:vedetteexe=/proc/" + strconv.Itoa(os.Getpid()) + "/exe", "overwrite Vedette's program", refuse},
		{"readlink:vedetteexe=/proc/" + strconv.Itoa(os.Getpid()) + "/exe", "learn where Vedette's program is", refuse},
		{"readlink:vedettefd=/proc/" + strconv.Itoa(os.Getpid()) + "/fd/0", "look at Vedette's files", refuse},
		{"write=" + f, "write a file", refuse}, {"truncate=" + f, "truncate one", refuse}, {"unlink=" + f, "remove one", refuse},
		{"mkdir=" + v.dir + "/d", "make a folder", refuse}, {"linkout=" + f, "link one into the write root", refuse}, {"linktmp=" + f,
			"link one into /tmp", refuse},
		{"renameout=" + v.dir + "/r", "rename a file out", refuse}, {"exchange=" + f, "exchange a file with one outside", refuse},
		{"symread=" + f, "read through a link", refuse}, {"symwrite=" + f, "write through a link", refuse},
		{"bindout=" + v.dir + "/sock", "make a socket outside", refuse}, {"mknodchr=" + v.dir + "/c", "make a device outside", refuse},
		{"handle=x", "open by handle", "EPERM"}, {"exec=" + f, "run a file outside", refuse},
		{"abstract=" + v.name, "connect to an abstract socket", refuse}, {"tcp=" + v.tcp, "connect to a port of this machine", refuse},
		{"fastopen=" + v.tcp, "connect with data in the first packet", refuse}, {"sctp=" + v.tcp, "connect by SCTP", refuse},
		{"kill=" + v.pid, "end a process", refuse}, {"stop=" + v.pid, "stop one", refuse}, {"queue=" + v.pid, "queue a signal", refuse},
		{"pidfdkill=" + v.pid, "signal through a pidfd", refuse}, {"pidfdgetfd=" + v.pid, "take a process's file", refuse},
		{"ptrace=" + v.pid, "trace a process", refuse}, {"seize=" + v.pid, "seize one", refuse}, {"vmread=" + v.pid, "read its memory", refuse},
		{"vmwrite=" + v.pid, "write its memory", refuse}, {"prlimit=" + v.pid, "limit its processor time, which kills it", refuse},
		{"nice=" + v.pid, "slow it down", refuse}, {"sched=" + v.pid, "take its turn away", refuse}, {"affinity=" + v.pid,
			"move it to one processor", refuse},
		{"ioprio=" + v.pid, "slow its reading and writing", refuse},
		{"shm=" + v.key, "attach shared memory of System V", refuse}, {"shmrm=" + v.key, "remove it", refuse},
	}
}

// treeRows are what only a tree of its own stops.
func treeRows(v redTarget) []redRow {
	f := v.file
	return []redRow{
		{"stat=" + f, "look at metadata", "ENOENT"}, {"chmod=" + f, "change a mode", "ENOENT"}, {"utime=" + f, "change a time", "ENOENT"},
		{"setxattr=" + f, "set an attribute", "ENOENT"}, {"listxattr=" + f, "list attributes", "ENOENT"}, {"inotify=" + v.dir,
			"watch a folder", "ENOENT"},
		{"readlink=" + v.dir + "/link", "read a link", "ENOENT"}, {"chdir=" + v.dir, "go to a folder", "ENOENT"},
		{"unix=" + v.socket, "connect to a socket by path", "ENOENT"}, {"udp=" + v.udp, "send a datagram to this machine", refuse},
		{"setflags=" + v.own, "set a flag of a system's file", refuse}, {"fsxattr=" + v.own, "set a flag by fsxattr", refuse},
		{"mptcp=" + v.tcp, "connect by multipath TCP", refuse},
		{"read:environ=/proc/1/environ", "read PID 1's environment", refuse}, {"read:mem=/proc/1/mem", "read PID 1's memory", refuse},
		{"write:mem=/proc/1/mem", "write PID 1's memory", refuse}, {"read:maps=/proc/1/maps", "read PID 1's map", refuse},
		{"readlink:exe=/proc/1/exe", "learn PID 1's program", refuse}, {"write:exe=/proc/1/exe",
			"overwrite Vedette's program through PID 1", refuse},
		{"readlink:fd=/proc/1/fd/4", "look at PID 1's line", refuse}, {"read:plan=/proc/1/fd/3", "read the plan", refuse},
		{"write:line=/proc/1/fd/4", "write to PID 1's line", refuse}, {"write:own=/proc/self/exe", "overwrite its own program", refuse},
		{"write:core=/proc/sys/kernel/core_pattern", "set core_pattern", refuse}, {"write:sysrq=/proc/sysrq-trigger", "use sysrq", refuse},
		{"write:uidmap=/proc/self/uid_map", "map more users", refuse}, {"write:setgroups=/proc/self/setgroups", "allow setgroups", refuse},
		{"read:kcore=/proc/kcore", "read the kernel's memory", refuse}, {"read:mounts=/proc/1/mountinfo", "read PID 1's mounts", refuse},
		{"ptrace:init=1", "trace PID 1", "EPERM"}, {"vmread:init=1", "read PID 1's memory by call", "EPERM"}, {"pidfdgetfd:init=1",
			"take PID 1's line", "EPERM"},
		{"prlimit:init=1", "limit PID 1's processor time", "EPERM"}, {"setns=/proc/1/ns/mnt", "enter PID 1's mounts",
			refuse}, {"setnspid=1", "enter them by pidfd", "EPERM"},
		{"fdwrite=9", "write to a file of Vedette", "EBADF"}, {"kill9=-1", "kill all that it can see", "any"},
	}
}

// powerRows are what no grade lets a program do to the kernel or to itself.
func powerRows() []redRow {
	var out []redRow
	for attempt, want := range map[string]string{
		"capset": "EPERM", "ambient": "EPERM", "newprivs": "EINVAL", "setuid": refuse, "setgroups": refuse, "remount": "EPERM",
		"bind": "EPERM", "tmpfs": "EPERM", "proc": "EPERM",
		"overlay": "EPERM", "umount": "EPERM", "pivot": "EPERM", "chroot": "EPERM", "opentree": "EPERM", "fsopen": "EPERM",
		"mountsetattr": "EPERM",
		"unshareuser":  "EPERM", "unsharemnt": "EPERM", "unsharenet": "EPERM", "cloneuser": "EPERM", "clone3": "ENOSYS",
		"addkey": "EPERM", "keyctl": "EPERM",
		"requestkey": "EPERM", "iouring": "ENOSYS", "bpf": "EPERM", "userfaultfd": "EPERM", "perf": "EPERM", "module": "EPERM",
		"kexec": "EPERM", "swapon": "EPERM",
		"reboot": "EPERM", "hostname": "EPERM", "time": "EPERM", "syslog": "EPERM", "acct": "EPERM", "fanotify": "EPERM",
		"tiocsti": "EPERM", "openat2": "ENOSYS",
		"rawsock": "EPERM", "packet": "EPERM", "vsock": "EPERM", "alg": "EPERM", "xdp": "EPERM", "bluetooth": "EPERM",
		"raiselimit": "EPERM", "prlimitself": "done",
		"mknodchr": refuse, "mknodblk": refuse, "setuid-mknod": "EPERM", "setuid-mkdir": refuse, "filecap": "EPERM",
	} {
		out = append(out, redRow{attempt + "=node-" + attempt, "use " + attempt, want})
	}
	slices.SortFunc(out, func(a, b redRow) int { return strings.Compare(a.attempt, b.attempt) })
	return out
}

// runRows runs a program of C once with all rows, and judges each.
func runRows(t *testing.T, program string, o opts, effect skills.Effect, rows []redRow) skills.Result {
	t.Helper()
	argv := []string{program}
	for _, r := range rows {
		argv = append(argv, r.attempt)
	}
	o["argv"] = argv
	sp := spec(o)
	sp.Effect = effect
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	said := map[string]string{}
	for line := range strings.Lines(res.Content) {
		words := strings.Fields(line)
		if len(words) == 2 {
			said[words[0]] = words[1]
		}
	}
	for _, r := range rows {
		kind, _, _ := strings.Cut(r.attempt, "=")
		got := said[kind]
		switch {
		case r.want == "any":
		case r.want == refuse:
			if got == "" || got == "done" || got == "ENOTSUP" {
				t.Errorf("%s: %s: got %q, %v", r.tries, kind, got, err)
			}
		case r.want != got:
			t.Errorf("%s: %s: want %s, got %q, %v", r.tries, kind, r.want, got, err)
		}
	}
	return res
}

// Everything that a stranger tried from within, in each grade. A marker outside
// proves that nothing came of it.
func TestRedTeamInside(t *testing.T) {
	program := compileC(t, redProgram)
	for _, c := range []struct {
		isolation, grade string
		write, tree      bool
	}{{IsolationFull, GradeFull, true, true}, {IsolationAuto, GradeFull, false, true}, {IsolationStrict, GradeStrict, true, false},
		{IsolationLandlock, gradeBoth, true, false}} {
		t.Run(c.isolation, func(t *testing.T) {
			v := newRedTarget(t)
			v.own = program
			before := v.markers(t)
			work := t.TempDir()
			o := opts{"isolation": c.isolation, "read": []string{filepath.Dir(program)}}
			if c.write {
				o["write"], o["dir"] = []string{work}, work
			}
			rows := outsideRows(v)
			if c.write {
				rows = append(rows, powerRows()...)
			}
			if c.tree {
				rows = append(rows, treeRows(v)...)
			}
			if c.isolation == IsolationStrict {
				rows = append(rows, redRow{"unix=" + v.socket, "connect to a socket by path", "EPERM"}, redRow{"chmod=" + v.file,
					"change a mode", "EPERM"},
					redRow{"utime=" + v.file, "change a time", "EPERM"}, redRow{"setxattr=" + v.file, "set an attribute", "EPERM"},
					redRow{"setflags=" + v.own, "set a flag of a system's file", "EPERM"}, redRow{"fsxattr=" + v.own, "set a flag by fsxattr", "EPERM"},
					redRow{"niceuser=0", "slow all of the user's processes", "EPERM"}, redRow{"mq=/queue", "open a message queue", "EPERM"},
					redRow{"udp=" + v.udp, "send a datagram", "EPERM"})
			}
			res := runRows(t, program, o, skills.Modify, rows)
			require.Equal(t, c.grade, res.Isolation)
			require.Equal(t, before, v.markers(t))
			require.NoError(t, v.seen.SetReadDeadline(time.Now().Add(-1)))
			_, err := v.seen.Read(make([]byte, 9))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a datagram arrived")
		})
	}
}

// A folder that a program may change can't be made to lead elsewhere: the next run
// doesn't get what a planted link names.
func TestRedTeamPlantedLinks(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{IsolationFull, IsolationLandlock, IsolationStrict} {
		for _, kind := range []string{"write", "read", "write file", "read file"} {
			t.Run(isolation+" "+kind, func(t *testing.T) {
				t.Parallel()
				v := newVictim(t)
				before := v.state(t)
				work := t.TempDir()
				inner := filepath.Join(work, "a", "b")
				require.NoError(t, os.MkdirAll(inner, 0o755))
				lead := v.dir
				if strings.HasSuffix(kind, "file") {
					lead = v.file
					require.NoError(t, os.Remove(inner))
					require.NoError(t, os.WriteFile(inner, nil, 0o600))
				}
				o := opts{"isolation": isolation, "dir": work, "env": []string{"PATH"},
					"argv": []string{"bash", "-c", `cat a/b; test -L a/b || mv a old; mkdir a 2> /dev/null || { echo owned > a/b; echo owned ` +
						`> a/b/file; exit; }; ln -s "$1" a/b; cat a/b a/b/file; echo owned > a/b/file; echo owned > a/b`, "-", lead}}
				if strings.HasPrefix(kind, "write") {
					o["write"] = []string{work, inner}
				} else {
					o["write"], o["read"] = []string{work}, []string{inner}
				}
				kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
				e, err := New(s, kit.Redeemer, Options{Dir: work})
				require.NoError(t, err)
				for n := range 2 {
					res, err := kit.Run(t, e, s, opts{"a": ""})
					if n > 0 {
						require.Equal(t, skills.FailNotStarted, failure(t, err).Code)
						require.ErrorIs(t, err, unix.ELOOP)
					}
					to, err := os.Readlink(inner)
					require.NoError(t, err, "the link is planted")
					require.Equal(t, lead, to)
					require.NotContains(t, res.Content, "canary")
					require.Equal(t, before, v.state(t))
				}
			})
		}
	}
}

// A link as a write root doesn't lead to settings of the kernel.
func TestRedTeamKernelSettings(t *testing.T) {
	core, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink("/proc/sys/kernel", link))
	for _, isolation := range []string{IsolationFull, IsolationLandlock} {
		for _, root := range []string{link, "/", "/sys", "/proc/sys"} {
			mark := filepath.Join(t.TempDir(), "mark")
			o := opts{"isolation": isolation, "write": []string{root, filepath.Dir(mark)}, "env": []string{"PATH"},
				"argv": []string{"bash", "-c", `for f in "$1/core_pattern" /proc/sys/kernel/core_pattern; do { : >> "$f"; } 2> /dev/null ` +
					`&& touch "$2"; done; test -w /sys/kernel/uevent_helper && touch "$2"; true`, "-", root, mark}}
			kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
			e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
			if err == nil {
				_, err = kit.Run(t, e, s, opts{"a": ""})
			}
			if err == nil {
				t.Logf("%s %s was run", isolation, root)
			}
			require.NoFileExists(t, mark, "%s %s", isolation, root)
		}
	}
	after, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	require.Equal(t, core, after)
}

// Where a write root holds a device, the program can't use it.
func TestRedTeamDeviceInWriteRoot(t *testing.T) {
	work := t.TempDir()
	node := filepath.Join(work, "zero")
	if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		require.ErrorIs(t, err, unix.EPERM) // an ordinary user makes none
		require.NotZero(t, os.Geteuid())
		return
	}
	runRows(t, compileC(t, redProgram), opts{"isolation": IsolationFull, "write": []string{work}}, skills.Modify,
		[]redRow{{"nodev=" + node, "open a device in a write root", "EACCES"}})
}

// What runs when the time is up is gone when the call returns, however the program
// slows down what ends it.
func TestRedTeamNothingRunsOn(t *testing.T) {
	for name, text := range map[string]string{
		"idle PID 1": `python3 -c 'import os; os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))'; for i in $(seq 40); do ` +
			`(while :; do echo x >> beat; done) & done; wait`,
		"own session": `for i in 1 2 3; do setsid bash -c 'trap "" TERM HUP INT; while :; do echo x >> beat; done' > /dev/null 2>&1 ` +
			`& done; kill -STOP $$; wait`,
		"fork chain": `f() { echo x >> beat; (f) & }; f; sleep 100`,
		"stop all":   `kill -STOP 1; kill -STOP -1; while :; do echo x >> beat; done`,
	} {
		t.Run(name, func(t *testing.T) {
			work, beat := t.TempDir(), ""
			for timeout := 700 * time.Millisecond; beat == ""; timeout *= 2 {
				require.Less(t, timeout, time.Minute, "the program never began")
				sp := spec(opts{"isolation": IsolationFull, "write": []string{work}, "dir": work, "env": []string{"PATH"},
					"argv":   []string{"bash", "-c", text},
					"limits": opts{"processes": 200}})
				sp.Timeout = timeout
				kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
				e, err := New(s, kit.Redeemer, Options{Dir: work})
				require.NoError(t, err)
				_, err = kit.Run(t, e, s, opts{"a": ""})
				require.Error(t, err)
				if _, err := os.Stat(filepath.Join(work, "beat")); err == nil { // else it had no time to begin
					beat = filepath.Join(work, "beat")
				}
			}
			size := func() int64 {
				st, err := os.Stat(beat)
				require.NoError(t, err)
				return st.Size()
			}
			first := size()
			for range 3000 {
				require.Equal(t, first, size(), "something writes on")
			}
		})
	}
}

// Descriptors of Vedette don't reach the program.
func TestRedTeamFiles(t *testing.T) {
	secret, err := os.Open("/etc/hostname")
	require.NoError(t, err)
	defer func() { _ = secret.Close() }()
	_, err = unix.FcntlInt(secret.Fd(), unix.F_SETFD, 0) // as a careless library leaves one
	require.NoError(t, err)
	for _, isolation := range []string{IsolationFull, IsolationStrict} {
		res, err := run(t, opts{"isolation": isolation, "env": []string{"PATH"}, "argv": []string{"bash", "-c",
			`for f in {0..99}; do test -e /proc/$$/fd/$f && echo $f; done; cat /proc/$$/environ | tr '\0' '\n'`}}, opts{"a": ""})
		require.NoError(t, err)
		require.Regexp(t, `^0\n1\n2\n(PATH=[^\n]*\n)(GIT_CONFIG_NOSYSTEM=1\n)?$`, res.Content, isolation)
	}
}

// A folder in read that holds a socket lets the program talk to what listens there,
// before Landlock ABI 9: a mount that is read-only doesn't keep a program from
// connecting. The manual says so; this fails when it stops being true.
func TestRedTeamSocketInReadRoot(t *testing.T) {
	v := newRedTarget(t)
	want := "done"
	if isolate.LandlockABI() >= 9 {
		want = "EACCES"
	}
	program := compileC(t, redProgram)
	runRows(t, program, opts{"isolation": IsolationFull, "read": []string{v.dir}}, skills.Read, []redRow{
		{"unix=" + v.socket, "connect to a socket in a read root", want}, {"chmod=" + v.file, "change a mode there",
			"EROFS"}, {"unlink=" + v.file, "remove a file there", refuse},
		{"setflags=" + v.file, "set a flag there", "EROFS"}, {"bindout=" + v.dir + "/new", "make a socket there", refuse},
	})
	runRows(t, program, opts{"isolation": IsolationStrict, "read": []string{v.dir}}, skills.Read,
		[]redRow{{"unix=" + v.socket, "connect under strict", "EPERM"}})
}

// Paths that name nothing, or settings of the kernel, are refused when they are read.
func TestRedTeamConfigurations(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("/proc/sys", link))
	for _, o := range []opts{
		{"write": []string{""}, "dir": "gone"}, {"read": []string{"gone"}}, {"write": []string{"gone"}},
		{"write": []string{"../../../../../../../../proc/sys"}},
		{"write": []string{link}}, {"write": []string{"link"}}, {"write": []string{"/"}}, {"write": []string{"/sys/kernel"}},
		{"write": []string{"//proc"}}, {"argv": []string{}},
		{"argv": []string{"gone/program"}}, {"isolation": "none",
			"read": []string{dir}}, {"isolation": ""}, {"isolation": "Full"}, {"egress": []string{"good.example:443"}, "network": true},
		{"egress": []string{"good.example:443"}, "isolation": "landlock"}, {"egress": []string{"169.254.169.254:80"}},
		{"egress": []string{"*:443"}}, {"egress": []string{"2130706433:80"}},
	} {
		if o["argv"] == nil {
			o["argv"] = []string{"true"}
		}
		kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
		_, err := New(s, kit.Redeemer, Options{Dir: dir})
		require.Error(t, err, "%v", o)
	}
}
