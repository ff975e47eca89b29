package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

func TestMain(m *testing.M) {
	exec.MaybeChild()
	goleak.VerifyTestMain(m)
}

// write puts a configuration into a folder of its own.
func write(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "work"), 0o700))
	file := filepath.Join(dir, "vedette.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nguard: {roots: [./work]}\nledger: {path: ./v.db}\n"+more), 0o600))
	return file
}

// found is what an examination says under a check, "status message".
func found(r Report, check string) (out []string) {
	for _, f := range r.Findings {
		if f.Check == check {
			out = append(out, string(f.Status)+" "+f.Message)
		}
	}
	return out
}

const off = "sentinel: {mode: \"off\"}\n"

// A Redis server is asked what can lose counts, and one that can't be asked is a
// problem. No finding holds its password.
func TestRedis(t *testing.T) {
	examine := func(url string) Report {
		return Examine(t.Context(), write(t, off+fmt.Sprintf("limits: {store: {driver: redis, url: %q}}\n", url)), Options{})
	}
	good := redistest.Start(t, "--appendonly", "yes", "--maxmemory-policy", "noeviction")
	r := examine(good.URL())
	require.True(t, r.OK, r)
	require.Regexp(t, `^ok Redis \d+\.\d+`, found(r, "limits")[0])
	require.Equal(t, []string{"ok the server agrees within 2s"}, found(r, "limits clock"))
	require.Equal(t, []string{"ok maxmemory-policy is noeviction"}, found(r, "limits eviction"))
	require.Equal(t, []string{"ok an append-only file is kept"}, found(r, "limits persistence"))

	bad := redistest.Start(t, "--maxmemory-policy", "allkeys-lru", "--appendonly", "no", "--requirepass", "hush-hush")
	r = examine("redis://:hush-hush@" + bad.Address())
	require.False(t, r.OK)
	require.Equal(t, []string{"problem maxmemory-policy is allkeys-lru: a count that is evicted is a limit that is lifted"},
		found(r, "limits eviction"))
	require.Equal(t, []string{"warning no append-only file is kept: a restart of the server begins every budget at zero"},
		found(r, "limits persistence"))
	require.NotContains(t, fmt.Sprint(r), "hush-hush")

	r = examine("redis://:wrong@" + bad.Address())
	require.False(t, r.OK)
	require.Regexp(t, `^problem the server of limits.store refuses: `, found(r, "limits")[0])
	require.NotContains(t, fmt.Sprint(r), "wrong@")

	bad.Kill()
	r = examine(bad.URL())
	require.Regexp(t, `^problem the server of limits.store can't be reached`, found(r, "limits")[0])
	file := write(t, off+fmt.Sprintf("limits: {store: {driver: redis, url: %q}}\n", bad.URL()))
	require.True(t, Examine(t.Context(), file, Options{Offline: true}).OK)
}

// Clocks that are far apart are a warning, within what whole seconds tell.
func TestClock(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	for name, c := range map[string]struct {
		date string
		want string
	}{
		"none":    {"", "ok m tells no time to compare with"},
		"garbage": {"yesterday", "ok m tells no time to compare with"},
		"same":    {now.UTC().Format(http.TimeFormat), "ok m agrees within 2s"},
		"ahead":   {now.Add(time.Hour).UTC().Format(http.TimeFormat), "warning m is 1h0m0s ahead of this machine"},
		"behind":  {now.Add(-time.Hour).UTC().Format(http.TimeFormat), "warning m is 59m59s behind this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			w.compareClock(c.date, now, now)
			e := &modelExam{exam: exam{began: now}}
			e.checkClock("m", w)
			got := string(e.findings[0].Status) + " " + e.findings[0].Message
			require.Equal(t, c.want, got)
		})
	}
}

// A certificate is named for what is wrong with it.
func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	url := s.URL + "/v1"
	r := Examine(t.Context(), write(t, fmt.Sprintf("models: {m: {model: m, base_url: %q}}\nroles: {sentinel: m}\n", url)), Options{})
	require.Equal(t, []string{"problem this machine trusts no authority that signed its certificate (TLS)"}, found(r, "model m"))
	for want, cause := range map[string]error{
		"its certificate is another host's (TLS)": &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{},
			Host: "h"}},
		"its certificate is not valid (TLS)": &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}},
	} {
		message, advice := (&wire{cause: cause}).explainBroken()
		require.Equal(t, want, message)
		require.NotEmpty(t, advice)
	}
}

// Pauses are read from the database where no process runs, and asking for them
// writes nothing.
func TestPauses(t *testing.T) {
	file := write(t, off)
	cfg, err := config.Load(file, config.Options{})
	require.NoError(t, err)
	st, err := store.Open(t.Context(), store.Options{Path: cfg.Ledger.Path})
	require.NoError(t, err)
	r, err := store.OpenReader(t.Context(), cfg.Ledger.Path)
	require.NoError(t, err)
	list, err := pause.Stored(t.Context(), r)
	require.NoError(t, err)
	require.Empty(t, list, "a database that never had a pause")
	require.NoError(t, r.Close())
	require.NoError(t, st.Migrate(t.Context(), "pause", []string{
		`CREATE TABLE pause_targets (scope TEXT NOT NULL, name TEXT NOT NULL, by TEXT NOT NULL, since INTEGER NOT NULL) STRICT;
		INSERT INTO pause_targets VALUES ('user', 'ann', 'uid:1', 1700000000000), ('all', '', 'uid:1', 1700000001000)`,
	}))
	require.NoError(t, st.Close())
	got := Examine(t.Context(), file, Options{})
	require.Equal(t, []string{"warning paused: user ann, since 2023-11-14T22:13:20Z", "warning paused: all, since 2023-11-14T22:13:21Z"},
		found(got, "pauses"))
	_, err = os.Stat(cfg.Keys.Dir)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Who looks changes nothing: a folder without a database has none afterwards.
func TestLooksAlone(t *testing.T) {
	file := write(t, off)
	require.True(t, Examine(t.Context(), file, Options{}).OK)
	list, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, list, 2)
}
