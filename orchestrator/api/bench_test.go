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

// 10,000 pending approvals in one list, by the library and over the loopback.
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
	var bare, over []time.Duration
	for b.Loop() {
		start := time.Now()
		all, err := h.o.Parts().Inbox.List(context.Background(), approval.Filter{Limit: pending + 1})
		bare = append(bare, time.Since(start))
		require.NoError(b, err)
		require.Len(b, all, pending)
		start = time.Now()
		r := h.do("ann", "GET", "/v1/approvals?limit=10000", nil)
		over = append(over, time.Since(start))
		var list struct{ Data []json.RawMessage }
		r.into(b, &list)
		require.Len(b, list.Data, pending)
	}
	b.ReportMetric(quantile(bare, 0.5)/1000, "library-p50-ms")
	b.ReportMetric(quantile(over, 0.5)/1000, "http-p50-ms")
	b.ReportMetric(quantile(over, 0.99)/1000, "http-p99-ms")
}
