// Package host says which machine or person a text names: a host in any
// spelling of its address (ParseHost), the hosts of a URL as browsers and
// libraries read it (ListURLHosts), those that a longer text holds
// (ListInnerHosts), and the mailboxes that an address is delivered to or sent
// on to (ListMailboxes, ListRoutes).
//
// The package isn't stable: docs/api.md lists those that are.
//
// It asks no resolver: a name that only a resolver knows is Open, and what it
// resolves to is the dialer's to check. Where readers disagree the worst
// reading counts. All of it needs time in proportion to the text, and returns
// at most a few hundred names.
package host

import (
	"strings"

	"github.com/vedette-dev/vedette/internal/netzone"
)

// Zone says where a host is, as far as its name tells. Of an address netzone decides,
// which the dialers ask too.
type Zone uint8

// The zones, the worst last. A name that only a resolver knows is Open: what
// it resolves to is the dialer's to check.
const (
	Open     = Zone(netzone.Open)     // the Internet, or can't be known
	Loopback = Zone(netzone.Loopback) // this machine
	Private  = Zone(netzone.Private)  // private, link-local, shared, reserved addresses and names
	Metadata = Zone(netzone.Metadata) // where clouds hand out a machine's credentials
)

// Host is a host that a text names.
type Host struct {
	// Name is in lower case, without port; an address is dotted (or IPv6)
	// however it was spelt.
	Name string
	// Zone is where it is.
	Zone Zone
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func hasDigitsAlone(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
