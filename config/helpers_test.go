package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file, or writes the file.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run the test with -update if the change is meant")
}

// env is an environment of the given variables alone.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// write puts files into a new folder and returns it. Each entry of files is a
// name and a text.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	return dir
}

// load loads vedette.yaml of a new folder that holds the files.
func load(t *testing.T, files map[string]string, opts config.Options) (*config.Config, string, error) {
	t.Helper()
	dir := write(t, files)
	if opts.Env == nil {
		opts.Env = env(nil)
	}
	c, err := config.Load(filepath.Join(dir, "vedette.yaml"), opts)
	return c, dir, err
}

// mistakes returns the lines of a configuration error, the folder taken out.
func mistakes(t *testing.T, dir string, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var list config.Errors
	require.ErrorAs(t, err, &list)
	require.ErrorAs(t, err, new(*config.Error), "the single mistakes can be reached")
	var out []string
	for _, e := range list {
		out = append(out, strings.ReplaceAll(e.Error(), dir+string(filepath.Separator), ""))
	}
	return out
}
