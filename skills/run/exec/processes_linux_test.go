package exec

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// multiply makes processes that stay, once it has read that something bounds them, and
// by itself never more than 2,000.
const multiply = `
import os, resource, signal, sys
bounds = [int(open("/proc/sys/kernel/pid_max").read()), resource.getrlimit(resource.RLIMIT_NPROC)[0]]
if bounds[0 if os.geteuid() == 0 else 1] > 1500: sys.exit("there is no bound")
try: open("/proc/sys/kernel/pid_max", "w").write("4000000"); print("raised")
except OSError: pass
made = 0
try:
    while made < 2000:
        if os.fork() == 0: signal.pause()
        made += 1
except OSError as e:
    print(e.strerror, made < 400, flush=True)
    sys.exit(7)
`

// A program that multiplies comes to an end that is told, whoever runs Vedette; the
// system's own setting stays as it was.
func TestProcessesAreBounded(t *testing.T) {
	require.True(t, BoundsProcesses(t.Context()), "nothing bounds the processes of this system's root: it needs Linux 6.14")
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	sp := spec(opts{"argv": []string{"/usr/bin/python3", "-c", multiply}, "read": []string{"/proc"}, "isolation": IsolationFull,
		"limits": opts{"processes": 20}})
	sp.Timeout = time.Minute
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 7, exit.Code, exit.Stderr)
	require.Equal(t, "Resource temporarily unavailable True\n", res.Content)
	after, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

// Without limits there is a bound all the same.
func TestProcessesAreBoundedByDefault(t *testing.T) {
	out := runShell(t, opts{"read": []string{"/proc"}},
		`if [ "$(id -u)" = 0 ]; then cat /proc/sys/kernel/pid_max; else echo $(($(ulimit -u) + 300)); fi`)
	require.Equal(t, "1356\n", out)
}

// When a call that was killed returns, no process of it is left: what a program left
// undone can be looked at then.
func TestNothingLivesAtTheReturn(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	fd, err := syscall.Open(fifo, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	text := `exec 9> "$1/fifo" > /dev/null 2>&1; for i in $(seq 100); do setsid sleep 1000 & done; echo x >&9; wait`
	sp := spec(opts{"argv": []string{"bash", "-c", text, "-", dir}, "isolation": IsolationFull, "write": []string{dir},
		"env": []string{"PATH"}})
	sp.Timeout = 2 * time.Second
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: dir})
	require.NoError(t, err)
	_, err = kit.Run(t, e, s, opts{"a": ""})
	require.Equal(t, skills.FailTimeout, failure(t, err).Code)
	b := make([]byte, 16)
	n, err := syscall.Read(fd, b)
	for err == nil && n > 0 {
		n, err = syscall.Read(fd, b)
	}
	require.NotErrorIs(t, err, syscall.EAGAIN, "a process of the program is still alive")
	require.NoError(t, err)
}

// What an operator is told to do about the network isn't what is told about mounts.
func TestRemedyOfTheNetwork(t *testing.T) {
	forbidden := remedyForStep(isolate.StepNetwork, syscall.EPERM)
	require.Contains(t, forbidden, "net_admin")
	lacking := remedyForStep(isolate.StepNetwork, syscall.EAFNOSUPPORT)
	require.Contains(t, lacking, "loopback")
	require.NotContains(t, []string{forbidden, lacking}, remedyForStep(isolate.StepMounts, syscall.EPERM))
}

// Under the landlock grade a program that multiplies comes to an end too, whoever runs Vedette.
func TestProcessesAreBoundedUnderLandlock(t *testing.T) {
	sp := spec(opts{"argv": []string{"/usr/bin/python3", "-c", multiply}, "read": []string{"/proc"}, "isolation": IsolationLandlock,
		"limits": opts{"processes": 20}})
	sp.Timeout = time.Minute
	before, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	res, err := kit.Run(t, e, s, opts{"a": ""})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, gradeBoth, res.Isolation)
	require.Equal(t, 7, exit.Code, exit.Stderr)
	require.Equal(t, "Resource temporarily unavailable True\n", res.Content)
	after, err := os.ReadFile("/proc/sys/kernel/pid_max")
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}
