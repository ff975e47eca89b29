package http

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/internal/netzone"
	"github.com/vedette-dev/vedette/skills"
)

// ErrPrivate means that the host has an address that is refused.
var ErrPrivate = errors.New("the host has a private, local or reserved address; " +
	"list it in guard.allow_hosts or in the skill's allow_private if that is meant")

// isPublic reports whether an address is one of the open Internet.
func isPublic(a netip.Addr) bool { return a.Zone() == "" && netzone.Of(a) == netzone.Open }

// newClient returns a client that connects to host alone.
func newClient(o Options, host string, may reach) *http.Client {
	lookup := o.Lookup
	if lookup == nil {
		lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	d := &dialer{lookup: lookup, host: host, may: may}
	d.net = net.Dialer{Timeout: 30 * time.Second, Control: d.checkAddress}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext:            d.dialHost,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
			TLSHandshakeTimeout:    15 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			DisableKeepAlives:      true,
			DisableCompression:     true,
		},
	}
}

type dialer struct {
	net    net.Dialer
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	host   string
	may    reach
}

func (d *dialer) dialHost(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host != d.host {
		return nil, fmt.Errorf("%w: another host than the configured one", skills.ErrNoEffect)
	}
	var addrs []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{ip}
	} else if addrs, err = d.lookup(ctx, host); err != nil || len(addrs) == 0 {
		return nil, fmt.Errorf("%w: the host's name can't be resolved", skills.ErrNoEffect)
	}
	// One bad address refuses the host: a mixed answer is an attempt.
	for _, a := range addrs {
		if !d.may.mayConnect(a) {
			return nil, fmt.Errorf("%w: %w", skills.ErrNoEffect, ErrPrivate)
		}
	}
	for _, a := range addrs {
		var c net.Conn
		if c, err = d.net.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port)); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("%w: no connection: %w", skills.ErrNoEffect, err)
}

// checkAddress sees the address that the socket really goes to.
func (d *dialer) checkAddress(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !d.may.mayConnect(a.Addr()) {
		return ErrPrivate
	}
	return nil
}
