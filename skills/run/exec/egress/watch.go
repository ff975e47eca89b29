package egress

import (
	"encoding/binary"
	"net/netip"

	"github.com/vedette-dev/vedette/internal/netzone"
)

// The protocols that readHeaders knows.
const (
	protoICMP, protoTCP, protoUDP, protoICMPv6 = 1, 6, 17, 58
)

// readHeaders returns the attempt that a packet's first bytes tell of. They are a
// program's own, so each length in them is checked.
func readHeaders(b []byte) (Connection, bool) {
	if len(b) < 20 {
		return Connection{}, false
	}
	var to netip.Addr
	var proto byte
	var rest []byte
	switch size := int(b[0]&0xf) * 4; {
	case b[0]>>4 == 4 && size >= 20 && size <= len(b):
		to, proto, rest = netip.AddrFrom4([4]byte(b[16:20])), b[9], b[size:]
	case b[0]>>4 == 6 && len(b) >= 40:
		to, proto, rest = netip.AddrFrom16([16]byte(b[24:40])), b[6], b[40:]
	default:
		return Connection{}, false
	}
	c := Connection{Host: to.String(), Outcome: Protocol}
	switch proto {
	case protoTCP:
		c.Via, c.Outcome = ViaTCP, PortNotListed
	case protoUDP:
		c.Via = ViaUDP
	case protoICMP, protoICMPv6:
		c.Via = ViaICMP
	default:
		c.Via = ViaUnknown
	}
	if (proto == protoTCP || proto == protoUDP) && len(rest) >= 4 {
		c.Port = binary.BigEndian.Uint16(rest[2:])
	}
	if netzone.Of(to) == netzone.Metadata {
		c.Outcome = Metadata
	}
	return c, true
}
