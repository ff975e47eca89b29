package web_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/internal/testissuer"
	"github.com/vedette-dev/vedette/sentinel/label"
)

// browserVariable names the program of a browser with which the pages are tried; without it these tests
// are left out. picturesVariable names a folder for pictures of the pages.
const (
	browserVariable  = "VEDETTE_TEST_BROWSER"
	picturesVariable = "VEDETTE_TEST_PICTURES"
)

// openBrowser starts a browser without a window.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	program := os.Getenv(browserVariable)
	if program == "" {
		t.Skipf("set %s to the path of Chromium to try the pages in a browser", browserVariable)
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync",
			true))
	ctx, stop := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(func() { _ = chromedp.Cancel(ctx); end() })
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	ctx, over := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(over)
	return ctx
}

// takePicture keeps a picture of the page at a width, where pictures are wanted.
func takePicture(ctx context.Context, t *testing.T, name string, width, height int64, dark bool) {
	t.Helper()
	dir := os.Getenv(picturesVariable)
	if dir == "" {
		return
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, height), setScheme(scheme)))
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

// A person signs in, sees the call come, says yes with the keyboard alone, and sees it run. The browser
// refuses nothing of ours: its console has no complaint.
func TestKeyboardInABrowser(t *testing.T) {
	ctx := openBrowser(t)
	h := open(t, changes{})
	complaints := hearConsole(ctx, t)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, actions...))
	}
	run(chromedp.EmulateViewport(1200, 800), chromedp.Navigate(h.server.URL+"/approvals"), chromedp.WaitVisible("#token"),
		chromedp.SendKeys("#token", h.secret["bob"]+kb.Enter), chromedp.WaitVisible("#list .empty"))
	text := "Dear John,\n\nhere is the budget report for Q4.\n\nKind regards\nAnn"
	item, ended := h.askWith("ann", "Email John the budget report, please.", "Mail the budget report to John.",
		map[string]any{"to": "john@example.com", "text": text, "pass": "0123456789abcdef0123456789abcdef"})
	row := `[data-row="` + item.ID + `"]`
	run(chromedp.WaitVisible(row)) // without a reload
	h.ask("ann", map[string]any{"to": "sarah@example.com", "text": "thanks"})
	h.ask("carl", map[string]any{"to": "x\u202etxt.exe@example.com"})
	run(chromedp.WaitVisible(`.row:nth-child(3)`))
	takePicture(ctx, t, "approvals-desktop", 1200, 640, false)
	takePicture(ctx, t, "approvals-phone", 390, 780, true)
	run(chromedp.EmulateViewport(1200, 1000), setScheme("light"))
	run(chromedp.KeyEvent("?"), chromedp.WaitVisible("#help"), chromedp.KeyEvent("?"), chromedp.WaitNotVisible("#help"))
	run(chromedp.KeyEvent("j"), isThere(row+".chosen"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"),
		isThere(row+".chosen"), chromedp.KeyEvent("a"), chromedp.WaitVisible("#approve"), hasFocus("approve"))
	require.Empty(t, h.ran.String(), "to look decides nothing")
	takePicture(ctx, t, "approval-desktop", 1200, 1000, false)
	takePicture(ctx, t, "approval-phone", 390, 844, true)
	run(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible("#state .state-consumed"))
	require.NoError(t, <-ended)
	require.Contains(t, h.ran.String(), "john@example.com")
	require.Eventually(t, func() bool {
		said, err := chromedp.Run(ctx, chromedp.Text("#state"))
		return err == nil && containsRan(said)
	}, eventually, 50*time.Millisecond)
	run(chromedp.KeyEvent("u"), chromedp.WaitVisible(".row:nth-child(2)"), chromedp.KeyEvent("j"), chromedp.KeyEvent("d"),
		chromedp.WaitVisible("#feedback"), hasFocus("feedback"))
	require.Empty(t, complaints())
}

// A conversation goes on before the person's eyes, and its answer stands there in the end.
func TestChatInABrowser(t *testing.T) {
	ctx := openBrowser(t)
	h := open(t, changes{rules: mailRules()})
	complaints := hearConsole(ctx, t)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(1200, 800), chromedp.Navigate(h.server.URL+"/chat"),
		chromedp.WaitVisible("#token"),
		chromedp.SendKeys("#token", h.secret["ann"]), chromedp.Submit("#token"), chromedp.WaitVisible("#say"),
		chromedp.SendKeys("#say", "mail john@example.com the report"), chromedp.Submit("#say"),
		chromedp.WaitVisible(`#steps a[href^="/approvals/"]`)))
	takePicture(ctx, t, "chat-desktop", 1200, 640, false)
	list := h.listPending()
	require.Len(t, list, 1)
	h.signIn("bob").answer(list[0].ID, approve)
	require.NoError(t, chromedp.Do(ctx, chromedp.WaitVisible(`[data-answered] .said`)))
	said, err := chromedp.Run(ctx, chromedp.Text("[data-answered] .said"))
	require.NoError(t, err)
	require.Contains(t, said, "The mail has left.")
	require.Empty(t, complaints())
}

// A person is led to the issuer, agrees there, and comes back to the page that they wanted: the browser keeps the
// cookies and refuses nothing on the way.
func TestIssuerInABrowser(t *testing.T) {
	ctx := openBrowser(t)
	h, is := openAtIssuer(t, nil)
	is.Set(testissuer.Form())
	item, _ := h.ask("ann", map[string]any{"to": "a@example.com"})
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(h.server.URL+"/approvals/"+item.ID), chromedp.WaitVisible("#issuer"),
		chromedp.Click("#issuer"), chromedp.WaitVisible("#agree"), chromedp.Click("#agree"), chromedp.WaitVisible("#approve"),
		chromedp.Click("#approve"), chromedp.WaitVisible("#state .state-consumed")))
	said, err := chromedp.Run(ctx, chromedp.Text("body"))
	require.NoError(t, err)
	require.Contains(t, said, "ann@example.com")
	require.Contains(t, h.ran.String(), "a@example.com")
}

// A reviewer filters the log, sees a record come, and labels decisions with one key each.
func TestLogInABrowser(t *testing.T) {
	ctx := openBrowser(t)
	h := open(t, changes{})
	complaints := hearConsole(ctx, t)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, actions...))
	}
	for i := range 6 {
		allowed := denial(fmt.Sprintf("ok%06d", i), "bob", "note.read")
		allowed.Outcome, allowed.Gate, allowed.Code = "allow", "", ""
		h.record(allowed)
	}
	h.record(denial("deny1", "ann", "mail.send"), denial("deny2", "ann", "crm.update"))
	run(chromedp.EmulateViewport(1200, 800), chromedp.Navigate(h.server.URL+"/log"), chromedp.WaitVisible("#token"),
		chromedp.SendKeys("#token", h.secret["rita"]+kb.Enter), chromedp.WaitVisible(`[data-row="ok000000"]`))
	takePicture(ctx, t, "log-desktop", 1200, 640, false)
	run(chromedp.SendKeys("#q", "user:ann outcome:deny"+kb.Enter),
		chromedp.WaitVisible(`#q[value="user:ann outcome:deny"]`), awaitTrue(`document.querySelectorAll("#log .row").length === 2`))
	h.record(denial("new1", "bob", "mail.send"), denial("new2", "ann", "x\u202e<img src=x onerror=alert(1)>"))
	run(chromedp.WaitVisible(`[data-row="new2"]`), awaitTrue(`document.querySelectorAll("#log .row").length === 3`),
		awaitTrue(`document.querySelector("#log .row").textContent.includes("\\u202e<img")`))
	run(chromedp.KeyEvent("/"), hasFocus("q"), chromedp.Navigate(h.server.URL+"/review/deny2"), chromedp.WaitVisible(`[data-record="deny2"]`))
	takePicture(ctx, t, "review-desktop", 1200, 640, false)
	takePicture(ctx, t, "review-phone", 390, 844, true)
	run(chromedp.EmulateViewport(1200, 1000), setScheme("light"), chromedp.Navigate(h.server.URL+"/review"),
		chromedp.WaitVisible(`[data-record="new2"]`), chromedp.KeyEvent("n"), hasFocus("note"),
		chromedp.SendKeys("#note", "a stranger's"+kb.Escape), chromedp.KeyEvent("r"), chromedp.WaitVisible(`[data-record="new1"]`),
		chromedp.KeyEvent("a"), chromedp.WaitVisible(`[data-record="deny2"]`), chromedp.KeyEvent("s"),
		chromedp.WaitVisible(`[data-record="deny1"]`), chromedp.KeyEvent("u"), chromedp.WaitVisible(`[data-record="ok000005"]`),
		chromedp.KeyEvent("d"), chromedp.WaitVisible(`[data-record="ok000004"]`), chromedp.KeyEvent("z"),
		chromedp.WaitVisible(`[data-record="ok000005"]`), chromedp.KeyEvent("r"), chromedp.WaitVisible(`[data-record="ok000004"]`))
	list, err := h.o.Parts().Labels.List(t.Context(), label.Filter{})
	require.NoError(t, err)
	said := map[string]string{}
	for _, l := range list {
		said[l.Record] = string(l.Word) + l.Should
		if l.Record == "new2" {
			require.Contains(t, l.Note, "a stranger's")
		}
	}
	require.Equal(t, map[string]string{"new2": "right", "new1": "wrongallow", "deny2": "wrongask", "deny1": "unsure",
		"ok000005": "right"}, said)
	run(chromedp.Navigate(h.server.URL+"/log/charts"), chromedp.WaitVisible("#charts rect.c-deny"))
	takePicture(ctx, t, "charts-desktop", 1200, 900, false)
	require.Empty(t, complaints())
}
