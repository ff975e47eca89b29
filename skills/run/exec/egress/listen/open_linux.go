package listen

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Open makes every address local and returns the sockets that listen, in the order
// of the constants above. They are non-blocking and closed on exec. It needs
// CAP_NET_ADMIN, CAP_NET_RAW and CAP_NET_BIND_SERVICE in the namespace, with lo up.
// Where one socket can't be had it returns none and an error that wraps the errno.
func Open(p Plan) (fds []int, err error) {
	if len(p.Ports) > MaxPorts {
		return nil, fmt.Errorf("listen on %d ports: at most %d", len(p.Ports), MaxPorts)
	}
	defer func() {
		if err != nil {
			closeSockets(fds)
			fds = nil
		}
	}()
	if err := routeAllToLoopback(); err != nil {
		return nil, err
	}
	steps := []func() (int, error){
		func() (int, error) { return openWatchSocket(p) },
		openDNSSocket,
		func() (int, error) { return openSocket(unix.SOCK_STREAM, dnsPort, false) },
		func() (int, error) { return openSocket(unix.SOCK_STREAM, p.Proxy, true) },
	}
	for _, port := range p.Ports {
		steps = append(steps, func() (int, error) { return openSocket(unix.SOCK_STREAM, port, false) })
	}
	for _, step := range steps {
		fd, err := step()
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

func closeSockets(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// backlog is how many connections the kernel holds until they are accepted.
const backlog = 128

// openSocket returns a socket that is bound to a port of every address, or of 127.0.0.1 alone.
// A stream socket listens.
func openSocket(kind int, port uint16, loopback bool) (int, error) {
	fd, addr, err := openFamily(kind, port, loopback)
	if err != nil {
		return -1, fmt.Errorf("make a socket for port %d: %w", port, err)
	}
	if err = unix.Bind(fd, addr); err == nil && kind == unix.SOCK_STREAM {
		err = unix.Listen(fd, backlog)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("listen on port %d: %w", port, err)
	}
	return fd, nil
}

// openDNSSocket returns a UDP socket that tells which address each question went to. It may
// answer from there, since a program accepts no answer from another.
func openDNSSocket() (int, error) {
	fd, err := openSocket(unix.SOCK_DGRAM, dnsPort, false)
	if err != nil {
		return -1, err
	}
	err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND, 1)
	} else { // a socket of IPv4, whose addresses need no more: all of them are local
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("prepare the socket for DNS: %w", err)
	}
	return fd, nil
}

// openFamily returns a socket for IPv6 and IPv4 at once. It is for IPv4 alone where that is
// enough or this kernel has no IPv6.
func openFamily(kind int, port uint16, loopback bool) (int, unix.Sockaddr, error) {
	kind |= unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	if loopback {
		fd, err := unix.Socket(unix.AF_INET, kind, 0)
		return fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}, err
	}
	fd, err := unix.Socket(unix.AF_INET6, kind, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET, kind, 0)
		return fd, &unix.SockaddrInet4{Port: int(port)}, err
	}
	if err != nil {
		return -1, nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	return fd, &unix.SockaddrInet6{Port: int(port)}, nil
}
