package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/internal/outbound"
)

const (
	// sendTime bounds one delivery, connecting included.
	sendTime = 15 * time.Second
	// maxAnswer is how much of an answer is read, and thrown away.
	maxAnswer = 64 << 10
	// longestWish bounds what Retry-After may ask for.
	longestWish = time.Hour
)

// poster posts to one address.
type poster struct {
	url    string
	client *http.Client
}

// newPoster checks an address. It must be https, or lead to this machine.
func newPoster(raw string, roots *tls.Config) (*poster, error) {
	client, err := outbound.NewClient(raw, roots, sendTime)
	if err != nil {
		return nil, err
	}
	return &poster{url: raw, client: client}, nil
}

// post sends one body. The error is a *SendError.
func (p *poster) post(ctx context.Context, body []byte, header map[string]string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return &SendError{Reason: "the address can't be used", Refused: true}
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return &SendError{Reason: outbound.DescribeFailure(err)}
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	return readStatus(res)
}

// readStatus tells a delivered message from a refused one.
func readStatus(res *http.Response) error {
	code := res.StatusCode
	if code >= 200 && code < 300 {
		return nil
	}
	out := &SendError{Reason: fmt.Sprintf("the receiver answered %d", code)}
	switch {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		out.RetryAfter = parseRetryAfter(res.Header.Get("Retry-After"), time.Now())
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code >= 500:
	default:
		out.Reason += "; look at the channel's settings"
		out.Refused = true
	}
	return out
}

// parseRetryAfter reads seconds or a date (RFC 9110 section 10.2.3), at most an hour.
func parseRetryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(time.Duration(min(n, int(longestWish/time.Second)))*time.Second, longestWish)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), longestWish)
	}
	return 0
}
