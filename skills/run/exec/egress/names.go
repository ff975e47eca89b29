package egress

import (
	"net/netip"
	"sync"
)

// names gives each listed name an address of its own. The address that the program connects to
// then tells which name it meant.
type names struct {
	mu     sync.Mutex
	byName map[string]netip.Addr
	byAddr map[netip.Addr]string
	next   netip.Addr
}

// maxNames bounds the names below wildcards, which the program makes up.
const maxNames = 4096

// firstName begins the range that RFC 2544 keeps from the Internet.
var firstName = netip.AddrFrom4([4]byte{198, 18, 0, 1})

func newNames() *names {
	return &names{byName: map[string]netip.Addr{}, byAddr: map[netip.Addr]string{}, next: firstName}
}

// addressOf returns the address of a name, and false where there are too many names.
func (n *names) addressOf(name string) (netip.Addr, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.byName[name]; ok {
		return a, true
	}
	if len(n.byName) >= maxNames {
		return netip.Addr{}, false
	}
	a := n.next
	n.byName[name], n.byAddr[a], n.next = a, name, a.Next()
	return a, true
}

// nameOf returns the name that an address was given to.
func (n *names) nameOf(a netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.byAddr[a]
	return name, ok
}
