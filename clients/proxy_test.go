package clients_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testprovider"
)

// proxied is what the server runs with before a provider. The rules and the model that reviews calls go by the commands
// of internal/testprovider.
const proxied = `
version: 1
models: {judge: {model: x, base_url: "%%s"}}
roles: {sentinel: judge}
sentinel: {mode: enforce, canaries: {every: 0s}}
judge: {threshold: 0, ask_below: 0}
server: {listen: "127.0.0.1:%%d"}
approvals: {inbox: true, timeout: 1h}
limits: {agent: {calls: 10000}, turn: {calls: 10000}, conversation: {calls: 10000, window: 5m}}
permissions:
  - {skill: tool.run, when: "args.command.startsWith('forbidden')", then: deny, reason: "that command is forbidden"}
  - {skill: tool.run, when: "args.command.startsWith('careful')", then: ask, reason: "that command needs a person"}
proxy:
  on_block: %[2]s
  hold: 5m
  keep_alive: 1s
  openai: [{url: "%[1]s/v1", api_key: none}]
  anthropic: [{url: "%[1]s", api_key: none}]
  tools:
    - {tool: run, effect: modify, reaches: self, arguments: {command: content}}
`

// judging is a model that approves all, and one command slowly.
const judging = `
rules:
  - when: {user_contains: "slow one"}
    reply: {delay: 2500ms, content: '{"decision":"approve","reason":"fits"}'}
  - when: {}
    reply: {content: '{"decision":"approve","reason":"fits"}'}
`

var update = flag.Bool("update", false, "write the tables of clients in docs/streaming.md again")

// proxyClient is a package of a registry, with one format.
type proxyClient struct {
	column, heading, name string
	command               func(*rig) []string
}

var proxyClients = []proxyClient{
	{"npm openai", chatHeading, "openai-chat", inNode("proxy.js")},
	{"npm ai, @ai-sdk/openai", chatHeading, "ai-chat", inNode("proxy.js")},
	{"PyPI openai", chatHeading, "openai-chat", inPython("proxy.py")},
	{"npm openai", responsesHeading, "openai-responses", inNode("proxy.js")},
	{"npm ai, @ai-sdk/openai", responsesHeading, "ai-responses", inNode("proxy.js")},
	{"PyPI openai", responsesHeading, "openai-responses", inPython("proxy.py")},
	{"npm @anthropic-ai/sdk", messagesHeading, "anthropic", inNode("proxy.js")},
	{"npm ai, @ai-sdk/anthropic", messagesHeading, "ai-anthropic", inNode("proxy.js")},
	{"PyPI anthropic", messagesHeading, "anthropic", inPython("proxy.py")},
}

const (
	chatHeading      = "### Clients of chat completions"
	responsesHeading = "### Clients of responses"
	messagesHeading  = "### Clients of messages"
)

// Each client ends up with what it would without the proxy, less what was blocked: streamed and whole, in each scenario of
// the provider. docs/streaming.md shows it.
func TestProxy(t *testing.T) {
	provider := startProvider(t)
	r := newRigOf(t, fmt.Sprintf(proxied, provider, "terminate"), judging)
	r.build()
	on := newRigOf(t, fmt.Sprintf(proxied, provider, "continue"), judging)
	on.built = r.built
	var all, blocked []string
	for _, s := range testprovider.Scenarios() {
		all = append(all, s.Name)
		if strings.HasPrefix(s.Name, "block_") {
			blocked = append(blocked, s.Name)
		}
	}
	for _, c := range proxyClients {
		t.Run(nameConversation(c.column+" "+c.name), func(t *testing.T) {
			direct := testprovider.MakeEndings(r.runProxied(t, c, provider, all))
			got := r.runProxied(t, c, r.url, all)
			require.Len(t, got, 2*len(all)+1, "each twice, and one again after the yes")
			for _, e := range got {
				require.Equal(t, direct.Expect(e.Scenario, e.Streamed, false).Plain(), e.Plain())
			}
			goesOn := on.runProxied(t, c, on.url, blocked)
			require.Len(t, goesOn, 2*len(blocked))
			for _, e := range goesOn {
				require.Equal(t, direct.Expect(e.Scenario, e.Streamed, true).Plain(), e.Plain())
			}
			page := testprovider.Table{Page: filepath.Join("..", "docs", "streaming.md"), Heading: c.heading}
			require.NoError(t, page.Compare(c.column, testprovider.MakeEndings(got), *update))
		})
	}
}

// startProvider serves the scripted provider over the loopback.
func startProvider(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(testprovider.ServeHTTP), ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + ln.Addr().String()
}

// runProxied runs a client's program against an address, and says yes to each question meanwhile.
func (r *rig) runProxied(t *testing.T, c proxyClient, url string, scenarios []string) (out []testprovider.Ending) {
	t.Helper()
	args := append(c.command(r), c.name)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "VEDETTE_URL="+url, "VEDETTE_TOKEN="+r.token, "CONVERSATION="+nameConversation(t.Name()),
		"SCENARIOS="+strings.Join(scenarios, ","), "PYTHONDONTWRITEBYTECODE=1")
	var text, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &errs
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for ticker := time.NewTicker(time.Second); ; {
		select {
		case err := <-ended:
			ticker.Stop()
			require.NoError(t, err, errs.String())
			for line := range strings.Lines(text.String()) {
				var e testprovider.Ending
				require.NoError(t, json.Unmarshal([]byte(line), &e), line)
				out = append(out, e)
			}
			return out
		case <-ticker.C:
			r.approvePending(t)
		}
	}
}

// nameConversation makes a name that a conversation may have of a text.
func nameConversation(text string) string {
	return regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(text, "-")
}

// approvePending says yes to the questions that are pending.
func (r *rig) approvePending(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(r.vedette("approvals", "list", "--json")) {
		var a approval
		require.NoError(t, json.Unmarshal([]byte(line), &a), line)
		r.vedette("approvals", "approve", a.ID, "--digest", a.Digest)
	}
}
