package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// hearDefault makes the program's default logger one that can be read, until the
// test ends.
func hearDefault(t *testing.T) *syncBuffer {
	t.Helper()
	heard, before, out, flags := &syncBuffer{}, slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(heard, nil)))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(out) // SetDefault led it to slog
		log.SetFlags(flags)
	})
	return heard
}

// Who gives no logger hears on the program's own of models that go wrong and of
// calls that go ahead unjudged; who wants silence gives one that drops all.
func TestNoLogIsTheDefaultLog(t *testing.T) {
	for name, tc := range map[string]struct {
		log   *slog.Logger
		heard bool
	}{"none": {nil, true}, "a silent one": {slog.New(slog.DiscardHandler), false}} {
		t.Run(name, func(t *testing.T) {
			heard := hearDefault(t)
			note := skill(t, "note.read", skills.Read, skills.Trusted, func(context.Context, string) (string, error) { return "", nil })
			file := filepath.Join(t.TempDir(), "vedette.yaml")
			require.NoError(t, os.WriteFile(file, []byte(`version: 1
models: {m: {model: m, base_url: "http://127.0.0.1:1/v1"}}
roles: {orchestrator: m, agent: m, sentinel: m}
sentinel: {retries: 0, canaries: {every: 0s}}
ledger: {path: ./v.db}
`), 0o600))
			cfg, err := config.Load(file, config.Options{KnownSkills: []string{"note.read"}})
			require.NoError(t, err)
			o, err := New(t.Context(), cfg, Options{Skills: []*skills.GoSkill{note}, Log: tc.log})
			require.NoError(t, err)
			defer func() { require.NoError(t, o.Close(context.Background())) }()
			cp := o.Parts().Checkpoint
			c, err := cp.NewCall(sentinel.Proposal{Skill: "note.read", Args: json.RawMessage(`{"X":"1"}`), Grant: freeGrant(t, "note.read")})
			require.NoError(t, err)
			d, err := cp.Decide(t.Context(), c)
			require.NoError(t, err)
			require.Equal(t, sentinel.Allow, d.Outcome, fmt.Sprint(d.Verdicts))
			if tc.heard {
				require.Contains(t, heard.String(), "REVIEW DEGRADED")
			} else {
				require.Empty(t, heard.String())
			}
		})
	}
}
