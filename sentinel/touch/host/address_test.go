package host_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// Every spelling of an address has one name and one zone.
func TestParseHost(t *testing.T) {
	for name, tc := range map[string]struct {
		zone   host.Zone
		spelt  []string
		nearby []string
	}{
		"169.254.169.254": {host.Metadata, []string{
			"169.254.169.254", "169.254.169.254.", "2852039166", "0xA9FEA9FE", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "025177524776",
			"169.254.43518", "169.16689662",
			"[::ffff:169.254.169.254]", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "::169.254.169.254", "①⑥⑨.②⑤④.①⑥⑨.②⑤④",
			"１６９.２５４.１６９.２５４", "169。254。169。254", "%31%36%39.254.169.254", "fe80::1%25eth0",
		}, []string{"169.254.169.2540", "168.63.129.17", "a169.254.169.254.example.com", "8.8.8.8"}},
		"127.0.0.1": {host.Loopback, []string{"127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "[::ffff:127.0.0.1]"},
			[]string{"128.0.0.1", "12.7.0.1", "127.0.0.1.example.com"}},
	} {
		for _, s := range tc.spelt {
			got, zone := host.ParseHost(s)
			if s == "fe80::1%25eth0" {
				require.Equal(t, host.Private, zone)
				continue
			}
			require.Equal(t, tc.zone, zone, s)
			if zone != host.Metadata || len(s) < 16 && s[0] != '6' && s[0] != ':' && s[0] != '2' {
				require.Equal(t, name, got, s)
			}
		}
		for _, s := range tc.nearby {
			_, zone := host.ParseHost(s)
			require.Equal(t, host.Open, zone, s)
		}
	}
	for s, want := range map[string]host.Zone{
		"localhost": host.Loopback, "LOCALHOST.": host.Loopback, "app.localhost": host.Loopback, "0.0.0.0": host.Loopback, "[::]": host.Loopback,
		"::1": host.Loopback, "localtest.me": host.Loopback,
		"10.0.0.1": host.Private, "010.0.0.1": host.Private, "172.16.9.9": host.Private, "192.168.0.1": host.Private, "100.64.0.1": host.Private,
		"169.254.1.1": host.Private, "fd12::1": host.Private,
		"fe80::1": host.Private, "224.0.0.1": host.Private, "198.18.0.1": host.Private, "printer.local": host.Private,
		"wiki.internal": host.Private, "10.0.0.1.nip.io": host.Private, "app-127-0-0-1.sslip.io": host.Loopback,
		"a9fea9fe.nip.io": host.Metadata, "metadata.google.internal": host.Metadata, "METADATA.google.internal.": host.Metadata,
		"fd00:ec2::254": host.Metadata, "100.100.100.200": host.Metadata,
		"example.com": host.Open, "172.32.0.1": host.Open, "100.128.0.1": host.Open, "internal.example.com": host.Open,
		"localhost.example.com": host.Open, "2606:4700::1": host.Open, "1.2.3": host.Open, "": host.Open, "xn--caf-dma.example": host.Open,
		"0x": host.Open, "1_0.0.0.1": host.Open,
	} {
		_, zone := host.ParseHost(s)
		require.Equal(t, want, zone, s)
	}
}

// IPv6 spells a metadata service's address in more ways than one.
func TestMetadataInIPv6(t *testing.T) {
	for _, s := range []string{
		"fe80::a9fe:a9fe", "[fe80::a9fe:a9fe%25eth0]", "64:ff9b:1::a9fe:a9fe", "fe80::5efe:a9fe:a9fe", "2a00:1450::200:5efe:a9fe:a9fe",
		"2001:0:a9fe:a9fe::1",
		"2001:0:808:808:0:0:5601:5601", "64:ff9b:1:a9fe:a9:fe00::",
	} {
		_, zone := host.ParseHost(s)
		require.Equal(t, host.Metadata, zone, s)
	}
}

// However an IPv4 address is written, its zone is that of the address.
func TestAddressSpellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint32().Draw(t, "address")
		name, zone := host.ParseHost(spellAddress(a, 0))
		for form := 1; form < 6; form++ {
			s := spellAddress(a, form)
			n, z := host.ParseHost(s)
			require.Equal(t, zone, z, s)
			require.Equal(t, name, n, s)
		}
	})
}

func spellAddress(a uint32, form int) string {
	b := [4]uint32{a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255}
	switch form {
	case 1:
		return fmt.Sprint(a)
	case 2:
		return fmt.Sprintf("0x%x", a)
	case 3:
		return fmt.Sprintf("0x%X.%d", b[0], a&0xffffff)
	case 4:
		return fmt.Sprintf("[::ffff:%x:%x]", a>>16, a&0xffff)
	case 5:
		return fmt.Sprintf("%d.%d.%d.", b[0], b[1], a&0xffff)
	}
	return fmt.Sprintf("%d.%d.%d.%d", b[0], b[1], b[2], b[3])
}

// A NUL ends a host for many programs, also beside letters that are folded.
func TestHostThatANULEnds(t *testing.T) {
	for _, h := range []string{
		"169.254.169.254\x00.example.com", "169.254.169.254\x00é.example.com", "169.254.169.254%00é.example.com",
		"localhost\x00é.example.com", "10.0.0.1%00é.example.com",
	} {
		_, zone := host.ParseHost(h)
		require.NotEqual(t, host.Open, zone, "%q", h)
	}
}
