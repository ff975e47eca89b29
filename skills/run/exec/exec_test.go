//go:build linux

package exec

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

func TestMain(m *testing.M) {
	MaybeChild()
	playHelper()
	playRole()
	goleak.VerifyTestMain(m)
}

type opts = map[string]any

const anything = `{"type":"object","required":["a"],"properties":{"a":{},"b":{},"list":{"type":"array"}}}`

func spec(o opts) skills.Spec {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return skills.Spec{Name: "demo.run", Effect: skills.Modify, Timeout: 20 * time.Second,
		Parameters: json.RawMessage(anything), Run: skills.Run{Kind: "exec", Options: raw}}
}

func run(t *testing.T, o opts, args any) (skills.Result, error) {
	t.Helper()
	kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	return kit.Run(t, e, s, args)
}

func failure(t *testing.T, err error) *skills.Failure {
	t.Helper()
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	return f
}

// A value stays one argument, whatever a shell would make of it.
func TestValuesStayWhole(t *testing.T) {
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		res, err := run(t, opts{"argv": []string{"printf", `<%s>`, "{{a}}", "{{list}}"}, "isolation": mode},
			opts{"a": "x; rm -rf $HOME `id` \"'\n", "list": []any{1, true, "two words"}})
		require.NoError(t, err, mode)
		require.Equal(t, "<x; rm -rf $HOME `id` \"'\n><1><true><two words>", res.Content)
		require.Contains(t, map[string][]string{IsolationNone: {GradeNone}, IsolationLandlock: {gradeBoth, GradeLandlock},
			IsolationNamespaces: {GradeFull, GradeFullNoProc}}[mode], res.Isolation)
	}
}

// Standard input is the canonical arguments or nothing.
func TestStdin(t *testing.T) {
	res, err := run(t, opts{"argv": []string{"cat"}, "stdin": "json"}, opts{"a": "é", "b": 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"é","b":1}`, res.Content)
	res, err = run(t, opts{"argv": []string{"cat"}}, opts{"a": "é"})
	require.NoError(t, err)
	require.Empty(t, res.Content)
}

// Only listed variables are seen, under every isolation.
func TestEnvironmentIsTheListAlone(t *testing.T) {
	t.Setenv("VEDETTE_CANARY", "canary-secret")
	t.Setenv("VEDETTE_SHOWN", "shown")
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		res, err := run(t, opts{"argv": []string{"env"}, "isolation": mode, "env": []string{"VEDETTE_SHOWN", "VEDETTE_UNSET"},
			"set_env": opts{"LANG": "C"}}, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, "LANG=C\nVEDETTE_SHOWN=shown\n", res.Content)
	}
}

// A path that isn't listed can't be read or written; a listed one can, in the
// listed way.
func TestIsolationBindsFiles(t *testing.T) {
	secret, open, out := t.TempDir(), t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(secret, "s"), []byte("canary"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(open, "o"), []byte("fine"), 0o644))
	for _, mode := range []string{IsolationLandlock, IsolationNamespaces, IsolationAuto} {
		o := opts{"argv": []string{"cat", "{{a}}"}, "isolation": mode, "read": []string{open}}
		res, err := run(t, o, opts{"a": filepath.Join(open, "o")})
		require.NoError(t, err, mode)
		require.Equal(t, "fine", res.Content)
		res, err = run(t, o, opts{"a": filepath.Join(secret, "s")})
		var exit *ExitError
		require.ErrorAs(t, err, &exit, mode)
		require.Equal(t, 1, exit.Code)
		require.NotContains(t, res.Content+err.Error(), "canary")
		_, err = run(t, o, opts{"a": "/etc/shadow"})
		require.ErrorAs(t, err, &exit, mode)

		w := opts{"argv": []string{"touch", "{{a}}"}, "isolation": mode, "read": []string{open}, "write": []string{out}}
		_, err = run(t, w, opts{"a": filepath.Join(open, "new-"+mode)})
		require.ErrorAs(t, err, &exit, mode)
		require.NoFileExists(t, filepath.Join(open, "new-"+mode))
		_, err = run(t, w, opts{"a": filepath.Join(out, "new-"+mode)})
		require.NoError(t, err, mode)
		require.FileExists(t, filepath.Join(out, "new-"+mode))
	}
}

// The isolated program holds no capability and can't gain one.
func TestIsolationDropsPrivileges(t *testing.T) {
	for _, mode := range []string{IsolationLandlock, IsolationNamespaces} {
		res, err := run(t, opts{"argv": []string{"grep", "-E", "^(Cap(Prm|Eff|Inh|Amb)|NoNewPrivs)", "/proc/self/status"},
			"isolation": mode, "read": []string{"/proc"}}, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, 4, strings.Count(res.Content, ":\t0000000000000000\n"), res.Content)
		require.Contains(t, res.Content, "NoNewPrivs:\t1")
	}
}

// interfaces are the names in a text that is like /proc/net/dev.
func interfaces(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if name, _, found := strings.Cut(line, ":"); found {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// networkOf names the network namespace that a program runs in.
func networkOf(t *testing.T, mode string, network bool) string {
	t.Helper()
	o := opts{"argv": []string{"readlink", "/proc/self/ns/net"}, "isolation": mode, "network": network, "read": []string{"/proc"}}
	res, err := run(t, o, opts{"a": ""})
	require.NoError(t, err, mode)
	return strings.TrimSpace(res.Content)
}

// Without network there is a loopback of the program's own, which is down and has
// counted nothing; with it, the system's own interfaces are there.
func TestNetwork(t *testing.T) {
	own, err := os.ReadFile("/proc/net/dev")
	require.NoError(t, err)
	for _, mode := range []string{IsolationLandlock, IsolationNamespaces} {
		for _, network := range []bool{false, true} {
			res, err := run(t, opts{"argv": []string{"cat", "/proc/net/dev"}, "isolation": mode, "network": network,
				"read": []string{"/proc"}}, opts{"a": ""})
			require.NoError(t, err, mode)
			if network {
				require.Equal(t, interfaces(string(own)), interfaces(res.Content), mode)
				continue
			}
			// Tunnels that a kernel puts into every namespace may be there too.
			require.Contains(t, interfaces(res.Content), "lo", mode)
			for line := range strings.Lines(res.Content) {
				if name, counts, found := strings.Cut(line, ":"); found {
					require.Empty(t, strings.Trim(counts, " 0\n"), "%s: interface %s has traffic", mode, name)
				}
			}
		}
		// A namespace of its own, or the program would share ours.
		ours, err := os.Readlink("/proc/self/ns/net")
		require.NoError(t, err)
		require.Equal(t, ours, networkOf(t, mode, true), mode)
		require.NotEqual(t, ours, networkOf(t, mode, false), mode)
	}
	// A listener of ours is out of reach.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer func() { _ = unix.Close(fd) }()
	require.NoError(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, unix.Listen(fd, 1))
	sa, err := unix.Getsockname(fd)
	require.NoError(t, err)
	port := strconv.Itoa(sa.(*unix.SockaddrInet4).Port)
	for _, network := range []bool{false, true} {
		_, err = run(t, opts{"argv": []string{"bash", "-c", `exec 3<>/dev/tcp/127.0.0.1/$1`, "-", "{{a}}"}, "network": network}, opts{"a": port})
		if network {
			require.NoError(t, err)
		} else {
			require.Error(t, err)
		}
	}
}

// Output beyond the limit is cut and marked; the program runs on to its end.
func TestOutputLimit(t *testing.T) {
	res, err := run(t, opts{"argv": []string{"sh", "-c", `head -c 300000 /dev/zero | tr "\0" x; head -c 300000 /dev/zero >&2`},
		"output_limit": 100, "env": []string{"PATH"}}, opts{"a": ""})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 100), res.Content)
	require.True(t, res.Truncated)
}

// An exit code is a failure that says what the program said, and no more of it
// than the limit.
func TestExitCode(t *testing.T) {
	_, err := run(t, opts{"argv": []string{"sh", "-c", `echo sorry >&2; head -c 100000 /dev/zero >&2; exit 3`},
		"env": []string{"PATH"}}, opts{"a": ""})
	f := failure(t, err)
	require.Equal(t, skills.FailFailed, f.Code)
	require.False(t, f.Unknown)
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Code)
	require.True(t, strings.HasPrefix(exit.Stderr, "sorry"))
	require.LessOrEqual(t, len(exit.Stderr), maxStderr)
	_, err = run(t, opts{"argv": []string{"sh", "-c", `kill -9 $$`}, "isolation": "none"}, opts{"a": ""})
	require.True(t, failure(t, err).Unknown)
}

// Values that a program would read as options, or not at all, start nothing.
func TestRefusedValues(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", maxArgument+1)
	for name, a := range map[string]any{"dash": "-rf", "negative": -1, "nul": "a\x00b", "object": opts{"k": 1},
		"nested": []any{[]any{1}}, "in a list": []any{"ok", "--x"}, "long": long} {
		_, err := run(t, opts{"argv": []string{"touch", filepath.Join(dir, "done"), "{{a}}"}, "isolation": "none"}, opts{"a": a})
		require.ErrorIs(t, err, skills.ErrNoEffect, name)
		require.False(t, failure(t, err).Unknown)
		require.NoFileExists(t, filepath.Join(dir, "done"), name)
	}
	res, err := run(t, opts{"argv": []string{"printf", "--", "%s", "{{a}}"}}, opts{"a": "-rf"})
	require.NoError(t, err)
	require.Equal(t, "-rf", res.Content)
	res, err = run(t, opts{"argv": []string{"printf", "%s", "{{a}}"}, "allow_dash": true}, opts{"a": "-rf"})
	require.NoError(t, err)
	require.Equal(t, "-rf", res.Content)
}

// Without a valid warrant no program starts.
func TestRefusesWithoutWarrant(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "done")
	kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"touch", "{{a}}"}, "write": []string{dir}}), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: dir})
	require.NoError(t, err)
	kit.Unwarranted(t, e, s, opts{"a": mark}, func() bool { _, err := os.Stat(mark); return errors.Is(err, os.ErrNotExist) })
	_, err = kit.Run(t, e, s, opts{"a": mark})
	require.NoError(t, err)
	require.FileExists(t, mark)
}

// A program that vanished after the configuration was read is not_started.
func TestProgramGone(t *testing.T) {
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		dir := t.TempDir()
		prog := filepath.Join(dir, "prog")
		require.NoError(t, os.WriteFile(prog, []byte("#!/bin/sh\necho hi\n"), 0o755))
		kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"./prog"}, "isolation": mode}), nil)
		e, err := New(s, kit.Redeemer, Options{Dir: dir})
		require.NoError(t, err)
		res, err := kit.Run(t, e, s, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, "hi\n", res.Content)
		require.NoError(t, os.Remove(prog))
		_, err = kit.Run(t, e, s, opts{"a": ""})
		require.Equal(t, skills.FailNotStarted, failure(t, err).Code, mode)
	}
}

// Every mistake in the options has its own path.
func TestRefusesBadOptions(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		o    opts
		want []string
	}{
		"no argv": {opts{}, []string{"run.exec.argv"}},
		"typo":    {opts{"argv": []string{"true"}, "isolaton": "none"}, []string{"run.exec.isolaton"}},
		"words": {opts{"argv": []string{"true"}, "stdin": "yaml", "isolation": "docker", "output_limit": 0},
			[]string{"run.exec.stdin", "run.exec.isolation", "run.exec.output_limit"}},
		"argv as a text":        {opts{"argv": "rm -rf {{a}}"}, []string{"run.exec.argv"}},
		"program by caller":     {opts{"argv": []string{"{{a}}"}}, []string{"run.exec.argv[0]", "run.exec.argv[0]"}},
		"partial":               {opts{"argv": []string{"echo", "x={{a}}"}}, []string{"run.exec.argv[1]"}},
		"one brace":             {opts{"argv": []string{"echo", "{a}"}}, []string{"run.exec.argv[1]"}},
		"braces of its own":     {opts{"argv": []string{"echo", "{no}", "{}", "a}"}}, nil},
		"undeclared":            {opts{"argv": []string{"echo", "{{lst}}"}}, []string{"run.exec.argv[1]"}},
		"shell script":          {opts{"argv": []string{"sh", "-c", "{{a}}"}}, []string{"run.exec.argv[2]"}},
		"shell script, options": {opts{"argv": []string{"/bin/bash", "-lc", "-x", "{{a}}"}}, []string{"run.exec.argv[3]"}},
		"dangling option":       {opts{"argv": []string{"echo", "-n", "{{b}}"}}, []string{"run.exec.argv[2]"}},
		"no such program":       {opts{"argv": []string{"no-such-program-here"}}, []string{"run.exec.argv[0]"}},
		"no such paths": {opts{"argv": []string{"true"}, "read": []string{"nope"}, "write": []string{"/nope"}, "dir": "nope"},
			[]string{"run.exec.dir", "run.exec.read[0]", "run.exec.write[0]"}},
		"env": {opts{"argv": []string{"true"}, "env": []string{"A=B", "C"}, "set_env": opts{"C": "x"}},
			[]string{"run.exec.env[0]", "run.exec.env[1]"}},
		"paths, none": {opts{"argv": []string{"true"}, "isolation": "none", "read": []string{"/usr"}}, []string{"run.exec.isolation"}},
	} {
		_, err := New(runtest.Compile(t, spec(row.o), nil), kit.Redeemer, Options{Dir: t.TempDir()})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
	_, err := New(runtest.Compile(t, spec(opts{"argv": []string{"true"}, "isolaton": "none"}), nil), kit.Redeemer, Options{})
	require.ErrorContains(t, err, `did you mean "isolation"?`)
}

// A mistake in the options says what to write.
func TestBadOptionsHaveARemedy(t *testing.T) {
	kit := runtest.New(t)
	for want, o := range map[string]opts{
		`unknown isolation "docker"; known are auto, full, landlock-strict, landlock, namespaces, none`: {"argv": []string{"true"},
			"isolation": "docker"},
		`argv: [sh, -c, 'eval "$1"', sh, "{{a}}"] where the argument is a command line (x-shell)`: {"argv": []string{"sh", "-c", "{{a}}"}},
		`a placeholder has two braces: {{a}}`:                                                     {"argv": []string{"echo", "{a}"}},
		`make it, or correct the path`: {"argv": []string{"true"},
			"write": []string{"nope"}},
		`set isolation to auto, or leave them out`: {"argv": []string{"true"}, "isolation": "none",
			"read": []string{"/usr"}},
		`a host and a port without scheme and path, such as "pypi.org:443"`: {"argv": []string{"true"}, "egress": []string{"https://pypi.org"}},
	} {
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: t.TempDir()})
		require.ErrorContains(t, err, want)
	}
}

// Whatever the value, a placeholder adds exactly its elements, literals stay as
// they are, and nothing that starts with a dash gets in unguarded.
func FuzzExpand(f *testing.F) {
	f.Add("plain", "x")
	f.Add("--flag", "a b\nc")
	f.Add("a\x00", "{{a}}")
	f.Add("{{b}}", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		out, err := expandArgv([]string{"prog", "{{a}}", "lit", "{{list}}", "--", "{{b}}"}, map[string]any{"a": a, "b": b,
			"list": []any{b, json.Number("7")}}, false)
		if err != nil {
			if !errors.Is(err, skills.ErrNoEffect) {
				t.Fatal(err)
			}
			return
		}
		want := []string{"prog", a, "lit", b, "7", "--", b}
		if len(out) != len(want) {
			t.Fatalf("%q", out)
		}
		for i := range want {
			if out[i] != want[i] || i < 5 && strings.HasPrefix(out[i], "-") || strings.ContainsRune(out[i], 0) {
				t.Fatalf("%q", out)
			}
		}
	})
}
