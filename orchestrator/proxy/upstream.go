package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/proxy/formats"
	"github.com/vedette-dev/vedette/orchestrator/proxy/wire"
)

// newTransport returns what carries requests to upstreams.
func newTransport(t config.ProxyTimeouts) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: t.Connect}).DialContext, TLSHandshakeTimeout: t.Connect,
		ResponseHeaderTimeout: t.Header, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: idleConnection,
		DisableCompression: true, MaxResponseHeaderBytes: maxUpstreamHeader, ReadBufferSize: bufferSize, WriteBufferSize: bufferSize / 2,
	}
}

// notForwarded are headers of a client that its upstream has no use for, or that the proxy sets itself.
var notForwarded = []string{
	"Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Length", "Cookie", "Expect", "Forwarded", "Host",
	"Keep-Alive", "Origin", "Proxy-Authorization", "Proxy-Connection", "Referer", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Via",
	"X-Api-Key", "X-Real-Ip", "X-Request-Id",
}

// notForwardedPrefixes begin such headers.
var notForwardedPrefixes = []string{"X-Vedette-", "X-Forwarded-", "Sec-"}

// forwardedBack begin the headers of an upstream that its clients read.
var forwardedBack = []string{
	"Anthropic-", "Openai-", "X-Ratelimit-", "Ratelimit", "Retry-After", "Request-Id", "X-Request-Id", "X-Should-Retry",
}

// copyRequestHeaders copies what the client says to its provider. What the Connection header names is for this hop alone.
func copyRequestHeaders(to, from http.Header) {
	hop := map[string]bool{}
	for _, v := range from.Values("Connection") {
		for name := range strings.SplitSeq(v, ",") {
			hop[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	for name, values := range from {
		if !hop[name] && !hasName(notForwarded, name) && !hasPrefix(notForwardedPrefixes, name) {
			to[name] = values
		}
	}
}

func copyAnswerHeaders(to, from http.Header) {
	for name, values := range from {
		if hasPrefix(forwardedBack, name) {
			to[name] = values
		}
	}
}

func hasName(list []string, name string) bool {
	for _, n := range list {
		if n == name {
			return true
		}
	}
	return false
}

func hasPrefix(list []string, name string) bool {
	for _, p := range list {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// chooseUpstream returns the first server of a format that has the model.
func chooseUpstream(list []config.ProxyUpstream, model string) (config.ProxyUpstream, error) {
	for _, u := range list {
		if u.Serves(model) {
			return u, nil
		}
	}
	return config.ProxyUpstream{}, &wire.Error{Status: http.StatusNotFound, Code: "model_not_found",
		Message: "the proxy has no upstream with this model"}
}

// upstreams carries requests to the servers of models.
type upstreams struct {
	client     *http.Client
	own        *http.Transport // where Options had none
	credential func(ctx context.Context, name, user string) (string, error)
	log        *slog.Logger
}

// newUpstreams returns what carries requests; it follows no redirect, which would take keys elsewhere.
func newUpstreams(o Options, t config.ProxyTimeouts) *upstreams {
	u := &upstreams{credential: o.Credential, log: o.Log}
	if o.Transport == nil {
		u.own = newTransport(t)
		o.Transport = u.own
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	u.client = &http.Client{Transport: o.Transport, CheckRedirect: stay}
	return u
}

// close drops the connections that are kept.
func (u *upstreams) close() {
	if u.own != nil {
		u.own.CloseIdleConnections()
	}
}

// question is one request to an upstream.
type question struct {
	form   *formats.Form
	to     config.ProxyUpstream
	method string
	path   string // behind the upstream's address: "/chat/completions"
	query  string
	header http.Header
	body   []byte
	user   string
}

// ask sends a question. The error is a *wire.Error.
func (u *upstreams) ask(ctx context.Context, q question) (*http.Response, error) {
	target := strings.TrimRight(q.to.URL, "/") + q.form.Base + q.path
	if q.query != "" {
		target += "?" + q.query
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, target, body)
	if err != nil {
		return nil, errUnreachable
	}
	copyRequestHeaders(req.Header, q.header)
	if err := u.setKeys(ctx, req.Header, q); err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity")
	res, err := u.client.Do(req)
	if err != nil {
		return nil, u.explainUnreachable(ctx, err)
	}
	if err := decompress(res); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, nil
}

// setKeys sets the upstream's key: the operator's, the user's, or the one that the client sent.
func (u *upstreams) setKeys(ctx context.Context, h http.Header, q question) error {
	switch {
	case q.to.APIKey.IsSet():
		q.form.SetKey(h, q.to.APIKey.Reveal())
	case q.to.Credential != "":
		if u.credential == nil {
			return errNoCredential
		}
		key, err := u.credential(ctx, q.to.Credential, q.user)
		if err != nil {
			u.log.Warn("a user's key of an upstream can't be found", "credential", q.to.Credential, "error", err)
			return errNoCredential
		}
		q.form.SetKey(h, key)
	default:
		k := providerKeys(ctx)
		for name, value := range map[string]string{"Authorization": k.authorization, "X-Api-Key": k.apiKey} {
			if value != "" {
				h.Set(name, value)
			}
		}
	}
	return nil
}

// gatewayError is an error of an upstream's that a client reads.
func gatewayError(status int, code, message string) *wire.Error {
	return &wire.Error{Status: status, Code: code, Message: message}
}

var (
	errUnreachable  = gatewayError(http.StatusBadGateway, "upstream_unreachable", "the upstream can't be reached")
	errSlow         = gatewayError(http.StatusGatewayTimeout, "upstream_timeout", "the upstream did not answer in time")
	errNoCredential = gatewayError(http.StatusForbidden, "credential_missing", "the user has no key of this upstream")
	errEncoding     = gatewayError(http.StatusBadGateway, "upstream_encoding", "the upstream compressed its answer in an unknown way")
	errBadAnswer    = gatewayError(http.StatusBadGateway, "upstream_malformed", "the upstream's answer is not what was asked for")
	errTooLarge     = gatewayError(http.StatusBadGateway, "upstream_too_large", "the upstream's answer is too large")
)

// explainUnreachable is the error of an upstream that gave no answer. What the client may read says nothing of the network.
func (u *upstreams) explainUnreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	u.log.Warn("an upstream of the proxy can't be asked", "error", hideAddress(err))
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return errSlow
	}
	return errUnreachable
}

// hideAddress is an error of a client without the URL, whose query is the caller's.
func hideAddress(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// decompress makes the body of an answer plain. An answer that is compressed though that was not asked for is read
// where it is gzip.
func decompress(res *http.Response) error {
	switch strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))) {
	case "", "identity":
		return nil
	case "gzip":
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			return errEncoding
		}
		res.Body = &unzipped{z, res.Body}
		return nil
	}
	return errEncoding
}

// unzipped is a body that is read through gzip. What is read is bounded by who reads it.
type unzipped struct {
	io.Reader
	body io.ReadCloser
}

// Close closes the body.
func (u *unzipped) Close() error { return u.body.Close() }

// readBody reads a request's body: plain, or gzip up to the same bound.
func readBody(r *http.Request, most int) ([]byte, error) {
	var from io.Reader = r.Body
	switch strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, wire.Invalid("the body is no gzip")
		}
		from = z
	default:
		return nil, gatewayError(http.StatusUnsupportedMediaType, "unsupported_encoding", "the body may be plain or gzip")
	}
	body, err := readUpTo(from, most, int(r.ContentLength))
	var long *http.MaxBytesError
	switch {
	case errors.Is(err, errLong), errors.As(err, &long):
		return nil, gatewayError(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has more than %d bytes", most))
	case err != nil:
		return nil, wire.Invalid("the body can't be read")
	}
	return body, nil
}

var errLong = errors.New("too long")

// readUpTo reads all of a reader, and no more than a bound. hint is how long it may be.
func readUpTo(r io.Reader, most, hint int) ([]byte, error) {
	var b bytes.Buffer
	if hint > 0 && hint <= most {
		b.Grow(hint + bytes.MinRead)
	}
	n, err := b.ReadFrom(io.LimitReader(r, int64(most)+1))
	if err == nil && n > int64(most) {
		err = errLong
	}
	return b.Bytes(), err
}
