package http

import (
	"net/netip"
	"slices"
	"strings"
)

// reach says which addresses a skill may connect to: public ones, private ones
// where the host was allowed by name, and never a metadata service.
type reach struct {
	private bool
	addrs   []netip.Addr // private ones that were allowed themselves
}

// newReach returns the reach of a skill whose url names host. The url is an
// operator's own word, so a host that can only be private ("mail.internal",
// "10.0.0.7") is allowed by standing there; one with a public name isn't: what
// it resolves to is in other hands.
func newReach(host string, own hosts, shared []string) reach {
	host = plainHost(host)
	if own.none {
		return reach{}
	}
	r := reach{private: localName(host)}
	for _, h := range slices.Concat(own.list, shared) {
		h = plainHost(h)
		r.private = r.private || h == host
		if a, err := netip.ParseAddr(h); err == nil {
			r.addrs = append(r.addrs, a.Unmap())
		}
	}
	return r
}

func (r reach) connect(a netip.Addr) bool {
	a = a.Unmap()
	if slices.Contains(metadataAddrs, carried(a)) {
		return false
	}
	return r.private || public(a) || slices.Contains(r.addrs, a)
}

func plainHost(h string) string {
	return strings.TrimSuffix(strings.Trim(strings.ToLower(strings.TrimSpace(h)), "[]"), ".")
}

// localNames end the names that no public resolver knows.
var localNames = []string{".local", ".localdomain", ".localhost", ".internal", ".lan", ".home.arpa", ".intranet", ".svc", ".cluster.local"}

// localName reports whether host names a place in this network or machine: a
// private address, a name without a dot or with a reserved ending.
func localName(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !public(a)
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc(localNames, func(s string) bool { return strings.HasSuffix(host, s) })
}

var (
	// metadataAddrs and metadataNames are where clouds hand out a machine's
	// credentials: AWS, Google, Azure, Alibaba, Oracle.
	metadataAddrs = []netip.Addr{
		netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
		netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"), netip.MustParseAddr("168.63.129.16"),
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"), netip.MustParseAddr("fd20:ce::254"),
	}
	metadataNames = []string{
		"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal", "metadata.azure.internal",
		"metadata.tencentyun.com", "metadata.platformequinix.com",
	}
	nat64, six4 = netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16")
)

// carried is the IPv4 address that an IPv6 one stands for, or a itself.
func carried(a netip.Addr) netip.Addr {
	b := a.As16()
	switch {
	case !a.Is6():
	case nat64.Contains(a), slices.Equal(b[:12], make([]byte, 12)) && (b[12] != 0 || b[13] != 0):
		return netip.AddrFrom4([4]byte(b[12:]))
	case six4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a.WithZone("")
}

func isMetadataName(host string) bool {
	host = plainHost(host)
	if a, err := netip.ParseAddr(host); err == nil {
		return slices.Contains(metadataAddrs, carried(a.Unmap()))
	}
	return slices.Contains(metadataNames, host)
}
