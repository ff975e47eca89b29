package llm

import (
	"net"
	"net/http"
	"time"
)

// defaultWarm is how many idle connections to one server NewHTTPClient keeps.
const defaultWarm = 64

// NewHTTPClient returns an HTTP client for models with a connection pool of its own.
// Dialling and response headers are bounded, and connections are kept warm for 90
// seconds. Share one between clients, and call CloseIdleConnections at the end.
func NewHTTPClient() *http.Client { return NewPool(defaultWarm) }

// NewPool is NewHTTPClient with a number of connections to one server that stay
// open between requests, at least 64. Give it the number of requests that are
// under way at a time: with fewer, each wave of requests dials again.
func NewPool(warm int) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: max(warm, defaultWarm), IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}}
}
