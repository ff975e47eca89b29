package assembly_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	beside "github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// A clean end leaves the newest head at the anchor. An older copy that is put in place is refused at the start, before
// anything is decided, and a restored backup goes on once that is on record. A key that was rotated changes nothing.
func TestAnchorsAtStart(t *testing.T) {
	heads := filepath.Join(t.TempDir(), "heads.txt")
	n := &notes{}
	cfg := load(t, write(t, "ledger:\n  path: v.db\n  anchors:\n    - {name: disk, every: 1h, file: {path: "+heads+"}}\n"))
	o := assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}}
	run := func() error {
		p, err := assembly.Build(t.Context(), cfg, o)
		if err != nil {
			return err
		}
		_, err = p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
		require.NoError(t, err)
		return p.Close()
	}
	require.NoError(t, run())
	old, err := os.ReadFile(cfg.Ledger.Path)
	require.NoError(t, err)
	require.NoError(t, run())
	text, err := os.ReadFile(heads)
	require.NoError(t, err)
	list := ledger.SplitHeads(text)
	newest, err := ledger.PeekHead(list[len(list)-1])
	require.NoError(t, err)
	require.EqualValues(t, 4, newest.Size, "the end sends what the pace would have sent later")

	src := beside.Source{Database: cfg.Ledger.Path, PublicKey: filepath.Join(cfg.Keys.Dir, "ledger.pub"), Keys: cfg.Keys.Dir}
	auditor, err := os.ReadFile(src.PublicKey)
	require.NoError(t, err)
	_, err = beside.RotateKey(t.Context(), src, "ann")
	require.NoError(t, err)
	require.NoError(t, run(), "heads of the old key are known")
	report, err := ledger.Verify(t.Context(), src.Database, ledger.VerifyOptions{PublicKey: string(auditor)})
	require.NoError(t, err)
	require.Len(t, report.Keys, 2)
	v, err := src.Verify(t.Context(), beside.VerifyOptions{Heads: []string{heads}, Deep: true})
	require.NoError(t, err)
	require.NoError(t, v.Err())

	require.NoError(t, os.WriteFile(cfg.Ledger.Path, old, 0o600)) // with keys that it wasn't written with
	require.ErrorIs(t, run(), ledger.ErrHead)

	other := load(t, write(t, "ledger:\n  path: v.db\n  anchors:\n    - {name: disk, every: 1h, file: {path: "+heads+"}}\n"))
	cfg = other // all of it replaced: database and keys
	err = run()
	require.ErrorAs(t, err, new(*anchors.RefusedError))
	require.ErrorContains(t, err, "key does not lead to")
	newestKept, err := assembly.AcceptRestored(t.Context(), cfg, "ann")
	require.NoError(t, err)
	require.EqualValues(t, 7, newestKept)
	require.NoError(t, run())
	sent, err := assembly.SendHead(t.Context(), cfg)
	require.NoError(t, err)
	require.Empty(t, sent[0].Problem)
}

// A log in a folder and a bucket are named in the configuration as a file is. The log gets the newest head at a clean end, and an
// older copy is refused. What is wrong with a bucket is told with its place.
func TestTilesAtStart(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	n := &notes{}
	cfg := load(t, write(t, "ledger:\n  path: v.db\n  anchors:\n    - {name: log, every: 1h, tiles: {path: "+folder+"}}\n"))
	run := func() error {
		p, err := assembly.Build(t.Context(), cfg, assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
		if err != nil {
			return err
		}
		_, err = p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"milk"}`))
		require.NoError(t, err)
		return p.Close()
	}
	require.NoError(t, run())
	old, err := os.ReadFile(cfg.Ledger.Path)
	require.NoError(t, err)
	require.NoError(t, run())
	logs, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, logs, 1)
	require.FileExists(t, filepath.Join(folder, logs[0].Name(), "checkpoint"))
	kept, err := assembly.ReadAnchors(t.Context(), cfg, true)
	require.NoError(t, err)
	require.False(t, kept[0].Unasked, "a folder of this machine")
	require.Equal(t, map[string]int64{"vedette/ledger": 4}, kept[0].Largest)
	require.NoError(t, os.WriteFile(cfg.Ledger.Path, old, 0o600))
	err = run()
	require.ErrorAs(t, err, new(*anchors.RefusedError))
	require.ErrorContains(t, err, "it has 2 records, and a head of 4 was kept")

	cfg = load(t, write(t, `ledger:
  path: v.db
  anchors:
    - {name: b, s3: {endpoint: "http://s3.example", region: r, bucket: heads, access_key: a, secret_key: b}}
    - {name: c, s3: {endpoint: "https://s3.example", region: r, bucket: Heads, access_key: a, secret_key: b}}
`))
	err = run()
	require.ErrorContains(t, err, ":7:17: ledger.anchors[0].s3")
	require.ErrorContains(t, err, "ledger.anchors[1].s3: the bucket's name")
}
