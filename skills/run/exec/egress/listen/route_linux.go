package listen

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// loopbackIndex is lo's in every network namespace: the kernel makes it first.
const loopbackIndex = 1

// routeAllToLoopback makes every address one of lo's, as `ip route add local default dev lo`
// does. It does so for IPv4 and IPv6. A kernel without IPv6 has nothing to route there.
func routeAllToLoopback() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open the kernel's routing socket: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := addLocalRoute(fd, unix.AF_INET, 1); err != nil {
		return fmt.Errorf("route IPv4 to lo: %w", err)
	}
	if err := addLocalRoute(fd, unix.AF_INET6, 2); err != nil && !lacksIPv6(err) {
		return fmt.Errorf("route IPv6 to lo: %w", err)
	}
	return nil
}

// lacksIPv6 reports whether an IPv6 route was refused because there is no IPv6, or it is
// switched off. Then no address of it can be reached at all.
func lacksIPv6(err error) bool {
	for _, e := range []error{unix.EAFNOSUPPORT, unix.EOPNOTSUPP, unix.EACCES, unix.ENODEV} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// addLocalRoute asks the kernel for one route and waits for its answer.
func addLocalRoute(fd int, family uint8, number uint32) error {
	if err := unix.Sendto(fd, buildRouteMessage(family, number), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(b[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel's answer can't be read")
	}
	if code := int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// buildRouteMessage is RTM_NEWROUTE: everything, local, on lo.
func buildRouteMessage(family uint8, number uint32) []byte {
	e := binary.NativeEndian
	size := uint32(unix.SizeofNlMsghdr + unix.SizeofRtMsg + 8)
	b := e.AppendUint32(nil, size)
	b = e.AppendUint16(b, unix.RTM_NEWROUTE)
	b = e.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	b = e.AppendUint32(b, number)
	b = e.AppendUint32(b, 0)
	// Family, lengths of destination and source (0: all), service, table, origin,
	// scope, type; then the flags.
	b = append(b, family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL)
	b = e.AppendUint32(b, 0)
	b = e.AppendUint16(b, 8)
	b = e.AppendUint16(b, unix.RTA_OIF)
	return e.AppendUint32(b, loopbackIndex)
}
