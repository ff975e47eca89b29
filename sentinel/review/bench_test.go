package review_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// BenchmarkOverhead measures what the gate adds to the bare request: each round
// sends the same question once through the gate and once through the client
// alone, and the difference of the medians is reported.
func BenchmarkOverhead(b *testing.B) {
	s := serve(b, func(w http.ResponseWriter, _ *http.Request, _ int) { say(w, approves) })
	c := client(b, llm.Config{BaseURL: s.URL})
	g, err := review.New(review.Options{Models: []*llm.Client{c}})
	require.NoError(b, err)
	for name, args := range map[string]string{"small": `{"note":"x"}`, "7KB": `{"note":"` + strings.Repeat("x", 7<<10) + `"}`} {
		b.Run(name, func(b *testing.B) {
			cl := call(b, proposal{skill: "self.modify", args: args})
			check(b, g, cl)
			reqs := s.requests()
			sent := decode(b, reqs[len(reqs)-1])
			zero := 0.0
			schema, err := os.ReadFile("prompts/schema.json")
			require.NoError(b, err)
			bare := llm.Request{Temperature: &zero, MaxTokens: 150, Schema: &llm.Schema{Name: "sentinel_decision", Schema: schema}}
			for _, m := range sent.Messages {
				bare.Messages = append(bare.Messages, llm.Message{Role: m.Role, Content: m.Content})
			}
			var gated, plain []time.Duration
			for b.Loop() {
				start := time.Now()
				check(b, g, cl)
				mid := time.Now()
				_, err := c.Chat(b.Context(), bare)
				plain, gated = append(plain, time.Since(mid)), append(gated, mid.Sub(start))
				require.NoError(b, err)
			}
			slices.Sort(gated)
			slices.Sort(plain)
			us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
			b.ReportMetric(us(plain[len(plain)/2]), "bare-p50-µs")
			b.ReportMetric(us(gated[len(gated)/2]), "gate-p50-µs")
			b.ReportMetric(us(gated[len(gated)*99/100]), "gate-p99-µs")
			b.ReportMetric(us(gated[len(gated)/2]-plain[len(plain)/2]), "added-p50-µs")
		})
	}
}
