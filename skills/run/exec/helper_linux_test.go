package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// The test binary plays two parts besides its own: a program in the sandbox that
// tries what it must not (roleProgram), and a Vedette of its own in surroundings
// that lack something (roleHost).
const (
	roleVariable = "VEDETTE_EXEC_TEST_ROLE"
	roleProgram  = "program"
	roleHost     = "host"
)

// raceVariable steers the race detector of a binary that starts itself again.
const raceVariable = "GORACE"

// raceOptions lets a process end at once: with the race detector each would sleep a
// second, for races that other threads find meanwhile. What is found is told as ever.
func raceOptions() string { return strings.TrimSpace(os.Getenv(raceVariable) + " atexit_sleep_ms=0") }

// playRole is called first by TestMain.
func playRole() {
	switch os.Getenv(roleVariable) {
	case roleProgram:
		tryAll(os.Args[1:])
		syscall.Exit(0) // a race detector would sleep a second, and can't read its options without /proc
	case roleHost:
		beHost(os.Args[1])
	default:
		return
	}
	os.Exit(0)
}

// tryAll makes each attempt, kind=operand, and says what came of it.
func tryAll(attempts []string) {
	for _, a := range attempts {
		kind, operand, _ := strings.Cut(a, "=")
		name, _, _ := strings.Cut(kind, ":") // what follows tells several of a kind apart
		err := tryOne(name, operand)
		said := "done"
		if err != nil {
			said = err.Error()
			var errno syscall.Errno
			if errors.As(err, &errno) {
				said = unix.ErrnoName(errno)
			}
		}
		fmt.Printf("%s %s\n", kind, said)
	}
}

func tryOne(kind, operand string) error {
	switch kind {
	case "unix", "abstract":
		return connectUnix(operand)
	case "tcp":
		c, err := net.DialTimeout("tcp", operand, 5*time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	case "read":
		_, err := os.ReadFile(operand)
		return err
	case "write":
		f, err := os.OpenFile(operand, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_ = f.Close()
		}
		return err
	case "create":
		return os.WriteFile(operand, nil, 0o600)
	case "signal":
		var pid int
		_, _ = fmt.Sscan(operand, &pid)
		return syscall.Kill(pid, syscall.SIGTERM)
	}
	return tryMetadata(kind, operand)
}

func tryMetadata(kind, operand string) error {
	switch kind {
	case "stat":
		_, err := os.Stat(operand)
		return err
	case "chmod":
		return syscall.Chmod(operand, 0o777)
	case "setuid":
		return syscall.Chmod(operand, 0o4755)
	case "setuid-new":
		fd, err := syscall.Open(operand, syscall.O_CREAT|syscall.O_WRONLY, 0o4755)
		_ = syscall.Close(fd)
		return err
	case "utime":
		return unix.UtimesNanoAt(unix.AT_FDCWD, operand, []unix.Timespec{{Sec: 1}, {Sec: 1}}, 0)
	case "setxattr":
		return unix.Setxattr(operand, "user.vedette", []byte("x"), 0)
	case "truncate":
		return syscall.Truncate(operand, 0)
	case "link":
		return syscall.Link(operand, "/tmp/link")
	case "call":
		var nr uintptr
		_, _ = fmt.Sscan(operand, &nr)
		return rawCall(nr)
	}
	return errors.New("no such attempt")
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func rawCall(nr uintptr) error {
	if _, _, errno := syscall.RawSyscall6(nr, 0, 0, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// tryInside runs the attempts in the sandbox and returns what came of each. The
// program is the test binary, which needs nothing of the system but the loader.
func tryInside(t *testing.T, o opts, effect skills.Effect, attempts ...string) (skills.Result, map[string]string) {
	t.Helper()
	o["argv"] = append([]string{ownBinary(t)}, attempts...)
	o["set_env"] = opts{roleVariable: roleProgram}
	sp := spec(o)
	sp.Effect = effect
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	require.NoError(t, err)
	out := map[string]string{}
	for line := range strings.Lines(res.Content) {
		kind, said, _ := strings.Cut(strings.TrimSpace(line), " ")
		out[kind] = said
	}
	require.Len(t, out, len(attempts))
	return res, out
}

// ownBinary is the test's own executable.
func ownBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// hostOrder is what a Vedette in other surroundings shall do.
type hostOrder struct {
	Lack    string // what its surroundings lack
	Options opts
	Effect  skills.Effect
}

// hostReport is what came of it.
type hostReport struct {
	Isolation, Content, Code, Step, Said string
}

// beHost takes something from this process and runs a skill.
func beHost(raw string) {
	var o hostOrder
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		panic(err)
	}
	if err := takeAway(o.Lack); err != nil {
		panic(err)
	}
	sp := spec(o.Options)
	sp.Effect = o.Effect
	// The caller's test fails by what is reported; this T is never asked.
	res, err := runBare(sp)
	r := hostReport{Isolation: res.Isolation, Content: res.Content}
	var f *skills.Failure
	if errors.As(err, &f) {
		r.Code = f.Code
	}
	var step *StepError
	if errors.As(err, &step) {
		r.Step = step.Step
	}
	if err != nil {
		r.Said = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// runBare runs a skill's options without a test around it.
func runBare(sp skills.Spec) (skills.Result, error) {
	var c config
	if err := json.Unmarshal(sp.Run.Options, &c); err != nil {
		panic(err)
	}
	c.OutputLimit, c.Stdin = defaultOutput, "none"
	if c.Isolation == "" {
		c.Isolation = IsolationAuto
	}
	p := &program{config: c, readsOnly: sp.Effect == skills.Read}
	if err := p.resolvePaths("run.exec", os.TempDir()); err != nil {
		panic(err)
	}
	return p.runOrder(context.Background(), skills.Order{Args: `{"a":""}`})
}

// takeAway makes this process a poorer place.
func takeAway(what string) error {
	switch what {
	case "clone":
		return denyCalls(denied{unix.SYS_CLONE, unix.CLONE_NEWUSER}, denied{unix.SYS_UNSHARE, 0})
	case "mounts":
		return denyCalls(denied{unix.SYS_MOUNT, 0}, denied{unix.SYS_OPEN_TREE, 0}, denied{unix.SYS_MOVE_MOUNT, 0})
	case "landlock":
		return denyCalls(denied{unix.SYS_LANDLOCK_RESTRICT_SELF, 0})
	case "proc":
		return unix.Mount("mask", "/proc/sys", "tmpfs", unix.MS_RDONLY, "")
	case "userns":
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	case "":
		return nil
	}
	return errors.New("nothing is called " + what)
}

// denied is a call that a container's filter answers with EPERM, where its first
// argument has bits, if any.
type denied struct {
	nr   uint32
	bits uint32
}

// denyCalls gives all threads of this process a filter such as containers have.
func denyCalls(list ...denied) error {
	f := &filter{}
	f.code = append(f.code, loadWord(offsetNumber))
	f.answerCalls([]uint32{unix.SYS_CLONE3}, answerENOSYS) // as containers do: its flags can't be read
	for _, d := range list {
		if d.bits == 0 {
			f.answerCalls([]uint32{d.nr}, answerEPERM)
		} else {
			f.refuseMasked(d.nr, 0, d.bits)
		}
	}
	f.code = append(f.code, answerAllow)
	raw, err := f.assemble()
	if err != nil {
		return err
	}
	code := make([]unix.SockFilter, len(raw)/unix.SizeofSockFilter)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&code[0])), len(raw)), raw)
	prog := &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// hostCommand is a Vedette whose surroundings lack something.
func hostCommand(t *testing.T, o hostOrder) *osexec.Cmd {
	t.Helper()
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	cmd := osexec.CommandContext(t.Context(), "/proc/self/exe", string(raw))
	cmd.Env = append(os.Environ(), roleVariable+"="+roleHost, raceVariable+"="+raceOptions())
	if o.Lack == "proc" || o.Lack == "userns" {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		askNamespaces(cmd, wayFull, isolate.Plan{})
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE}
	}
	return cmd
}

// inHost runs a skill in a Vedette whose surroundings lack something.
func inHost(t *testing.T, o hostOrder) hostReport {
	t.Helper()
	cmd := hostCommand(t, o)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(t, err, said.String())
	var r hostReport
	require.NoError(t, json.Unmarshal(out, &r), "%s", out)
	return r
}

// giveTo makes a folder that belongs to a user, or gives one away.
func giveTo(t *testing.T, dir string, uid int) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.Chown(dir, uid, uid))
}
