package assembly_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

const userSecret = "SECRET-of-the-user"

// payroll is a program's own resolver.
type payroll map[string]string

func (p payroll) Credential(_ context.Context, _ string, c skills.Caller) (string, error) {
	if v, ok := p[c.User]; ok {
		return v, nil
	}
	return "", errors.New("no entry")
}

// A call that leaves carries its user, signed, and the user's credential; neither
// the answer nor anything that is stored or logged holds the credential.
func TestCallsCarryTheirUser(t *testing.T) {
	var o warrant.VerifyOptions
	callers := make(chan warrant.Caller, 3)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := warrant.VerifyCaller(r, o)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		callers <- c
		_, _ = fmt.Fprintf(w, "for %s with %s", c.User, r.Header.Get("Authorization"))
	}))
	defer srv.Close()
	file := write(t, "credentials: {mail: {program: true}}\n")
	dir := filepath.Dir(file)
	text := skillsYAML + "  - name: mail.list\n    effect: read\n    run: {http: {url: \"" + srv.URL +
		"/list\", method: GET, allow_hosts: [\"127.0.0.1\"], allow_private: [\"127.0.0.1\"], " +
		"credentials: {Authorization: \"Bearer {mail}\"}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "skills.yaml"), []byte(text), 0o600))
	g := grant(t, "list my mail", "mail.list")
	log := &buffer{}
	vault := payroll{g.User(): userSecret}
	p := build(t, file, assembly.Options{Credentials: vault, Log: log.logger()})
	o = warrant.VerifyOptions{Key: p.Keys.WarrantPublic(), Audience: srv.URL, Seen: warrant.NewSeen(warrant.SeenOptions{}).First}
	res, err := p.Checkpoint.Desk(g).Invoke(t.Context(), "mail.list", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "for "+g.User()+" with [secret]", res.Content)
	c := <-callers
	require.Equal(t, g.User(), c.User)
	require.Equal(t, g.Conversation(), c.Conversation)
	require.NotEmpty(t, c.IdempotencyKey)

	delete(vault, g.User())
	_, err = p.Checkpoint.Desk(g).Invoke(t.Context(), "mail.list", json.RawMessage(`{}`))
	require.EqualError(t, err, "skill failed: credential_missing")
	require.Empty(t, callers, "nothing was sent without it")
	require.Contains(t, log.String(),
		`"credential":"mail","why":"there is none for this user, or it can't be read","remedy":"store the user's own where credentials.mail`)
	vault[g.User()] = "SHORT-1"
	_, err = p.Checkpoint.Desk(g).Invoke(t.Context(), "mail.list", json.RawMessage(`{}`))
	require.EqualError(t, err, "skill failed: credential_missing")
	require.Contains(t, log.String(), `"credential":"mail","why":"it has fewer than 8 bytes","remedy":"store a longer one`)
	require.NotContains(t, log.String(), "SHORT-1")
	require.NotContains(t, log.String(), userSecret)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.Type().IsRegular() {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			require.NoError(t, err)
			require.NotContains(t, string(b), userSecret, f.Name())
		}
	}
}

// A credential that is left to a program which has none, and one that a Go skill
// names and the configuration doesn't, are mistakes.
func TestCredentialsWithoutAPlace(t *testing.T) {
	cfg := load(t, write(t, "credentials: {mail: {program: true}}\n"))
	_, err := assembly.Build(t.Context(), cfg, assembly.Options{})
	require.ErrorContains(t, err, "the program gives no resolver")
	require.Regexp(t, `\.yaml:\d+:\d+: `, err.Error())
	g, err := skills.Func(skills.Spec{Name: "mail.count", Effect: skills.Read}, func(context.Context, note) (string, error) { return "", nil },
		skills.UseCredentials("crm"))
	require.NoError(t, err)
	_, err = assembly.Build(t.Context(), cfg, assembly.Options{Credentials: payroll{}, Skills: []*skills.GoSkill{g}})
	require.ErrorContains(t, err, `skill "mail.count" uses the credential "crm"`)
}
