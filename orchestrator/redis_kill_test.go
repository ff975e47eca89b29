package orchestrator

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents"
	"github.com/vedette-dev/vedette/limits/redisstore/redistest"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// The server of the limits is killed and started again while agents work: every
// request is answered; while it is away reads go on and are marked degraded,
// what does more than read is refused; and when it is back all works as before.
func TestRedisKilledUnderLoad(t *testing.T) {
	srv := redistest.Start(t)
	book := &logbook{}
	o := with(book.skill(t, "note.read", skills.Read, false, skills.Trusted),
		book.skill(t, "note.change", skills.Modify, false, skills.Trusted))
	o.config = fmt.Sprintf("limits: {conversation: {calls: 10000}, store: {driver: redis, url: %q, timeout: 5s}}\n", srv.URL())
	r := start(t, o,
		orch("go", []call{dispatch("a", "do-a", "note.read", "note.change"), dispatch("b", "do-a", "note.read", "note.change")},
			results("wait_all"), "done"),
		agent("do-a", use("note.read", "r1"), use("note.change", "c1"), use("note.read", "r2"), "ok"))
	load := func(stage string, during func()) {
		errs := make(chan error, 8)
		for i := range cap(errs) {
			go func() {
				c, err := r.Open(context.Background(), ConversationOptions{ID: fmt.Sprint(stage, i), User: "ann"})
				if err == nil {
					var reply Reply
					reply, err = c.Send(context.Background(), "go")
					for _, a := range reply.Agents {
						if a.State != agents.Completed {
							err = fmt.Errorf("agent %s is %s: %s", a.Agent, a.State, a.Reason)
						}
					}
				}
				errs <- err
			}()
		}
		during()
		for range cap(errs) {
			require.NoError(t, <-errs, stage)
		}
	}
	load("before", func() {})
	load("dying", srv.Kill)
	changed := book.times("c1")
	load("away", func() {})
	require.Equal(t, changed, book.times("c1"), "nothing is changed while no server counts for all")
	degraded, refused := 0, 0
	for i := range 8 {
		for _, d := range r.list(ledger.Query{Conversation: fmt.Sprint("away", i), Kind: sentinel.RecordDecision}) {
			switch {
			case d.Skill == "note.read" && d.Outcome == "allow":
				degraded++
				require.Contains(t, string(d.Body), `"degraded":true`)
			case d.Skill == "note.change":
				refused++
				require.Equal(t, "deny", d.Outcome)
			}
		}
	}
	require.Equal(t, []int{32, 16}, []int{degraded, refused})
	load("returning", srv.Restart)
	require.Eventually(t, func() bool { s, ok := r.Parts().Limits(); return ok && !s.Away }, eventually, tick)
	changed = book.times("c1")
	load("back", func() {})
	require.Equal(t, changed+16, book.times("c1"))
	r.verify()
}
