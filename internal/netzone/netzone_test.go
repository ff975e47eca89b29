package netzone_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/internal/netzone"
)

// metadataForms are the ways in which IPv6 spells 169.254.169.254.
var metadataForms = map[string]string{
	"IPv4 itself":              "169.254.169.254",
	"mapped":                   "::ffff:169.254.169.254",
	"compatible":               "::169.254.169.254",
	"NAT64":                    "64:ff9b::a9fe:a9fe",
	"NAT64, local use":         "64:ff9b:1::a9fe:a9fe",
	"NAT64, local use, /48":    "64:ff9b:1:a9fe:a9:fe00::",
	"NAT64, local use, /56":    "64:ff9b:1:a9:fe:a9fe::",
	"NAT64, local use, /64":    "64:ff9b:1:0:a9:fea9:fe00:0",
	"NAT64, a network's own":   "2001:67c:1234::a9fe:a9fe",
	"NAT64, its own, /32":      "2a00:1450:a9fe:a9fe::",
	"NAT64, its own, /40":      "2a00:1450:10a9:fea9:fe::",
	"6to4":                     "2002:a9fe:a9fe::1",
	"ISATAP":                   "fe80::5efe:a9fe:a9fe",
	"ISATAP, of a public host": "2a00:1450::200:5efe:a9fe:a9fe",
	"Teredo, its server":       "2001:0:a9fe:a9fe::1",
	"Teredo, its client":       "2001:0:808:808:0:0:5601:5601",
	"link-local":               "fe80::a9fe:a9fe",
	"link-local, interface":    "fe80::a9fe:a9fe%eth0",
	"EC2's own":                "fd00:ec2::254",
	"EC2's own, interface":     "fd00:ec2::254%eth0",
}

func TestMetadataIsKnownInEveryForm(t *testing.T) {
	for name, s := range metadataForms {
		t.Run(name, func(t *testing.T) { require.Equal(t, netzone.Metadata, netzone.Of(netip.MustParseAddr(s)), s) })
	}
	require.True(t, netzone.IsMetadataName("metadata.google.internal"))
	require.False(t, netzone.IsMetadataName("metadata.example.com"))
}

func TestZones(t *testing.T) {
	for zone, list := range map[netzone.Zone][]string{
		netzone.Loopback: {"127.0.0.1", "127.9.9.9", "::1", "::", "0.0.0.0", "::ffff:127.0.0.1"},
		netzone.Private: {
			"10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1", "0.1.2.3", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1",
			"255.255.255.255", "192.0.2.1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "64:ff9b:1::1", "2001::1",
			"2001:db8::1",
			"100::1", "3fff::1", "64:ff9b::a00:1", "2002:a00:1::", "2a00:1450::5efe:a00:1", "::10.0.0.1",
		},
		netzone.Open: {"8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "172.32.0.1", "168.63.129.17"},
	} {
		for _, s := range list {
			require.Equal(t, zone, netzone.Of(netip.MustParseAddr(s)), s)
		}
	}
}

// An IPv6 address is in no better zone than the IPv4 address that it carries.
func TestCarriersAreNoBetter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v4 := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(rt, "v4"))
		want := netzone.Of(netip.AddrFrom4(v4))
		for _, head := range []string{"::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "2a00:1450::5efe:0:0"} {
			b := netip.MustParseAddr(head).As16()
			copy(b[12:], v4[:])
			require.GreaterOrEqual(rt, netzone.Of(netip.AddrFrom16(b)), want, head)
		}
		b := netip.MustParseAddr("2002::1").As16()
		copy(b[2:], v4[:])
		require.GreaterOrEqual(rt, netzone.Of(netip.AddrFrom16(b)), want)
	})
}
