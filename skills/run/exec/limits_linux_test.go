package exec

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// Limits are those of the options, and the defaults elsewhere.
func TestLimits(t *testing.T) {
	t.Parallel()
	show := `ulimit -St; ulimit -Hf; ulimit -Sn; ulimit -Sv; ulimit -Hc; ulimit -u`
	out := runShell(t, opts{"limits": opts{"cpu": "90s", "file_size": 1 << 20, "open_files": 64, "address_space": 8 << 30,
		"processes": 100}}, show)
	require.Equal(t, "90\n1024\n64\n8388608\n0\n132\n", out)
	out = runShell(t, opts{}, show)
	require.Equal(t, "600\n4194304\n4096\nunlimited\n0\n1056\n", out)

	dir := t.TempDir()
	_, err := run(t, opts{"argv": []string{"sh", "-c", `head -c 2000000 /dev/zero > "$1/f"`, "-", dir}, "write": []string{dir},
		"limits": opts{"file_size": 1 << 20}}, opts{"a": ""})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	st, err := os.Stat(filepath.Join(dir, "f"))
	require.NoError(t, err)
	require.LessOrEqual(t, st.Size(), int64(1<<20))
	_, err = run(t, opts{"argv": []string{"sh", "-c", `while :; do :; done`}, "limits": opts{"cpu": "1s"}}, opts{"a": ""})
	require.ErrorAs(t, err, &exit)
	require.Equal(t, signalled(syscall.SIGKILL), exit.Code)
}

// A limit that can't be is a mistake of the configuration.
func TestRefusesLimits(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		o    opts
		want []string
	}{
		"good":  {opts{"limits": opts{"cpu": "1m", "file_size": 1, "memory": 64 << 20}}, nil},
		"cpu":   {opts{"limits": opts{"cpu": "5"}}, []string{"run.exec.limits.cpu"}},
		"short": {opts{"limits": opts{"cpu": "1ms"}}, []string{"run.exec.limits.cpu"}},
		"least": {opts{"limits": opts{"open_files": 2, "address_space": 1, "processes": -1, "file_size": -1, "memory": 5}},
			[]string{"run.exec.limits.open_files", "run.exec.limits.address_space", "run.exec.limits.processes",
				"run.exec.limits.file_size", "run.exec.limits.memory"}},
		"typo": {opts{"limits": opts{"cpus": "1m"}}, []string{"run.exec.limits.cpus"}},
		"none": {opts{"limits": opts{"cpu": "1m"}, "isolation": "none"}, []string{"run.exec.limits"}},
		"proc": {opts{"write": []string{"/proc/self"}}, []string{"run.exec.write[0]"}},
	} {
		row.o["argv"] = []string{"true"}
		_, err := New(runtest.Compile(t, spec(row.o), nil), kit.Redeemer, Options{Dir: t.TempDir()})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
}

// A limit that needs a cgroup gets one where it can be had, with the program in
// it from its first instruction, and none is left. One on memory that can't be had
// starts nothing.
func TestCgroup(t *testing.T) {
	mount, own := findOwnCgroup()
	parent := filepath.Join(mount, filepath.Dir(own))
	probe, err := os.MkdirTemp(parent, cgroupPrefix+"0-") //nolint:usetesting // a cgroup is no folder of the test
	can := mount != "" && err == nil
	if can {
		require.NoError(t, os.Remove(probe))
	}
	out := runShell(t, opts{"read": []string{"/proc"}, "limits": opts{"processes": 100}}, `grep ^0:: /proc/self/cgroup || true`)
	require.Equal(t, can && os.Geteuid() == 0, strings.Contains(out, "/"+cgroupPrefix), out)
	left, err := filepath.Glob(filepath.Join(parent, cgroupPrefix+strconv.Itoa(os.Getpid())+"-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	mark := filepath.Join(t.TempDir(), "mark")
	g, missing := limits{Memory: 64 << 20}.newCgroup(wayFull)
	g.remove()
	_, err = run(t, opts{"argv": []string{"touch", mark}, "write": []string{filepath.Dir(mark)},
		"limits": opts{"memory": 64 << 20}}, opts{"a": ""})
	if missing == nil {
		require.NoError(t, err)
		return
	}
	var step *StepError
	require.ErrorAs(t, err, &step)
	require.Equal(t, "limits", step.Step)
	require.NoFileExists(t, mark)
}
