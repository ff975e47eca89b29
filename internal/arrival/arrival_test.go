package arrival

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// carry returns a carrier of its own and a server that tells it of each request.
func carry(t *testing.T, h func(c *Carrier, w http.ResponseWriter, r *http.Request)) (*Carrier, string) {
	c := &Carrier{Next: &http.Transport{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h(c, w, r) }))
	t.Cleanup(srv.Close)
	t.Cleanup(c.CloseIdleConnections)
	return c, srv.URL
}

func ask(ctx context.Context, t *testing.T, url string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	return req
}

// A request arrives although its time was over before it left, and then ends.
func TestARequestArrivesBeforeItEnds(t *testing.T) {
	read := make(chan struct{}, 1)
	c, url := carry(t, func(c *Carrier, _ http.ResponseWriter, r *http.Request) {
		read <- struct{}{}
		c.OnArrival(r.Header)
		<-r.Context().Done()
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := c.RoundTrip(ask(over, t, url))
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, res)
	require.Len(t, read, 1)
	require.Empty(t, c.waiting)
}

// A request that no server tells of ends where its answer has begun.
func TestAnAnswerBeginsBeforeItEnds(t *testing.T) {
	c, url := carry(t, func(_ *Carrier, w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := c.RoundTrip(ask(over, t, url))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	_, err = io.ReadAll(res.Body)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, res.Body.Close())
	require.Empty(t, c.waiting)
}

// A request whose time is not over, and one to no server, are as they are without a carrier.
func TestACarrierChangesNothingElse(t *testing.T) {
	c, url := carry(t, func(c *Carrier, w http.ResponseWriter, r *http.Request) {
		c.OnArrival(r.Header)
		_, _ = io.WriteString(w, "whole")
	})
	res, err := c.RoundTrip(ask(t.Context(), t, url))
	require.NoError(t, err)
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "whole", string(got))
	require.NoError(t, res.Body.Close())

	res, err = c.RoundTrip(ask(t.Context(), t, "http://127.0.0.1:1"))
	require.Error(t, err)
	require.Nil(t, res)
	require.Empty(t, c.waiting)
}

// breaking is a transport that panics.
type breaking struct{}

func (breaking) RoundTrip(*http.Request) (*http.Response, error) { panic("broken") }

// A request whose transport panics is no longer on its way: its end is held back no more.
func TestAPanicEndsTheRequest(t *testing.T) {
	c := &Carrier{Next: breaking{}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // what waits for the request's arrival would wait for ever
	require.PanicsWithValue(t, "broken", func() { _, _ = c.RoundTrip(ask(ctx, t, "http://x.test")) })
	require.Empty(t, c.waiting)
}
