package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/handover"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// quantile returns the sample below which a share of them lies, in microseconds.
func quantile(samples []time.Duration, share float64) float64 {
	slices.Sort(samples)
	return float64(samples[min(len(samples)-1, int(float64(len(samples))*share))]) / float64(time.Microsecond)
}

// What HTTP adds to a decision: the same check by the library and over the loopback, in turns.
func BenchmarkOverhead(b *testing.B) {
	h := open(b, changes{})
	body := []byte(`{"granted_skills":["note.*"],"proposed_action":{"skill_name":"note.read","arguments":{"text":"x"}}}`)
	asker := handover.Asker{Principal: "p", User: "ann"}
	var bare, over []time.Duration
	for b.Loop() {
		start := time.Now()
		_, err := h.o.Parts().Handover.Check(context.Background(), asker, body)
		bare = append(bare, time.Since(start))
		require.NoError(b, err)
		start = time.Now()
		r := h.do("check", "POST", "/v1/check", string(body))
		over = append(over, time.Since(start))
		require.Equal(b, 200, r.StatusCode)
	}
	b.ReportMetric(quantile(bare, 0.5), "library-p50-µs")
	b.ReportMetric(quantile(bare, 0.99), "library-p99-µs")
	b.ReportMetric(quantile(over, 0.5), "http-p50-µs")
	b.ReportMetric(quantile(over, 0.99), "http-p99-µs")
	b.ReportMetric(quantile(over, 0.99)-quantile(bare, 0.99), "added-p99-µs")
}

// What open streams cost: heap, stacks and the runtime's own, of the server and its readers' sockets.
func BenchmarkStreams(b *testing.B) {
	const streams = 2000
	h := open(b, changes{})
	memory := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
	}
	for b.Loop() {
		before := memory()
		conns := make([]net.Conn, streams)
		for i := range conns {
			c, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", h.server.Listener.Addr().String())
			require.NoError(b, err)
			conns[i] = c
			_, err = fmt.Fprintf(c, "GET /v1/conversations/c%d/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", i/50,
				h.tokens["ann"])
			require.NoError(b, err)
			got := make([]byte, 12)
			_, err = io.ReadFull(c, got)
			require.NoError(b, err)
			require.Equal(b, "HTTP/1.1 200", string(got))
		}
		b.ReportMetric(memory()-before, "MiB")
		b.ReportMetric((memory()-before)*1024/streams, "KiB/stream")
		for _, c := range conns {
			require.NoError(b, c.Close())
		}
	}
}

// 10,000 pending approvals: all in one list by the library and over the loopback, the first page of the
// usual 100, and all in ten pages, each of which the client reads before it asks for the next.
func BenchmarkPending(b *testing.B) {
	const pending = 10_000
	h := open(b, changes{})
	require.NoError(b, h.o.Parts().Store.Submit(context.Background(), func(tx *store.Tx) error {
		now := time.Now().UnixMilli()
		for i := range pending {
			_, err := tx.Exec(`INSERT INTO approvals (id, call, conversation, turn, agent, user, skill, effect, outward, tainted, digest,
asked, expires, state, code, needed, yes, decided_by, decided_via, decided_at, ended, sheet)
VALUES (?, ?, ?, 't1', 'clerk', 'ann', 'mail.send', 'create', 1, 0, ?, ?, ?, 'pending', '', 1, 0, '', '', 0, 0, 0)`,
				fmt.Sprintf("0199a1b2-c3d4-7e5f-8a9b-%012d", i), fmt.Sprintf("call-%d", i), fmt.Sprintf("c%d", i/10),
				fmt.Sprintf("%064x", i), now+int64(i), now+3_600_000)
			if err != nil {
				return err
			}
		}
		return nil
	}))
	var bare, over, first, paged []time.Duration
	timed := func(samples *[]time.Duration, do func()) {
		start := time.Now()
		do()
		*samples = append(*samples, time.Since(start))
	}
	get := func(path string) (got answer) {
		got = h.do("ann", "GET", path, nil)
		require.Equal(b, 200, got.StatusCode)
		return got
	}
	for b.Loop() {
		timed(&bare, func() {
			all, err := h.o.Parts().Inbox.List(context.Background(), approval.Filter{Limit: pending + 1})
			require.NoError(b, err)
			require.Len(b, all, pending)
		})
		var whole answer
		timed(&over, func() { whole = get("/v1/approvals?limit=10000") })
		require.Equal(b, pending, countEntries(b, whole, nil))
		timed(&first, func() { whole = get("/v1/approvals") })
		require.Equal(b, 100, countEntries(b, whole, nil))
		listed, next := 0, ""
		timed(&paged, func() {
			for more := true; more; more = next != "" {
				listed += countEntries(b, get("/v1/approvals?limit=1000&after="+next), &next)
			}
		})
		require.Equal(b, pending, listed)
	}
	for name, list := range map[string][]time.Duration{"library": bare, "http-whole": over, "http-first-page": first, "http-10-pages": paged} {
		b.ReportMetric(quantile(list, 0.5)/1000, name+"-p50-ms")
		b.ReportMetric(quantile(list, 0.99)/1000, name+"-p99-ms")
	}
}

// countEntries counts the entries of a page, and reads its cursor.
func countEntries(b *testing.B, page answer, next *string) int {
	var list struct {
		Data []json.RawMessage
		Next string `json:"next_cursor"`
	}
	page.into(b, &list)
	if next != nil {
		*next = list.Next
	}
	return len(list.Data)
}

// From a person's answer over HTTP to the start of the call's skill: the answer is on disk and on record,
// the rules were asked again, and the decision and the spent warrant are on disk.
func BenchmarkAnswerToStart(b *testing.B) {
	h := open(b, changes{})
	h.started = make(chan time.Time, 1)
	var samples []time.Duration
	for b.Loop() {
		item, ended := h.ask("ann")
		begun := time.Now()
		h.must("bob", "POST", "/v1/approvals/"+item.ID+"/answer", map[string]any{"word": "yes", "digest": item.Digest}, nil)
		samples = append(samples, (<-h.started).Sub(begun))
		require.NoError(b, <-ended)
	}
	b.ReportMetric(quantile(samples, 0.5)/1000, "p50-ms")
	b.ReportMetric(quantile(samples, 0.99)/1000, "p99-ms")
}
