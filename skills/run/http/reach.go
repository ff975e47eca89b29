package http

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/netzone"
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
	if netzone.Of(a) == netzone.Metadata {
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

func isMetadataName(host string) bool {
	host = plainHost(host)
	if a, err := netip.ParseAddr(host); err == nil {
		return netzone.Of(a) == netzone.Metadata
	}
	return netzone.IsMetadataName(host)
}
