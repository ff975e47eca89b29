package clients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/owntest"
)

// configuration is what the server runs with. The tools of all frameworks are the same skill.
const configuration = `
version: 1
models: {m: {model: x, base_url: "%s"}}
roles: {orchestrator: m, agent: m}
sentinel: {mode: "off"}
judge: {threshold: 0, ask_below: 0}
server: {listen: "127.0.0.1:%d"}
approvals: {inbox: true, timeout: 1h}
permissions:
  - {skill: tool.send_email, when: "args.to == 'mallory@evil.example'", then: deny, reason: "strangers get no mail"}
  - {skill: tool.send_email, when: "args.to.endsWith('@partner.example')", then: ask, reason: "a partner is written to"}
  - {id: sign, skill: tool.send_email, when: "args.to == 'club@example.com'", then: modify, modify: [{set: body, to: "signed"}]}
  - {skill: tool.b-uash, when: "args.command.contains('second')", then: deny, reason: "no second file is made"}
skills:
  known:
    - name: tool.send_email
      description: Send a letter.
      effect: modify
      reaches: others
      parameters:
        type: object
        required: [to, body]
        additionalProperties: false
        properties: {to: {type: string, x-target: true}, body: {type: string}}
    - name: tool.b-uash
      description: Run a command.
      effect: modify
      reaches: self
      parameters:
        type: object
        required: [command]
        properties: {command: {type: string}, description: {type: string}}
`

// folder is where ./test -clients installed the frameworks.
func folder(t *testing.T) string {
	t.Helper()
	f := os.Getenv("VEDETTE_TEST_CLIENTS")
	if f == "" {
		t.Skip("VEDETTE_TEST_CLIENTS names no folder with the frameworks: ./test -clients installs them there")
	}
	return f
}

// rig is a server of Vedette and a model, both over the loopback.
type rig struct {
	t                           *testing.T
	dir, program, url, token    string
	model                       *scripted.Server
	python, node, claude, built string
}

func newRig(t *testing.T) *rig { return newRigOf(t, configuration, mailing) }

// newRigOf starts a server with that configuration, and a model with that script.
func newRigOf(t *testing.T, configuration, script string) *rig {
	f := folder(t)
	r := &rig{
		t: t, dir: t.TempDir(), python: filepath.Join(f, "venv", "bin", "python"), node: filepath.Join(f, "node", "node_modules", ".bin", "node"),
		claude: filepath.Join(f, "node", "node_modules", ".bin", "claude"),
	}
	r.program = filepath.Join(r.dir, "vedette")
	r.must(exec.CommandContext(t.Context(), "go", "build", "-o", r.program, "../cmd/vedette"))
	parsed, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	r.model, err = scripted.Serve(context.WithoutCancel(t.Context()), parsed, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(r.model.Close)
	r.serve(configuration)
	r.token = r.makeToken("agent", "call")
	return r
}

// makeToken makes a token of ann's for what a person wrote, with these scopes.
func (r *rig) makeToken(name string, scopes ...string) string {
	r.t.Helper()
	args := []string{"token", "create", name, "--user", "ann", "--human", "--per-minute", "1000000"}
	for _, s := range scopes {
		args = append(args, "--scope", s)
	}
	return strings.TrimSpace(r.vedette(args...))
}

// mailing is a model that sends one letter, and then says what it read. Asked as an orchestrator it says what
// it was told.
const mailing = `
rules:
  - when: {has_tool: send_email, tool_results: 0}
    reply: {tool_calls: [{name: send_email, arguments: {to: '{{ .Extract "to (\\S+)$" }}', body: "the figures"}}]}
  - when: {has_tool: send_email}
    reply: {content: "I read: {{ .LastTool }}"}
  - when: {}
    reply: {content: "You said: {{ .LastUser }}"}
`

// serve starts the server, and ends it with the test.
func (r *rig) serve(configuration string) {
	port := freePort(r.t)
	r.url = fmt.Sprintf("http://127.0.0.1:%d", port)
	require.NoError(r.t, os.WriteFile(filepath.Join(r.dir, "vedette.yaml"), fmt.Appendf(nil, configuration, r.model.BaseURL(), port), 0o600))
	cmd := exec.CommandContext(context.WithoutCancel(r.t.Context()), r.program, "serve", "--json-log")
	cmd.Dir = r.dir
	out, err := cmd.StderrPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, cmd.Start())
	listening, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "vedette listens on") {
				close(listening)
			}
		}
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		require.NoError(r.t, cmd.Wait())
	})
	select {
	case <-listening:
	case <-ended:
		require.FailNow(r.t, "the server ended before it listened")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := owntest.FreePort()
	require.NoError(t, err)
	return port
}

// must runs a command and returns what it printed.
func (r *rig) must(cmd *exec.Cmd) string {
	r.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(r.t, cmd.Run(), "%s\n%s", out.String(), errs.String())
	return out.String()
}

// vedette runs the command line beside the server.
func (r *rig) vedette(args ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), r.program, args...)
	cmd.Dir = r.dir
	return r.must(cmd)
}

// approval is what the command line says of a question.
type approval struct{ ID, Call, Digest string }

// approve waits for the one question that is pending, and says yes to it.
func (r *rig) approve() {
	r.t.Helper()
	r.answer("approve")
}

func (r *rig) answer(word string) {
	r.t.Helper()
	var a approval
	for tick := time.NewTicker(100 * time.Millisecond); a.ID == ""; {
		select {
		case <-tick.C:
		case <-r.t.Context().Done():
			require.FailNow(r.t, "no question came")
		}
		if list := r.vedette("approvals", "list", "--json"); list != "" {
			require.NoError(r.t, json.Unmarshal([]byte(list), &a), list)
		}
	}
	r.vedette("approvals", word, a.ID, "--digest", a.Digest)
}

// record is what the ledger says of a call.
type record struct{ Kind, Skill, Outcome, Call string }

// records returns the records of a kind, the newest first.
func (r *rig) records(kind string) (out []record) {
	r.t.Helper()
	for line := range strings.Lines(r.vedette("ledger", "list", "--json", "--kind", kind, "--limit", "1000")) {
		var one record
		require.NoError(r.t, json.Unmarshal([]byte(line), &one))
		out = append(out, one)
	}
	return out
}

// agent is a program of a framework.
type agent struct {
	name    string
	command func(*rig) []string
	env     []string
	keeps   bool // it can't run changed arguments
	// interrupts says that its run ends with a call that waits for a person, and goes on at a line.
	interrupts bool
}

// run is one run of an agent's program.
type run struct {
	*exec.Cmd
	out, errs  bytes.Buffer
	runs       string
	in         io.WriteCloser
	interrupts bool
}

// start starts a program that mails to somebody, with the server at that address.
func (r *rig) start(t *testing.T, a agent, to, url string, patience int, env ...string) *run {
	t.Helper()
	args := append(a.command(r), "Mail the figures to "+to)
	one := &run{Cmd: exec.CommandContext(t.Context(), args[0], args[1:]...), runs: filepath.Join(t.TempDir(), "runs"),
		interrupts: a.interrupts}
	src, err := filepath.Abs("python/src")
	require.NoError(t, err)
	one.Env = append(os.Environ(), "PYTHONPATH="+src, "PYTHONDONTWRITEBYTECODE=1", "RUNS="+one.runs, "MODEL_URL="+r.model.BaseURL(),
		"CONVERSATION="+t.Name(), "VEDETTE_URL="+url, "VEDETTE_TOKEN="+r.token, fmt.Sprintf("APPROVAL_TIME=%d", patience))
	one.Env = append(append(one.Env, a.env...), env...)
	one.Stdout, one.Stderr = &one.out, &one.errs
	one.in, err = one.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, one.Start())
	return one
}

// resume tells a program that was interrupted to go on, as if its own user had said yes.
func (o *run) resume(t *testing.T) {
	t.Helper()
	if o.interrupts {
		_, err := o.in.Write([]byte("\n"))
		require.NoError(t, err)
	}
}

// end waits for the program, and returns what it said and the letters that were sent.
func (o *run) end(t *testing.T) (said string, letters []string) {
	t.Helper()
	require.NoError(t, o.Wait(), "%s\n%s", o.out.String(), o.errs.String())
	raw, err := os.ReadFile(o.runs)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	for line := range strings.Lines(string(raw)) {
		var letter struct{ To, Body string }
		require.NoError(t, json.Unmarshal([]byte(line), &letter))
		letters = append(letters, letter.To+": "+letter.Body)
	}
	return o.out.String(), letters
}

// answering is a server that gives every question one answer.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + ln.Addr().String()
}
