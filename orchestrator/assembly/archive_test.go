package assembly_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/history"
	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// While the ledger is archived calls go on: each is decided, runs once and has its outcome, in whichever file; and
// all files verify together, with the key of either.
func TestArchiveWhileCallsRun(t *testing.T) {
	const callers, calls, archives = 8, 40, 3
	n := &notes{}
	p := build(t, write(t, fmt.Sprintf("limits: {agent: {calls: %d}, turn: {calls: %[1]d}, conversation: {calls: %[1]d}}\n", 1000)),
		assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}})
	first := p.Keys.LedgerPublic()
	g, ctx := errgroup.WithContext(t.Context())
	for c := range callers {
		g.Go(func() error {
			desk := p.Checkpoint.Desk(grant(t, "add notes", "notes.add"))
			for i := range calls {
				if _, err := desk.Invoke(ctx, "notes.add", json.RawMessage(fmt.Sprintf(`{"text":"%d-%d"}`, c, i))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for i := range archives {
			for len(records(t, p.Config, ledger.Query{Limit: 1000})) < (i+1)*100 {
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if _, err := p.Archives.Archive(ctx, "ann", nil); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, g.Wait())
	require.Len(t, n.seen, callers*calls)
	require.Equal(t, archives+1, p.Store.File().Number)
	ends := map[string][]string{}
	for place := (*int64)(nil); ; {
		list, err := p.Ledger.List(t.Context(), ledger.Query{Limit: 1000, AfterIndex: place})
		require.NoError(t, err)
		for _, r := range list {
			if r.Call != "" {
				ends[r.Call] = append(ends[r.Call], r.Kind)
			}
		}
		if len(list) < 1000 {
			break
		}
		place = &list[len(list)-1].Index
	}
	require.Len(t, ends, callers*calls)
	for call, kinds := range ends {
		require.Equal(t, []string{sentinel.RecordDecision, sentinel.RecordOutcome}, kinds, call)
	}
	for _, key := range []string{first, p.Keys.LedgerPublic()} {
		r, err := ledger.Verify(t.Context(), p.Config.Ledger.Path, ledger.VerifyOptions{PublicKey: key})
		require.NoError(t, err)
		require.EqualValues(t, 2*callers*calls+2*archives, r.Proved)
	}
}

// What was recorded before an archive is told, labelled, and counts after it as before; a spent warrant stays spent, a
// token stays valid, and a purge reaches all.
func TestLifeAfterAnArchive(t *testing.T) {
	n := &notes{}
	file := write(t, "ledger: {sink: ./log}\n")
	o := assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}}
	p, err := assembly.Build(t.Context(), load(t, file), o)
	require.NoError(t, err)
	g := grant(t, "add a note", "notes.add")
	_, err = p.Checkpoint.Desk(g).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"`+canary+`"}`))
	require.NoError(t, err)
	made, err := p.Tokens.Create(t.Context(), access.Wanted{Name: "reader", Scopes: []access.Scope{access.Review}}, "ann")
	require.NoError(t, err)
	decided := records(t, p.Config, ledger.Query{Kind: sentinel.RecordDecision})[0]
	sealed := sealedOf(t, p)
	_, err = p.Archives.Archive(t.Context(), "ann", nil)
	require.NoError(t, err)

	for range 2 { // the second time after a restart
		s, err := p.Stories.TellWithValues(t.Context(), decided.ID, story.Reader{By: "rita", Via: "test"})
		require.NoError(t, err)
		require.Equal(t, []story.State{story.Kept, story.Kept, story.Kept},
			[]story.State{s.Values.Arguments.State, s.Values.Mission.State, s.Values.Result.State})
		require.Equal(t, "ok", s.End.Status)
		_, err = p.Labels.Put(t.Context(), label.Said{Of: decided.ID, Word: label.Right, By: "rita", Via: "test"})
		require.NoError(t, err)
		list := p.Tokens.List()
		require.Len(t, list, 1)
		require.Equal(t, made.ID, list[0].ID)
		require.Equal(t, 1, spentWarrants(t, p))
		require.NoError(t, p.Close())
		p, err = assembly.Build(t.Context(), load(t, file), o)
		require.NoError(t, err)
	}
	h, err := history.Open(t.Context(), p.Store, p.Journal, history.Options{Ledger: p.Ledger})
	require.NoError(t, err)
	gone, err := h.Purge(t.Context(), history.Who{User: "ann"}, "bob")
	require.NoError(t, err)
	require.Positive(t, gone.Values)
	s, err := p.Stories.TellWithValues(t.Context(), decided.ID, story.Reader{By: "rita", Via: "test"})
	require.NoError(t, err)
	require.Equal(t, story.Erased, s.Values.Arguments.State)
	require.NoError(t, p.Close())

	raw := readFolder(t, filepath.Dir(file))
	for name, data := range raw {
		require.False(t, bytes.Contains(data, []byte(canary)), name)
		for _, value := range sealed {
			require.False(t, bytes.Contains(data, value), "%s holds a value that was erased", name)
		}
	}
	lines := 0
	for name, data := range raw {
		if strings.HasPrefix(name, "log/") {
			lines += bytes.Count(data, []byte("\n"))
		}
	}
	all := records(t, load(t, file), ledger.Query{Limit: 1000})
	require.Equal(t, len(all), lines, "the sink has a line for each record of both files")
}

// The database file is closed by its size or its age, at a tick of the maintenance, and no sooner.
func TestArchiveByConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		age    time.Duration
		files  int
	}{
		"by age":   {"ledger: {archive: {max_age: 24h}}\n", 25 * time.Hour, 2},
		"too soon": {"ledger: {archive: {max_age: 24h, max_bytes: 1073741824}}\n", 23 * time.Hour, 1},
		"never":    {"", 100 * 24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &hands{}
			clock.ns.Store(time.Now().UnixNano())
			ticks := make(chan time.Time)
			n := &notes{}
			p := build(t, write(t, c.config), assembly.Options{Skills: []*skills.GoSkill{n.skill(t)}, Now: clock.now, Maintain: ticks})
			_, err := p.Checkpoint.Desk(grant(t, "add a note", "notes.add")).Invoke(t.Context(), "notes.add", json.RawMessage(`{"text":"x"}`))
			require.NoError(t, err)
			clock.move(c.age)
			tick(t, ticks)
			tick(t, ticks) // the round before has ended
			require.Equal(t, c.files, p.Store.File().Number)
			list, err := p.Ledger.List(t.Context(), ledger.Query{Kind: ledger.KindContinued})
			require.NoError(t, err)
			require.Len(t, list, c.files-1)
			if len(list) > 0 {
				require.Contains(t, string(list[0].Body), `"by":"config:max_age"`)
			}
		})
	}
}

// sealedOf are the sealed values of the database, as they lie there.
func sealedOf(t *testing.T, p *assembly.Parts) (out [][]byte) {
	t.Helper()
	rows, err := p.Store.Reader().Query(t.Context(), "SELECT sealed FROM journal_values")
	require.NoError(t, err)
	for rows.Next() {
		var b []byte
		require.NoError(t, rows.Scan(&b))
		out = append(out, b)
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	require.NotEmpty(t, out)
	return out
}

// spentWarrants counts those that are on record.
func spentWarrants(t *testing.T, p *assembly.Parts) (n int) {
	t.Helper()
	require.NoError(t, p.Store.Submit(t.Context(), func(tx *store.Tx) error {
		_, err := tx.QueryRow([]any{&n}, "SELECT count(*) FROM store_spent WHERE id NOT LIKE 'call/%'")
		return err
	}))
	return n
}

// readFolder reads all files below a folder, by their names.
func readFolder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type() != 0 {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = data
		return err
	}))
	return out
}
