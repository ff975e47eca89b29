package http

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/netzone"
)

// reach says which addresses a skill may connect to. They are public ones, private ones where
// the host was allowed by name, and never a metadata service.
type reach struct {
	private bool
	addrs   []netip.Addr // private ones that were allowed themselves
}

// newReach returns the reach of a skill whose url names host. The url is an operator's own
// word, so a host that can only be private ("mail.internal", "10.0.0.7") is allowed by
// standing there. A host with a public name isn't, since what it resolves to is in other hands.
func newReach(host string, own hosts, shared []string) reach {
	host = trimHostName(host)
	if own.none {
		return reach{}
	}
	r := reach{private: isLocalName(host)}
	for _, h := range slices.Concat(own.list, shared) {
		h = trimHostName(h)
		r.private = r.private || h == host
		if a, err := netip.ParseAddr(h); err == nil {
			r.addrs = append(r.addrs, a.Unmap())
		}
	}
	return r
}

func (r reach) mayConnect(a netip.Addr) bool {
	a = a.Unmap()
	if netzone.Of(a) == netzone.Metadata {
		return false
	}
	return r.private || isPublic(a) || slices.Contains(r.addrs, a)
}

func trimHostName(h string) string {
	return strings.TrimSuffix(strings.Trim(strings.ToLower(strings.TrimSpace(h)), "[]"), ".")
}

// localNames end the names that no public resolver knows.
var localNames = []string{".local", ".localdomain", ".localhost", ".internal", ".lan", ".home.arpa", ".intranet", ".svc", ".cluster.local"}

// isLocalName reports whether host names a place in this network or machine. Such is a private
// address, a name without a dot or with a reserved ending.
func isLocalName(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return !isPublic(a)
	}
	return !strings.Contains(host, ".") || slices.ContainsFunc(localNames, func(s string) bool { return strings.HasSuffix(host, s) })
}

func isMetadataName(host string) bool {
	host = trimHostName(host)
	if a, err := netip.ParseAddr(host); err == nil {
		return netzone.Of(a) == netzone.Metadata
	}
	return netzone.IsMetadataName(host)
}
