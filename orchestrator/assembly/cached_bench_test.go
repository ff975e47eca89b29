package assembly_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/sentinel"
)

// approving is a model that approves everything at once.
func approving(b *testing.B) *httptest.Server {
	b.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w,
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"{\"decision\":\"approve\",`+
				`\"reason\":\"x\"}"}}]}`)
	}))
	b.Cleanup(s.Close)
	return s
}

// BenchmarkCached measures a decision whose review is answered from what is kept
// beside one of the rules alone, raw bytes to verdict, in turns: what differs is
// the review. The aim is 10 µs.
func BenchmarkCached(b *testing.B) {
	for name, path := range map[string]string{"small": "notes/today.md", "7KB": strings.Repeat("lorem/ipsum", 7<<10/11)} {
		b.Run(name, func(b *testing.B) {
			s := approving(b)
			const rulesOnly = "sentinel: {mode: \"off\"}\n"
			model := "models: {m: {model: m, base_url: \"" + s.URL + "\"}}\nroles: {sentinel: m}\nsentinel: {cache_ttl: 1h, canaries: {every: 0s}}\n"
			plain, err := assembly.Build(b.Context(), load(b, write(b, benchRules+rulesOnly)), assembly.Options{})
			require.NoError(b, err)
			b.Cleanup(func() { _ = plain.Close() })
			kept, err := assembly.Build(b.Context(), load(b, write(b, benchRules+model)), assembly.Options{})
			require.NoError(b, err)
			b.Cleanup(func() { _ = kept.Close() })
			prop := sentinel.Proposal{Skill: "fs.read", Args: []byte(`{"path":"` + path + `"}`), Grant: grant(b, "read today's notes", "fs.read")}
			decide := func(p *sentinel.Checkpoint, from string) {
				c, err := p.NewCall(prop)
				if err != nil {
					b.Fatal(err)
				}
				d, err := p.Decide(b.Context(), c)
				v, _ := d.Verdict(sentinel.GateReview)
				if err != nil || d.Outcome != sentinel.Allow || v.Meta["from"] != from {
					b.Fatal(d.Outcome, d.Code, v.Meta, err)
				}
			}
			decide(kept.Checkpoint, "")
			var with, without []int64
			cached := func() { with = append(with, took(func() { decide(kept.Checkpoint, "cache") })) }
			rules := func() { without = append(without, took(func() { decide(plain.Checkpoint, "") })) }
			runtime.GC()
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 {
					cached()
					rules()
				} else {
					rules()
					cached()
				}
			}
			slices.Sort(with)
			slices.Sort(without)
			at := func(v []int64, q float64) float64 { return float64(v[int(q*float64(len(v)-1))]) / 1000 }
			b.ReportMetric(at(without, .5), "rules-p50-µs")
			b.ReportMetric(at(with, .5), "cached-p50-µs")
			b.ReportMetric(at(with, .5)-at(without, .5), "added-p50-µs")
			b.ReportMetric(at(without, .99), "rules-p99-µs")
			b.ReportMetric(at(with, .99), "cached-p99-µs")
		})
	}
}
