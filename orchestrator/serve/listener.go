package serve

import (
	"net"
	"net/netip"
	"sync"
)

// boundListener bounds how many connections are open, in all and of one address. One too many is
// closed at once: a queue would let those in who hold the others up.
type boundListener struct {
	net.Listener
	most, mostOfOne int
	// exempt are addresses that many callers share: proxies, and this machine.
	exempt func(netip.Addr) bool
	// admits says who may connect at all; nil admits all.
	admits func(netip.Addr) bool

	mu   sync.Mutex
	open int
	of   map[netip.Prefix]int
}

// Accept returns the next connection that there is room for.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := peerAddress(c.RemoteAddr())
		if l.admits != nil && !l.admits(from) || !l.enter(from) {
			_ = c.Close()
			continue
		}
		return &boundConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
	}
}

// enter counts a connection; false where there is no room for it.
func (l *boundListener) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		return false
	}
	if !l.exempt(from) {
		if l.of[networkOf(from)] >= l.mostOfOne {
			return false
		}
		l.of[networkOf(from)]++
	}
	l.open++
	return true
}

// leave counts a connection less.
func (l *boundListener) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.exempt(from) {
		return
	}
	if n := networkOf(from); l.of[n] > 1 {
		l.of[n]--
	} else {
		delete(l.of, n)
	}
}

// networkOf is what one caller has of addresses: one of version 4, and 64 bits of version 6.
func networkOf(a netip.Addr) netip.Prefix {
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// peerAddress reads an address of the network; the zero Addr where it is none.
func peerAddress(a net.Addr) netip.Addr {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	out, _ := netip.AddrFromSlice(t.IP)
	return out.Unmap()
}

// boundConn counts itself out when it closes.
type boundConn struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *boundConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
