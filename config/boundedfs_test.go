package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Links that lead back don't make a pattern endless, and every file is found.
func TestIncludeThroughLoops(t *testing.T) {
	dir := write(t, map[string]string{
		"vedette.yaml":      "version: 1\nskills: {include: ['skills/**']}",
		"skills/email.yaml": skillYAML,
		"skills/a/b/t.yaml": "name: tasks.list\neffect: read\nrun: {template: x}",
		"apart/n.yaml":      "name: notes.list\neffect: read\nrun: {template: x}",
	})
	for name, to := range map[string]string{"skills/one": ".", "skills/two": ".", "skills/a/b/up": "../..", "skills/apart": "../apart",
		"apart/back": "../skills"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))))
	}
	c, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
	require.NoError(t, err)
	var names []string
	for _, s := range c.Skills {
		names = append(names, s.Skill.Name())
	}
	require.ElementsMatch(t, []string{"email.send", "tasks.list", "notes.list"}, names)
}

// Folders that double at every step end the search with what to do, also without a
// loop. So do too many files and too many levels.
func TestIncludeIsBounded(t *testing.T) {
	t.Run("doubling", func(t *testing.T) {
		dir := write(t, map[string]string{"vedette.yaml": "version: 1\nskills: {include: ['skills/**']}", "skills/email.yaml": skillYAML})
		for i := range 30 {
			at := filepath.Join(dir, fmt.Sprintf("d%d", i))
			require.NoError(t, os.Mkdir(at, 0o755))
			for _, n := range []string{"l", "r"} {
				require.NoError(t, os.Symlink(fmt.Sprintf("../d%d", i+1), filepath.Join(at, n)))
			}
		}
		require.NoError(t, os.Mkdir(filepath.Join(dir, "d30"), 0o755))
		require.NoError(t, os.Symlink("../d0", filepath.Join(dir, "skills", "d")))
		_, err := config.Load(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
		require.Equal(t,
			[]string{`vedette.yaml:2:20: include "skills/**": the search meets more than 20000 files and folders; look for links that lead back, ` +
				`or name a narrower pattern`}, mistakes(t, dir, err))
	})
	t.Run("deep", func(t *testing.T) {
		name := ""
		for range 70 {
			name += "d/"
		}
		_, err := config.Parse("vedette.yaml", []byte("version: 1\nskills: {include: ['**/*.yaml']}"),
			config.Options{FS: fstest.MapFS{name + "s.yaml": {Data: []byte(skillYAML)}}})
		require.ErrorContains(t, err, `include "**/*.yaml": the search goes more than 64 folders deep`)
	})
}
