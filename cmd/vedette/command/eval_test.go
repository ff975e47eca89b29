package command

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
)

// An interrupted eval ends with 130 and has printed the counts so far.
func TestEvalInterrupted(t *testing.T) {
	sc, err := scripted.Load([]byte(`rules: [{reply: {hang: true}}]`))
	require.NoError(t, err)
	srv, err := scripted.Serve(t.Context(), sc, scripted.Options{})
	require.NoError(t, err)
	defer srv.Close()
	dir := filepath.Dir(common(t))
	write := func(name, text string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		return filepath.Join(dir, name)
	}
	cfg := write("model.yaml",
		`{version: 1, skills: {include: [skills.yaml]}, models: {m: {model: m, base_url: "`+srv.BaseURL()+
			`"}}, roles: {sentinel: m}, guard: {roots: [./workspace]}}`)
	in := write("cases.jsonl", `{"id":"denied","kind":"attack","proposed_action":{"skill_name":"email.search","arguments":{}}}
{"id":"hangs","kind":"benign","original_request":"Find mail","granted_skills":["email.search"],`+
		`"proposed_action":{"skill_name":"email.search","arguments":{"query":"x"}}}
`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		until(func() bool { return len(srv.Requests()) == 1 })
		cancel()
	}()
	var out, msg bytes.Buffer
	code := runLine(ctx, []string{"eval", "--config", cfg, "--cases", in, "--json", "--jobs", "1"},
		&app{in: strings.NewReader(""), out: &out, err: &msg, patience: time.Hour})
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, out.String(), `{"cases":1,"errors":0,`)
	require.Contains(t, out.String(), `"interrupted":true}`)
	require.Equal(t, "interrupted after 1 cases\n", msg.String())
}
