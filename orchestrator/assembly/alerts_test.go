package assembly_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

// A channel of the configuration is told of a rate of denials, without an inbox and without values. While it takes
// no message, decisions go on.
func TestAlertsOfTheConfiguration(t *testing.T) {
	got, taken := make(chan string, 10), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got <- string(raw)
		<-taken
	}))
	defer hook.Close()
	b := openBureau(t, "permissions: [{skill: \"paper.send\", then: deny}]\n"+
		"alerts: [{name: many, watch: denials, count: 1}]\n"+
		"approvals: {notify: [{name: ops, batch: 1s, throttle: 1s, "+
		"webhook: {url: \""+hook.URL+"\", secrets: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}}]}\n")
	deny := func() {
		t.Helper()
		var refused *skills.Refusal
		_, err := b.Checkpoint.Desk(b.grant()).Invoke(t.Context(), "paper.send", json.RawMessage(`{"to":"bob@CANARY.test"}`))
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "deny", refused.Kind)
	}
	deny()
	message := awaitMessage(b, got)
	require.Contains(t, message, `"rule":"many","watch":"denials"`)
	require.NotContains(t, message, "CANARY")
	deny() // while the channel hangs
	close(taken)
}

// A mistake in an alert's query has its place in the file.
func TestAlertsMistakes(t *testing.T) {
	cfg, err := config.Parse("v.yaml", []byte("version: 1\nmodels: {m: {model: x, base_url: 'http://127.0.0.1:9'}}\n"+
		"roles: {orchestrator: m, agent: m, sentinel: m}\n"+
		"approvals: {notify: [{name: a, slack: {url: 'https://hooks.example.com'}}]}\n"+
		"alerts:\n  - {name: many, watch: denials, query: 'usr:ann'}\n"), config.Options{})
	require.NoError(t, err)
	require.ErrorContains(t, assembly.Check(cfg), `v.yaml:6:41: alerts[0].query: query, character 1: unknown key "usr"; did you mean "user"?`)
}
