package config_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const anchorsHead = "version: 1\nledger:\n  anchors:\n"

// An anchor has defaults, hides its secrets, is guarded, and changes no decision.
func TestLedgerAnchors(t *testing.T) {
	plain, err := config.Parse("v.yaml", []byte("version: 1\n"), config.Options{})
	require.NoError(t, err)
	c, err := config.Parse("v.yaml", []byte(anchorsHead+`
    - {name: disk, file: {path: /mnt/elsewhere/heads.txt}}
    - name: audit
      every: 10s
      required: true
      http: {url: "https://a.example/CANARY", read_url: "https://a.example/CANARY", token: CANARY}
    - {name: w1, witness: {url: "https://w.example", key: "w+1+AA", file: cosigned.txt}}
    - {name: log, tiles: {path: log}}
    - name: bucket
      s3: {endpoint: "https://s3.example", region: r, bucket: heads, prefix: v/, access_key: CANARY, secret_key: CANARY, retain: 8760h}
`), config.Options{})
	require.NoError(t, err)
	list := c.Ledger.Anchors
	require.Equal(t, []time.Duration{time.Minute, 10 * time.Second}, []time.Duration{list[0].Every, list[1].Every})
	require.True(t, list[1].Required)
	require.Equal(t, "https://a.example/CANARY", list[1].HTTP.URL.Reveal())
	require.Equal(t, 8760*time.Hour, list[4].S3.Retain)
	require.Len(t, c.Ledger.AnchorFiles(), 3)
	for _, file := range c.Ledger.AnchorFiles() {
		require.True(t, filepath.IsAbs(file), file)
	}
	require.NotContains(t, printAll(list), "CANARY")
	require.Equal(t, plain.Digest(), c.Digest())
}

// Each mistake of an anchor has its place, and no root may hold an anchor's file.
func TestAnchorMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"{name: disk}\n": "v.yaml:4:7: ledger.anchors[0] has 0 places for heads and needs one",
		"{name: disk, file: {path: /x}, http: {url: 'https://a.b'}}\n":     "has 2 places for heads",
		"{name: disk, fil: {path: /x}}\n":                                  `unknown key "fil"; did you mean "file"?`,
		"{name: disk, file: {}}\n":                                         "path",
		"{name: a, file: {path: /x}}\n    - {name: a, file: {path: /y}}\n": `another anchor has the name "a"`,
		"{name: a, every: 0s, file: {path: /x}}\n":                         "every",
		"{name: a, s3: {endpoint: 'https://a.b', region: r, bucket: b, access_key: a, secret_key: b, retain: 1h}}\n": "retain",
		"{name: a, s3: {endpoint: 'https://a.b'}}\n":                                                                 "secret_key",
		"{name: a, tiles: {path: /srv/work/log}}\nguard: {roots: [/srv/work]}\n":                                     "the ledger's anchor",
		"{name: a, witness: {url: 'https://a.b'}}\n":                                                                 "key",
		"{name: a, file: {path: /srv/work/heads.txt}}\nguard: {roots: [/srv/work]}\n":                                "the ledger's anchor",
	} {
		_, err := config.Parse("v.yaml", []byte(anchorsHead+"    - "+text), config.Options{})
		require.ErrorContains(t, err, want, text)
	}
}
