package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/vedette-dev/vedette/internal/netzone"
)

// lookupFunc resolves a name outside of the sandbox.
type lookupFunc func(ctx context.Context, host string) ([]netip.Addr, error)

// dialTime bounds the look-up and all attempts of one connection; attemptTime bounds
// one address of several.
const (
	dialTime    = 30 * time.Second
	attemptTime = 10 * time.Second
)

func lookupSystem(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// target is a host and port that the policy lists: a name, or an address.
type target struct {
	name string
	addr netip.Addr
	port uint16
}

// dialer connects to targets, at addresses that the policy lets it reach.
type dialer struct {
	policy *Policy
	lookup lookupFunc
}

// dialTarget returns a connection and Connected, or why there is none. One address
// that is refused refuses the name: a mixed answer is an attempt.
func (d *dialer) dialTarget(ctx context.Context, t target) (net.Conn, netip.AddrPort, Outcome) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		var err error
		if addrs, err = d.lookup(ctx, t.name); err != nil || len(addrs) == 0 {
			return nil, netip.AddrPort{}, Unresolved
		}
	}
	for _, a := range addrs {
		if !d.policy.mayReach(t.name, a) {
			return nil, netip.AddrPortFrom(a.Unmap(), t.port), refusalForAddress(a)
		}
	}
	out := net.Dialer{Timeout: attemptTime, Control: d.makeControl(t)}
	var to netip.AddrPort
	for _, a := range addrs {
		to = netip.AddrPortFrom(a.Unmap(), t.port)
		if c, err := out.DialContext(ctx, "tcp", to.String()); err == nil {
			return c, to, Connected
		}
	}
	return nil, to, Unreachable
}

// makeControl returns a check of the address that the socket really goes to.
func (d *dialer) makeControl(t target) func(network, address string, c syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || !d.policy.mayReach(t.name, a.Addr()) || a.Port() != t.port {
			return errRefused
		}
		return nil
	}
}

// errRefused never leaves this package: dialTarget answers with an Outcome.
var errRefused = errors.New("the address is refused")

func refusalForAddress(a netip.Addr) Outcome {
	if netzone.Of(a) == netzone.Metadata {
		return Metadata
	}
	return AddressPrivate
}
