package egress

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type kept struct{ list []Connection }

func (k *kept) Record(c Connection) { k.list = append(k.list, c) }

// A refusal like an earlier one is counted alone; connections are each told, up to
// the bound; a host's text is bounded.
func TestAccount(t *testing.T) {
	k := &kept{}
	a := newAccount(k, 5)
	long := strings.Repeat("a", 10_000)
	for range 3 {
		a.addConnection(Connection{Via: ViaDNS, Host: long, Outcome: HostNotListed})
		a.addConnection(Connection{Via: ViaProxy, Host: "x", Port: 1, Outcome: Connected, Out: 10, In: 1})
	}
	require.Len(t, k.list, 4)
	require.Len(t, k.list[0].Host, maxHost)
	require.Equal(t, Totals{Connections: 3, Refused: 3, Out: 30, In: 3}, a.readTotals())
	a.addConnection(Connection{Via: ViaUDP, Host: "x", Port: 1, Outcome: Protocol})
	a.addConnection(Connection{Via: ViaUDP, Host: "x", Port: 2, Outcome: Protocol})
	a.addConnection(Connection{Via: ViaUDP, Host: "x", Port: 1, Outcome: Protocol})
	require.Len(t, k.list, 5)
	require.Equal(t, Totals{Connections: 3, Refused: 6, Out: 30, In: 3, Unrecorded: 1}, a.readTotals())
	for _, o := range []Outcome{Connected, Idle, TooLong, Stopped} {
		require.True(t, o.hasConnected(), o)
	}
	for _, o := range []Outcome{HostNotListed, Metadata, Unreachable, Broken, ""} {
		require.False(t, o.hasConnected(), o)
	}
}

// The socket's own check refuses by itself, whatever was judged before.
func TestControl(t *testing.T) {
	d := dialer{policy: parsePolicy(t, "pypi.org:443")}
	check := d.makeControl(target{name: "pypi.org", port: 443})
	require.NoError(t, check("tcp", "8.8.8.8:443", nil))
	for _, addr := range []string{"127.0.0.1:443", "169.254.169.254:443", "8.8.8.8:80", "nonsense", "[::1]:443", "[fe80::1%eth0]:443"} {
		require.ErrorIs(t, check("tcp", addr, nil), errRefused, addr)
	}
	require.Equal(t, Metadata, refusalForAddress(netip.MustParseAddr("169.254.169.254")))
	require.Equal(t, AddressPrivate, refusalForAddress(netip.MustParseAddr("10.0.0.1")))
}
