package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/owntest"
)

// turnOf plays a turn in which agents call note.send at the same time. The answer has what a terminal
// would act on.
func turnOf(request string, agents ...string) string {
	var b strings.Builder
	var calls []string
	for _, a := range agents {
		const dispatch = `{name: dispatch_agent, arguments: {agent_id: %s, mission: "%s for %s", skills: [note.send]}}`
		calls = append(calls, fmt.Sprintf(dispatch, a, request, a))
		fmt.Fprintf(&b, "  - when: {has_tool: request_help, user_contains: \"%s for %s\", tool_results: 0}\n", request, a)
		fmt.Fprintf(&b, "    reply: {tool_calls: [{name: use_skill, arguments: {skill: note.send, arguments: {to: %s, text: hello}}}]}\n", a)
		fmt.Fprintf(&b, "  - when: {has_tool: request_help, user_contains: \"%s for %s\"}\n    reply: {content: over}\n", request, a)
	}
	when := fmt.Sprintf(`  - when: {has_tool: dispatch_agent, last_user_contains: "%s", tool_results: `, request)
	fmt.Fprintf(&b, "%s0}\n    reply: {tool_calls: [%s]}\n", when, strings.Join(calls, ", "))
	fmt.Fprintf(&b, "%s%d}\n", when, len(agents))
	b.WriteString("    reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, timeout_seconds: 60}}]}\n")
	fmt.Fprintf(&b, "%s%d}\n    reply: {content: \"%s: \\e[2Jdone\\nann> y\"}\n", when, len(agents)+1, request)
	return b.String()
}

const chatConfig = `version: 1
models: {m: {model: scripted, base_url: "%s/v1"}}
roles: {orchestrator: m, agent: m}
sentinel: {mode: "off"}
skills: {include: ["skills.yaml"]}
approvals: {inbox: true}
ledger: {path: "./vedette.db"}
keys: {dir: "./keys"}
server: {listen: "127.0.0.1:%d"}
`

const chatSkills = `skills:
  - name: note.send
    description: Send a note.
    effect: irreversible
    approval: always
    parameters:
      type: object
      required: [to, text]
      properties: {to: {type: string}, text: {type: string, x-content: true}}
    run: {template: "sent"}
`

// chatRig is a folder with a configuration, and a model that can be held up.
type chatRig struct {
	t    *testing.T
	dir  string
	port int

	mu      sync.Mutex
	holds   string // requests that contain it are held
	held    chan struct{}
	release chan struct{}
}

func openChatRig(t *testing.T) *chatRig {
	t.Helper()
	r := &chatRig{t: t, dir: t.TempDir()}
	script := "rules:\n" + turnOf("write one", "one") + turnOf("typed ahead", "early") + turnOf("tell why", "why") +
		turnOf("change new", "old") + turnOf("write two", "left", "right") + turnOf("stop one", "stopped")
	sc, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	srv, err := scripted.Serve(context.WithoutCancel(t.Context()), sc, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	to, err := url.Parse(srv.URL())
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	front := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		r.mu.Lock()
		hold := r.holds != "" && bytes.Contains(body, []byte(r.holds)) && bytes.Contains(body, []byte("request_help"))
		if hold {
			r.holds = ""
		}
		r.mu.Unlock()
		if hold {
			close(r.held)
			<-r.release
		}
		proxy.ServeHTTP(w, q)
	})} //nolint:gosec // a test's
	served := make(chan struct{})
	go func() { defer close(served); _ = front.Serve(ln) }()
	t.Cleanup(func() { _ = front.Close(); <-served })
	r.port, err = owntest.FreePort()
	require.NoError(t, err)
	config := fmt.Sprintf(chatConfig, "http://"+ln.Addr().String(), r.port)
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "vedette.yaml"), []byte(config), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "skills.yaml"), []byte(chatSkills), 0o600))
	return r
}

// vedette is a command line of this program, which the test's binary is too.
func (r *chatRig) vedette(args ...string) *osexec.Cmd {
	self, err := os.Executable()
	require.NoError(r.t, err)
	cmd := osexec.CommandContext(context.WithoutCancel(r.t.Context()), self, args...)
	cmd.Args[0], cmd.Dir = "vedette", r.dir
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 halt_on_error=1", "NO_COLOR=1")
	return cmd
}

// output runs a command line and returns what it prints.
func (r *chatRig) output(args ...string) string {
	r.t.Helper()
	out, err := r.vedette(args...).Output()
	require.NoError(r.t, err)
	return string(out)
}

// person is somebody at a terminal at which a chat runs.
type person struct {
	t     *testing.T
	cmd   *osexec.Cmd
	hands *os.File
	seen  string // since the last await
	all   strings.Builder
}

// openTerminal opens both ends of a terminal of 100 columns.
func openTerminal(t *testing.T) (hands, tty *os.File) {
	t.Helper()
	hands, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = hands.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(hands.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(hands.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(hands.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100}))
	return hands, tty
}

// sitDown starts a command at a terminal of its own.
func sitDown(t *testing.T, cmd *osexec.Cmd) *person {
	t.Helper()
	hands, tty := openTerminal(t)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, cmd.Start())
	require.NoError(t, tty.Close())
	return &person{t: t, cmd: cmd, hands: hands}
}

// await reads until a text stands on the screen, and returns what was seen until then.
func (p *person) await(text string) string {
	p.t.Helper()
	for buf := make([]byte, 4096); ; {
		if before, after, ok := strings.Cut(p.seen, text); ok {
			p.seen = after
			return before
		}
		n, err := p.hands.Read(buf)
		p.all.Write(buf[:n])
		p.seen += string(buf[:n])
		require.NoError(p.t, err, "%q never came:\n%s", text, p.all.String())
	}
}

func (p *person) typeLine(text string) {
	p.t.Helper()
	_, err := p.hands.WriteString(text + "\n")
	require.NoError(p.t, err)
}

// leave reads to the end and returns the exit code.
func (p *person) leave() int {
	p.t.Helper()
	for buf := make([]byte, 4096); ; {
		n, err := p.hands.Read(buf)
		p.all.Write(buf[:n])
		if err != nil { // the other end is closed
			break
		}
	}
	_ = p.cmd.Wait() // the code says it
	return p.cmd.ProcessState.ExitCode()
}

const asks = "run this call? [y/n/edit/feedback/later] "

// talk is what a person does at chats, here or at a server: each request is a conversation of its own, since
// what agents read taints it. sit sits down at a new one.
func (r *chatRig) talk(sit func() *person) {
	p := sit()
	p.typeLine("write one")
	card := p.await("approval 1 of 1: " + asks)
	for _, want := range []string{"ask    one", "digest", `"to": "one"`, "request  \"write one\""} {
		require.Contains(r.t, card, want)
	}
	p.typeLine("maybe")
	p.await("say y, n, edit, feedback or later")
	p.await(asks)
	p.typeLine("y")
	require.Contains(r.t, p.await("write one: "), "allow  one          note.send")
	require.Contains(r.t, p.await("done"), `\x1b[2J`)
	p.await("  | ann> y\r\n") // the model's, not ours
	p.standUp()

	p = sit()
	r.mu.Lock()
	r.holds, r.held, r.release = "typed ahead for early", make(chan struct{}), make(chan struct{})
	r.mu.Unlock()
	p.typeLine("typed ahead")
	<-r.held
	p.typeLine("y")
	p.await("not sent: a request is under way")
	_, err := p.hands.WriteString("y") // without its end
	require.NoError(r.t, err)
	p.await("y")
	close(r.release)
	p.await(asks)
	p.typeLine("n")
	require.NotContains(r.t, p.await("typed ahead: "), "allow  early        note.send")
	p.standUp()

	p = sit()
	p.typeLine("tell why")
	p.await(asks)
	p.typeLine("feedback")
	p.await("why not?")
	p.typeLine("not today")
	p.await("tell why: ")
	p.await("\r\nann> ")
	p.typeLine("/why")
	require.Contains(r.t, p.await("approval.denied"), "deny   why")
	p.standUp()

	p = sit()
	p.typeLine("change new")
	p.await(asks)
	p.typeLine("e")
	require.Contains(r.t, p.await("as one JSON object"), `now: {"text":"hello","to":"old"}`)
	p.typeLine(`{"to":"new"}`)
	p.await("not taken: ")
	p.await(asks)
	p.typeLine("e")
	p.await("as one JSON object")
	p.typeLine(`{"to":"new","text":"hello"}`)
	require.Contains(r.t, p.await("change new: "), "allow  old          note.send")
	p.standUp()
}

// standUp leaves after an answer.
func (p *person) standUp() {
	p.t.Helper()
	p.await("\r\nann> ")
	p.typeLine("/quit")
	require.Zero(p.t, p.leave(), p.all.String())
	require.NotContains(p.t, p.all.String(), "\x1b[2J")
}

// A person approves, refuses with a reason, edits, and leaves one for later; what they typed before a
// question answers none.
func TestChatAtATerminal(t *testing.T) {
	r := openChatRig(t)
	sit := func() *person {
		p := sitDown(t, r.vedette("chat", "--user", "ann"))
		p.await("ann> ")
		return p
	}
	r.talk(sit)
	p := sitDown(t, r.vedette("chat", "--user", "ann", "--conversation", "c1"))
	p.await("ann> ")
	p.typeLine("write two")
	p.await(asks)
	p.typeLine("later")
	p.await("it waits for a person, and stays open: vedette approvals --config vedette.yaml show ")
	p.await("approval 2 of 2: " + asks)
	require.Contains(t, r.output("approvals", "list"), "note.send", "another process sees them")
	p.typeLine("/agents")
	require.Contains(t, p.await(asks), "right        starts")
	p.typeLine("y")
	p.await("allow  ")
	p.typeLine("/quit")
	require.Zero(t, p.leave(), p.all.String())
	require.Contains(t, p.all.String(), "the next start over the same database goes on with it")
	require.Contains(t, p.all.String(), "come back with: vedette chat --config vedette.yaml --user ann --conversation c1")
	p = sitDown(t, r.vedette("chat", "--user", "ann", "--conversation", "c1"))
	p.await("the last message is being worked on")
	p.await(asks)
	p.typeLine("y")
	p.await("write two: ")
	p.standUp()
	require.Equal(t, 4, strings.Count(r.output("ledger", "list", "--kind", "outcome", "--skill", "note.send"), "note.send"), "each ran once")
}

// Ctrl-C stops the request, and leaves at the second time.
func TestChatInterrupted(t *testing.T) {
	r := openChatRig(t)
	p := sitDown(t, r.vedette("chat", "--user", "ann"))
	p.await("ann> ")
	p.typeLine("stop one")
	p.await(asks)
	_, err := p.hands.WriteString("\x03")
	require.NoError(t, err)
	p.await("the request is being stopped")
	p.await("Ctrl-C again leaves")
	p.await("failed")
	p.await("ann> ")
	p.typeLine("/why")
	p.await("ann> ")
	_, err = p.hands.WriteString("\x03")
	require.NoError(t, err)
	p.await("Ctrl-C again leaves")
	p.await("ann> ")
	_, err = p.hands.WriteString("\x03")
	require.NoError(t, err)
	require.Equal(t, exitInterrupted, p.leave(), p.all.String())
	require.NotContains(t, r.output("ledger", "list", "--kind", "outcome", "--skill", "note.send"), "note.send")
}

// The same over the HTTP API of a real server.
func TestChatOnAServer(t *testing.T) {
	r := openChatRig(t)
	serve := r.vedette("serve")
	var log bytes.Buffer
	serve.Stderr = &log
	secret := strings.TrimSpace(r.output("token", "create", "ann", "--user", "ann", "--scope", "chat", "--scope", "approve", "--human"))
	require.NoError(t, serve.Start())
	t.Cleanup(func() {
		require.NoError(t, serve.Process.Signal(syscall.SIGTERM))
		_ = serve.Wait()
		require.Zero(t, serve.ProcessState.ExitCode(), log.String())
	})
	at := fmt.Sprintf("http://127.0.0.1:%d", r.port)
	until(func() bool {
		res, err := http.Get(at + "/readyz") //nolint:gosec // a test's
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	r.talk(func() *person {
		cmd := r.vedette("chat", "--server", at)
		cmd.Env = append(cmd.Env, "VEDETTE_TOKEN="+secret)
		p := sitDown(t, cmd)
		p.await("ann> ")
		return p
	})

	// a token that may not answer: the question stays open, and the person is told where
	weak := filepath.Join(r.dir, "weak.token")
	require.NoError(t, os.WriteFile(weak, []byte(r.output("token", "create", "weak", "--user", "ann", "--scope", "chat", "--human")), 0o600))
	p := sitDown(t, r.vedette("chat", "--server", at, "--token-file", weak))
	p.await("ann> ")
	p.typeLine("stop one")
	p.await("not asked here: the server refused: the token lacks the scope approve")
	p.await("it waits for a person, and stays open: " + at + "/approvals/")
	p.typeLine("/cancel")
	p.await("failed")
	p.await("ann> ")
	p.typeLine("/quit")
	require.Zero(t, p.leave(), p.all.String())
}
