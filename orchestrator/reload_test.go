package orchestrator

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// rewrite changes the rig's configuration and returns what reads it.
func (r *rig) rewrite(t *testing.T, more string) func() (*config.Config, error) {
	t.Helper()
	file := filepath.Join(r.dir, "vedette.yaml")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(text, more...), 0o600))
	return func() (*config.Config, error) { return config.Load(file, config.Options{}) }
}

// A program reloads by itself: a turn that begins afterwards has the new prompt. What can't be read leaves
// what is in force, and health and status say so until the files are right again.
func TestReloadByTheProgram(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	first := r.parts.Running().Digest()
	check := func() string { return r.Health(t.Context())[4].State }
	require.Equal(t, CheckOK, check())
	require.Nil(t, r.Status(t.Context()).Reload)

	load := r.rewrite(t, "orchestrator: {prompt: \"be brief, and say so\"}\n")
	s, err := r.Reload(t.Context(), "program", load)
	require.NoError(t, err)
	require.Equal(t, ReloadApplied, s.Outcome)
	require.Equal(t, first, s.New, "a prompt decides nothing")
	c, err := r.Open(t.Context(), ConversationOptions{ID: "c1", User: "ann"})
	require.NoError(t, err)
	_, err = c.Send(t.Context(), "go")
	require.NoError(t, err)
	require.Contains(t, string(bytes.Join(r.server.Requests(), nil)), "be brief, and say so")

	s, err = r.Reload(t.Context(), "program", func() (*config.Config, error) { return nil, errors.New("gone") })
	require.EqualError(t, err, "gone")
	require.Equal(t, ReloadFailed, s.Outcome)
	require.Equal(t, CheckDegraded, check())
	_, err = r.Reload(t.Context(), "program", r.rewrite(t, "reload: {allow_loosening: true}\n"))
	var refused *RefusedReload
	require.ErrorAs(t, err, &refused)
	require.Equal(t, ReloadRefused, r.Status(t.Context()).Reload.Outcome)
	require.Equal(t, first, r.Status(t.Context()).Policy.Digest)
	require.Equal(t, CheckDegraded, check())
}

// Health writes to the store, every few seconds at most.
func TestHealthTriesTheStore(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	now := time.Now()
	r.health.now = func() time.Time { return now }
	require.Equal(t, Check{"store", CheckOK}, r.Health(t.Context())[0])
	require.NoError(t, r.parts.Store.Close())
	require.Equal(t, Check{"store", CheckOK}, r.Health(t.Context())[0], "it was tried a moment ago")
	now = now.Add(tryEvery)
	require.Equal(t, Check{"store", CheckFailed}, r.Health(t.Context())[0])
}
