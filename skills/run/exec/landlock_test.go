//go:build linux

package exec

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
	"github.com/vedette-dev/vedette/skills/run/exec/isolate"
)

// alone starts argv under Landlock without namespaces, which is what is left on
// systems that let us make none, and returns its exit code and output.
func alone(t *testing.T, network bool, read []string, argv ...string) (int, string) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := config{Argv: argv, Stdin: "none", OutputLimit: defaultOutput, Isolation: IsolationLandlock, Network: network, Read: read}
	p := &program{config: c}
	require.NoError(t, p.resolvePaths("run.exec", t.TempDir()))
	r, err := p.startInWay(t.Context(), wayLandlock, argv, environment{}, stdio{})
	require.NoError(t, err)
	_ = r.awaitEnd()
	out, _ := r.stdout.take()
	return r.cmd.ProcessState.ExitCode(), out
}

// Landlock by itself holds files, and TCP where its version can.
func TestLandlockAlone(t *testing.T) {
	secret, open := filepath.Join(t.TempDir(), "s"), t.TempDir()
	require.NoError(t, os.WriteFile(secret, []byte("canary"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(open, "o"), []byte("fine"), 0o644))
	code, out := alone(t, false, []string{open}, "cat", filepath.Join(open, "o"))
	require.Zero(t, code)
	require.Equal(t, "fine", out)
	code, out = alone(t, false, []string{open}, "cat", secret)
	require.NotZero(t, code)
	require.Empty(t, out)

	require.GreaterOrEqual(t, isolate.LandlockABI(), isolate.FirstABIWithTCP)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	for _, network := range []bool{false, true} {
		code, _ := alone(t, network, nil, "bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/$1`, "-", port)
		require.Equal(t, network, code == 0)
	}
}

// Each isolation is tried in the order that is promised, and a demanded one is
// never given up for a lesser one.
func TestWays(t *testing.T) {
	names := func(isolation string, network bool, more ...program) (out []string) {
		p := append(more, program{})[0]
		p.Isolation, p.Network = isolation, network
		ways, err := p.listWays()
		require.NoError(t, err)
		for _, w := range ways {
			out = append(out, w.grade)
		}
		return out
	}
	require.Equal(t, []string{"full"}, names(IsolationAuto, false))
	require.Equal(t, []string{"full", "landlock-strict"}, names(IsolationAuto, false, program{readsOnly: true}))
	require.Equal(t, []string{"full"}, names(IsolationAuto, false, program{readsOnly: true, config: config{Write: []string{"/srv"}}}))
	require.Equal(t, []string{"full"}, names(IsolationFull, false, program{readsOnly: true}))
	require.Equal(t, []string{"landlock-strict"}, names(IsolationStrict, false))
	require.Equal(t, []string{"landlock+namespaces", "landlock"}, names(IsolationLandlock, true))
	require.Equal(t, []string{"full"}, names(IsolationNamespaces, false))
	require.Equal(t, []string{"none"}, names(IsolationNone, false))
}

// Where isolation fails in the child, the call fails as not_started and the
// program has not run.
func TestIsolationFailure(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(gone, 0o755))
	kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"touch", mark}, "write": []string{dir}, "dir": gone}), nil)
	e, err := New(s, kit.Redeemer, Options{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(gone))
	_, err = kit.Run(t, e, s, opts{"a": ""})
	require.Equal(t, skills.FailNotStarted, failure(t, err).Code)
	require.NoFileExists(t, mark)
}
