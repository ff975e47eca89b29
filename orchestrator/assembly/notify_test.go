package assembly_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/orchestrator/notify"
)

// A call that waits for a person reaches the channel of the configuration, without its values.
func TestChannelsOfTheConfiguration(t *testing.T) {
	got := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got <- string(raw)
	}))
	defer hook.Close()
	b := openBureau(t, bureauAsks+"approvals: {inbox: true, timeout: 1h, notify: [{name: ops, batch: 1s, throttle: 1s, "+
		"webhook: {url: \""+hook.URL+"\", secrets: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}}]}\n")
	item := b.hold()
	require.Equal(t, []string{"ops"}, channelNames(b.Channels()))
	message := awaitMessage(b, got)
	require.Contains(t, message, item.ID)
	require.Contains(t, message, `"skill":"paper.send"`)
	require.NotContains(t, message, "CANARY")
}

// awaitMessage lets the bureau's time pass until a message comes.
func awaitMessage(b *bureau, got <-chan string) (m string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		select {
		case m = <-got:
			return true
		default:
			b.clock.move(time.Second)
			return false
		}
	}, 4*time.Minute, 50*time.Millisecond)
	return m
}

func channelNames(list []notify.Status) []string {
	var out []string
	for _, s := range list {
		out = append(out, s.Channel)
	}
	return out
}

// Settings that the channels refuse have their place in the file, beside other mistakes.
func TestChannelsMistakes(t *testing.T) {
	cfg, err := config.Parse("v.yaml", []byte("version: 1\nmodels: {m: {model: x, base_url: 'http://127.0.0.1:9'}}\n"+
		"roles: {orchestrator: m, agent: m, sentinel: m}\n"+
		"approvals:\n  inbox: true\n  notify:\n"+
		"    - {name: a, slack: {url: 'http://hooks.example.com'}}\n"+
		"    - {name: b, smtp: {host: mail.example.com, from: v@example.com, to: o@example.com, tls: none}}\n"), config.Options{})
	require.NoError(t, err)
	err = assembly.Check(cfg)
	require.ErrorContains(t, err, "v.yaml:7:30: approvals.notify[0].slack.url: the address is not https")
	require.ErrorContains(t, err, "v.yaml:8:")
	require.ErrorContains(t, err, "must be on this machine")
}
