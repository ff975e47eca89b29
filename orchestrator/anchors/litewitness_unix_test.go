//go:build unix

package anchors_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"database/sql"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/torchwood"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/tlog"
	_ "modernc.org/sqlite"

	"github.com/vedette-dev/vedette/orchestrator/anchors"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// litewitnessEnv names the program litewitness: a witness of C2SP's tlog-witness that others wrote
// (filippo.io/torchwood/cmd/litewitness). See the script test.
const litewitnessEnv = "VEDETTE_TEST_LITEWITNESS"

// tellLitewitness writes into the witness' database which ledger it may cosign, and the ledger's key.
func tellLitewitness(t *testing.T, path, ledgerKey string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `
		CREATE TABLE log (origin TEXT PRIMARY KEY, tree_size INTEGER NOT NULL, tree_hash TEXT NOT NULL);
		CREATE TABLE key (origin TEXT NOT NULL, key TEXT NOT NULL, FOREIGN KEY(origin) REFERENCES log(origin));
		INSERT INTO log VALUES (?1, 0, ?2);
		INSERT INTO key VALUES (?1, ?3)`, "vedette/ledger", tlog.Hash(sha256.Sum256(nil)).String(), ledgerKey)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// startLitewitness starts the witness with a key, and tells it of a ledger.
func startLitewitness(t *testing.T, program string, key ed25519.PrivateKey, ledgerKey string) (url string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lw") //nolint:usetesting // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	ring := agent.NewKeyring()
	require.NoError(t, ring.Add(agent.AddedKey{PrivateKey: &key}))
	socket := filepath.Join(dir, "agent.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = agent.ServeAgent(ring, c) // until the witness has gone
				_ = c.Close()
			}()
		}
	}()
	db := filepath.Join(dir, "w.db")
	tellLitewitness(t, db, ledgerKey)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())
	public, err := ssh.NewPublicKey(key.Public())
	require.NoError(t, err)
	cmd := exec.Command(program, "-db", db, "-name", witnessName, "-key", ssh.FingerprintSHA256(public),
		"-ssh-agent", socket, "-listen", addr)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Log(out.String())
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 4*time.Minute, 20*time.Millisecond)
	return "http://" + addr
}

// A witness that others wrote cosigns the ledger's heads as they grow, and its cosignatures verify; an older copy and
// a fork it doesn't cosign.
func TestWitnessOfOthers(t *testing.T) {
	program := os.Getenv(litewitnessEnv)
	if program == "" {
		t.Skip("no witness: " + litewitnessEnv + " names none")
	}
	defer http.DefaultClient.CloseIdleConnections()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	cosigner, err := torchwood.NewCosignatureSigner(witnessName, key)
	require.NoError(t, err)
	vkey := cosigner.Verifier().String()
	b := newBook(t)
	url := startLitewitness(t, program, key, b.signer.PublicKey())
	file := filepath.Join(t.TempDir(), "cosigned.txt")
	send := func() error {
		place, err := anchors.NewWitness(anchors.Witness{URL: url, Key: vkey, File: file})
		require.NoError(t, err)
		return b.set(io.Discard, anchors.Anchor{Name: "w", Place: place}).Couriers()[0].Send(t.Context())
	}
	b.add(3)
	require.NoError(t, send())
	require.NoError(t, send(), "the same head once more")
	old := b.backup()
	b.add(40)
	require.NoError(t, send())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	w, err := ledger.ParseWitness(vkey)
	require.NoError(t, err)
	report, err := ledger.Verify(t.Context(), b.path, ledger.VerifyOptions{
		PublicKey: b.signer.PublicKey(), Heads: ledger.SplitHeads(text), Witnesses: []*ledger.Witness{w},
	})
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, []int{report.External, report.Cosigned})
	b.restore(old)
	require.ErrorContains(t, send(), "has seen 43 records of this ledger, and it has 3")
	b.add(60)
	require.ErrorContains(t, send(), "forked")
}
