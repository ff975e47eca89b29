//go:build linux

package exec

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// A program that prints the secrets that it was given tells the model none.
func TestSecretsDoNotComeBack(t *testing.T) {
	const canary, fixed = "SECRET-TOKEN-42", "FIXED-SECRET-7"
	t.Setenv("DEMO_TOKEN", canary)
	for name, script := range map[string]string{
		"plain":     `printf %s "$DEMO_TOKEN"; printf %s "$DB"`,
		"base64":    `printf u:%s "$DEMO_TOKEN" | base64`,
		"hex":       `printf %s "$DEMO_TOKEN" | od -An -tx1 | tr -d " \n"`,
		"lines":     `printf %s "$DEMO_TOKEN" | fold -w 5`,
		"shortened": `printf %.13s… "$DEMO_TOKEN"`,
		"argument":  `printf %s "$2"`,
	} {
		o := opts{"argv": []string{"sh", "-c", script + `; echo " rest"`, "--token", fixed}, "isolation": "none",
			"env": []string{"PATH", "DEMO_TOKEN"}, "set_env": opts{"DB": "postgres://me:" + fixed + "@db/x"}}
		res, err := run(t, o, opts{"a": ""})
		require.NoError(t, err, name)
		require.Contains(t, res.Content, "rest", name)
		for _, secret := range []string{canary, canary[:12], "4f4b454e2d3432", fixed,
			base64.RawStdEncoding.EncodeToString([]byte("u:" + canary))[4:16]} {
			require.NotContains(t, res.Content, secret, name)
		}
		o["argv"] = []string{"sh", "-c", "(" + script + `; echo " rest") >&2; exit 3`, "--token", fixed}
		_, err = run(t, o, opts{"a": ""})
		var exit *ExitError
		require.ErrorAs(t, err, &exit, name)
		require.Contains(t, exit.Stderr, "rest", name)
		require.NotContains(t, exit.Stderr+err.Error(), canary[:12], name)
		require.NotContains(t, exit.Stderr+err.Error(), fixed, name)
	}
}

// Where a limit cuts the output in the middle of a secret, its beginning goes too.
func TestSecretAtTheLimit(t *testing.T) {
	t.Setenv("DEMO_TOKEN", "SECRET-TOKEN-42")
	res, err := run(t, opts{"argv": []string{"sh", "-c", `printf "xxxx%s" "$DEMO_TOKEN"`}, "isolation": "none",
		"env": []string{"DEMO_TOKEN"}, "output_limit": 12}, opts{"a": ""})
	require.NoError(t, err)
	require.True(t, res.Truncated)
	require.Equal(t, "xxxx[secret]", res.Content)
}

// A program knows its caller by the variables that an operator names, and by none
// that the operator doesn't.
func TestCallerEnv(t *testing.T) {
	all := opts{"user": "VEDETTE_USER", "conversation": "VEDETTE_CONVERSATION", "call": "VEDETTE_CALL", "idempotency_key": "VEDETTE_KEY"}
	for _, mode := range []string{IsolationNone, IsolationLandlock, IsolationNamespaces} {
		res, err := run(t, opts{"argv": []string{"env"}, "isolation": mode, "caller_env": all}, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, "VEDETTE_CALL=call-1\nVEDETTE_CONVERSATION=c1\nVEDETTE_KEY=call-1\nVEDETTE_USER=u1\n", res.Content)
		res, err = run(t, opts{"argv": []string{"env"}, "isolation": mode, "caller_env": opts{"user": "WHO"}}, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Equal(t, "WHO=u1\n", res.Content)
		res, err = run(t, opts{"argv": []string{"env"}, "isolation": mode}, opts{"a": ""})
		require.NoError(t, err, mode)
		require.Empty(t, res.Content)
	}
}

// A hostile user id stays one value, and one that no variable can hold starts
// nothing.
func TestHostileUserID(t *testing.T) {
	kit, s := runtest.New(t), runtest.Compile(t, spec(opts{"argv": []string{"env"}, "isolation": "none",
		"caller_env": opts{"user": "WHO"}}), nil)
	e, err := New(s, kit.Redeemer, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	o := runtest.Order(t, s, opts{"a": ""})
	for user, fits := range map[string]bool{"../../etc\nPATH=/evil": true, "() { :; }; id": true, "a\x00b": false} {
		o.User = user
		res, err := e.Execute(t.Context(), kit.Issue(t, o), o)
		if fits {
			require.NoError(t, err)
			require.Equal(t, "WHO="+user+"\n", res.Content)
			continue
		}
		require.ErrorContains(t, err, "holds a NUL")
		require.NotContains(t, strings.TrimPrefix(err.Error(), "skill failed"), user)
	}
}

// A variable of Vedette's own can't be one that steers the program, nor stand for
// two things.
func TestRefusesCallerEnv(t *testing.T) {
	kit := runtest.New(t)
	for name, row := range map[string]struct {
		o    opts
		want []string
	}{
		"loader":      {opts{"user": "LD_PRELOAD"}, []string{"run.exec.caller_env.user"}},
		"path":        {opts{"user": "PATH"}, []string{"run.exec.caller_env.user"}},
		"shell":       {opts{"call": "BASH_ENV"}, []string{"run.exec.caller_env.call"}},
		"options":     {opts{"call": "SHELLOPTS"}, []string{"run.exec.caller_env.call"}},
		"interpreter": {opts{"user": "LUA_INIT"}, []string{"run.exec.caller_env.user"}},
		"library":     {opts{"user": "OPENSSL_CONF"}, []string{"run.exec.caller_env.user"}},
		"settings":    {opts{"user": "XDG_CONFIG_HOME"}, []string{"run.exec.caller_env.user"}},
		"none":        {opts{"user": "APP_USER", "call": "APP_CALL"}, nil},
		"small":       {opts{"user": "vedette_user"}, []string{"run.exec.caller_env.user"}},
		"equals":      {opts{"user": "A=B"}, []string{"run.exec.caller_env.user"}},
		"digit first": {opts{"user": "1A"}, []string{"run.exec.caller_env.user"}},
		"twice":       {opts{"user": "WHO", "conversation": "WHO"}, []string{"run.exec.caller_env.conversation"}},
		"taken":       {opts{"user": "LISTED", "call": "FIXED"}, []string{"run.exec.caller_env.user", "run.exec.caller_env.call"}},
		"typo":        {opts{"usr": "WHO"}, []string{"run.exec.caller_env.usr"}},
	} {
		o := opts{"argv": []string{"true"}, "env": []string{"LISTED"}, "set_env": opts{"FIXED": "x"}, "caller_env": row.o}
		_, err := New(runtest.Compile(t, spec(o), nil), kit.Redeemer, Options{Dir: t.TempDir()})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
	}
}
