package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/web"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// record adds records to the ledger, as the process does that decides.
func (h *house) record(list ...ledger.Entry) {
	h.t.Helper()
	parts := h.o.Parts()
	require.NoError(h.t, parts.Store.Submit(context.Background(), func(tx *store.Tx) error {
		for _, e := range list {
			if _, err := parts.Ledger.AppendTx(tx, e); err != nil {
				return err
			}
		}
		return nil
	}))
}

// denial is the record of a call that was denied just now.
func denial(id, user, skill string) ledger.Entry {
	return ledger.Entry{ID: id, Time: time.Now(), Kind: sentinel.RecordDecision, Call: "c-" + id, Decision: "d-" + id, Conversation: "talk",
		User: user, Agent: "clerk", Skill: skill, Outcome: "deny", Gate: "guard", Code: "guard.path", Body: []byte(`{"v":1,"effect":"modify",
"reason":"it is outside of the roots","arg_names":["to"],"arg_bytes":17,"elapsed_us":1500,"gates":[
{"gate":"guard","state":"judged","outcome":"deny","code":"guard.path","reason":"it is outside of the roots"},
{"gate":"judge","state":"judged","outcome":"allow","score":40,"evidence":[{"signal":"unrelated","args":["to"],"doubt":true}]}]}`)}
}

// The timeline has what the query chooses, the newest first, page by page, and says where a query is wrong.
func TestTimeline(t *testing.T) {
	h := open(t, changes{})
	for i := range 60 {
		h.record(denial(fmt.Sprintf("ann%03d", i), "ann", "mail.send"))
	}
	h.record(denial("bob1", "bob", "note.read"))
	b := h.signIn("review")
	all := b.get("/log")
	require.Equal(t, 200, all.StatusCode)
	require.Less(t, strings.Index(all.body, `data-row="bob1"`), strings.Index(all.body, `data-row="ann059"`))
	require.Contains(t, all.text(), "it is outside of the roots")
	require.Contains(t, all.body, `href="/log/bob1"`)
	ann := b.get("/log?q=" + url.QueryEscape(`user:ann outcome:deny since:1h`))
	require.Equal(t, 50, strings.Count(ann.body, "data-row="))
	require.NotContains(t, ann.body, "bob1")
	next := html.UnescapeString(strings.Split(strings.Split(ann.body, `rel="next" href="`)[1], `"`)[0])
	older := b.get(next)
	require.Equal(t, 10, strings.Count(older.body, "data-row="))
	require.NotContains(t, older.body, "data-tail", "an older page doesn't grow")
	wrong := b.get("/log?q=" + url.QueryEscape("user:ann gaet:scope"))
	require.Equal(t, 422, wrong.StatusCode)
	require.Contains(t, wrong.text(), `character 10: unknown key "gaet"; did you mean "gate"?`)
	require.Contains(t, wrong.body, `value="user:ann gaet:scope"`)
	require.Contains(t, b.get("/log?q=user:zoe").text(), "No record matches.")
	require.Equal(t, 200, b.get("/log?after=x").StatusCode)
}

// tail reads events of a stream.
func (b *browser) tail(path string, header ...string) (events <-chan string, leave func()) {
	b.h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.h.server.URL+path, nil)
	require.NoError(b.h.t, err)
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := b.client.Do(r)
	require.NoError(b.h.t, err)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer res.Body.Close() //nolint:errcheck // the stream ends here
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if text, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				out <- text
			}
		}
	}()
	return out, func() {
		cancel()
		for range out { // until it has ended
		}
	}
}

// New records come to a page that follows, those that match alone, once each, also after it was away.
func TestTail(t *testing.T) {
	h := open(t, changes{})
	h.record(denial("old1", "ann", "mail.send"))
	b := h.signIn("review")
	page := b.get("/log?q=user:ann")
	tail := html.UnescapeString(strings.Split(strings.Split(page.body, `data-tail="`)[1], `"`)[0])
	events, leave := b.tail(tail)
	h.record(denial("new1", "ann", "mail.send"), denial("new2", "bob", "mail.send"),
		denial("new3", "ann", "x\u202e<script>"), ledger.Entry{ID: "new4", Time: time.Now(), Kind: "paused", User: "ann"})
	for _, want := range []string{"new1", "new3", "new4"} {
		var e struct{ ID, Head, Kind string }
		require.NoError(t, json.Unmarshal([]byte(<-events), &e))
		require.Equal(t, want, e.ID)
		require.NotContains(t, e.Head, "\u202e")
	}
	leave()
	last, err := h.o.Parts().Ledger.Get(t.Context(), "new3")
	require.NoError(t, err)
	events, leave = b.tail(tail, "Last-Event-ID", fmt.Sprint(last.Index))
	require.Contains(t, <-events, `"id":"new4"`)
	leave()
	require.Equal(t, 422, b.get("/log/events?q=gaet:x").StatusCode)

	events, leave = b.tail(tail)
	<-events
	_, err = h.tokens.Revoke(t.Context(), h.ids["review"], "local:test")
	require.NoError(t, err)
	for range events { // it ends with the token
	}
	leave()
}

// say opens a decision and sends what a reviewer says of it.
func (b *browser) say(path, say, note string) shown {
	b.h.t.Helper()
	p := b.get(path)
	require.Equal(b.h.t, 200, p.StatusCode, p.body)
	id := strings.Split(strings.Split(p.body, `data-record="`)[1], `"`)[0]
	return b.post("/review/"+id, url.Values{"csrf": {p.field("csrf")}, "say": {say}, "note": {note}})
}

// A reviewer says right, wrong or unsure of one decision after another, and sees others' words after their own.
func TestReview(t *testing.T) {
	h := open(t, changes{})
	h.record(denial("deny1", "ann", "mail.send"), denial("deny2", "ann", "note.read"))
	rita, rob := h.signIn("rita"), h.signIn("rob")
	first := rita.get("/review")
	require.Contains(t, first.text(), "2 wait")
	require.Contains(t, first.body, `data-record="deny2"`)
	require.Contains(t, first.text(), "doubt unrelated to")
	require.Contains(t, first.body, `href="/log/deny2"`)
	require.NotContains(t, first.body, `value="deny"`, "it can't be wrong and have been what it should have been")
	next := rita.say("/review", "allow", "CANARY: her own <b>notes</b>")
	require.Contains(t, next.text(), "You said wrong, should allow of note.read, which was deny")
	require.Contains(t, next.body, `data-record="deny1"`)
	done := rita.say("/review?why=denied", "right", "")
	require.Contains(t, done.text(), "Nothing waits for your word.")

	blind := rob.get("/review/deny2")
	require.NotContains(t, blind.text(), "rita")
	require.NotContains(t, blind.text(), "CANARY")
	require.NotContains(t, rob.get("/log").text(), "label.", "not in the timeline either")
	require.Contains(t, h.signIn("review").get("/log?q=kind:labelled").text(), "label.wrong", "an auditor sees all")
	rob.say("/review/deny2", "right", "")
	seen := rob.get("/review/deny2")
	require.Contains(t, seen.text(), "rita said wrong, should allow")
	require.Contains(t, seen.body, "her own &lt;b&gt;notes&lt;/b&gt;")
	require.Contains(t, rob.get("/log?q=kind:labelled").text(), "label.wrong")
	require.Contains(t, rob.get("/review/disputes").text(), "rita: wrong, should allow, rob: right")
	rob.say("/review/deny2", "unsure", "")
	require.Contains(t, rob.get("/review/disputes").text(), "There are none.")
	list, err := h.o.Parts().Labels.List(t.Context(), label.Filter{All: true})
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, "web", list[0].Via)
	require.NotContains(t, h.log.String(), "CANARY")
}

// What can't be said is refused on the page, and what comes from elsewhere says nothing.
func TestReviewRefuses(t *testing.T) {
	h := open(t, changes{})
	h.record(denial("deny1", "ann", "mail.send"), ledger.Entry{ID: "paused1", Time: time.Now(), Kind: "paused"})
	b := h.signIn("rita")
	p := b.get("/review/deny1")
	for name, c := range map[string]struct {
		form   url.Values
		path   string
		status int
	}{
		"what it was":  {url.Values{"csrf": {p.field("csrf")}, "say": {"deny"}}, "/review/deny1", 422},
		"nothing":      {url.Values{"csrf": {p.field("csrf")}}, "/review/deny1", 422},
		"hostile":      {url.Values{"csrf": {p.field("csrf")}, "say": {"<script>"}}, "/review/deny1", 422},
		"a long note":  {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}, "note": {strings.Repeat("x", 5000)}}, "/review/deny1", 422},
		"a megabyte":   {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}, "note": {strings.Repeat("x", 1<<20)}}, "/review/deny1", 413},
		"no token":     {url.Values{"say": {"right"}}, "/review/deny1", 403},
		"as another":   {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}, "by": {"rob"}}, "/review/deny1", 400},
		"no decision":  {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}}, "/review/paused1", 404},
		"the start":    {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}}, "/review/den1", 404},
		"nothing else": {url.Values{"csrf": {p.field("csrf")}, "say": {"right"}}, "/review/none", 404},
	} {
		require.Equal(t, c.status, b.post(c.path, c.form).StatusCode, name)
	}
	good := url.Values{"csrf": {p.field("csrf")}, "say": {"right"}}
	require.Equal(t, 403, b.post("/review/deny1", good, "Origin", "https://evil.example.com").StatusCode)
	require.Equal(t, 403, b.post("/review/deny1", good, "Sec-Fetch-Site", "cross-site").StatusCode)
	require.Equal(t, 401, h.browser().post("/review/deny1", good).StatusCode)
	list, err := h.o.Parts().Labels.List(t.Context(), label.Filter{All: true})
	require.NoError(t, err)
	require.Empty(t, list)
}

// Names and reasons of models and strangers are text on these pages, whatever is in them.
func TestHostileRecords(t *testing.T) {
	h := open(t, changes{})
	evil := `</ul><script>alert("x")</script><img src=x onerror=alert(1)>"' javascript:alert(1) {{.CSRF}}` + "\u202e\u200b\u2028" +
		strings.Repeat("e\u0301\u0301\u0301\u0301", 5)
	e := denial("evil1", evil, evil)
	e.Agent, e.Gate, e.Code, e.Conversation = evil, evil, evil, evil
	body, err := json.Marshal(map[string]any{"reason": evil + "\x1b[2J\n" + strings.Repeat("A", 200<<10), "effect": evil, "approver": evil,
		"arg_names": []string{evil}, "gates": []map[string]any{{"gate": evil, "outcome": evil, "code": evil, "reason": evil,
			"evidence": []map[string]any{{"signal": evil, "args": []string{evil}, "doubt": true}}}}})
	require.NoError(t, err)
	e.Body = body
	h.record(e, ledger.Entry{ID: "broken1", Time: time.Now(), Kind: sentinel.RecordDecision, Outcome: "deny", Decision: "d9",
		Body: []byte(`[1]`)}, ledger.Entry{ID: "evil2", Time: time.Now(), Kind: "x\u202e<img>", Outcome: "y\u200b<img>", User: evil, Body: body})
	b := h.signIn("rita")
	for _, path := range []string{"/log", "/log?q=" + url.QueryEscape(`"`+evil), "/log?q=" + url.QueryEscape(evil), "/review", "/review/evil1",
		"/review/broken1", "/log/charts", "/log/evil1", "/log/evil2", "/review?why=" + url.QueryEscape(evil) + "&said=" + url.QueryEscape(evil)} {
		p := b.get(path)
		require.Less(t, p.StatusCode, 500, path)
		require.NotContains(t, p.body, "<script>", path)
		require.NotContains(t, p.body, "<img", path)
		for _, r := range "\u202e\u200b\u2028\x1b" {
			require.False(t, strings.ContainsRune(p.body, r), "%s %U", path, r)
		}
		require.NotContains(t, p.body, " style=", path)
	}
	said := b.say("/review/evil1", "right", "\u202e<script>alert(1)</script>")
	require.NotContains(t, said.body, "<script>alert")
	own := b.get("/review/evil1")
	require.NotContains(t, own.body, "\u202e")
	require.NotContains(t, own.body, "<script>alert")
}

// The charts count the log back from the newest record, and go on with what is new.
func TestCharts(t *testing.T) {
	h := open(t, changes{pages: web.Options{Poll: time.Second}})
	list, now := make([]ledger.Entry, 0, 2500), time.Now()
	for i := range 2500 {
		e := denial(fmt.Sprintf("ok%06d", i), "ann", "note.read")
		if e.Outcome, e.Time = "allow", now; i%2 == 0 {
			e.Body = []byte(`{"elapsed_us":2000,"degraded":true,"gates":[{"gate":"review","elapsed_us":9000,"meta":{"tokens_in":"100",
"tokens_out":"20","cost":"3000"}}]}`)
		}
		list = append(list, e)
	}
	h.record(list...)
	b := h.signIn("review")
	first := b.get("/log/charts")
	require.Equal(t, 200, first.StatusCode)
	require.Contains(t, first.text(), "The log is being counted", "2,000 records at first")
	require.Contains(t, first.body, `hx-trigger="load delay:1s"`)
	h.record(denial("deny1", "ann", "mail.send"))
	part := b.get("/log/charts?range=7d", "HX-Request", "true")
	require.True(t, strings.HasPrefix(part.body, `<section id="charts"`), part.body[:60])
	require.NotContains(t, part.text(), "being counted")
	require.Equal(t, 5, strings.Count(part.body, "<svg"))
	require.Contains(t, part.text(), "2500 allowed")
	require.Contains(t, part.text(), "1 denied")
	require.Contains(t, part.text(), "1250 degraded")
	require.Contains(t, part.text(), "150000 tokens")
	require.Contains(t, part.text(), "3.75 cost")
	require.NotContains(t, part.body, "NaN")
}
