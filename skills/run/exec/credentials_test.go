//go:build linux

package exec

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// book knows one user's credential.
type book struct{ user string }

func (b book) Names() []string { return []string{"github"} }
func (b book) Credential(_ context.Context, _ string, c skills.Caller) (string, error) {
	if c.User != b.user {
		return "", errors.New("nothing for " + c.User)
	}
	return "SECRET-of-" + c.User, nil
}

// The user's credential is in the program's environment, and not in what it says.
func TestCredentialVariable(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		o := opts{"argv": []string{"sh", "-c", `test "$GH" = SECRET-of-u1 && echo right; echo "$GH"`}, "isolation": mode,
			"credentials": opts{"GH": "github"}}
		kit, s := runtest.New(t), runtest.Compile(t, spec(o), nil)
		e, err := New(s, kit.Redeemer, Options{Dir: dir, Credentials: book{"u1"}})
		require.NoError(t, err)
		res, err := kit.Run(t, e, s, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, "right\n[secret]\n", res.Content)
	}
	kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"touch", mark}, "isolation": "none",
		"credentials": opts{"GH": "github"}}), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: dir, Credentials: book{"u2"}})
	require.NoError(t, err)
	_, err = kit.Run(t, e, s, opts{"a": ""})
	require.EqualError(t, err, "skill failed: credential_missing")
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.NoFileExists(t, mark)
}

// A credential that isn't known, a variable that is taken or steers, and a skill
// that takes a command line are mistakes of the configuration.
func TestRefusesCredentials(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		credentials opts
		want        []string
	}{
		"unknown": {opts{"GH": "githb"}, []string{"run.exec.credentials.GH"}},
		"taken":   {opts{"WHO": "github"}, []string{"run.exec.credentials.WHO"}},
		"steers":  {opts{"LD_PRELOAD": "github"}, []string{"run.exec.credentials.LD_PRELOAD"}},
		"good":    {opts{"GH": "github"}, nil},
	} {
		o := opts{"argv": []string{"true"}, "caller_env": opts{"user": "WHO"}, "credentials": row.credentials}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: t.TempDir(), Credentials: book{}})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
	sp := spec(opts{"argv": []string{"sh", "-c", "true"}, "credentials": opts{"GH": "github"}})
	sp.Parameters = json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)
	_, err := New(runtest.Compile(t, sp, nil), kit.Redeemer, Options{Dir: t.TempDir(), Credentials: book{}})
	require.Equal(t, []string{"run.exec.credentials"}, runtest.Paths(err))
}
