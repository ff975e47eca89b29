package exec

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// runShell runs a shell script under full and returns what it printed.
func runShell(t *testing.T, o opts, text string, args ...string) string {
	t.Helper()
	o["argv"] = append([]string{"bash", "-euo", "pipefail", "-c", text, "-"}, args...)
	o["isolation"] = IsolationFull
	if o["env"] == nil {
		o["env"] = []string{"PATH"}
	}
	sp := spec(o)
	sp.Timeout = 5 * time.Minute // compilers on a busy machine
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	require.NoError(t, err)
	require.Contains(t, []string{GradeFull, GradeFullNoProc}, res.Isolation)
	return res.Content
}

// The tree holds the declared paths, private folders, five devices and files that
// name the program's user alone. Nothing else of the system is there.
func TestTree(t *testing.T) {
	read, write := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(read, "r"), []byte("r"), 0o644))
	out := runShell(t, opts{"read": []string{read}, "write": []string{write}, "set_env": opts{"HOME": "/home/someone"}}, `
echo $(ls /dev)
wc -l < /etc/passwd; cut -d: -f3 /etc/passwd; test "$(cut -d: -f6 /etc/passwd)" = "$HOME" && echo home
cat "$1/r"; echo
for place in /tmp /home/someone /dev/shm "$2"; do touch "$place/new"; ls "$place" | tr '\n' ' '; done; echo
for place in / /etc /usr "$1" /dev /home; do touch "$place/new" 2> /dev/null && echo "wrote $place"; done
for place in /root /var /sys /etc/shadow /boot /run; do test -e "$place" && echo "there is $place"; done
hostname 2> /dev/null || uname -n
echo $(ls /proc/sys /proc/meminfo 2>&1 | wc -l)`, read, write)
	uid := strings.TrimSpace(commandOutput(t, "id", "-u"))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Equal(t, []string{"fd full null random shm stderr stdin stdout urandom zero", "1", uid, "home", "r"}, lines[:5])
	require.Contains(t, lines[5], "new new new") // /tmp holds the folders that lead to the declared ones too
	require.Equal(t, []string{"sandbox", "2"}, lines[6:], out)
	require.FileExists(t, filepath.Join(write, "new"))
	require.NoFileExists(t, "/tmp/new")
}

func commandOutput(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := osexec.CommandContext(t.Context(), name, args...).Output()
	require.NoError(t, err)
	return string(out)
}

// Tools that people use work in the tree. What ./test installs must be there; the
// others are tried where they are.
func TestToolsUnderFull(t *testing.T) {
	root, cache := strings.TrimSpace(commandOutput(t, "go", "env", "GOROOT")), strings.TrimSpace(commandOutput(t, "go", "env", "GOCACHE"))
	require.NoError(t, os.MkdirAll(cache, 0o755))
	for name, tool := range map[string]struct {
		program  string
		required bool
		text     string
		want     string
	}{
		"bash": {"bash", true, `x=$(mktemp); printf 'b\na\n' > "$x"; while read -r l; do echo "$l"; done < <(sort "$x"); cat <<< ` +
			`end; (exit 3) || echo $?`, "a\nb\nend\n3\n"},
		"git": {"git", true, `git init -q -b main r; cd r; echo x > f; git add f; git -c user.name=n -c user.email=e@x commit -qm one; cd ..
git clone -q r s; git -C s log --format=%s; git -C s status --short; git -C s gc -q`, "one\n"},
		"gcc": {"gcc", true, `echo 'int main(void) { return 7; }' > p.c; gcc -O1 -o p p.c; ./p || echo $?`, "7\n"},
		"tar": {"tar", true, `mkdir d; echo x > d/f; chmod 755 d/f; tar czf a.tgz d; rm -r d; tar xzpf a.tgz; tar tzf a.tgz; cat d/f`,
			"d/\nd/f\nx\n"},
		"go": {"go", true, `mkdir m; cd m; printf 'module m\ngo 1.24\n' > go.mod; printf 'package main\nfunc main() { println("hi") }\n' > m.go
GOTOOLCHAIN=local GOPROXY=off CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -o m . && ./m 2>&1`, "hi\n"},
		"python": {"/usr/bin/python3", false, `/usr/bin/python3 -c '
import multiprocessing, os, pwd, socket, ssl, subprocess, tempfile, threading
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1), pwd.getpwuid(os.getuid()).pw_uid == os.getuid())
l = socket.create_server(("127.0.0.1", 0)); socket.create_connection(l.getsockname()); print("own loopback")
with multiprocessing.Pool(2) as p: print(p.map(abs, [-1]))
print(subprocess.check_output(["echo", "sub"]), len(tempfile.mkdtemp()) > 0)'`, "b'x' True\nown loopback\n[1]\nb'sub\\n' True\n"},
		"node": {"node", false, `node -e 'const c = require("child_process"), f = require("fs"), h = require("http");
f.writeFileSync("n", "x"); console.log(f.readFileSync("n", "utf8"), c.execFileSync("echo", ["sub"]).toString().trim());
const s = h.createServer((q, r) => r.end("own")).listen(0, "127.0.0.1", 
() => h.get({port: s.address().port, host: "127.0.0.1"},
r => { r.on("data", d => console.log(String(d))); r.on("end", () => s.close()) }))'`, "x sub\nown\n"},
	} {
		_, err := osexec.LookPath(tool.program)
		if err != nil && !tool.required {
			t.Logf("%s is not installed", name)
			continue
		}
		require.NoError(t, err, "./test installs %s", name)
		work := t.TempDir()
		got := runShell(t, opts{"write": []string{work, cache}, "read": []string{root}, "dir": work,
			"set_env": opts{"HOME": homeFolder, "GOCACHE": cache}}, tool.text)
		require.Equal(t, tool.want, got, name)
	}
}

// Readers work under strict.
func TestReadersUnderStrict(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("canary\n"), 0o600))
	for _, text := range []string{`grep -r canary "$1" | wc -l; git -C / --version | wc -l`,
		`cat <(cat "$1/f") | wc -l; test -r /proc/self/status && echo 1`} {
		o := opts{"argv": []string{"bash", "-c", text, "-", dir}, "isolation": IsolationStrict, "read": []string{dir}, "env": []string{"PATH"}}
		res, err := run(t, o, opts{"a": ""})
		require.NoError(t, err)
		require.Equal(t, "1\n1\n", res.Content)
		require.Equal(t, GradeStrict, res.Isolation)
	}
}

// Interpreters start under strict, which gives them the system's /proc to read.
func TestInterpretersUnderStrict(t *testing.T) {
	t.Parallel()
	for program, argv := range map[string][]string{"/usr/bin/python3": {"-c", "import ssl, json; print(1)"}, "node": {"-p", "1"},
		"bash": {"-c", "echo 1"}} {
		path, err := osexec.LookPath(program)
		if err != nil {
			t.Logf("%s is not installed", program)
			continue
		}
		r := inHost(t, hostOrder{Lack: "clone", Options: opts{"argv": append([]string{path}, argv...), "env": []string{"PATH"}},
			Effect: skills.Read})
		require.Equal(t, GradeStrict, r.Isolation, "%+v", r)
		require.Equal(t, "1\n", r.Content, program)
	}
}

// A program that dies by a signal is told as shells do, 128 and the signal, and
// how far it got isn't known. An exit code is what it was.
func TestDeathBySignal(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{IsolationFull, IsolationLandlock} {
		for text, want := range map[string]struct {
			code    int
			unknown bool
		}{
			`echo said >&2; kill -TERM $$`: {143, true}, `kill -KILL $$`: {137, true}, `kill -SEGV $$`: {139, true}, `exit 143`: {143,
				false}, `exit 126`: {126, false},
		} {
			_, err := run(t, opts{"argv": []string{"sh", "-c", text}, "isolation": isolation}, opts{"a": ""})
			f := failure(t, err)
			require.Equal(t, skills.FailFailed, f.Code)
			require.Equal(t, want.unknown, f.Unknown, text)
			var exit *ExitError
			require.ErrorAs(t, err, &exit, text)
			require.Equal(t, want.code, exit.Code, "%s: %s", isolation, text)
		}
	}
}

// A file that Vedette holds open without CLOEXEC, as one that it was started with,
// isn't the program's.
func TestInheritedFilesStayOutside(t *testing.T) {
	fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	for _, isolation := range []string{IsolationFull, IsolationStrict, IsolationLandlock} {
		o := opts{"argv": []string{"bash", "-c", `for f in {3..200}; do (: <&$f) 2> /dev/null && echo $f; done; true`}, "isolation": isolation}
		res, err := run(t, o, opts{"a": ""})
		require.NoError(t, err)
		require.Empty(t, res.Content, isolation)
	}
}

// PID 1 can't be seen, ended or frozen by the program; it reaps what others leave.
func TestPID1(t *testing.T) {
	out := runShell(t, opts{}, `
for s in TERM KILL QUIT HUP INT SEGV STOP ABRT USR1 URG; do kill -$s 1 || echo "no $s"; done
ls -d /proc/[0-9]* | grep -cx /proc/1 || true
echo $(ls /proc/self/fd)
for i in 1 2 3 4 5 6 7 8; do (true & exec true); done
(true &)
cut -d' ' -f4 /proc/self/stat
for i in $(seq 1000); do grep -lq '^State:.Z' /proc/[0-9]*/status 2> /dev/null || { echo reaped; exit 0; }; done; echo zombies`)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Equal(t, []string{"0", "0 1 2 3"}, lines[:2], out) // ls itself reads the folder by 3
	require.Equal(t, "reaped", lines[len(lines)-1], out)
}

// Where Vedette is killed, nothing that the program started lives on, in whatever
// session. TestTimeoutKillsTheWholeGroup is the same at a timeout.
func TestNothingOutlivesVedette(t *testing.T) {
	dir := t.TempDir()
	gone := held(t, dir)
	text := `exec 9> "$1/fifo"; echo x >&9; setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo up > "$1/up"; wait`
	o := opts{"argv": []string{"bash", "-c", text, "-", dir}, "isolation": IsolationFull, "write": []string{dir}, "env": []string{"PATH"}}
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "up"), 0o600))
	cmd := hostCommand(t, hostOrder{Options: o, Effect: skills.Modify})
	cmd.Stdout, cmd.Stderr = nil, nil
	require.NoError(t, cmd.Start())
	f, err := os.OpenFile(filepath.Join(dir, "up"), os.O_RDONLY, 0) // opens when the program has
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	killed := time.Now()
	gone()
	t.Logf("all gone %s after the kill", time.Since(killed))
}

// Where surroundings lack something, the grade is what is left, or nothing runs
// and the error names the step.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		lack, isolation string
		effect          skills.Effect
		grade, step     string
	}{
		"nothing missing":            {"", "", skills.Modify, GradeFull, ""},
		"filter, writes":             {"clone", "", skills.Modify, "", "clone"},
		"filter, reads":              {"clone", "", skills.Read, GradeStrict, ""},
		"filter, full named":         {"clone", IsolationFull, skills.Read, "", "clone"},
		"filter, older word":         {"clone", IsolationNamespaces, skills.Read, "", "clone"},
		"filter, landlock named":     {"clone", IsolationLandlock, skills.Modify, GradeLandlock, ""},
		"mounts refused, writes":     {"mounts", "", skills.Modify, "", "mounts"},
		"mounts refused, reads":      {"mounts", "", skills.Read, GradeStrict, ""},
		"no user namespaces, writes": {"userns", "", skills.Modify, "", "clone"},
		"no user namespaces, reads":  {"userns", "", skills.Read, GradeStrict, ""},
		"no Landlock, reads":         {"landlock", "", skills.Read, "", "landlock"},
		"masked /proc, writes":       {"proc", "", skills.Modify, GradeFullNoProc, ""},
	} {
		dir := t.TempDir()
		mark := filepath.Join(dir, "mark")
		o := opts{"argv": []string{"sh", "-c", `echo ran; touch "$1"; test -e /proc/self && echo proc; true`, "-", mark}, "env": []string{"PATH"}}
		if row.isolation != "" {
			o["isolation"] = row.isolation
		}
		if row.effect != skills.Read {
			o["write"] = []string{dir}
		}
		r := inHost(t, hostOrder{Lack: row.lack, Options: o, Effect: row.effect})
		require.Equal(t, row.grade, r.Isolation, "%s: %+v", name, r)
		require.Equal(t, row.step, r.Step, "%s: %+v", name, r)
		if row.step != "" {
			require.Equal(t, skills.FailNotStarted, r.Code, name)
			require.NoFileExists(t, mark, name)
			require.Contains(t, r.Said, "; ", name) // the remedy
			continue
		}
		require.Contains(t, r.Content, "ran", name)
		require.Equal(t, row.grade != GradeFullNoProc, strings.Contains(r.Content, "proc"), "%s: %+v", name, r)
		_, err := os.Stat(mark)
		require.Equal(t, row.effect != skills.Read, err == nil, name)
	}
}

// As root a write root of another owner can't be written, and that is said before
// anything runs.
func TestWriteRootOfAnother(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	_, err := run(t, opts{"argv": []string{"touch", mark}, "write": []string{dir}}, opts{"a": ""})
	require.NoError(t, err)
	if os.Geteuid() != 0 {
		require.FileExists(t, mark) // an ordinary user's roots are its own
		return
	}
	require.NoError(t, os.Remove(mark))
	require.NoError(t, os.Chown(dir, 65534, 65534))
	_, err = run(t, opts{"argv": []string{"touch", mark}, "write": []string{dir}}, opts{"a": ""})
	var step *StepError
	require.ErrorAs(t, err, &step)
	require.Equal(t, "write root", step.Step)
	require.Contains(t, err.Error(), "run Vedette as the owner")
	require.NoFileExists(t, mark)
}

// All of this holds for an ordinary user as it does for root.
func TestAsSecondUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		grade, err := Probe(t.Context()) // the whole suite runs as one already
		require.NoError(t, err)
		require.Equal(t, GradeFull, grade)
		return
	}
	const uid = 65534
	dir := t.TempDir()
	require.NoError(t, os.Chown(filepath.Dir(dir), uid, uid))
	giveTo(t, dir, uid)
	binary := filepath.Join(dir, "suite")
	b, err := os.ReadFile(ownBinary(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, b, 0o755))
	cache := filepath.Join(dir, "cache")
	lendCache(t, strings.TrimSpace(commandOutput(t, "go", "env", "GOCACHE")), cache, uid)
	cmd := osexec.CommandContext(t.Context(), binary, "-test.v", "-test.skip=^(TestAsSecondUser|Fuzz.*)$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir, "GOCACHE="+cache, raceVariable+"="+raceOptions())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, name := range []string{"TestOutside", "TestToolsUnderFull", "TestSurroundings", "TestRootGetsNoFurther",
		"TestFilteredCalls", "TestEgress", "TestEgressRefuses"} {
		require.Contains(t, string(out), "--- PASS: "+name+" ", "as user %d", uid)
	}
}

// lendCache gives another user what this user's build cache holds of the last hour, as
// links. TestToolsUnderFull has just used what it needs, so the compiler isn't
// made to build the standard library again. On two file systems it is.
func lendCache(t *testing.T, from, to string, uid int) {
	t.Helper()
	giveTo(t, to, uid)
	buckets, err := os.ReadDir(from)
	require.NoError(t, err)
	for _, bucket := range buckets {
		if !bucket.IsDir() || len(bucket.Name()) != 2 {
			continue
		}
		giveTo(t, filepath.Join(to, bucket.Name()), uid)
		entries, err := os.ReadDir(filepath.Join(from, bucket.Name()))
		require.NoError(t, err)
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && time.Since(info.ModTime()) < 65*time.Minute {
				_ = os.Link(filepath.Join(from, bucket.Name(), e.Name()), filepath.Join(to, bucket.Name(), e.Name()))
			}
		}
	}
}
