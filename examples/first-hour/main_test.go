package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm/scripted"
	"github.com/vedette-dev/vedette/internal/owntest"
)

var update = flag.Bool("update", false, "write docs/first-hour.md and its pictures again")

const page = "../../docs/first-hour.md"

// The page shows the files of this folder, which are built and vetted with everything else.
func TestFilesOfThePage(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	shown := showFiles(t, string(text))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(shown), 0o644)) //nolint:gosec // a page
		text = []byte(shown)
	}
	require.Equal(t, shown, string(text), "go test ./examples/first-hour -update writes it again")
}

// fileBlock is a block of the page that is a file, named in its first line.
var fileBlock = regexp.MustCompile("(?s)```(go|yaml)\n((?://|#) mine/([a-z.]+)\n)(.*?)```")

// showFiles puts the files of this folder into the page. What a program's comment says of this folder
// is left out.
func showFiles(t *testing.T, text string) string {
	t.Helper()
	return fileBlock.ReplaceAllStringFunc(text, func(b string) string {
		m := fileBlock.FindStringSubmatch(b)
		file, err := os.ReadFile(m[3])
		require.NoError(t, err)
		_, body, found := strings.Cut(string(file), "package main\n")
		if found {
			body = "package main\n" + body
		} else {
			body = string(file)
		}
		return "```" + m[1] + "\n" + m[2] + body + "```"
	})
}

// script plays a turn in which an agent pays.
const script = `
rules:
  - when: {has_tool: dispatch_agent, tool_results: 0}
    reply: {tool_calls: [{name: dispatch_agent, arguments: {agent_id: cashier, mission: "Pay Miller 120 euros for the garden",
      skills: [bank.pay]}}]}
  - when: {has_tool: dispatch_agent, tool_results: 1}
    reply: {tool_calls: [{name: get_agent_results, arguments: {mode: wait_all, timeout_seconds: 60}}]}
  - when: {has_tool: dispatch_agent}
    reply: {content: "Miller has the 120 euros for the garden."}
  - when: {has_tool: request_help, tool_results: 0}
    reply: {tool_calls: [{name: use_skill, arguments: {skill: bank.pay, arguments: {payee: Miller, euros: 120, for: the garden}}}]}
  - when: {has_tool: request_help}
    reply: {content: "paid"}
`

// walk is a new user's way through the page.
type walk struct {
	t        *testing.T
	dir      string // of the clone, and then of the program
	env      []string
	address  string
	browser  context.Context //nolint:containedctx // of the test
	approval string
	server   *exec.Cmd
	log      bytes.Buffer
	ended    chan struct{}
}

// A new user's path, in a fresh clone: a typed skill of one's own, a request over HTTP, an approval in
// the browser, and the decision in the ledger. What the commands print is what the page shows.
func TestFirstHour(t *testing.T) {
	w := &walk{t: t, browser: openBrowser(t)}
	sc, err := scripted.Load([]byte(script))
	require.NoError(t, err)
	model, err := scripted.Serve(context.WithoutCancel(t.Context()), sc, scripted.Options{})
	require.NoError(t, err)
	t.Cleanup(model.Close)
	port, err := owntest.FreePort()
	require.NoError(t, err)
	w.address = fmt.Sprintf("127.0.0.1:%d", port)
	w.env = append(os.Environ(), "OPENAI_BASE_URL="+model.BaseURL(), "OPENAI_API_KEY=",
		fmt.Sprintf("PORT=%d", port), "GOFLAGS=-trimpath", "TZ=UTC")
	w.dir = t.TempDir()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	got := w.follow(string(text))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(got), 0o644)) //nolint:gosec // a page
		text = []byte(got)
	}
	require.Equal(t, got, string(text), "go test ./examples/first-hour -run TestFirstHour -update writes it again")
}

// follow does what the page says, and returns the page with what came of it.
func (w *walk) follow(text string) string {
	var out strings.Builder
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		switch first := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(first, "![The call that waits"):
			w.approve()
		case first == "```go", first == "```yaml":
			name := strings.Fields(lines[i+1])[1]
			var file strings.Builder
			for i++; strings.TrimSpace(lines[i]) != "```"; i++ {
				out.WriteString(lines[i])
				file.WriteString(lines[i])
			}
			out.WriteString(lines[i])
			require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(file.String()), 0o600))
		case first == "```console":
			for i++; strings.TrimSpace(lines[i]) != "```"; i++ {
				if command, ok := strings.CutPrefix(lines[i], "$ "); ok {
					out.WriteString(lines[i])
					out.WriteString(w.steady(w.run(strings.TrimSpace(command))))
				}
			}
			out.WriteString(lines[i])
		}
	}
	return out.String()
}

// run runs one command of the page.
func (w *walk) run(command string) string {
	w.t.Helper()
	folder, isCD := strings.CutPrefix(command, "cd ")
	switch {
	case isCD:
		w.dir = filepath.Join(w.dir, folder)
		return ""
	case strings.HasPrefix(command, "git clone "):
		command = "git clone --quiet --local '" + w.root() + "' vedette" // what is committed, from here
	case strings.HasSuffix(command, "serve &"):
		return w.serve()
	case strings.HasSuffix(command, "approvals list"):
		w.awaitQuestion()
	}
	command = strings.ReplaceAll(command, "127.0.0.1:8420", w.address)
	cmd := exec.CommandContext(w.t.Context(), "sh", "-c", command)
	cmd.Dir, cmd.Env = w.dir, w.env
	said, err := cmd.CombinedOutput()
	require.NoError(w.t, err, "%s\n%s\n%s", command, said, w.log.String())
	return string(said)
}

func (w *walk) root() string {
	root, err := filepath.Abs("../..")
	require.NoError(w.t, err)
	return root
}

// serve starts the server, and returns what it says first.
func (w *walk) serve() string {
	w.server = exec.CommandContext(context.WithoutCancel(w.t.Context()), "./mine", "serve")
	w.server.Dir, w.server.Env = w.dir, w.env
	w.server.Path = filepath.Join(w.dir, "mine")
	errs, err := w.server.StderrPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, w.server.Start())
	lines := bufio.NewReader(errs)
	first, err := lines.ReadString('\n')
	require.NoError(w.t, err, first)
	w.ended = make(chan struct{})
	go func() { defer close(w.ended); _, _ = io.Copy(&w.log, lines) }()
	w.t.Cleanup(func() {
		require.NoError(w.t, w.server.Process.Signal(syscall.SIGTERM))
		<-w.ended
		_ = w.server.Wait() // its exit code says it
		require.Zero(w.t, w.server.ProcessState.ExitCode(), w.log.String())
	})
	return first
}

// awaitQuestion waits until the call waits.
func (w *walk) awaitQuestion() {
	var id []string
	require.Eventually(w.t, func() bool {
		cmd := exec.CommandContext(w.t.Context(), filepath.Join(w.dir, "mine"), "approvals", "list", "--json")
		cmd.Dir, cmd.Env = w.dir, w.env
		list, err := cmd.Output()
		require.NoError(w.t, err)
		id = regexp.MustCompile(`"id":"([^"]+)"`).FindStringSubmatch(string(list))
		return id != nil
	}, 5*time.Minute, 100*time.Millisecond)
	w.approval = id[1]
}

// approve signs in, looks, and approves: the call runs then and not before.
func (w *walk) approve() {
	token, err := os.ReadFile(filepath.Join(w.dir, "token"))
	require.NoError(w.t, err)
	do := func(actions ...chromedp.Action[chromedp.Void]) {
		w.t.Helper()
		require.NoError(w.t, chromedp.Do(w.browser, actions...))
	}
	do(chromedp.EmulateViewport(1100, 900), setLight(), chromedp.Navigate("http://"+w.address+"/approvals"), chromedp.WaitVisible("#token"),
		chromedp.SendKeys("#token", strings.TrimSpace(string(token))), chromedp.Submit("#token"),
		chromedp.WaitVisible(`[data-row="`+w.approval+`"]`), chromedp.Navigate("http://"+w.address+"/approvals/"+w.approval),
		chromedp.WaitVisible("#approve"))
	w.takePicture("first-hour-asked")
	require.NoFileExists(w.t, filepath.Join(w.dir, "paid.txt"), "to look decides nothing")
	do(chromedp.Click("#approve"), chromedp.WaitVisible("#state .state-consumed"))
	require.Eventually(w.t, func() bool {
		said, err := chromedp.Run(w.browser, chromedp.Text("#state"))
		return err == nil && strings.Contains(said, "It ran at")
	}, 5*time.Minute, 100*time.Millisecond)
	w.takePicture("first-hour-ran")
	paid, err := os.ReadFile(filepath.Join(w.dir, "paid.txt"))
	require.NoError(w.t, err)
	require.Equal(w.t, "120 euros to Miller for the garden\n", string(paid), "it ran once")
}

// takePicture keeps a picture for the page, where it is written again.
func (w *walk) takePicture(name string) {
	if !*update {
		return
	}
	png, err := chromedp.Run(w.browser, chromedp.CaptureScreenshot())
	require.NoError(w.t, err)
	require.NoError(w.t, os.WriteFile("../../docs/images/"+name+".png", png, 0o644)) //nolint:gosec // a picture
}

// varying is what differs from run to run, with what stands for it in the page.
var varying = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-23T09:12:03.412Z"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "3f0a9c1d2b4e5f60…"},
	{regexp.MustCompile(`sha256:[0-9a-f]{16}`), "sha256:3f0a9c1d2b4e5f60"},
	{regexp.MustCompile(`"(took_ms|tokens)":\d+`), `"$1":7`},
	{regexp.MustCompile(`(?m)^( *)took( +)\d+(\.\d+)? (us|ms|s)$`), "${1}took${2}210 us"},
	{regexp.MustCompile(`Z, after \S+`), "Z, after 1.571s"},
	{regexp.MustCompile(`by \d+ signed heads, \d+ signatures`), "by 7 signed heads, 7 signatures"},
	{regexp.MustCompile(`BATCH +AGE +LEFT +YES`), "BATCH   AGE   LEFT    YES"},
	{regexp.MustCompile(`1 of 1  \S+ +\S+ +0/1`), "1 of 1  2.1s  59m58s  0/1"},
	{regexp.MustCompile(`[A-Za-z0-9+/]{43}=`), "gqhcD0bYLbZ04BzqInAWSsLclBgRZdZIeozB5wvCgG4="},
	{regexp.MustCompile(`vdt_[A-Za-z0-9_-]+`), "vdt_…"},
}

// steady is what a command printed, without what differs from run to run.
func (w *walk) steady(text string) string {
	text = strings.ReplaceAll(text, w.address, "127.0.0.1:8420")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.shown)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// browserVariable names the program of a browser, as the tests of orchestrator/web have it.
const browserVariable = "VEDETTE_TEST_BROWSER"

func openBrowser(t *testing.T) context.Context {
	t.Helper()
	program := os.Getenv(browserVariable)
	if program == "" {
		t.Skipf("set %s to the path of Chromium to go a new user's way", browserVariable)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end() })
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")), "%s can't be started", program)
	return ctx
}

// setLight makes the browser prefer light pages.
func setLight() chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}}
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, p)
		return err
	})
}
