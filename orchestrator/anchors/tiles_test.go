package anchors_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// addMany appends n records in one group.
func (b *book) addMany(n int) {
	b.t.Helper()
	require.NoError(b.t, b.st.Submit(b.t.Context(), func(tx *store.Tx) error {
		for range n {
			b.n++
			e := ledger.Entry{ID: "many-" + time.Duration(b.n).String(), Time: time.Now(), Kind: "decision"}
			e.ID = strings.ReplaceAll(e.ID, "µ", "u")
			e.ID = strings.ReplaceAll(e.ID, ".", "_")
			if _, err := b.AppendTx(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Another implementation of C2SP's formats reads the folder as a log: it verifies the checkpoint, and each record's
// hash by tiles under it, of every size that the log went through.
func TestTilesAreALog(t *testing.T) {
	b := newBook(t)
	folder := filepath.Join(t.TempDir(), "log")
	place := anchors.NewTiles(folder)
	var log bytes.Buffer
	set := b.set(&log, anchors.Anchor{Name: "log", Place: place})
	web := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer web.Close()
	v, err := note.NewVerifier(b.signer.PublicKey())
	require.NoError(t, err)
	more, last := 3000, []string{"013.p", "228"}
	if os.Getenv("VEDETTE_LONG") != "" {
		more, last = 70_000, []string{"275.p", "156"} // so that a tile of tiles of tiles is begun
	}
	for _, n := range []int{1, 254, 1, 300, 0, more} {
		if n > 0 {
			b.addMany(n)
		}
		err := set.Couriers()[0].Send(t.Context())
		for tries := 0; err != nil && tries < 20; tries++ { // each goes on where the one before ran out of time
			require.ErrorContains(t, err, "deadline exceeded")
			err = set.Couriers()[0].Send(t.Context())
		}
		require.NoError(t, err, log.String())
		fetcher, err := torchwood.NewTileFetcher(web.URL+"/vedette-ledger", torchwood.WithHTTPClient(web.Client()))
		require.NoError(t, err)
		signed, err := fetcher.ReadEndpoint(t.Context(), "checkpoint")
		require.NoError(t, err)
		opened, err := note.Open(signed, note.VerifierList(v))
		require.NoError(t, err)
		c, err := torchwood.ParseCheckpoint(opened.Text)
		require.NoError(t, err)
		require.Equal(t, "vedette/ledger", c.Origin)
		require.EqualValues(t, b.n, c.N)
		hashes := torchwood.TileHashReaderWithContext(t.Context(), c.Tree, fetcher)
		for _, i := range []int64{0, c.N / 3, c.N - 1} {
			got, err := hashes.ReadHashes([]int64{tlog.StoredHashIndex(0, i)})
			require.NoError(t, err, "record %d of %d", i, c.N)
			p, err := b.Prove(t.Context(), i)
			require.NoError(t, err)
			require.Equal(t, tlog.RecordHash(p.Leaf), got[0])
		}
	}
	require.FileExists(t, filepath.Join(append([]string{folder, "vedette-ledger", "tile", "0"}, last...)...))
	require.NoError(t, b.set(&log, anchors.Anchor{Name: "log", Place: place}).Compare(t.Context()))
}

// An older copy and a fork are refused, at a start and by the place itself, and a try that was broken off is gone on with.
func TestTilesRefuse(t *testing.T) {
	b := newBook(t)
	folder := filepath.Join(t.TempDir(), "log")
	place := anchors.NewTiles(folder)
	var log bytes.Buffer
	anchor := anchors.Anchor{Name: "log", Place: place}
	b.addMany(300)
	old := b.backup()
	b.addMany(300)
	set := b.set(&log, anchor)
	require.NoError(t, set.Couriers()[0].Send(t.Context()))
	b.restore(old)
	var no *anchors.RefusedError
	require.ErrorAs(t, b.set(&log, anchor).Compare(t.Context()), &no)
	require.ErrorContains(t, b.set(&log, anchor).Couriers()[0].Send(t.Context()), "the log has 600 records")
	b.n += 10_000
	b.addMany(300)
	require.ErrorContains(t, b.set(&log, anchor).Couriers()[0].Send(t.Context()), "forked")
	b.addMany(300)
	require.ErrorContains(t, b.set(&log, anchor).Couriers()[0].Send(t.Context()), "forked")

	require.NoError(t, os.Remove(filepath.Join(folder, "vedette-ledger", "checkpoint"))) // as a first try leaves it
	require.NoError(t, os.WriteFile(filepath.Join(folder, "vedette-ledger", "tile", "0", "000"), []byte("other hashes"), 0o600))
	require.ErrorContains(t, b.set(&log, anchor).Couriers()[0].Send(t.Context()), "other hashes in tile/0/000")
	require.NoError(t, os.RemoveAll(folder))
	require.NoError(t, b.set(&log, anchor).Couriers()[0].Send(t.Context()))
}

// Nothing is read or written through a link, and no pipe holds anything up.
func TestPlacesOfFilesAreFiles(t *testing.T) {
	b := newBook(t)
	b.add(2)
	signed, err := b.ExportHead(t.Context())
	require.NoError(t, err)
	h, err := ledger.PeekHead(signed)
	require.NoError(t, err)
	kept := anchors.Kept{Head: h, Signed: signed}
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	require.NoError(t, os.WriteFile(target, nil, 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(target, link))
	dangling := filepath.Join(dir, "dangling")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), dangling))
	for want, path := range map[string]string{"it is a link": link, "it is a link; name": dangling, "no regular file": dir} {
		place := anchors.NewFile(path)
		require.ErrorContains(t, place.Put(t.Context(), kept), want)
		_, err := place.Read(t.Context())
		require.ErrorContains(t, err, want)
	}
	require.NoFileExists(t, filepath.Join(dir, "nowhere"))
	data, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Empty(t, data)

	folder := filepath.Join(dir, "log")
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "vedette-ledger"), 0o755))
	require.NoError(t, os.Symlink(target, filepath.Join(folder, "vedette-ledger", "checkpoint")))
	_, err = anchors.NewTiles(folder).Read(t.Context())
	require.Error(t, err)
	require.Error(t, anchors.NewTiles(folder).Put(t.Context(), kept))
}
