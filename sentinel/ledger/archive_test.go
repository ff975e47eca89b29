package ledger

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// signerNamed makes a key for a file of its own.
func signerNamed(t testing.TB, name string) *Signer {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, name)
	require.NoError(t, err)
	s, err := NewSigner(skey)
	require.NoError(t, err)
	return s
}

// archived is a ledger of three files. The first has 10 records and a rotated key, the second 10, the third 5; each
// has one more that closes or begins it.
type archived struct {
	path    string
	st      *store.Store
	l       *Ledger
	signers []*Signer // first, rotated, second, third
	heads   [][]byte  // in the midst and at the end of each file
}

func newArchived(t *testing.T) *archived {
	t.Helper()
	a := &archived{path: filepath.Join(t.TempDir(), "v.db")}
	a.signers = []*Signer{newSigner(t), newSigner(t), signerNamed(t, "vedette/ledger/2"), signerNamed(t, "vedette/ledger/3")}
	a.st = openStore(t, a.path)
	var err error
	a.l, err = Open(t.Context(), a.st, a.signers[0], Options{})
	require.NoError(t, err)
	keep := func() {
		head, err := a.l.ExportHead(t.Context())
		require.NoError(t, err)
		a.heads = append(a.heads, head)
	}
	n := 0
	more := func(k int) {
		appendOne(t, a.st, a.l, n, k)
		n += k
		keep()
	}
	more(6)
	require.NoError(t, a.l.RotateKey(t.Context(), a.signers[1], "ann"))
	more(4)
	out, err := a.l.Archive(t.Context(), a.signers[2], "ann", nil)
	require.NoError(t, err)
	require.Equal(t, Archive{Before{1, 0, string(a.heads[1]), a.signers[1].PublicKey()}, 11, "vedette/ledger", a.path}, out.Archive)
	require.Equal(t, 2, out.File.Number)
	more(7)
	more(3)
	_, err = a.l.Archive(t.Context(), a.signers[3], "bob", nil)
	require.NoError(t, err)
	more(5)
	return a
}

// ids are the ids of records, and indexes their places.
func idsOf(list []Record) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// Records are found through all files, in either order, by id, by place and by what they have; a page goes on in the
// next file.
func TestArchivesAreRead(t *testing.T) {
	a := newArchived(t)
	all, err := a.l.List(t.Context(), Query{})
	require.NoError(t, err)
	require.Len(t, all, 25+1+2*2)
	for i, r := range all {
		require.EqualValues(t, i, r.Index, "places go through all files")
	}
	require.Equal(t, []string{KindClosed, KindContinued}, []string{all[11].Kind, all[12].Kind})
	newest, err := a.l.List(t.Context(), Query{Newest: true, Limit: 30})
	require.NoError(t, err)
	require.Equal(t, all[0], newest[29])
	for _, page := range []int{1, 4, 7} {
		var got []Record
		for place := (*int64)(nil); ; {
			list, err := a.l.List(t.Context(), Query{Newest: true, AfterIndex: place, Limit: page, Kind: "decision"})
			require.NoError(t, err)
			if got = append(got, list...); len(list) < page {
				break
			}
			place = &list[len(list)-1].Index
		}
		require.Len(t, got, 25)
		require.Equal(t, "rec-000000", got[24].ID)
	}
	for _, n := range []int{3, 13, 24} {
		r, err := a.l.Get(t.Context(), entry(n).ID)
		require.NoError(t, err)
		require.Equal(t, entry(n).Call, r.Call)
		list, err := a.l.List(t.Context(), Query{Call: entry(n).Call})
		require.NoError(t, err)
		require.Len(t, list, 1)
	}
	_, err = a.l.Get(t.Context(), "rec-0000")
	require.ErrorIs(t, err, ErrAmbiguous)
	r, err := a.l.Get(t.Context(), "rec-000024")
	require.NoError(t, err)
	require.EqualValues(t, 29, r.Index)
	s, err := a.l.Stats(t.Context(), Query{Kind: "decision"})
	require.NoError(t, err)
	require.EqualValues(t, 25, s.Records)
	require.Equal(t, []time.Time{epoch, entry(24).Time}, []time.Time{s.First, s.Last})
	values, complete, err := a.l.Values(t.Context(), "conversation", 5)
	require.NoError(t, err)
	require.True(t, complete)
	require.Equal(t, []string{"conv-0", "conv-1", "conv-2"}, values)

	list, err := a.l.Archives(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{0, 12}, []int64{list[0].From, list[1].From})
	require.Equal(t, []int64{11, 11}, []int64{list[0].Records, list[1].Records})
}

// What a newer file has of a decision counts for the older one: a call that ended there isn't without its end.
func TestWithoutGoesThroughArchives(t *testing.T) {
	a := newArchived(t)
	for _, n := range []int{2, 15, 24} {
		e := entry(n)
		e.ID, e.Kind, e.Outcome = fmt.Sprintf("end-%d", n), "outcome", "ok"
		require.NoError(t, a.st.Submit(t.Context(), func(tx *store.Tx) error { _, err := a.l.AppendTx(tx, e); return err }))
	}
	for _, newest := range []bool{true, false} {
		var got []Record
		for place := (*int64)(nil); ; {
			list, err := a.l.List(t.Context(), Query{Kind: "decision", Without: "outcome", Newest: newest, Limit: 3, AfterIndex: place})
			require.NoError(t, err)
			if got = append(got, list...); len(list) < 3 {
				break
			}
			place = &list[len(list)-1].Index
		}
		require.Len(t, got, 22)
		for _, r := range got {
			require.NotContains(t, []string{"call-2", "call-15", "call-24"}, r.Call)
		}
	}
}

// All files are verified together, whichever of the keys an auditor has, and up to heads kept of any of them.
func TestArchivesVerify(t *testing.T) {
	a := newArchived(t)
	for i, s := range a.signers {
		for _, every := range []int64{0, 1000} {
			r, err := Verify(t.Context(), a.path, VerifyOptions{PublicKey: s.PublicKey(), Heads: a.heads, SignatureEvery: every})
			require.NoError(t, err, "key %d: %v", i, r.Problems)
			require.Equal(t, []int64{30, 30, 0, 30}, []int64{r.Records, r.Proved, r.Unsigned, r.RollbackExcluded})
			require.Equal(t, len(a.heads), r.External)
			require.Len(t, r.Keys, 4)
			require.Equal(t, "vedette/ledger/3", r.Newest.Origin)
		}
	}
	_, err := Verify(t.Context(), a.path, VerifyOptions{PublicKey: newSigner(t).PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
}

// Any record is proved with any of the keys, and so is that the ledger has only grown since any of the heads.
func TestArchivesProve(t *testing.T) {
	a := newArchived(t)
	r, err := OpenReader(t.Context(), a.path)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	newest, err := r.NewestHead(t.Context())
	require.NoError(t, err)
	for _, s := range a.signers {
		for _, index := range []int64{0, 6, 11, 12, 20, 29} {
			p, err := r.ProveRecord(t.Context(), s.PublicKey(), index)
			require.NoError(t, err)
			_, err = CheckProof(p, s.PublicKey())
			require.NoError(t, err)
			rec, err := ParseLeaf(p.Leaf)
			require.NoError(t, err)
			require.Equal(t, index, rec.Index)
			moved := p
			moved.Base++
			_, err = CheckProof(moved, s.PublicKey())
			require.ErrorIs(t, err, ErrProof)
		}
		for i, head := range a.heads {
			c, err := r.ProveConsistency(t.Context(), head, newest, s.PublicKey())
			require.NoError(t, err)
			older, newer, err := CheckConsistency(c, s.PublicKey())
			require.NoError(t, err)
			require.Equal(t, "vedette/ledger/3", newer.Origin)
			require.Equal(t, []int64{6, 11, 8, 11, 6}[i], older.Size)
			require.Len(t, c.Then, []int{2, 2, 1, 1, 0}[i])
			if len(c.Then) > 0 {
				cut := c
				cut.Then = cut.Then[1:]
				_, _, err = CheckConsistency(cut, s.PublicKey())
				require.Error(t, err)
			}
		}
		_, err := r.ProveConsistency(t.Context(), newest, a.heads[0], s.PublicKey())
		require.Error(t, err)
	}
	_, err = r.ProveRecord(t.Context(), a.signers[0].PublicKey(), 99)
	require.ErrorIs(t, err, ErrNotFound)
}

// closeAll closes the ledger, so that its files can be changed.
func (a *archived) closeAll(t *testing.T) {
	t.Helper()
	require.NoError(t, a.st.Close())
}

func (a *archived) file(n int) string { return store.NumberedFile(a.path, n) }

// What is done to an archive, or to how files go on from each other, is found.
func TestArchivesTampered(t *testing.T) {
	other := newArchived(t)
	other.closeAll(t)
	for name, c := range map[string]struct {
		change func(a *archived)
		kind   string
		from   int64
	}{
		"a record of an archive": {func(a *archived) { tamper(t, a.path, `UPDATE ledger_records SET user = 'x' WHERE idx = 3`) }, Changed, 3},
		"a record of the second": {func(a *archived) {
			tamper(t, a.file(2), `UPDATE ledger_records SET user = 'x' WHERE idx = 15`)
		}, Changed, 15},
		"a record of the newest": {func(a *archived) {
			tamper(t, a.file(3), `UPDATE ledger_records SET user = 'x' WHERE idx = 26`)
		}, Changed, 26},
		"the first record of a file": {func(a *archived) {
			tamper(t, a.file(3), `UPDATE ledger_records SET body = CAST(replace(CAST(body AS TEXT), 'bob', 'eve') AS BLOB) WHERE idx = 24`)
		}, Changed, 24},
		"the record that closes a file": {func(a *archived) {
			tamper(t, a.path, `DELETE FROM ledger_records WHERE idx = 11; DELETE FROM ledger_heads WHERE size = 12;
DELETE FROM ledger_hashes WHERE first >= 19; UPDATE ledger_times SET newest = (SELECT max(time) FROM ledger_records)`)
		}, "", 0}, // the same as a process that was killed before: a caveat says so
		"the tail of an archive": {func(a *archived) {
			tamper(t, a.path, `DELETE FROM ledger_records WHERE idx >= 7; DELETE FROM ledger_heads WHERE size > 7;
DELETE FROM ledger_hashes WHERE first >= 11; UPDATE ledger_times SET newest = (SELECT max(time) FROM ledger_records)`)
		}, BadLink, 12},
		"the start of a file":          {func(a *archived) { tamper(t, a.file(2), `DELETE FROM ledger_records WHERE idx = 12`) }, BadHead, 0},
		"an archive of another ledger": {func(a *archived) { copyFile(t, other.path, a.path) }, BadHead, 0},
		"a file under another number":  {func(a *archived) { copyFile(t, a.file(2), a.file(3)) }, BadHead, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchived(t)
			a.closeAll(t)
			c.change(a)
			r, err := Verify(t.Context(), a.path, VerifyOptions{PublicKey: a.signers[3].PublicKey()})
			if c.kind == "" {
				require.NoError(t, err, "%v", r.Problems)
				require.Contains(t, fmt.Sprint(r.Caveats), "file 1 is not closed yet")
				return
			}
			require.ErrorIs(t, err, ErrTampered)
			require.Equal(t, c.kind, r.Problems[0].Kind, "%v", r.Problems)
			require.Equal(t, c.from, r.Problems[0].From)
		})
	}
}

// archivedWith makes a ledger of two files. The first has records from a number on, by the first key.
func archivedWith(t *testing.T, from int, first, second *Signer) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "v.db")
	now := func() time.Time { return epoch.Add(time.Hour) }
	st, l := reopen(t, path, first, now)
	appendOne(t, st, l, from, 5)
	_, err := l.Archive(t.Context(), second, "ann", nil)
	require.NoError(t, err)
	appendOne(t, st, l, from+5, 2)
	require.NoError(t, st.Close())
	return path
}

// An archive in the place of another is found where the same keys signed it: by its records, and by the file that it was closed for.
func TestArchiveOfAnotherHistory(t *testing.T) {
	one, two, three := newSigner(t), signerNamed(t, "vedette/ledger/2"), signerNamed(t, "vedette/ledger/3")
	for name, c := range map[string]struct {
		other  string // of which the first file is put in place
		detail string
	}{
		"the same":                {archivedWith(t, 0, one, two), ""},
		"of other records":        {archivedWith(t, 100, one, two), "not the one that it goes on from"},
		"closed for another file": {archivedWith(t, 0, one, three), "closed for another file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := archivedWith(t, 0, one, two)
			copyFile(t, c.other, path)
			r, err := Verify(t.Context(), path, VerifyOptions{PublicKey: two.PublicKey()})
			if c.detail == "" {
				require.NoError(t, err, "%v", r.Problems)
				return
			}
			require.ErrorIs(t, err, ErrTampered)
			require.Equal(t, BadLink, r.Problems[0].Kind, "%v", r.Problems)
			require.Contains(t, r.Problems[0].Detail, c.detail)
		})
	}
}

// A file that records were added to after it was closed, with its own key, is found by the one that goes on from it.
func TestArchiveWrittenAfterItsEnd(t *testing.T) {
	a := newArchived(t)
	require.NoError(t, a.st.WriteOlder(t.Context(), store.File{Number: 1, Path: a.path}, func(tx *store.Tx) error {
		for _, statement := range []string{dropGuards, `UPDATE ledger_records SET kind = 'x' WHERE idx = 11`} {
			if _, err := tx.Exec(statement); err != nil {
				return err
			}
		}
		thief := &Ledger{now: time.Now}
		thief.signer.Store(a.signers[1])
		if err := thief.loadRightEdge(tx); err != nil {
			return err
		}
		if _, err := thief.appendRecord(tx, entry(77)); err != nil {
			return err
		}
		if _, err := tx.Exec(`UPDATE ledger_records SET kind = ? WHERE idx = 11`, KindClosed); err != nil {
			return err
		}
		if _, err := tx.Exec(sqlNoUpdate + ";" + sqlNoDelete); err != nil {
			return err
		}
		return thief.sealGroup(tx)
	}))
	r, err := Verify(t.Context(), a.path, VerifyOptions{PublicKey: a.signers[3].PublicKey()})
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, BadHead, r.Problems[0].Kind) // the key signs no head of so many records
}

// A file that was taken elsewhere is told of and not verified; the others are. So is one file alone.
func TestArchiveIsElsewhere(t *testing.T) {
	a := newArchived(t)
	a.closeAll(t)
	alone := filepath.Join(t.TempDir(), "alone.db")
	copyFile(t, a.path, alone)
	r, err := Verify(t.Context(), alone, VerifyOptions{PublicKey: a.signers[0].PublicKey(), Heads: a.heads[:2]})
	require.NoError(t, err)
	require.EqualValues(t, 12, r.Records)
	require.Contains(t, fmt.Sprint(r.Caveats), "the ledger goes on in another file")
	r, err = Verify(t.Context(), alone, VerifyOptions{PublicKey: a.signers[0].PublicKey(), Heads: a.heads[:3]})
	require.Error(t, err, "%+v", r) // the next file's key is linked, and the file isn't there
	require.ErrorIs(t, err, ErrTampered)
	require.Equal(t, Rollback, r.Problems[0].Kind)

	require.NoError(t, os.Remove(a.path))
	_, err = Verify(t.Context(), a.path, VerifyOptions{PublicKey: a.signers[0].PublicKey()})
	require.ErrorIs(t, err, ErrTampered, "the key before the rotation is known in the first file alone")
	for _, s := range a.signers[1:] {
		r, err := Verify(t.Context(), a.path, VerifyOptions{PublicKey: s.PublicKey(), Heads: a.heads[1:]})
		require.NoError(t, err, "%v", r.Problems)
		require.EqualValues(t, 18, r.Records)
		require.Contains(t, fmt.Sprint(r.Caveats), "file 1, with records 0 to 11, is not here")
	}
	st, l := reopen(t, a.path, a.signers[3], time.Now)
	list, err := l.List(t.Context(), Query{Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, 12, list[0].Index)
	archives, err := l.Archives(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"", a.file(2)}, []string{archives[0].Path, archives[1].Path})
	require.Empty(t, differs(t, l, a.heads...))
	require.NoError(t, st.Close())

	require.NoError(t, os.Rename(a.file(3), a.file(3)+".away"))
	_, err = Open(t.Context(), openStore(t, a.path), a.signers[2], Options{})
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorContains(t, err, "it goes on in file 3, which is not there")
}

// Heads that were kept of any file are compared with it; an older copy that lacks a file is behind, and a forged
// head of an archive contradicts it.
func TestCompareHeadsOfArchives(t *testing.T) {
	a := newArchived(t)
	for i := range a.heads {
		require.Empty(t, differs(t, a.l, a.heads[:i+1]...))
	}
	h, err := PeekHead(a.heads[1])
	require.NoError(t, err)
	h.Root[0] ^= 1
	forged, err := h.signAsNote(a.signers[1])
	require.NoError(t, err)
	require.Equal(t, Fork, differs(t, a.l, forged))
	h.Size = 40
	forged, err = h.signAsNote(a.signers[1])
	require.NoError(t, err)
	require.NotEmpty(t, differs(t, a.l, forged))

	first, err := os.ReadFile(a.path)
	require.NoError(t, err)
	a.closeAll(t)
	_ = first
	require.NoError(t, os.RemoveAll(store.Folder(a.path)))
	_, err = Open(t.Context(), openStore(t, a.path), a.signers[1], Options{})
	require.ErrorIs(t, err, ErrClosed)
}

// A backup from before an archive is behind the heads of the file that went on, until an operator has said so.
func TestRestoredFromBeforeAnArchive(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "v.db"), filepath.Join(dir, "backup.db")
	one, two := newSigner(t), signerNamed(t, "vedette/ledger/2")
	at := epoch.Add(time.Hour)
	now := func() time.Time { return at }
	st, l := reopen(t, path, one, now)
	appendOne(t, st, l, 0, 5)
	require.NoError(t, st.Close())
	copyFile(t, path, backup)
	st, l = reopen(t, path, one, now)
	_, err := l.Archive(t.Context(), two, "ann", nil)
	require.NoError(t, err)
	appendOne(t, st, l, 5, 5)
	head, err := l.ExportHead(t.Context())
	require.NoError(t, err)
	require.NoError(t, st.Close())

	require.NoError(t, os.RemoveAll(store.Folder(path)))
	copyFile(t, backup, path)
	st, l = reopen(t, path, one, now)
	require.Equal(t, BadKey, differs(t, l, head))
	_, err = l.AcceptRestored(t.Context(), [][]byte{head}, "ann")
	require.NoError(t, err)
	require.Empty(t, differs(t, l, head))
	require.NoError(t, st.Close())
}

// A ledger without records has nothing to archive, and a key must have a name of its own.
func TestArchiveNothing(t *testing.T) {
	s := newSigner(t)
	st, l := reopen(t, filepath.Join(t.TempDir(), "v.db"), s, time.Now)
	_, err := l.Archive(t.Context(), signerNamed(t, "x"), "ann", nil)
	require.ErrorIs(t, err, ErrNothing)
	_, err = l.Archive(t.Context(), newSigner(t), "ann", nil)
	require.ErrorContains(t, err, "name of its own")
	appendOne(t, st, l, 0, 1)
	_, err = st.Succeed(t.Context(), nil) // not by way of the ledger
	require.Error(t, err)
	appendOne(t, st, l, 1, 1)
	for _, kind := range []string{KindContinued, KindClosed} {
		e := entry(2)
		e.Kind = kind
		require.ErrorIs(t, st.Submit(t.Context(), func(tx *store.Tx) error { _, err := l.AppendTx(tx, e); return err }), ErrEntry)
	}
}

// A process that was killed after the next file had its name leaves the one before it open: it is closed later, once.
func TestFinishArchive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.db")
	one, two := newSigner(t), signerNamed(t, "vedette/ledger/2")
	st, l := reopen(t, path, one, time.Now)
	appendOne(t, st, l, 0, 5)
	killed := errors.New("killed")
	func() {
		defer func() { require.Equal(t, killed, recover()) }()
		l.upcoming.Store(&upcoming{signer: two, by: "ann"})
		_, err := st.Succeed(t.Context(), nil)
		require.NoError(t, err)
		panic(killed)
	}()
	require.NoError(t, st.Close())
	st, l = reopen(t, path, two, time.Now)
	appendOne(t, st, l, 5, 2)
	require.NoError(t, l.RotateKey(t.Context(), signerNamed(t, "vedette/ledger/2"), "ann")) // even then
	for range 2 {
		require.NoError(t, l.FinishArchive(t.Context(), one))
	}
	list, err := l.List(t.Context(), Query{})
	require.NoError(t, err)
	require.Equal(t, []string{"rec-000004", "ledger-closed-1", "ledger-continued-2", "rec-000005"}, idsOf(list[4:8]))
	require.Contains(t, string(list[5].Body), two.PublicKey())
	r, err := Verify(t.Context(), path, VerifyOptions{PublicKey: one.PublicKey()})
	require.NoError(t, err, "%v", r.Problems)
	require.False(t, bytes.Contains([]byte(fmt.Sprint(r.Caveats)), []byte("not closed")))
}
