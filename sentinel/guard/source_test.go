package guard_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// Nobody makes a file that the configuration would find, nor a folder on the
// way to one, nor replaces the folder that it is looked for in.
func TestSources(t *testing.T) {
	b := setup(t, guard.Options{Roots: []string{"/workspace"}, Env: home(), Sources: []guard.Source{
		{Folder: "/app/skills", Pattern: "*.yaml"}, {Folder: "/app", Pattern: "*.yml"}, {Folder: "/app/more", Pattern: "*/SKILL.md"},
		{Folder: "/app/deep", Pattern: "**/*.yaml"}, {Folder: "/app/odd", Pattern: "{a/b,c}/*.yaml"},
	}})
	for _, line := range []string{
		"echo x > /app/skills/new.yaml", "cp evil.yaml /app/skills/", "cp evil.yaml /app/skills", "cd /app/skills && cp /tmp/evil.yaml .",
		"mv evil.yaml /app/skills/NEW.YAML", "rm -r /app/skills", "mv /app/skills /tmp/x", "mv /app /tmp/x", "ln -s /tmp/x /app/skills/l.yaml",
		"cp evil.yaml /app/s*/", "cp evil.yaml /a?p/[s]kills/x.yaml", "rm /app/skills/*", "mv /app/sk* /tmp/x", "cp -r /tmp/x/. /app/skills",
		"tee /app/x.yml", "touch /app/more/x/SKILL.md",
		"mkdir /app/more/x", "cp -r x /app/more/", "echo x > /app/deep/a/b/c.yaml", "mkdir -p /app/deep/a/b", "echo x > /app/odd/a/b/x.yaml",
	} {
		v := b.shell(t, line)
		require.Equal(t, guard.CodeProtected, v.Code, line)
		require.Equal(t, sentinel.Deny, v.Outcome, line)
	}
	for _, args := range []map[string]any{
		{"note": "/app/skills/new.yaml"}, {"path": "/app/skills/new.yaml"}, {"path": "/app/skills"},
		{"deep": map[string]any{"x": []any{"/app/deep/x"}}},
	} {
		require.Equal(t, guard.CodeProtected, b.check(t, "test.write", args).Code, args)
	}
	for _, line := range []string{
		"cat /app/skills/a.yaml", "ls /app/skills", "grep -r x /app/skills", "cp /app/skills/a.yaml /workspace/", "cat /app/s*/a.yaml",
		"echo x > /app/skills.txt", "echo x > /app/data/x.yml", "echo x > /app/skills/a.txt", "echo x > /app/more/x/readme.md",
		"echo x > /workspace/a.yaml",
	} {
		require.Equal(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	}
	require.Equal(t, sentinel.Allow, b.check(t, "test.read", map[string]any{"note": "/app/skills/a.yaml"}).Outcome, "reading is free")
}

// A folder of skills is protected under the name that a link gives it too.
func TestSourcesBehindALink(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(base, "real"), 0o700))
	require.NoError(t, os.Symlink("real", filepath.Join(base, "link")))
	b := setup(t,
		guard.Options{Env: touch.Env{Root: "/workspace"}, Sources: []guard.Source{{Folder: filepath.Join(base, "link"), Pattern: "*.yaml"}}})
	for _, dir := range []string{"real", "link"} {
		require.Equal(t, guard.CodeProtected, b.shell(t, "echo x > "+filepath.Join(base, dir, "x.yaml")).Code, dir)
	}
}

// A source that can't be held is a mistake, not a hole.
func TestSourceMistakes(t *testing.T) {
	for _, s := range []guard.Source{{Folder: "skills", Pattern: "*"}, {Folder: "/skills"}, {Folder: "/skills", Pattern: "[a"}} {
		_, err := guard.New(guard.Options{Sources: []guard.Source{s}})
		require.ErrorContains(t, err, "guard.sources[0]", s)
	}
}

// A pattern of the shell's doesn't hide what it expands to.
func TestProtectedByPattern(t *testing.T) {
	b := setup(t, guard.Options{Env: home(), Protect: []string{"/app/vedette.yaml"}, Keys: []string{"/app/keys"}})
	for _, line := range []string{"cp x /app/v*.yaml", "rm /app/*", "sed -i s/a/b/ /a*/vedette.?aml", "cat /app/k*/digest.bin",
		"cat /app/[k]eys/*"} {
		require.Equal(t, guard.CodeProtected, b.shell(t, line).Code, line)
	}
	for _, line := range []string{"cat /app/*.yaml", "rm /app/*.txt", "cp x /srv/v*.yaml", "cat /app/*.key"} {
		require.Equal(t, sentinel.Allow, b.shell(t, line).Outcome, line)
	}
}
