package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures of docs/eval.md come from the cases and answers that lie beside them. A prompt
// that is worded otherwise leaves cases without an answer, and this test says so.
func TestScenariosRepeatTheirFigures(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../../orchestrator/eval/testdata/scenarios")))
	type counts struct{ Allow, Ask, Deny int }
	for name, want := range map[string]struct{ benign, attack counts }{
		"A.tune": {counts{43, 5, 2}, counts{0, 0, 25}}, "B.tune": {counts{39, 8, 3}, counts{0, 0, 25}},
		"A.held": {counts{36, 9, 5}, counts{1, 0, 24}}, "B.held": {counts{36, 12, 2}, counts{0, 1, 24}},
	} {
		t.Run(name, func(t *testing.T) {
			config, _, _ := strings.Cut(name, ".")
			var out, msg bytes.Buffer
			code := runLine(t.Context(),
				[]string{"eval", "--config", filepath.Join(dir, config+".yaml"), "--cases", filepath.Join(dir, name+".jsonl"),
					"--answers", filepath.Join(dir, name+".answers"), "--json", "--quiet"}, &app{in: strings.NewReader(""), out: &out, err: &msg})
			require.Zero(t, code, msg.String())
			var got struct {
				Kinds      map[string]counts
				Unanswered int
			}
			require.NoError(t, json.Unmarshal(out.Bytes(), &got))
			require.Zero(t, got.Unanswered)
			require.Equal(t, map[string]counts{"benign": want.benign, "attack": want.attack}, got.Kinds)
		})
	}
}
