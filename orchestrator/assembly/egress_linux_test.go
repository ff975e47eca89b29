package assembly_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// writeFetching is a configuration with a sandboxed skill that fetches addr, and may reach
// hosts.
func writeFetching(t *testing.T, addr, hosts, extra string) string {
	t.Helper()
	file := write(t, extra)
	text := skillsYAML + "  - name: web.fetch\n    effect: read\n    run:\n      exec:\n        argv: [curl, -sS, --max-time, \"10\", \"" +
		addr + "\"]\n        env: [PATH]\n" +
		"        egress: [\"" + hosts + "\"]\n"
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "skills.yaml"), []byte(text), 0o600))
	return file
}

// What a sandboxed skill does on the network is counted in the ledger and listed in
// the journal; guard.allow_hosts says which private hosts it may reach.
func TestEgressIsOnRecord(t *testing.T) {
	for extra, want := range map[string]string{
		"guard: {allow_hosts: [wiki.example.com]}\n": `"outcome":"connected"`,
		"": `"outcome":"address_private"`,
	} {
		at, came := loopback(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("sent")) })
		addr := at("wiki.example.com")
		host := strings.TrimSuffix(strings.TrimPrefix(addr, "http://"), "/send")
		p := build(t, writeFetching(t, addr, host, extra), assembly.Options{Lookup: answers("127.0.0.1")})
		res, err := p.Checkpoint.Desk(grant(t, "fetch the page", "web.fetch")).Invoke(t.Context(), "web.fetch", json.RawMessage(`{}`))
		require.NoError(t, err)
		reached := extra != ""
		require.Equal(t, reached, res.Content == "sent", res.Content)
		require.EqualValues(t, map[bool]int{true: 1}[reached], came.Load())

		r, err := ledger.OpenReader(t.Context(), p.Config.Ledger.Path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		list, err := r.List(t.Context(), ledger.Query{})
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, reached, strings.Contains(string(list[1].Body), `"egress":{"connections":1,"refused":0,`), "%s", list[1].Body)
		require.NotContains(t, string(list[1].Body), "wiki.example.com")
		values, err := p.Journal.ByCall(t.Context(), list[0].Call)
		require.NoError(t, err)
		last := values[len(values)-1]
		require.Equal(t, "egress", last.Kind)
		require.Contains(t, string(last.Data), want)
		require.Contains(t, string(last.Data), `"host":"wiki.example.com"`)
	}
}
