package http

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

// Each request has a connection of its own: on a kept one net/http would send a
// request with an Idempotency-Key again by itself.
func TestConnectionsAreNotKept(t *testing.T) {
	from := make(chan string, 2)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { from <- r.RemoteAddr })
	kit, sk := runtest.New(t), runtest.Compile(t, spec(opts{"url": s.at("/"), "allow_private": []string{"example.com"}}), nil)
	e, err := New(sk, kit.Redeemer, Options{Lookup: local, RootCAs: s.pool})
	require.NoError(t, err)
	for range 2 {
		_, err = kit.Run(t, e, sk, opts{})
		require.NoError(t, err)
	}
	first, second := <-from, <-from
	require.NotEqual(t, first, second)
}

// Nothing can have happened where no connection was made.
func TestNoConnection(t *testing.T) {
	s := serve(t, nil)
	addr := s.at("/")
	s.Close()
	_, err := run(t, s, opts{"url": addr}, opts{})
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.False(t, failure(t, err).Unknown)
	// A certificate that isn't trusted ends it before the request.
	s = serve(t, nil)
	_, err = run(t, s, opts{"url": s.at("/")}, opts{}, func(o *Options) { o.RootCAs = x509.NewCertPool() })
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.Empty(t, s.arrived())
}

// A private address is refused unless its host is listed, also beside a public one. The name
// is resolved once, so a second answer has no say.
func TestPrivateAddresses(t *testing.T) {
	s := serve(t, nil)
	for _, private := range []any{false, []string{"other.example"}} {
		_, err := run(t, s, opts{"url": s.at("/"), "allow_private": private}, opts{})
		require.ErrorIs(t, err, ErrPrivate)
		require.ErrorIs(t, err, skills.ErrNoEffect)
	}
	_, err := run(t, s, opts{"url": strings.Replace(s.at("/"), "example.com", "127.0.0.1", 1), "allow_private": false}, opts{})
	require.ErrorIs(t, err, ErrPrivate)
	mixed := func(o *Options) {
		o.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("::ffff:127.0.0.1")}, nil
		}
	}
	_, err = run(t, s, opts{"url": s.at("/"), "allow_private": false}, opts{}, mixed)
	require.ErrorIs(t, err, ErrPrivate)
	require.Empty(t, s.arrived())
	n := 0
	_, err = run(t, s, opts{"url": s.at("/")}, opts{}, func(o *Options) {
		o.Lookup = func(ctx context.Context, h string) ([]netip.Addr, error) { n++; return local(ctx, h) }
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	// A mixed answer is refused before any socket is opened.
	opened := false
	judge := &dialer{host: "h", lookup: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")}, nil
	}}
	judge.net.Control = func(string, string, syscall.RawConn) error { opened = true; return ErrPrivate }
	_, err = judge.dialHost(t.Context(), "tcp", "h:1")
	require.ErrorIs(t, err, ErrPrivate)
	require.False(t, opened)
	// The hook refuses by itself as well, whatever the first judgement was.
	d := &dialer{}
	require.ErrorIs(t, d.checkAddress("tcp", "127.0.0.1:80", nil), ErrPrivate)
	require.ErrorIs(t, d.checkAddress("tcp", "nonsense", nil), ErrPrivate)
	require.NoError(t, d.checkAddress("tcp", "8.8.8.8:80", nil))
}

// Every kind of address that isn't public is known.
func TestPublic(t *testing.T) {
	for _, a := range []string{"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"0.0.0.0", "0.1.2.3",
		"192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "::", "::1", "::ffff:10.0.0.1", "::7f00:1",
		"fe80::1", "fe80::1%eth0", "fc00::1",
		"fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "100::1", "3fff::1"} {
		require.False(t, isPublic(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "172.32.0.1"} {
		require.True(t, isPublic(netip.MustParseAddr(a)), a)
	}
}
