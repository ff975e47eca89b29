package anchors_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a ledger on a real database.
type book struct {
	*ledger.Ledger
	t      *testing.T
	path   string
	signer *ledger.Signer
	st     *store.Store
	n      int
}

func newBook(t *testing.T) *book {
	t.Helper()
	skey, _, err := note.GenerateKey(rand.Reader, "vedette/ledger")
	require.NoError(t, err)
	s, err := ledger.NewSigner(skey)
	require.NoError(t, err)
	b := &book{t: t, path: filepath.Join(t.TempDir(), "v.db"), signer: s}
	b.open()
	t.Cleanup(func() { require.NoError(t, b.st.Close()) })
	return b
}

func (b *book) open() {
	b.t.Helper()
	var err error
	b.st, err = store.Open(b.t.Context(), store.Options{Path: b.path})
	require.NoError(b.t, err)
	b.Ledger, err = ledger.Open(b.t.Context(), b.st, b.signer, ledger.Options{})
	require.NoError(b.t, err)
}

// add appends n records.
func (b *book) add(n int) {
	b.t.Helper()
	for range n {
		b.n++
		require.NoError(b.t, b.st.Submit(b.t.Context(), func(tx *store.Tx) error {
			_, err := b.AppendTx(tx, ledger.Entry{ID: fmt.Sprintf("rec-%d", b.n), Time: time.Now(), Kind: "decision"})
			return err
		}))
	}
}

// backup returns the database as it is; restore puts it back.
func (b *book) backup() []byte {
	b.t.Helper()
	require.NoError(b.t, b.st.Close())
	data, err := os.ReadFile(b.path)
	require.NoError(b.t, err)
	b.open()
	return data
}

func (b *book) restore(data []byte) {
	b.t.Helper()
	require.NoError(b.t, b.st.Close())
	require.NoError(b.t, os.WriteFile(b.path, data, 0o600))
	b.open()
}

// set returns anchors of the ledger as it is open now.
func (b *book) set(log io.Writer, list ...anchors.Anchor) *anchors.Set {
	return anchors.New(anchors.Options{Ledger: b, Log: slog.New(slog.NewTextHandler(log, nil))}, list...)
}

// keeper is a server that keeps heads, and fails when it is told to.
type keeper struct {
	*httptest.Server
	mu    sync.Mutex
	heads []byte
	code  int
	auth  string
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	k := &keeper{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.auth = r.Header.Get("Authorization")
		switch {
		case k.code != 0:
			w.WriteHeader(k.code)
		case r.Method == http.MethodGet && k.heads == nil:
			w.WriteHeader(http.StatusNotFound)
		case r.Method == http.MethodGet:
			_, _ = w.Write(k.heads)
		default:
			k.heads, _ = io.ReadAll(r.Body)
		}
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *keeper) fail(code int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.code = code
}

// Places that keep heads: each refuses a start with an older copy, and lets a restored backup go on once that is on
// record.
func TestOlderCopyIsRefused(t *testing.T) {
	k := newKeeper(t)
	server, err := anchors.NewHTTP(anchors.HTTP{URL: k.URL, ReadURL: k.URL, Token: "CANARY"})
	require.NoError(t, err)
	for name, place := range map[string]anchors.Place{
		"file": anchors.NewFile(filepath.Join(t.TempDir(), "heads.txt")), "http": server,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(t)
			anchor := anchors.Anchor{Name: "elsewhere", Place: place, Required: true}
			set := b.set(io.Discard, anchor)
			require.NoError(t, set.Compare(t.Context()), "an empty ledger has nothing to be compared with")
			require.NoError(t, set.Couriers()[0].Send(t.Context()))
			b.add(3)
			require.ErrorContains(t, set.Compare(t.Context()), "vedette ledger anchor", "required, and no head yet")
			require.EqualValues(t, 3, set.Status()[0].Behind)
			set.Finish(t.Context())
			require.Equal(t, []int64{3, 0}, []int64{set.Status()[0].Kept, set.Status()[0].Behind})
			old := b.backup()
			b.add(2)
			set = b.set(io.Discard, anchor)
			require.NoError(t, set.Compare(t.Context()))
			require.EqualValues(t, 3, set.Status()[0].Kept, "what was sent before the start is known")
			set.Finish(t.Context())

			b.restore(old)
			set = b.set(io.Discard, anchor)
			err := set.Compare(t.Context())
			require.ErrorAs(t, err, new(*anchors.RefusedError))
			for _, word := range []string{"elsewhere", "behind its anchor", "3 records", "of 5", "verify --head FILE", "accept-restored"} {
				require.ErrorContains(t, err, word)
			}
			heads, err := set.Read(t.Context())
			require.NoError(t, err)
			_, err = b.AcceptRestored(t.Context(), heads, "ann")
			require.NoError(t, err)
			require.NoError(t, set.Compare(t.Context()))
			b.add(4)
			set.Finish(t.Context())
			require.EqualValues(t, 8, set.Status()[0].Kept)
		})
	}
	require.Equal(t, "Bearer CANARY", k.auth)
}

// A place that fails holds nothing up: it is tried again, the log has the begin and the end, and no address.
func TestPlaceThatFails(t *testing.T) {
	b, k := newBook(t), newKeeper(t)
	place, err := anchors.NewHTTP(anchors.HTTP{URL: k.URL + "/CANARY", ReadURL: k.URL + "/CANARY"})
	require.NoError(t, err)
	var log bytes.Buffer
	set := b.set(&log, anchors.Anchor{Name: "elsewhere", Place: place})
	b.add(1)
	k.fail(http.StatusInternalServerError)
	c := set.Couriers()[0]
	require.Error(t, c.Send(t.Context()))
	require.Error(t, c.Send(t.Context()))
	require.NoError(t, set.Compare(t.Context()), "it isn't required")
	s := set.Status()[0]
	require.Equal(t, []any{2, int64(1), "the server answered 500"}, []any{s.Failures, s.Behind, s.Problem})
	k.fail(0)
	require.NoError(t, c.Send(t.Context()))
	require.Zero(t, set.Status()[0].Failures)
	k.Close()
	b.add(1)
	require.Error(t, c.Send(t.Context()))
	require.Equal(t, 2, strings.Count(log.String(), "takes no heads"))
	require.Contains(t, log.String(), "takes heads again")
	require.Contains(t, log.String(), "could not be compared")
	require.NotContains(t, log.String(), "CANARY")
	require.NotContains(t, set.Status()[0].Problem, "CANARY")

	missing := b.set(io.Discard, anchors.Anchor{Name: "disk", Place: anchors.NewFile(t.TempDir()), Required: true})
	require.ErrorContains(t, missing.Compare(t.Context()), "no regular file")
	require.Error(t, missing.Couriers()[0].Send(t.Context()))
}

// Run sends by itself and ends with its context.
func TestRunSends(t *testing.T) {
	b := newBook(t)
	b.add(2)
	path := filepath.Join(t.TempDir(), "heads.txt")
	sent := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	set := b.set(io.Discard, anchors.Anchor{Name: "disk", Place: told{anchors.NewFile(path), sent}})
	done := make(chan error, 1)
	go func() { done <- set.Couriers()[0].Run(ctx) }()
	<-sent
	stop()
	require.NoError(t, <-done)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Len(t, ledger.SplitHeads(text), 1)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// told tells when a head was put.
type told struct {
	anchors.Place
	sent chan struct{}
}

func (p told) Put(ctx context.Context, h anchors.Kept) error {
	defer close(p.sent)
	return p.Place.Put(ctx, h)
}

// Addresses without TLS are for this machine alone, and keys of witnesses are read closely.
func TestSettings(t *testing.T) {
	for _, url := range []string{"http://anchors.example.com/x", "ftp://localhost", "https://u:p@a.example", "x"} {
		_, err := anchors.NewHTTP(anchors.HTTP{URL: url})
		require.Error(t, err, url)
		_, err = anchors.NewHTTP(anchors.HTTP{URL: "https://a.example", ReadURL: url})
		require.Error(t, err, url)
		_, err = anchors.NewWitness(anchors.Witness{URL: url, Key: newWitness(t).vkey()})
		require.Error(t, err, url)
	}
	_, err := anchors.NewWitness(anchors.Witness{URL: "https://w.example", Key: "w+00000000+AAAA"})
	require.ErrorContains(t, err, "name+hash+base64")
}

// witness is a witness as C2SP's tlog-witness and tlog-cosignature describe one, of a single log.
type witness struct {
	*httptest.Server
	key  ed25519.PrivateKey
	log  note.Verifier
	size int64
	root tlog.Hash
}

const witnessName = "witness.example/w1"

func newWitness(t *testing.T) *witness {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	w := &witness{key: key}
	w.Server = httptest.NewServer(http.HandlerFunc(w.addCheckpoint))
	t.Cleanup(w.Close)
	return w
}

func (w *witness) hash() []byte {
	sum := sha256.Sum256(append([]byte(witnessName+"\n\x04"), w.key.Public().(ed25519.PublicKey)...))
	return sum[:4]
}

func (w *witness) vkey() string {
	return fmt.Sprintf("%s+%x+%s", witnessName, w.hash(),
		base64.StdEncoding.EncodeToString(append([]byte{4}, w.key.Public().(ed25519.PublicKey)...)))
}

func (w *witness) addCheckpoint(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	head, signed, _ := strings.Cut(string(body), "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if r.URL.Path != "/add-checkpoint" || err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	if w.log == nil {
		rw.WriteHeader(http.StatusNotFound)
		return
	}
	n, err := note.Open([]byte(signed), note.VerifierList(w.log))
	if err != nil {
		rw.WriteHeader(http.StatusForbidden)
		return
	}
	text := strings.Split(n.Text, "\n")
	size, _ := strconv.ParseInt(text[1], 10, 64)
	root, _ := tlog.ParseHash(text[2])
	if old != w.size || old == size && old > 0 && root != w.root {
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(rw, "%d\n", w.size)
		return
	}
	var proof tlog.TreeProof
	for _, l := range lines[1:] {
		h, _ := tlog.ParseHash(l)
		proof = append(proof, h)
	}
	if old > 0 && old < size && tlog.CheckTree(proof, size, root, old, w.root) != nil {
		rw.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	w.size, w.root = size, root
	sig := ed25519.Sign(w.key, []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", 1_780_000_000, n.Text)))
	blob := append(binary.BigEndian.AppendUint64(w.hash(), 1_780_000_000), sig...)
	_, _ = io.WriteString(rw, "\u2014 "+witnessName+" "+base64.StdEncoding.EncodeToString(blob)+"\n")
}

// A witness cosigns what grows, whatever it saw before this process began, and neither an older copy nor a fork.
func TestWitnessCosigns(t *testing.T) {
	b, w := newBook(t), newWitness(t)
	file := filepath.Join(t.TempDir(), "cosigned.txt")
	send := func() error {
		place, err := anchors.NewWitness(anchors.Witness{URL: w.URL + "/", Key: w.vkey(), File: file})
		require.NoError(t, err)
		return b.set(io.Discard, anchors.Anchor{Name: "w1", Place: place}).Couriers()[0].Send(t.Context())
	}
	b.add(3)
	require.ErrorContains(t, send(), `must add this ledger's origin "vedette/ledger"`)
	var err error
	w.log, err = note.NewVerifier(b.signer.PublicKey())
	require.NoError(t, err)
	require.NoError(t, send())
	require.NoError(t, send(), "the same head once more")
	old := b.backup()
	b.add(4)
	require.NoError(t, send())
	require.EqualValues(t, 7, w.size)

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	key, err := ledger.ParseWitness(w.vkey())
	require.NoError(t, err)
	report, err := ledger.Verify(t.Context(), b.path, ledger.VerifyOptions{
		PublicKey: b.signer.PublicKey(), Heads: ledger.SplitHeads(text), Witnesses: []*ledger.Witness{key},
	})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, []int{report.External, report.Cosigned})

	b.restore(old)
	require.ErrorContains(t, send(), "has seen 7 records of this ledger, and it has 3")
	b.add(9)
	require.ErrorContains(t, send(), "forked")
	place, err := anchors.NewWitness(anchors.Witness{URL: w.URL, Key: w.vkey(), File: file})
	require.NoError(t, err)
	require.ErrorContains(t, b.set(io.Discard, anchors.Anchor{Name: "w1", Place: place}).Compare(t.Context()), "contradicts its anchor")
}
