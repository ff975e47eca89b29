// Package netzone tells where a network address leads: to the Internet, to this
// machine, into a network of one's own, or to a service that hands out a machine's
// credentials. The guard, which reads what a call names, and the dialer, which sees
// what a name resolved to, both ask it, so that no address is refused by one of them
// and passed by the other.
package netzone

import (
	"net/netip"
	"slices"
	"strings"
)

// Zone says where an address leads, the worst last.
type Zone uint8

// The zones.
const (
	Open     Zone = iota // the Internet
	Loopback             // this machine
	Private              // private, link-local, shared and reserved addresses
	Metadata             // where clouds hand out a machine's credentials
)

var (
	// metadataAddrs and metadataNames are where the clouds answer: AWS (also for
	// containers), Google, Azure, Alibaba, Oracle.
	metadataAddrs = []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
		netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("168.63.129.16"),
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	}
	metadataNames = []string{
		"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal",
		"metadata.tencentyun.com", "metadata.platformequinix.com",
	}
	// reserved are ranges that are no public address, beyond those that netip knows,
	// and ranges whose addresses carry an IPv4 address.
	reserved = prefixes(`0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24
		224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20`)
	// publicV6 is all that is handed out as public IPv6.
	publicV6     = netip.MustParsePrefix("2000::/3")
	six4, teredo = netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32")
	translated   = prefixes("64:ff9b::/96 64:ff9b:1::/48")
)

func prefixes(list string) []netip.Prefix {
	var out []netip.Prefix
	for p := range strings.FieldsSeq(list) {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// IsMetadataName reports whether a host's name, in small letters and without a dot
// behind it, is that of a metadata service.
func IsMetadataName(name string) bool { return slices.Contains(metadataNames, name) }

// Of returns the zone of an address. An IPv6 address that carries an IPv4 address is
// in no better zone than the one that it carries. The interface of a link-local
// address says nothing.
func Of(a netip.Addr) Zone {
	a = a.Unmap().WithZone("")
	if slices.Contains(metadataAddrs, a) || slices.ContainsFunc(spelt(a), isMetadata) {
		return Metadata
	}
	z := plain(a)
	for _, v4 := range carried(a) {
		z = max(z, plain(v4))
	}
	return z
}

func isMetadata(a netip.Addr) bool { return slices.Contains(metadataAddrs, a) }

// plain is the zone of an address that carries no other.
func plain(a netip.Addr) Zone {
	switch {
	case a.IsLoopback() || a.IsUnspecified():
		return Loopback
	case a.IsPrivate() || !a.IsGlobalUnicast() || a.Is6() && !publicV6.Contains(a):
		return Private
	case slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) }):
		return Private
	}
	return Open
}

// carried returns the IPv4 addresses that an IPv6 address stands for by its form: the
// old "compatible" one, NAT64, 6to4, ISATAP and Teredo.
func carried(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case six4.Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), client(b)}
	case slices.ContainsFunc(translated, func(p netip.Prefix) bool { return p.Contains(a) }):
		return []netip.Addr{last}
	case slices.Equal(b[:12], make([]byte, 12)) && (b[12] != 0 || b[13] != 0):
		return []netip.Addr{last}
	case b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return []netip.Addr{last}
	}
	return nil
}

// client is the address of a Teredo client, whose bits are inverted.
func client(b [16]byte) netip.Addr {
	return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
}

// spelt returns each IPv4 address that some translator would read out of an IPv6
// address. A network's own NAT64 prefix can be any, so all places of RFC 6052 count:
// an honest address that spells a metadata service in one of them is one of billions.
func spelt(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	return []netip.Addr{
		netip.AddrFrom4([4]byte(b[12:])), client(b), netip.AddrFrom4([4]byte(b[2:6])), netip.AddrFrom4([4]byte(b[4:8])),
		netip.AddrFrom4([4]byte{b[5], b[6], b[7], b[9]}), netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}),
		netip.AddrFrom4([4]byte{b[7], b[9], b[10], b[11]}), netip.AddrFrom4([4]byte(b[9:13])),
	}
}
