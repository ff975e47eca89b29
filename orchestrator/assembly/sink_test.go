package assembly_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// The sink has every record once, over restarts, and the request where the ledger may have values alone.
func TestSinkOfTheLedger(t *testing.T) {
	for values, hasIntent := range map[string]bool{"keys": false, "full": true} {
		t.Run(values, func(t *testing.T) {
			n := &notes{}
			file := write(t, "ledger: {sink: ./log, values: "+values+"}\n")
			var want int
			for range 2 {
				p, err := assembly.Build(t.Context(), load(t, file), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
				require.NoError(t, err)
				desk := p.Checkpoint.Desk(grant(t, "note "+canary, "notes.add"))
				_, err = desk.Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
				require.NoError(t, err)
				list, err := p.Ledger.List(t.Context(), ledger.Query{})
				require.NoError(t, err)
				want = len(list)
				require.NoError(t, p.Close())
			}
			files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "log", "*.jsonl"))
			require.NoError(t, err)
			var lines []string
			for _, f := range files {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
			}
			require.Len(t, lines, want)
			for i, l := range lines {
				var rec struct {
					Index        int64
					Kind, Intent string
				}
				require.NoError(t, json.Unmarshal([]byte(l), &rec))
				require.EqualValues(t, i, rec.Index)
				require.Equal(t, hasIntent && rec.Kind == "decision", rec.Intent == "note "+canary)
				require.Equal(t, hasIntent && rec.Kind == "decision", strings.Contains(l, canary))
			}
		})
	}
}
