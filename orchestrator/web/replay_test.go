package web_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/web"
)

// oracle is a replayer whose answers a test gives.
type oracle struct {
	asked []web.ReplayAsked
	err   error
	wait  chan struct{}
	began chan struct{}
}

func (o *oracle) replay(ctx context.Context, asked web.ReplayAsked) (*web.ReplayReport, error) {
	o.asked = append(o.asked, asked)
	if o.wait != nil {
		o.began <- struct{}{}
		select {
		case <-o.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &web.ReplayReport{Effect: "would have asked 3 and denied 0 of 1204 calls", Calls: 1204, Same: 1201, Changed: 3, Tighter: 3,
		Groups: []web.ReplayGroup{{Title: "allow to ask", Calls: 3, Skills: "mail.send 3", Examples: []web.ReplayExample{
			{Decision: "d-1", Skill: "x\u202e<img src=x onerror=alert(1)>", User: "ann\x1b[2J", Was: "allow", Now: "ask permission.ask"}}}}}, o.err
}

// The page tells what one more rule would have done, in words that mean nothing to a browser but themselves.
func TestReplayPage(t *testing.T) {
	o := &oracle{}
	h := open(t, changes{pages: web.Options{Replay: o.replay}})
	b := h.signIn("values")
	page := b.get("/log/replay")
	require.Equal(t, 200, page.StatusCode)
	require.Contains(t, page.body, `value="since:7d"`)
	require.Contains(t, b.get("/log").body, `href="/log/replay"`)
	form := func(q, rule string) url.Values {
		return url.Values{"csrf": {page.field("csrf")}, "q": {q}, "rule": {rule}}
	}
	got := b.post("/log/replay", form("skill:mail.* since:30d", " {skill: mail.send, then: ask} "))
	require.Equal(t, 200, got.StatusCode)
	require.Contains(t, got.text(), "would have asked 3 and denied 0 of 1204 calls")
	for _, raw := range []string{"<img", "\u202e", "\x1b"} {
		require.NotContains(t, got.body, raw)
	}
	require.Len(t, o.asked, 1)
	require.Equal(t, "{skill: mail.send, then: ask}", o.asked[0].Rule)
	require.Contains(t, o.asked[0].Query.String(), "skill:mail.*")
	require.Contains(t, h.log.String(), "recorded calls are decided again for a page")

	for _, bad := range []url.Values{form("gaet:x", ""), form("", "a\nb"), form("", strings.Repeat("x", 5000))} {
		require.Equal(t, 422, b.post("/log/replay", bad).StatusCode)
	}
	require.Equal(t, 403, b.post("/log/replay", url.Values{"csrf": {"other"}, "q": {""}, "rule": {""}}).StatusCode)
	require.Len(t, o.asked, 1, "nothing was decided")
	o.err = fmt.Errorf("%w: unknown skill <b>", web.ErrRule)
	got = b.post("/log/replay", form("", "{skill: x.y, then: ask}"))
	require.Equal(t, 422, got.StatusCode)
	require.Contains(t, got.body, "unknown skill &lt;b&gt;")
	o.err = context.DeadlineExceeded
	require.Contains(t, b.post("/log/replay", form("", "")).text(), "Narrow the query")
	o.err = errors.New("CANARY")
	got = b.post("/log/replay", form("", ""))
	require.Equal(t, 503, got.StatusCode)
	require.NotContains(t, got.body, "CANARY")
}

// A rule can ask about values, so the page is for those who may read them. One replay runs at a time.
func TestReplayPageIsGuarded(t *testing.T) {
	o := &oracle{wait: make(chan struct{}), began: make(chan struct{})}
	h := open(t, changes{pages: web.Options{Replay: o.replay}})
	for _, name := range []string{"rita", "review", "ann"} {
		b := h.signIn(name)
		require.Equal(t, 403, b.get("/log/replay").StatusCode, name)
		require.Equal(t, 403, b.post("/log/replay", url.Values{"q": {""}}).StatusCode, name)
		require.NotContains(t, b.get("/log").body, "/log/replay")
	}
	b := h.signIn("values")
	form := url.Values{"csrf": {b.get("/log/replay").field("csrf")}, "q": {""}, "rule": {""}}
	ended := make(chan int)
	go func() { ended <- b.post("/log/replay", form).StatusCode }()
	<-o.began
	require.Equal(t, 503, b.post("/log/replay", form).StatusCode)
	close(o.wait)
	require.Equal(t, 200, <-ended)
	without := open(t, changes{}).signIn("values")
	require.NotContains(t, without.get("/log").body, "/log/replay")
	require.Equal(t, 404, without.get("/log/replay").StatusCode)
}
