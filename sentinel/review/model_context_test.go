package review_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/review"
)

// A server that cuts long questions off says so by its count of tokens alone: it
// is the size of the context. What was approved then is not the call; what was
// rejected is rejected.
func TestApprovalOfWhatWasCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		said               string
		context            int
		prompt, completion int
		want               sentinel.Outcome
		failure            string
	}{
		"cut off and approved":        {approves, 8192, 8192, 20, sentinel.Ask, "too_long"},
		"the answer pushed it out":    {approves, 8192, 8180, 12, sentinel.Ask, "too_long"},
		"cut off and rejected":        {flip(approves), 8192, 8192, 20, sentinel.Deny, ""},
		"just fits":                   {approves, 8192, 8179, 12, sentinel.Allow, ""},
		"the context is not known":    {approves, 0, 8192, 20, sentinel.Allow, ""},
		"the server counts no tokens": {approves, 8192, 0, 0, sentinel.Allow, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, fmt.Sprintf(`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%q}}],`+
					`"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`,
					c.said, c.prompt, c.completion))
			})
			g, err := review.New(review.Options{Models: []*llm.Client{client(t, llm.Config{BaseURL: s.URL, Context: c.context})}})
			require.NoError(t, err)
			v := check(t, g, call(t, proposal{skill: "self.read"}))
			require.Equal(t, c.want, v.Outcome)
			require.Equal(t, c.failure, v.Meta["failure"])
			require.Len(t, s.requests(), 1, "asking again would be cut off as well")
		})
	}
}
