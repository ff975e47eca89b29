package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

// nobody fails the test when something is sent.
type nobody struct{ t *testing.T }

func (n nobody) RoundTrip(*http.Request) (*http.Response, error) {
	n.t.Error("a request that could not be built was sent")
	return nil, errors.New("no")
}

// A request whose halves don't fit together is not sent.
func TestBrokenHalvesAreNotSent(t *testing.T) {
	for name, body := range map[string]io.Reader{"another half": strings.NewReader(`{"else":1}`), "none": strings.NewReader(""),
		"unreadable": iotest.ErrReader(errors.New("x"))} {
		x := &exchange{client: &http.Client{Transport: nobody{t}}, head: []byte(`{"model":"m",`), now: time.Now, limit: 100}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.test", body)
		require.NoError(t, err)
		res, err := x.Do(req)
		require.Nil(t, res, name)
		var e *Error
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, Error{Kind: KindRequest, Code: CodeInvalidRequest, msg: "the request could not be built"}, *e)
	}
}

// overdue is a context whose deadline has passed and that does not know it yet.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now().Add(-time.Second), true }

// A deadline that has passed is the caller's where it was his, and the model's
// time where that was shorter, also before a context says so.
func TestWhoseDeadlineItWas(t *testing.T) {
	c := &Client{cfg: Config{Timeout: time.Second}}
	broke := &Error{Kind: KindConnect, msg: "broke"}
	e := c.classifyFailure(overdue{context.Background()}, overdue{context.Background()}, &exchange{}, broke)
	require.Equal(t, KindCanceled, e.Kind)
	require.ErrorIs(t, e, context.DeadlineExceeded)
	e = c.classifyFailure(context.Background(), overdue{context.Background()}, &exchange{}, broke)
	require.Equal(t, KindTimeout, e.Kind)
	require.NoError(t, e.Unwrap())
	require.Equal(t, "the caller's deadline passed",
		c.classifyFailure(overdue{context.Background()}, overdue{context.Background()}, &exchange{}, broke).msg)
	notJSON := &Error{Kind: KindNotJSON}
	require.Same(t, notJSON, c.classifyFailure(overdue{context.Background()}, overdue{context.Background()}, &exchange{}, notJSON),
		"the answer was there")
	require.Same(t, broke, c.classifyFailure(context.Background(), context.Background(), &exchange{}, broke))
	e = c.classifyFailure(context.Background(), context.Background(), &exchange{}, errors.New("the library would not"))
	require.Equal(t, KindRequest, e.Kind)
	require.Equal(t, CodeInvalidRequest, e.Code)
}

// A pool keeps connections warm and waits for nothing without end.
func TestPoolIsBounded(t *testing.T) {
	for warm, want := range map[int]int{0: defaultWarm, defaultWarm: defaultWarm, defaultWarm + 1: defaultWarm + 1} {
		tr, ok := NewPool(warm).Transport.(*http.Transport)
		require.True(t, ok)
		require.Equal(t, want, tr.MaxIdleConnsPerHost)
		require.True(t, tr.ForceAttemptHTTP2)
		require.NotNil(t, tr.Proxy)
		require.NotNil(t, tr.DialContext)
		for _, d := range []time.Duration{tr.IdleConnTimeout, tr.TLSHandshakeTimeout, tr.ExpectContinueTimeout} {
			require.Positive(t, d)
		}
		require.Equal(t, int64(64<<10), tr.MaxResponseHeaderBytes)
	}
}

// A request that the transport sends again is the same.
func TestBodyCanBeSentAgain(t *testing.T) {
	x := &exchange{head: []byte(`{"model":"m",`)}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x.test", strings.NewReader(libraryHead+`"stream":false}`))
	require.NoError(t, err)
	require.Nil(t, x.completeBody(req))
	first, err := io.ReadAll(req.Body)
	require.NoError(t, err)
	again, err := req.GetBody()
	require.NoError(t, err)
	second, err := io.ReadAll(again)
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	require.JSONEq(t, `{"model":"m","stream":false}`, string(first))
	require.Equal(t, int64(len(first)), req.ContentLength)
}
