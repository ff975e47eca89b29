package config_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// Credentials have one place each, and every mistake its position.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	c, err := config.Parse("v.yaml",
		[]byte("version: 1\ncredentials:\n  gh: {env: 'GH_{user}'}\n  crm: {file: './crm/{user}.token'}\n  pay: {program: true}\n"),
		config.Options{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, map[string]config.Credential{"gh": {Env: "GH_{user}"}, "crm": {File: filepath.Join(dir, "crm", "{user}.token")},
		"pay": {Program: true}}, c.Credentials)
	require.Equal(t, []string{filepath.Join(dir, "crm")}, c.CredentialFolders())
	for text, want := range map[string]string{
		"credentials: {gh: {}}": "v.yaml:2:15: credentials.gh must have exactly one of env, file " +
			"and program: true; it has 0",
		"credentials: {gh: {env: 'A_{user}', program: true}}": "it has 2",
		"credentials: {gh: {env: GH}}": "v.yaml:2:25: credentials.gh.env must be a variable's name with " +
			"one {user} in it",
		"credentials: {gh: {env: 'G-{user}'}}":                             "must be a variable's name",
		"credentials: {gh: {file: './{user}/token'}}":                      "must have one {user} in the last part of its path",
		"credentials: {gh: {file: './token'}}":                             "must have one {user} in the last part of its path",
		"credentials: {gh: {fil: x}}":                                      `unknown key "fil"; did you mean "file"?`,
		"credentials: {'a b': {program: true}}":                            "may hold letters, digits",
		"credentials: {gh: {file: './w/c/{user}'}}\nguard: {roots: [./w]}": "guard.roots[0] contains the credentials",
		"credentials: {gh: {file: './w/{user}'}}\nguard: {roots: [./w/x]}": "guard.roots[0] lies in the folder of the credentials gh",
	} {
		_, err := config.Parse("v.yaml", []byte("version: 1\n"+text+"\n"), config.Options{Dir: dir})
		require.ErrorContains(t, err, want, text)
	}
}

// What is broken has its default. Checks that go on from a draft find a whole path
// or none.
func TestRefusedPathsAreNone(t *testing.T) {
	_, dir, _ := load(t, map[string]string{"vedette.yaml": `version: 1
ledger: {path: ~/v.db}
keys: {dir: ~/keys}
credentials:
  a: {file: ./token}
  b: {file: "{user}/token"}
  c: {file: "x/{user}", program: true}
  d: {file: "~/x/{user}"}
  e: {file: "y/{user}"}
`}, config.Options{})
	d := config.Inspect(filepath.Join(dir, "vedette.yaml"), config.Options{Env: env(nil)})
	require.NotNil(t, d.Config)
	require.Equal(t, []string{filepath.Join(dir, "y")}, d.Config.CredentialFolders())
	require.Equal(t, []string{filepath.Join(dir, "vedette.db"), filepath.Join(dir, "vedette-keys")},
		[]string{d.Config.Ledger.Path, d.Config.Keys.Dir})
}
