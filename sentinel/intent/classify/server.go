package classify

import (
	"bytes"
	"context"
	"crypto/tls"
	_ "embed" // the prompt is a file
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/vedette-dev/vedette/internal/outbound"
	"github.com/vedette-dev/vedette/internal/plainjson"
)

//go:embed prompt.txt
var prompt string

// Server is a classifier of an operator's own, reached by HTTP: {"text": "…"} is posted to it, and it answers
// {"score": 0.93}.
type Server struct {
	URL string
	// Token is sent as a bearer token; empty sends none.
	Token string
	// Timeout bounds one request. Zero is DefaultTimeout.
	Timeout time.Duration
	// TLS is nil, or how the server's certificate is checked.
	TLS *tls.Config
}

// maxAnswer bounds a server's answer in bytes.
const maxAnswer = 4 << 10

// FromServer asks a server. Its address must be https, or lead to this machine; redirects are not followed. The error says
// what is wrong with the address.
func FromServer(s Server) (Source, error) {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	client, err := outbound.NewClient(s.URL, s.TLS, s.Timeout)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, text string) (string, error) {
		body, err := plainjson.Marshal(map[string]string{"text": text})
		if err != nil {
			return "", err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
		if err != nil {
			return "", errors.New("the address can't be used")
		}
		req.Header.Set("Content-Type", "application/json")
		if s.Token != "" {
			req.Header.Set("Authorization", "Bearer "+s.Token)
		}
		res, err := client.Do(req)
		if err != nil {
			return "", errors.New(outbound.DescribeFailure(err))
		}
		defer res.Body.Close() //nolint:errcheck // it was read
		raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
		if err != nil || res.StatusCode != http.StatusOK || len(raw) > maxAnswer {
			return "", errors.New("the server gave no answer that can be read")
		}
		return string(raw), nil
	}, nil
}
