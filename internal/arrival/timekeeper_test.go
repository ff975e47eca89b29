package arrival

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// keepTime returns a transport that keeps time, and a server that answers when it is
// told to, or hangs and says that the request has arrived.
func keepTime(t *testing.T, answer <-chan struct{}) (*Timekeeper, string) {
	k := &Timekeeper{Next: &http.Transport{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			k.OnArrival(r.Header)
			<-r.Context().Done()
			return
		}
		<-answer
		_, _ = io.WriteString(w, "whole")
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(k.CloseIdleConnections)
	return k, srv.URL
}

// A request has its time from its arrival on, and then it is late; one of which no server
// tells has all the time there is.
func TestTimeBeginsAtTheArrival(t *testing.T) {
	answer := make(chan struct{})
	k, url := keepTime(t, answer)
	early, cancelEarly := k.WithTimeout(t.Context(), time.Nanosecond)
	defer cancelEarly()
	late, cancelLate := k.WithTimeout(t.Context(), time.Nanosecond)
	defer cancelLate()
	res, err := k.RoundTrip(ask(late, t, url+"/hang"))
	require.Error(t, err)
	require.Nil(t, res)
	require.Equal(t, context.DeadlineExceeded, late.Err())
	require.NoError(t, early.Err(), "its own time has not begun")

	close(answer)
	res, err = k.RoundTrip(ask(early, t, url))
	require.NoError(t, err)
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "whole", string(got))
	require.NoError(t, early.Err())
	cancelEarly()
	cancelLate()
	require.Equal(t, context.Canceled, early.Err())
	require.Equal(t, context.DeadlineExceeded, late.Err(), "it was late before")
	require.Empty(t, k.spans)
}

// A request ends with the context that it was made in, and is then not late of its own.
func TestARequestEndsWithItsCaller(t *testing.T) {
	k, _ := keepTime(t, nil)
	parent, leave := context.WithTimeout(t.Context(), time.Hour)
	ctx, cancel := k.WithTimeout(parent, time.Nanosecond)
	defer cancel()
	theirs, _ := parent.Deadline()
	own, ok := ctx.Deadline()
	require.True(t, ok)
	require.True(t, own.Before(theirs))
	leave()
	<-ctx.Done()
	require.Equal(t, context.Canceled, ctx.Err())
	k.OnArrival(http.Header{header: {"unknown"}})
}
