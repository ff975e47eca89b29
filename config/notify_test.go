package config_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const notifyHead = "version: 1\napprovals:\n  inbox: true\n  notify:\n"

// A channel has defaults, hides its secrets, and changes no decision.
func TestNotifyChannels(t *testing.T) {
	plain, err := config.Parse("v.yaml", []byte("version: 1\napprovals: {inbox: true}\n"), config.Options{})
	require.NoError(t, err)
	c, err := config.Parse("v.yaml", []byte(notifyHead+`
    - {name: ops, slack: {url: "https://hooks.example.com/CANARY"}}
    - {name: audit, decided: true, batch: 1m, throttle: 10m, webhook: {url: "https://x.example/CANARY", secrets: "whsec_CANARY"}}
    - {name: mail, smtp: {host: mail.example.com, from: v@example.com, to: [a@example.com, b@example.com], password: "CANARY"}}
`), config.Options{})
	require.NoError(t, err)
	list := c.Approvals.Notify
	require.Len(t, list, 3)
	require.Equal(t, 5*time.Second, list[0].Batch)
	require.Equal(t, 30*time.Second, list[0].Throttle)
	require.Equal(t, "https://hooks.example.com/CANARY", list[0].Slack.URL.Reveal())
	require.Equal(t, "whsec_CANARY", list[1].Webhook.Secrets[0].Reveal())
	require.Equal(t, []string{"a@example.com", "b@example.com"}, list[2].SMTP.To)
	require.NotContains(t, printAll(list), "CANARY")
	require.Equal(t, plain.Digest(), c.Digest())
}

// Each mistake of a channel has its place.
func TestNotifyMistakes(t *testing.T) {
	const place = "slack: {url: 'https://a.b'}}\n"
	for text, want := range map[string]string{
		"{name: ops}\n":                         "v.yaml:5:7: approvals.notify[0] has 0 places to send to and needs one",
		"{name: ops, teams: {url: x}, " + place: "has 2 places to send to",
		"{name: ops, slak: {url: x}}\n":         `unknown key "slak"; did you mean "slack"?`,
		"{name: ops, slack: {}}\n":              "url",
		"{name: a, " + place + "    - {name: a, " + place: `v.yaml:6:14: approvals.notify[1]: another channel has the name "a" ` +
			`already, at v.yaml:5:7`,
		"{name: a, skills: [email.sned], " + place:                     "email.sned",
		"{name: a, batch: 0s, " + place:                                "batch",
		"{name: a, smtp: {host: h, from: f@x, to: [t@x], tls: ssl}}\n": "starttls",
		"{name: a, webhook: {url: 'https://a.b'}}\n":                   "secrets",
	} {
		_, err := config.Parse("v.yaml", []byte(notifyHead+"    - "+text), config.Options{})
		require.ErrorContains(t, err, want, text)
	}
	_, err := config.Parse("v.yaml", []byte("version: 1\napprovals:\n  notify:\n    - {name: ops, "+place), config.Options{})
	require.ErrorContains(t, err, "v.yaml:4:5: approvals.notify is for the inbox and for alerts; add inbox: true beside it")
}

func printAll(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%v %+v %#v %s", v, v, v, raw)
}
