package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/web"
	"github.com/vedette-dev/vedette/sentinel/label"
)

// clientsVariable names the folder in which ./test -clients has installed packages, axe-core among them.
const clientsVariable = "VEDETTE_TEST_CLIENTS"

// readAxe reads axe-core, which looks for what keeps people from using a page.
func readAxe(t *testing.T) string {
	t.Helper()
	file := filepath.Join(os.Getenv(clientsVariable), "node", "node_modules", "axe-core", "axe.min.js")
	src, err := os.ReadFile(file) //nolint:gosec // the tester names it
	if err != nil {
		t.Skipf("set %s to a folder with node/node_modules/axe-core to look for what keeps people from using a page", clientsVariable)
	}
	return string(src)
}

// fault is what axe finds on a page.
type fault struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML string `json:"html"`
	} `json:"nodes"`
}

// findFaults returns what axe finds on the page that the browser shows, and how many rules it went by.
func findFaults(ctx context.Context, t *testing.T, axe string) (serious []string, passed int) {
	t.Helper()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[json.RawMessage](axe+"; null"))
	require.NoError(t, err)
	_, err = chromedp.Run(ctx, chromedp.Evaluate[json.RawMessage](`window.axeSaid = ""; axe.run(document).then(r => { window.axeSaid = `+
		`JSON.stringify({violations: r.violations, passes: r.passes.length}) }, e => { window.axeSaid = "broke: " + e }); null`))
	require.NoError(t, err)
	text, err := chromedp.Run(ctx, chromedp.Poll[string](`window.axeSaid`))
	require.NoError(t, err)
	var found struct {
		Violations []fault `json:"violations"`
		Passes     int     `json:"passes"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &found), text)
	for _, f := range found.Violations {
		if f.Impact == "serious" || f.Impact == "critical" {
			serious = append(serious, fmt.Sprintf("%s: %s, such as %s", f.ID, f.Help, f.Nodes[0].HTML))
		}
	}
	return serious, found.Passes
}

// No page has a fault that keeps people from using it, in light and in dark colours.
func TestAccessInABrowser(t *testing.T) {
	ctx := openBrowser(t)
	axe := readAxe(t)
	o := &oracle{}
	h := open(t, changes{pages: web.Options{Replay: o.replay}})
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, actions...))
	}
	for i := range 3 {
		allowed := denial(fmt.Sprintf("ok%06d", i), "bob", "note.read")
		allowed.Outcome, allowed.Gate, allowed.Code = "allow", "", ""
		h.record(allowed)
	}
	h.record(denial("deny1", "ann", "mail.send"), denial("deny2", "ann", "x\u202e<img src=x>"))
	_, err := h.o.Parts().Labels.Put(t.Context(), label.Said{Of: "deny2", Word: label.Wrong, Should: "allow", By: "rob", Via: "test"})
	require.NoError(t, err)
	item, _ := h.ask("carl", map[string]any{"to": "sarah@example.com", "text": "thanks\u202e"})
	var faults []string
	look := func(name string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			run(setScheme(scheme))
			serious, passed := findFaults(ctx, t, axe)
			for _, f := range serious {
				faults = append(faults, name+", "+scheme+": "+f)
			}
			require.Greater(t, passed, 10, "axe looked at nothing on %s", name)
		}
	}
	run(chromedp.EmulateViewport(1200, 800), chromedp.Navigate(h.server.URL+"/log"), chromedp.WaitVisible("#token"))
	look("sign-in")
	run(chromedp.SendKeys("#token", h.secret["olga"]+kb.Enter), chromedp.WaitVisible(`[data-row="deny2"]`))
	look("/log")
	for _, path := range []string{"/log?q=gaet:x", "/log/deny1", "/log/charts", "/review", "/review/deny2", "/review/disputes", "/approvals",
		"/approvals/" + item.ID, "/standing", "/chat", "/log/replay", "/nothing"} {
		run(chromedp.Navigate(h.server.URL+path), chromedp.WaitVisible("main"))
		look(path)
	}
	run(chromedp.Navigate(h.server.URL+"/log/replay"), chromedp.SendKeys("#rule", "{skill: mail.send, then: ask}"+kb.Enter),
		chromedp.WaitVisible("#report"))
	look("a replay")
	run(setScheme("light"))
	takePicture(ctx, t, "replay-desktop", 1200, 640, false)
	require.Empty(t, faults)
}
