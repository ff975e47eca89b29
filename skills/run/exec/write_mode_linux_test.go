package exec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// Snapshot is the mode of a skill that takes a command line and can have it; one that is
// written and can't be had is a mistake.
func TestWriteMode(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	mode := []string{"run.exec.write_mode"}
	for name, row := range map[string]struct {
		o      opts
		params string
		state  string
		want   []string // mistakes
		mode   string
	}{
		"default of a shell":     {opts{"write": []string{dir}}, shellSchema, state, nil, WriteSnapshot},
		"default of another":     {opts{"write": []string{dir}}, anything, state, nil, WriteDirect},
		"default without state":  {opts{"write": []string{dir}}, shellSchema, "", nil, WriteDirect},
		"default without roots":  {opts{}, shellSchema, state, nil, WriteDirect},
		"default with a file":    {opts{"write": []string{file}}, shellSchema, state, nil, WriteDirect},
		"default under landlock": {opts{"write": []string{dir}, "isolation": "landlock"}, shellSchema, state, nil, WriteDirect},
		"direct":                 {opts{"write": []string{dir}, "write_mode": "direct"}, shellSchema, state, nil, WriteDirect},
		"snapshot":               {opts{"write": []string{dir}, "write_mode": "snapshot"}, anything, state, nil, WriteSnapshot},
		"without state":          {opts{"write": []string{dir}, "write_mode": "snapshot"}, shellSchema, "", mode, ""},
		"without roots":          {opts{"write_mode": "snapshot"}, shellSchema, state, mode, ""},
		"with a file":            {opts{"write": []string{file}, "write_mode": "snapshot"}, shellSchema, state, mode, ""},
		"under landlock":         {opts{"write": []string{dir}, "write_mode": "snapshot", "isolation": "landlock"}, shellSchema, state, mode, ""},
		"another word":           {opts{"write": []string{dir}, "write_mode": "copy"}, shellSchema, state, mode, ""},
		"bounds of direct":       {opts{"write": []string{dir}, "write_mode": "direct", "write_limit": 1}, shellSchema, state, mode, ""},
		"bad bounds": {opts{"write": []string{dir}, "write_limit": -1, "max_deleted": opts{"percent": 101}}, shellSchema, state,
			[]string{"run.exec.write_limit", "run.exec.max_deleted"}, ""},
	} {
		row.o["argv"] = []string{"true"}
		sp := spec(row.o)
		sp.Parameters = json.RawMessage(row.params)
		kit, s := runtest.New(t), runtest.Compile(t, sp, nil)
		_, err := New(s, kit.Redeemer, Options{Dir: dir, State: row.state})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
		if row.want == nil {
			require.Equal(t, row.mode, modeOf(t, row.o, s, row.state, dir), name)
		}
	}
}

// modeOf is the mode that a skill with these options has.
func modeOf(t *testing.T, o opts, s *skills.Skill, state, dir string) string {
	t.Helper()
	p := &program{snapshots: snapshots{state: state}}
	p.Isolation = IsolationAuto
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &p.config))
	require.NoError(t, p.resolvePaths("run.exec", dir))
	require.NoError(t, p.chooseWriteMode("run.exec", s.TakesShell(), p.snapshots))
	return p.WriteMode
}
