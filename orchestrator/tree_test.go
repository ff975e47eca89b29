package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/skills"
)

// freeGrant lets an agent of no conversation use skills.
func freeGrant(t *testing.T, names ...string) sentinel.Grant {
	return freeGrantOf(t, "eve", names...)
}

// freeGrantOf is freeGrant for another user than eve.
func freeGrantOf(t *testing.T, user string, names ...string) sentinel.Grant {
	sc, err := skills.NewScope(names...)
	require.NoError(t, err)
	text := "go"
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: sentinel.NewID(), User: user, Conversation: "free", Turn: sentinel.NewID(), Agent: "free", Mission: "go", MissionBy: sentinel.ByUser,
		Request: &text, Scope: sc,
	})
	require.NoError(t, err)
	return g
}

const reviewed = "sentinel: {mode: enforce}\n"

// scraped serves metrics on a free port.
const scraped = "telemetry: {metrics: {listen: '127.0.0.1:0'}}\n"

// line is one process of the drawing.
var line = regexp.MustCompile(`^([│├└─ ]*)(\w[\w-]*) {2,}(permanent|transient|temporary)\b`)

// The tree that runs is the one that docs/architecture.md draws: names, order,
// depth and restart kinds.
func TestTreeIsDrawn(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "## Supervision")
	require.True(t, found)
	var drawn []string
	for l := range strings.SplitSeq(rest, "\n") {
		if strings.HasPrefix(l, "## ") {
			break
		}
		if m := line.FindStringSubmatch(l); m != nil {
			drawn = append(drawn, fmt.Sprintf("%d %s %s", len([]rune(m[1]))/4, m[2], m[3]))
		}
	}
	url, prefix := redistest.Shared(t)
	o := with()
	o.config = reviewed + scraped + fmt.Sprintf("limits: {store: {driver: redis, url: %q, prefix: %q, timeout: 10s}}\n", url, prefix) +
		"approvals: {inbox: true, notify: [{name: ops, slack: {url: \"http://127.0.0.1:9/x\"}}]}\n"
	o.ledger = ", anchors: [{name: disk, file: {path: ./heads.txt}}]"
	r := start(t, o, orch("go", "done"))
	r.open("c1", "ann")
	var runs []string
	var walk func(list []otp.ProcessInfo, depth int)
	walk = func(list []otp.ProcessInfo, depth int) {
		for _, p := range list {
			id := p.ID
			for _, several := range []string{"model", "channel", "conversation", "anchor"} {
				if strings.HasPrefix(id, several+"-") {
					id = several
				}
			}
			runs = append(runs, fmt.Sprintf("%d %s %s", depth, id, p.Restart))
			walk(p.Children, depth+1)
		}
	}
	walk(r.sys.Snapshot(), 0)
	without := drawn[:0:0]
	for _, d := range drawn { // no agent runs at this moment
		if !strings.HasSuffix(d, " agent temporary") {
			without = append(without, d)
		}
	}
	require.Equal(t, without, runs)
	require.Len(t, drawn, len(without)+1)
}

// Whatever child of the tree breaks down, it comes back, those that it shares
// nothing with don't notice, and requests are answered before and after.
func TestChildrenComeBack(t *testing.T) {
	url, prefix := redistest.Shared(t)
	o := with()
	o.config = reviewed + scraped + fmt.Sprintf("limits: {store: {driver: redis, url: %q, prefix: %q, timeout: 10s}}\n", url, prefix)
	r := start(t, o, orch("go", "done"))
	c := r.open("c1", "ann")
	ask := func() {
		reply, err := c.Send(t.Context(), "go")
		require.NoError(t, err)
		require.Equal(t, "done", reply.Text)
	}
	ask()
	server, ok := r.sys.Whereis(serverName("c1"))
	require.True(t, ok)
	for _, name := range []string{"service/writer", "service/maintenance", "service/pauses", "review/m", "service/canaries", "metrics",
		"door", "router", "recovery"} {
		t.Run(name, func(t *testing.T) {
			old, ok := r.sys.Whereis(name)
			require.True(t, ok)
			old.Send(breakdown{})
			require.Eventually(t, func() bool {
				now, ok := r.sys.Whereis(name)
				return ok && now != old
			}, eventually, tick)
			ask()
			now, ok := r.sys.Whereis(serverName("c1"))
			require.True(t, ok)
			require.Equal(t, server, now, "the conversation did not notice")
			found := false
			for _, p := range flat(r.Top().Tree) {
				found = found || strings.HasPrefix(p.LastExit, "crash")
			}
			require.True(t, found, "top says why")
		})
	}
	require.Eventually(t, func() bool {
		var top Top
		return control.Dial(control.SocketPath(r.parts.Config.Ledger.Path)).Top(t.Context(), &top) == nil
	}, eventually, tick)
}

func flat(list []ProcessInfo) (out []ProcessInfo) {
	for _, p := range list {
		out = append(append(out, p), flat(p.Children)...)
	}
	return out
}

// The router is asked for conversations while it breaks: each is opened.
func TestRouterBreaksUnderLoad(t *testing.T) {
	r := start(t, with(), orch("go", "done"))
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for i := range 50 {
		wg.Go(func() {
			if i%10 == 0 {
				if pid, ok := r.sys.Whereis("router"); ok {
					pid.Send(breakdown{})
				}
			}
			c, err := r.Open(context.Background(), ConversationOptions{ID: fmt.Sprint("c", i), User: "ann"})
			if err == nil {
				_, err = c.Send(context.Background(), "go")
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// A writer that is broken down again and again, more often than its supervisor
// restarts it, refuses the group that it was at with an error that names the
// store, and no other: the store goes on with or without it.
func TestWriterBreaks(t *testing.T) {
	book := &logbook{}
	o := with(book.skill(t, "note.plain", skills.Create, false, skills.Trusted))
	o.config = "limits: {conversation: {calls: 1000}}\n"
	r := start(t, o, orch("go", "done"))
	for i := range 100 {
		err := r.parts.Store.Submit(t.Context(), func(*store.Tx) error { runtime.Goexit(); return nil })
		require.ErrorIs(t, err, store.ErrUnavailable)
		_, err = r.Parts().Checkpoint.Desk(freeGrant(t, "note.plain")).Invoke(t.Context(), "note.plain",
			json.RawMessage(fmt.Sprintf(`{"X":"%d"}`, i)))
		require.NoError(t, err)
		require.Equal(t, 1, book.times(fmt.Sprint(i)))
	}
	require.Equal(t, "done", r.send("go").Text)
	r.verify()
}
