package guard_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// Roots bind x-path arguments alone, in every encoding.
func TestRoots(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace", "/data"}, Env: home()})
	for _, p := range []string{
		"/etc/hosts", "../x", "/workspace/../tmp", "/workspacex/a", "..%2fx", "%2e%2e/x", `..\x`, "....//x", "a/%c0%ae%c0%ae/%c0%ae%c0%ae/x",
		"C:/Windows/win.ini",
		`C:\x`, `\\host.example\share\x`, "~/x", "file:///tmp/x", "/tmp/x%00", "..%u2215x", "a/../../x", "%%32e%%32e/x", "https://example.com/x",
		"/workspace/..;/x", "／tmp/x",
	} {
		v := b.check(t, "test.read", map[string]any{"path": p})
		require.Equal(t, sentinel.Deny, v.Outcome, p)
		require.Equal(t, guard.CodeOutside, v.Code, p)
	}
	for _, p := range []string{"a.txt", "./a/b", "/workspace", "/workspace/a/../b", "/data/x", "a..b", "100%.md", "a%20b.md", "~$draft.docx",
		"x/...", "naïve/ファイル.md", "a b c.txt"} {
		require.Equal(t, sentinel.Allow, b.check(t, "test.read", map[string]any{"path": p}).Outcome, p)
	}
	require.Equal(t, sentinel.Allow, b.check(t, "test.read", map[string]any{"note": "/tmp/x"}).Outcome, "roots don't bind a mention")
	require.Equal(t, sentinel.Allow, b.shell(t, "cat /tmp/x").Outcome, "nor a command")
	require.Equal(t, sentinel.Allow, core(t).check(t, "test.read", map[string]any{"path": "/srv/x"}).Outcome, "no roots bind nothing")
}

// A symbolic link inside a root that leads out of it is what it leads to.
func TestSymlinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root, out := filepath.Join(base, "root"), filepath.Join(base, "out")
	for _, d := range []string{root, out, filepath.Join(out, ".ssh"), filepath.Join(root, "real")} {
		require.NoError(t, os.MkdirAll(d, 0o700))
	}
	for link, target := range map[string]string{
		"notes.txt": filepath.Join(out, ".ssh", "config"), "passwd": "/etc/passwd", "away": "../out", "loop": "loop", "fine": "real",
		"hop": "away", "new": filepath.Join(out, "not-yet"),
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(root, link)))
	}
	env := touch.Env{Root: root, Home: "/home/alice"}
	b := setup(t, guard.Options{Roots: []string{root}, Env: env})
	for p, code := range map[string]string{
		"notes.txt": guard.CodeForbidden, "passwd": guard.CodeForbidden, "away/x": guard.CodeOutside, "hop/a/b": guard.CodeOutside,
		"new": guard.CodeOutside, "away/.ssh": guard.CodeForbidden, "fine/../away/x": guard.CodeOutside,
	} {
		require.Equal(t, code, b.check(t, "test.read", map[string]any{"path": p}).Code, p)
	}
	require.Equal(t, guard.CodeSensitive, b.shell(t, "cat passwd").Code)
	require.Equal(t, guard.CodeForbidden, b.shell(t, "tee passwd").Code)
	require.Equal(t, guard.CodeForbidden, b.shell(t, "cd away && cat .ssh/x").Code)
	require.Equal(t, sentinel.Allow, b.check(t, "test.read", map[string]any{"path": "fine/x"}).Outcome)
	require.Equal(t, sentinel.Allow, b.check(t, "test.write", map[string]any{"path": "real/new/file"}).Outcome)
}

// Nobody writes the program's own files, and nobody reads its keys.
func TestProtect(t *testing.T) {
	b := setup(t,
		guard.Options{Roots: []string{"/workspace"}, Protect: []string{"/app/vedette.yaml", "/app/skills"}, Keys: []string{"/app/key"},
			Env: home()})
	for _, tc := range []struct {
		skill string
		args  map[string]any
	}{
		{"test.run", map[string]any{"command": "echo x >> /app/vedette.yaml"}},
		{"test.run", map[string]any{"command": "rm -r /app"}},
		{"test.run", map[string]any{"command": "mv /app /tmp/x"}},
		{"test.run", map[string]any{"command": "sed -i s/a/b/ /app/skills/x.yaml"}},
		{"test.run", map[string]any{"command": "cat /app/key"}},
		{"test.run", map[string]any{"command": "tar czf x.tgz /app"}},
		{"test.write", map[string]any{"note": "/app/vedette.yaml"}},
		{"test.read", map[string]any{"note": "/app/KEY"}},
	} {
		v := b.check(t, tc.skill, tc.args)
		require.Equal(t, guard.CodeProtected, v.Code, tc.args)
		require.Equal(t, sentinel.Deny, v.Outcome)
	}
	for _, line := range []string{"cat /app/vedette.yaml", "ls /app", "cp /app/vedette.yaml /workspace/copy.yaml", "rm /app/other"} {
		require.Equal(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	}
}

// A change of all that lies below a folder is one of the program's files in it.
func TestProtectBelowAFolder(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace"}, Protect: []string{"/app/vedette.yaml"}, Env: home()})
	for _, line := range []string{"chmod -R 777 /app", "chown -R x /app", "chmod -R a+w /app/."} {
		v := b.shell(t, line)
		require.Equal(t, guard.CodeProtected, v.Code, line)
		require.Equal(t, sentinel.Deny, v.Outcome, line)
	}
	for _, line := range []string{"chmod 755 /app", "chmod -R 755 /app/other", "ls -R /app"} {
		require.NotEqual(t, guard.CodeProtected, b.shell(t, line).Code, line)
	}
}

// Patterns hold for every path that a system opens, however long it is.
func TestForbidLongPaths(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace"}, Forbid: []string{"**/*.pem"}, Env: home()})
	for _, n := range []int{1, 40, 400} {
		p := strings.Repeat("folder/", n) + "x.pem"
		require.Equal(t, guard.CodeForbidden, b.check(t, "test.read", map[string]any{"note": p}).Code, n)
	}
}

// Patterns add to the core.
func TestForbid(t *testing.T) {
	b := setup(t,
		guard.Options{Roots: []string{"/workspace"}, Forbid: []string{"**/*.pem", "~/private", "/srv/db", "secrets/**"}, Env: home()})
	for _, p := range []string{"a/b.pem", "x.PEM", "/srv/db/x", "~/private/a", "secrets/x/y", "a%2epem"} {
		require.Equal(t, guard.CodeForbidden, b.check(t, "test.read", map[string]any{"note": p}).Code, p)
	}
	for _, p := range []string{"a.pem.md", "/srv/dbx", "~/privateer", "x/secrets.md"} {
		require.Equal(t, sentinel.Allow, b.check(t, "test.read", map[string]any{"note": p}).Outcome, p)
	}
}

// Mistakes in the options are named with the place in the configuration.
func TestOptionErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		o    guard.Options
		path string
	}{
		"a pattern that can't be read":   {guard.Options{Forbid: []string{"ok", "[a-"}}, "guard.forbid_paths[1]"},
		"an empty pattern":               {guard.Options{Forbid: []string{" "}}, "guard.forbid_paths[0]"},
		"a relative root":                {guard.Options{Roots: []string{"work"}}, "guard.roots[0]"},
		"a root in the core":             {guard.Options{Roots: []string{"/srv", "/root/work"}}, "guard.roots[1]"},
		"a root with configuration":      {guard.Options{Roots: []string{"/app"}, Protect: []string{"/app/v.yaml"}}, "guard.roots[0]"},
		"a root that is the whole tree":  {guard.Options{Roots: []string{"/"}, Keys: []string{"/app/key"}}, "guard.roots[0]"},
		"a protected path, not absolute": {guard.Options{Protect: []string{"v.yaml"}}, "guard.protect[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Env = home()
			_, err := guard.New(tc.o)
			var p *skills.PathError
			require.ErrorAs(t, err, &p)
			require.Equal(t, tc.path, p.ConfigPath())
		})
	}
}

// Whatever the options say, the core stands: roots around it, patterns that
// look like exceptions, a home or root that would make it someone's own.
func TestOptionsNeverShrinkTheCore(t *testing.T) {
	for name, o := range map[string]guard.Options{
		"nothing":      {},
		"wide root":    {Roots: []string{"/"}},
		"root is home": {Roots: []string{"/home/alice"}, Env: touch.Env{Root: "/home/alice", Home: "/home/alice"}},
		"exceptions":   {Forbid: []string{"!**/.ssh/**", "!/etc/passwd", "nothing"}},
		"odd home":     {Env: touch.Env{Home: "/", Root: "/"}},
		"protecting":   {Protect: []string{"/x"}, Keys: []string{"/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Env.NoFS = true
			b := setup(t, o)
			for _, p := range []string{"/home/alice/.ssh/id_rsa", "/etc/passwd", "/root/x", "/dev/sda", "/home/alice/.gnupg/x", "/proc/1/mem"} {
				require.Equal(t, guard.CodeForbidden, b.check(t, "test.read", map[string]any{"path": p}).Code, p)
			}
			for _, line := range []string{"rm -rf /", "rm -rf /home/alice", "rm -rf /etc", "mkfs /dev/sda", ":(){ :|:& };:"} {
				require.Equal(t, guard.CodeIrrecoverable, b.shell(t, line).Code, line)
			}
		})
	}
}

// A pattern in the home folder needs to know which that is; otherwise it would forbid
// something else.
func TestForbiddenInAnUnknownHome(t *testing.T) {
	for _, p := range []string{"~", "~/x", "~/**/*.pem"} {
		_, err := guard.New(guard.Options{Forbid: []string{"/ok", p}, Env: touch.Env{Root: "/workspace", NoFS: true}})
		require.EqualError(t, err, "guard.forbid_paths[1]: begins with ~, and the home folder isn't known; write the path out", p)
		_, err = guard.New(guard.Options{Forbid: []string{"/ok", p}, Env: touch.Env{Root: "/workspace", Home: "/home/alice", NoFS: true}})
		require.NoError(t, err, p)
	}
}

// What is recorded names codes and declared arguments, never a value and never
// a key that the model made up.
func TestVerdictHoldsNoValues(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace"}, Env: home()})
	for _, args := range []map[string]any{
		{"path": "/canary/.ssh/x"}, {"path": "/canary"}, {"canarykey": "/etc/shadow/canary"}, {"command": "canary; rm -rf /"},
		{"command": "canary )"}, {"command": "$canary x"},
	} {
		v := b.check(t, "test.run", args)
		require.NotEqual(t, sentinel.Allow, v.Outcome, args)
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.NotContains(t, strings.ToLower(string(raw)), "canary")
		require.NotEmpty(t, v.Evidence)
		require.Equal(t, v.Outcome == sentinel.Deny, v.HasScore)
		require.Zero(t, v.Score)
	}
	v := b.check(t, "test.run", map[string]any{"path": "/tmp/x", "command": "rm -rf /"})
	require.Equal(t, guard.CodeIrrecoverable, v.Code, "the worst finding names the verdict")
	require.Equal(t, []sentinel.Evidence{{Signal: touch.RmRoot, Args: []string{"command"}}, {Signal: "outside_roots", Args: []string{"path"}}},
		v.Evidence)
}

// A gate that was cancelled says so, and the checkpoint denies.
func TestCheckReturnsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := core(t)
	_, err := b.gate.Check(ctx, b.call(t, "test.read", map[string]any{}))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, sentinel.GateGuard, b.gate.Name())
	v := b.check(t, "no.such", map[string]any{"path": "/x"})
	require.Equal(t, sentinel.Skipped, v.State)
}

// A root is judged by where it really leads: not into the core by a link, and not
// to a folder with files of this program.
func TestRootsByTheirRealPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, d := range []string{"home/.ssh", "state"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	protected := filepath.Join(dir, "state", "vedette.db")
	require.NoError(t, os.WriteFile(protected, nil, 0o600))
	for link, to := range map[string]string{"keys": "home/.ssh", "work": "state", "fine": "home"} {
		require.NoError(t, os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)))
	}
	env := touch.Env{Root: dir}
	for link, want := range map[string]string{"keys": "guard.roots[0]: lies in a folder", "work": "guard.roots[0]: holds configuration"} {
		_, err := guard.New(guard.Options{Roots: []string{filepath.Join(dir, link)}, Protect: []string{protected}, Env: env})
		require.ErrorContains(t, err, want, link)
	}
	_, err = guard.New(guard.Options{Roots: []string{filepath.Join(dir, "fine")}, Protect: []string{protected}, Env: env})
	require.NoError(t, err)
}
