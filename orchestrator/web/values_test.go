package web_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/web"
)

// What people write on the pages, and what they are shown there, is in no file and no line of the log that the process
// wrote: requests, answers, arguments, edits, reasons, notes, queries, rules, names in addresses, tokens.
func TestNoValueEscapesThePages(t *testing.T) {
	const c = "CaNaRy"
	o := &oracle{}
	rules := mailRules()
	rules[2]["reply"] = map[string]any{"content": c + "-answer"}
	h := open(t, changes{rules: rules, pages: web.Options{Replay: o.replay}})
	ann, bob, rita, vera := h.signIn("ann"), h.signIn("bob"), h.signIn("rita"), h.signIn("values")
	page := ann.get("/chat")
	ann.post("/chat/c1", url.Values{"csrf": {page.field("csrf")}, "request": {page.field("request")}, "text": {"mail john@example.com " + c}})
	require.Eventually(t, func() bool { return len(h.listPending()) == 1 }, eventually, tick)
	bob.answer(h.listPending()[0].ID, approve)
	require.Eventually(t, func() bool { return strings.Contains(ann.get("/chat/c1").text(), c+"-answer") }, eventually, tick)

	args := map[string]any{"to": "a@example.com", "text": c + "-text", "pass": c + "-secret"}
	denied, ended := h.askWith("ann", c+"-request", c+"-mission", args)
	bob.get("/approvals/" + denied.ID)
	bob.answer(denied.ID, url.Values{"do": {"deny"}, "feedback": {c + "-feedback"}})
	require.Error(t, <-ended)
	edited, ended := h.askWith("ann", c+"-request", c+"-mission", args)
	bob.answer(edited.ID, url.Values{"do": {"edit"}, "edit": {`{"to":"a@example.com","` + c + `":1}`}}) // refused
	bob.answer(edited.ID, url.Values{"do": {"edit"}, "edit": {`{"to":"` + c + `@example.com","text":"` + c + `-edit"}`}})
	for len(h.listPending()) > 0 { // where the edit is asked about
		bob.answer(h.listPending()[0].ID, approve)
	}
	require.NoError(t, <-ended)
	require.Contains(t, h.ran.String(), c+"-edit")

	h.record(denial("deny1", "ann", "mail.send"))
	rita.say("/review/deny1", "allow", c+"-note")
	for _, path := range []string{"/log?q=%22" + c + "%22", "/log?q=" + c + ":x", "/log/" + c, "/review/" + c, "/" + c + "?" + c + "=" + c,
		"/static/" + c, "/log/charts?range=" + c} {
		rita.get(path)
	}
	form := url.Values{"csrf": {vera.get("/log/replay").field("csrf")}, "q": {`"` + c + `"`}, "rule": {"{skill: " + c + "}"}}
	require.Equal(t, 200, vera.post("/log/replay", form).StatusCode)
	vera.post("/"+c, url.Values{c: {c}})
	h.browser().post("/login", url.Values{"csrf": {h.browser().get("/login").field("csrf")}, "token": {c}})

	require.NotEmpty(t, h.log.String())
	require.NotContains(t, strings.ToLower(h.log.String()), strings.ToLower(c))
	seen := 0
	require.NoError(t, filepath.WalkDir(h.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		seen++
		b, err := os.ReadFile(path) //nolint:gosec // the test's own folder
		require.NotContains(t, strings.ToLower(string(b)), strings.ToLower(c), "%s holds a value", d.Name())
		return err
	}))
	require.Greater(t, seen, 3, "the database and its keys")
}
