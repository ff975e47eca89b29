package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

const alertsHead = "version: 1\napprovals: {notify: [{name: ops, slack: {url: 'https://a.b'}}]}\nalerts:\n"

// An alert has defaults, needs no inbox, and changes no decision.
func TestAlerts(t *testing.T) {
	plain, err := config.Parse("v.yaml", []byte("version: 1\n"), config.Options{})
	require.NoError(t, err)
	c, err := config.Parse("v.yaml", []byte(alertsHead+
		"  - {name: many, watch: denials, count: 20, share: 0.25, window: 1h, query: 'skill:mail.*', throttle: 2h, channels: [ops]}\n"+
		"  - {name: proof, watch: verify, every: 6h}\n"), config.Options{})
	require.NoError(t, err)
	require.Equal(t, []config.Alert{
		{Name: "many", Watch: "denials", Count: 20, Share: 25, Window: time.Hour, Query: "skill:mail.*", Every: 24 * time.Hour,
			Throttle: 2 * time.Hour, Channels: []string{"ops"}},
		{Name: "proof", Watch: "verify", Count: 10, Window: 10 * time.Minute, Every: 6 * time.Hour, Throttle: time.Hour},
	}, c.Alerts)
	require.Equal(t, plain.Digest(), c.Digest())
}

// Each mistake of an alert has its place.
func TestAlertMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"{watch: denials}":                                       "name",
		"{name: a}":                                              "watch",
		"{name: a, watch: denial}":                               `did you mean "denials"?`,
		"{name: a, watch: denials, share: 2}":                    "share",
		"{name: a, watch: denials, window: 1s}":                  "window",
		"{name: a, watch: verify, count: 3}":                     "v.yaml:4:37: alerts[0].count does nothing with watch: verify; remove it",
		"{name: a, watch: canaries, query: x}":                   "alerts[0].query does nothing with watch: canaries",
		"{name: a, watch: verify, channels: [opps]}":             `alerts[0]: approvals.notify has no channel "opps"; did you mean "ops"?`,
		"{name: a, watch: verify, chanels: [ops]}":               `did you mean "channels"?`,
		"{name: a, watch: verify}\n  - {name: a, watch: verify}": `v.yaml:5:12: alerts[1]: another alert has the name "a" already, at v.yaml:4:5`,
	} {
		_, err := config.Parse("v.yaml", []byte(alertsHead+"  - "+text+"\n"), config.Options{})
		require.ErrorContains(t, err, want, text)
	}
	_, err := config.Parse("v.yaml", []byte("version: 1\nalerts:\n  - {name: a, watch: verify}\n"), config.Options{})
	require.ErrorContains(t, err, "v.yaml:3:3: alerts has no channel to tell; add one under approvals.notify")
}
