// Package outbound makes HTTP clients for addresses that an operator names, such as webhooks and anchors.
//
// An address is https, or leads to this machine. Redirects are not followed: each would carry the message to a
// host that no operator named. Failures are described without the address, which may be a secret.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// maxHeader bounds an answer's headers in bytes.
const maxHeader = 64 << 10

// NewClient checks an address and returns a client for it. timeout bounds one request, connecting included; roots
// is nil, or how the receiver's certificate is checked.
func NewClient(address string, roots *tls.Config, timeout time.Duration) (*http.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, errors.New("the address is no URL such as https://hooks.example.com/x; write one without a user")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(u.Hostname())) {
		return nil, errors.New("the address is not https; plain http is for this machine alone")
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.MaxResponseHeaderBytes, t.MaxIdleConns = roots, maxHeader, 1
	return &http.Client{
		Timeout: timeout, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// IsLoopback reports whether a host's name can lead to this machine alone.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// DescribeFailure says why there was no answer, without the address.
func DescribeFailure(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns):
		return "the receiver's name has no address; look at the channel's settings"
	case errors.As(err, &certificate):
		return "the receiver's certificate is not to be trusted"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the receiver did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the process ends"
	}
	return "no connection to the receiver"
}
