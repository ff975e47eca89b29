package anchors

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vedette-dev/vedette/internal/outbound"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// HTTP is a server that keeps heads.
type HTTP struct {
	// URL is where each head is posted to, as text/plain.
	URL string
	// ReadURL is where heads are read from at the start; empty where the server gives none back.
	ReadURL string
	// Token is sent as a bearer token; empty sends none.
	Token string
	// TLS is nil, or how the server's certificate is checked.
	TLS *tls.Config
}

type httpPlace struct {
	o            HTTP
	post, reader *http.Client
}

// NewHTTP checks the settings. Both addresses must be https, or lead to this machine.
func NewHTTP(o HTTP) (Place, error) {
	p := &httpPlace{o: o}
	var err error
	if p.post, err = outbound.NewClient(o.URL, o.TLS, sendTime); err != nil {
		return nil, err
	}
	if o.ReadURL != "" {
		if p.reader, err = outbound.NewClient(o.ReadURL, o.TLS, sendTime); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Kind implements Place.
func (*httpPlace) Kind() string { return "http" }

// Put implements Place.
func (p *httpPlace) Put(ctx context.Context, h Kept) error {
	code, _, err := p.exchange(ctx, p.post, http.MethodPost, p.o.URL, h.Signed)
	if err == nil && (code < 200 || code > 299) {
		err = fmt.Errorf("the server answered %d", code)
	}
	return err
}

// Read implements Place. A server that answers 404 or 204 has no head yet.
func (p *httpPlace) Read(ctx context.Context) ([][]byte, error) {
	if p.reader == nil {
		return nil, ErrWriteOnly
	}
	code, body, err := p.exchange(ctx, p.reader, http.MethodGet, p.o.ReadURL, nil)
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusNotFound || code == http.StatusNoContent:
		return nil, nil
	case code != http.StatusOK:
		return nil, fmt.Errorf("the server answered %d", code)
	}
	heads := ledger.SplitHeads(body)
	if len(heads) == 0 && len(bytes.TrimSpace(body)) > 0 {
		return nil, errors.New("the server's answer holds no head")
	}
	return heads, nil
}

// exchange sends one request. The error holds no address.
func (p *httpPlace) exchange(ctx context.Context, c *http.Client, method, url string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address can't be used")
	}
	if p.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+p.o.Token)
	}
	return send(c, req)
}

// send sends a request whose body is text, and reads the answer.
func send(c *http.Client, req *http.Request) (code int, body []byte, err error) {
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, errors.New(outbound.DescribeFailure(err))
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	body, err = io.ReadAll(io.LimitReader(res.Body, maxRead))
	if err != nil {
		return 0, nil, errors.New(outbound.DescribeFailure(err))
	}
	return res.StatusCode, body, nil
}
