package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/config"
)

// A proxy that few operators mean is refused, with its place and what to write.
func TestProxyMistakes(t *testing.T) {
	const up = "openai: [{url: 'https://api.openai.com/v1'}]"
	for name, c := range map[string]struct{ yaml, want string }{
		"no upstream": {"proxy: {hold: 10s}", "proxy has no upstream; write openai:"},
		"no address":  {"proxy: {openai: [{url: 'api.openai.com'}]}", "proxy.openai[0].url must be an address"},
		"key in a query": {"proxy: {anthropic: [{url: 'https://a.example/?key=1'}]}",
			"must have no user, query or fragment; write the key as api_key"},
		"unknown field": {"proxy: {" + up + ", notice: 'no: {arguments}'}", "proxy.notice can't be used"},
		"no credential": {"proxy: {openai: [{url: 'https://a.example', credential: x}]}", "credential names none that is under credentials"},
		"shared key":    {"proxy: {local: true, openai: [{url: 'https://a.example', api_key: k}]}", "they would use the key of an upstream"},
		"from elsewhere": {"server: {listen: '0.0.0.0:8420'}\nproxy: {local: true, " + up + "}",
			"server.listen is reached from other machines; remove it"},
		"behind a star": {"proxy: {" + up + ", tools: [{tool: '*', effect: read}, {tool: Bash, effect: modify}]}",
			"proxy.tools[1] matches nothing"},
		"no effect":       {"proxy: {" + up + ", tools: [{tool: Bash}]}", "proxy.tools[0].effect is missing"},
		"unknown mode":    {"proxy: {" + up + ", mode: watch}", "proxy.mode must be one of"},
		"held for a week": {"proxy: {" + up + ", hold: 168h}", "proxy.hold must be"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse("v.yaml", []byte("version: 1\n"+c.yaml+"\n"), config.Options{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Rules name a tool as a skill where proxy.tools has its very name.
func TestProxyTools(t *testing.T) {
	const text = "version: 1\nsentinel: {mode: 'off'}\njudge: {threshold: 0, ask_below: 0}\napprovals: {inbox: true}\n" +
		"permissions: [{skill: tool.b-uash, then: ask, reason: r}]\n" +
		"proxy: {openai: [{url: 'https://a.example'}], tools: [{tool: Bash, effect: modify}, {tool: 'mcp__*', effect: read}]}\n"
	cfg, err := config.Parse("v.yaml", []byte(text), config.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"tool.b-uash"}, cfg.Proxy.NamedTools())
	require.True(t, cfg.Proxy.Tools[1].Matches("mcp__git__push"))
	require.False(t, cfg.Proxy.Tools[1].Matches("xmcp__git"))
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{{"a*b*c", "a1b2c", true}, {"a*b*c", "abc", true}, {"a*b*c", "acb", false}, {"*", "", true}, {"a*a", "a", false}, {"a", "aa", false}} {
		require.Equal(t, c.want, config.MatchStars(c.pattern, c.text), c.pattern+" "+c.text)
	}
}
