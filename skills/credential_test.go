package skills_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// vault knows one user's credential.
type vault struct{ asked int }

func (v *vault) Credential(_ context.Context, name string, c skills.Caller) (string, error) {
	v.asked++
	if name == "github" && c.User == "u" {
		return " SECRET-of-u \n", nil
	}
	return "", errors.New("no entry for " + c.User)
}

type none struct{}

// perform runs a Go skill that may take the credential github.
func perform(t *testing.T, v *vault, user string, fn func(context.Context, none) (string, error)) (skills.Result, error) {
	t.Helper()
	sign, verify := pair(t)
	g, err := skills.Func(skills.Spec{Name: "test.do", Effect: skills.Modify}, fn, skills.UseCredentials("github"))
	require.NoError(t, err)
	o := order(g.Skill(), `{}`)
	o.User = user
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	return g.ExecutorWith(verify, v).Execute(t.Context(), w, o)
}

// A Go skill takes its user's credential, and what it returns holds none of it.
func TestCredentialFrom(t *testing.T) {
	res, err := perform(t, &vault{}, "u", func(ctx context.Context, _ none) (string, error) {
		c, err := skills.CredentialFrom(ctx, "github")
		require.Equal(t, "SECRET-of-u", c)
		return "logged in with " + c + " " + base64.StdEncoding.EncodeToString([]byte("x:"+c)), err
	})
	require.NoError(t, err)
	require.Contains(t, res.Content, "logged in with [secret] ")
	require.NotContains(t, res.Content, base64.RawStdEncoding.EncodeToString([]byte("SECRET-of-u"))[:12])
	sentinel := errors.New("refused")
	for _, wrap := range []func(error) error{func(err error) error { return err },
		func(err error) error { return &skills.Failure{Code: skills.FailFailed, Unknown: true, Err: err} }} {
		_, err = perform(t, &vault{}, "u", func(ctx context.Context, _ none) (string, error) {
			c, _ := skills.CredentialFrom(ctx, "github")
			return "", wrap(fmt.Errorf("server said %s: %w", c, sentinel))
		})
		require.ErrorIs(t, err, sentinel)
		for e := err; e != nil; e = errors.Unwrap(e) {
			require.NotContains(t, e.Error(), "SECRET")
		}
	}
}

// Every credential that a function took is taken out of what it returns, not the
// first alone.
func TestAllCredentialsAreScrubbed(t *testing.T) {
	sign, verify := pair(t)
	fn := func(ctx context.Context, _ none) (string, error) {
		var said string
		for _, name := range []string{"github", "crm"} {
			c, err := skills.CredentialFrom(ctx, name)
			require.NoError(t, err)
			said += c + ";"
		}
		return said, nil
	}
	g, err := skills.Func(skills.Spec{Name: "test.do", Effect: skills.Modify}, fn, skills.UseCredentials("github", "crm"))
	require.NoError(t, err)
	o := order(g.Skill(), `{}`)
	w, err := sign.Issue(o.Digest())
	require.NoError(t, err)
	res, err := g.ExecutorWith(verify, drawer{"github": "SECRET-of-github", "crm": "HIDDEN-of-crm"}).Execute(t.Context(), w, o)
	require.NoError(t, err)
	require.Equal(t, "[secret];[secret];", res.Content)
}

// drawer holds credentials by name, for every caller.
type drawer map[string]string

func (d drawer) Credential(_ context.Context, name string, _ skills.Caller) (string, error) {
	return d[name], nil
}

// A credential that this user has not is one word to the model, and nothing was
// done.
func TestMissingCredential(t *testing.T) {
	for _, name := range []string{"github", "other"} {
		v := &vault{}
		_, err := perform(t, v, "bob", func(ctx context.Context, _ none) (string, error) {
			_, err := skills.CredentialFrom(ctx, name)
			return "", fmt.Errorf("the vault has nothing for bob: %w", err)
		})
		var missing *skills.CredentialError
		require.ErrorAs(t, err, &missing)
		require.Equal(t, name, missing.Name)
		require.Equal(t, "skill failed: credential_missing", err.Error())
		require.ErrorIs(t, err, skills.ErrNoEffect)
		require.ErrorIs(t, err, skills.ErrBadInput, "no breaker counts it")
		var f *skills.Failure
		require.ErrorAs(t, err, &f)
		require.False(t, f.Unknown)
		require.Equal(t, name == "github", v.asked == 1, "one that isn't named isn't asked for")
	}
	_, err := skills.CredentialFrom(t.Context(), "github")
	require.EqualError(t, err, skills.CodeCredentialMissing)
}

type fixed string

func (f fixed) Credential(context.Context, string, skills.Caller) (string, error) {
	return string(f), nil
}

// What couldn't be scrubbed, or can't be sent, is missing.
func TestCredentialBounds(t *testing.T) {
	for _, row := range []struct {
		value string
		good  bool
	}{
		{"", false}, {"short", false}, {" 1234567 ", false}, {"12345678", true}, {"1234567\x008", false},
		{string(make([]byte, skills.MaxCredential+1)), false},
	} {
		_, err := skills.ResolveCredential(t.Context(), fixed(row.value), "x", skills.Caller{User: "u"})
		require.Equal(t, row.good, err == nil, "%.20q", row.value)
		var missing *skills.CredentialError
		require.Equal(t, !row.good, errors.As(err, &missing))
		if !row.good {
			require.NotEmpty(t, missing.Why)
			require.NotEmpty(t, missing.Remedy)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := skills.ResolveCredential(ctx, fixed("12345678"), "x", skills.Caller{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	_, err = skills.ResolveCredential(t.Context(), nil, "x", skills.Caller{})
	require.EqualError(t, err, skills.CodeCredentialMissing)
}

// A skill that takes a command line gets no credential, however it says so.
func TestShellGetsNoCredential(t *testing.T) {
	do := func(context.Context, none) (string, error) { return "", nil }
	for params, shell := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string","x-shell":true}}}`: true,
		`{"type":"object","properties":{"a":{"type":"array","items":
			{"type":"object","properties":{"b":{"type":"string","x-shell":true}}}}}}`: true,
		`{"type":"object","properties":{"command":{"type":"string"}}}`:                  true,
		`{"type":"object","properties":{"command":{"type":"string","x-content":true}}}`: false,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                        false,
	} {
		g, err := skills.Func(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(params)}, do,
			skills.UseCredentials("github"))
		if shell {
			require.ErrorContains(t, err, "takes a command line", params)
			continue
		}
		require.NoError(t, err, params)
		require.Equal(t, []string{"github"}, g.Credentials())
		plain, err := skills.Func(skills.Spec{Name: "a.b", Effect: skills.Read, Parameters: json.RawMessage(params)}, do)
		require.NoError(t, err)
		require.NotEqual(t, plain.Skill().Digest(), g.Skill().Digest(), "what it uses is part of what it is")
	}
}
