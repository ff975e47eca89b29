package llm_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
)

// BenchmarkChat measures one question of the sentinel's size against the same
// bytes posted with net/http alone, alternating in one run. It reports the
// medians and how much Chat adds.
func BenchmarkChat(b *testing.B) {
	s := serve(b, answer(fine))
	r := llm.Request{Schema: verdict, MaxTokens: 150, Temperature: ptr(0.0), Messages: []llm.Message{
		{Role: llm.RoleSystem, Content: strings.Repeat("You judge one action. ", 60)},
		{Role: llm.RoleUser, Content: strings.Repeat("ACTION email.send ", 40)},
	}}
	c := client(b, s.URL, nil)
	if _, err := c.Chat(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	body := s.received()[0]
	hc := llm.NewHTTPClient()
	b.Cleanup(hc.CloseIdleConnections)
	var chat, bare []float64
	for b.Loop() {
		t0 := time.Now()
		if _, err := c.Chat(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		res, err := hc.Post(s.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.StatusCode, err)
		}
		chat, bare = append(chat, micros(t1.Sub(t0))), append(bare, micros(time.Since(t1)))
	}
	slices.Sort(chat)
	slices.Sort(bare)
	at := func(v []float64, q float64) float64 { return v[int(q*float64(len(v)-1))] }
	b.ReportMetric(at(chat, .5), "chat-p50-us")
	b.ReportMetric(at(chat, .99), "chat-p99-us")
	b.ReportMetric(at(bare, .5), "bare-p50-us")
	b.ReportMetric(at(bare, .99), "bare-p99-us")
	b.ReportMetric(at(chat, .5)/at(bare, .5), "ratio-p50")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
