package agents

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/agents/llm"
)

// failing is a Model that fails in turn and then answers.
type failing struct {
	errs  []*llm.Error
	asked int
}

func (s *failing) Chat(context.Context, llm.Request) (llm.Response, error) {
	s.asked++
	if s.asked <= len(s.errs) {
		return llm.Response{}, s.errs[s.asked-1]
	}
	return llm.Response{Content: "hi"}, nil
}

// What may be over in a moment is tried again, along the whole chain, at most
// three times and not before a server said; what won't be is not.
func TestChainAgain(t *testing.T) {
	e := func(k llm.Kind, after time.Duration) *llm.Error { return &llm.Error{Kind: k, RetryAfter: after} }
	connect, auth := e(llm.KindConnect, 0), e(llm.KindAuth, 0)
	for name, tc := range map[string]struct {
		first, second []*llm.Error // of two models; nil is a chain of one
		asked         int          // times the first is
		least, most   time.Duration
		fails         bool
	}{
		"a moment": {first: []*llm.Error{connect}, asked: 2, least: 100 * time.Millisecond, most: 200 * time.Millisecond},
		"two": {first: []*llm.Error{connect, e(llm.KindServer, 0)}, asked: 3, least: 300 * time.Millisecond,
			most: 600 * time.Millisecond},
		"for good": {first: []*llm.Error{connect, connect, connect}, asked: 3, least: 300 * time.Millisecond,
			most: 600 * time.Millisecond, fails: true},
		"as asked": {first: []*llm.Error{e(llm.KindRateLimited, 3*time.Second)}, asked: 2, least: 3 * time.Second,
			most: 3 * time.Second},
		"asked for too long":   {first: []*llm.Error{e(llm.KindRateLimited, 11*time.Second)}, asked: 1, fails: true},
		"beyond the deadline":  {first: []*llm.Error{e(llm.KindRateLimited, 8*time.Second)}, asked: 1, fails: true},
		"a wrong key":          {first: []*llm.Error{auth}, asked: 1, fails: true},
		"a timeout":            {first: []*llm.Error{e(llm.KindTimeout, 0)}, asked: 1, fails: true},
		"the next model first": {first: []*llm.Error{connect}, second: []*llm.Error{}, asked: 1},
		"the shortest wait": {first: []*llm.Error{e(llm.KindRateLimited, 5*time.Second)},
			second: []*llm.Error{e(llm.KindRateLimited, time.Second)}, asked: 2, least: time.Second, most: time.Second},
		"beside a wrong key": {first: []*llm.Error{connect}, second: []*llm.Error{auth, auth, auth}, asked: 2, least: 100 * time.Millisecond,
			most: 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
				defer cancel()
				first := &failing{errs: tc.first}
				c := Chain{first}
				if tc.second != nil {
					c = append(c, &failing{errs: tc.second})
				}
				began := time.Now()
				resp, err := c.Chat(ctx, llm.Request{})
				require.Equal(t, tc.fails, err != nil)
				require.Equal(t, !tc.fails, resp.Content == "hi")
				require.Equal(t, tc.asked, first.asked)
				require.GreaterOrEqual(t, time.Since(began), tc.least)
				require.LessOrEqual(t, time.Since(began), tc.most)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) { // who leaves while it waits is not kept
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		began := time.Now()
		_, err := Chain{&failing{errs: []*llm.Error{connect}}}.Chat(ctx, llm.Request{})
		require.Error(t, err)
		require.Equal(t, 50*time.Millisecond, time.Since(began))
	})
}
