package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
)

// wire carries requests to one model and keeps what the model's client doesn't
// tell: why there was no connection, and what time it is over there.
type wire struct {
	next http.RoundTripper

	mu    sync.Mutex
	cause error
	known bool          // whether a Date came
	skew  time.Duration // how far the server's clock is ahead
}

func newWire() *wire { return &wire{next: llm.NewPool(1).Transport} }

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := w.next.RoundTrip(r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = err
	if err == nil {
		w.compareClock(resp.Header.Get("Date"), sent, time.Now())
	}
	return resp, err
}

// compareClock compares the server's clock, which is told in whole seconds.
func (w *wire) compareClock(header string, sent, got time.Time) {
	at, err := http.ParseTime(header)
	if err != nil {
		return
	}
	w.known, w.skew = true, 0
	switch end := at.Add(time.Second); {
	case end.Before(sent):
		w.skew = end.Sub(sent)
	case at.After(got):
		w.skew = at.Sub(got)
	}
}

// CloseIdleConnections lets go of what is open.
func (w *wire) CloseIdleConnections() {
	if c, ok := w.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// clockSkew returns how far the server's clock is ahead, if it told.
func (w *wire) clockSkew() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.skew, w.known
}

// explainBroken says in closed words why there was no connection, and what to do.
func (w *wire) explainBroken() (message, advice string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var host x509.HostnameError
	var unknown x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.As(w.cause, &dns):
		return "its host has no address (DNS)", "check the host in base_url, and the resolver of this machine"
	case errors.As(w.cause, &host):
		return "its certificate is another host's (TLS)", "use the name that the certificate is for in base_url"
	case errors.As(w.cause, &unknown):
		return "this machine trusts no authority that signed its certificate (TLS)", "install the authority's certificate on this machine"
	case errors.As(w.cause, &cert):
		return "its certificate is not valid (TLS)", "renew the certificate, and check the clock of this machine"
	case errors.As(w.cause, &record):
		return "it does not speak TLS", "write http:// in base_url, or put TLS before the server"
	}
	return "there is no connection to it, or it broke", "check that the server runs, the port in base_url, and the firewall"
}
