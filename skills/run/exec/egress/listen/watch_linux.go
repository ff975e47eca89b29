package listen

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openWatchSocket returns a packet socket that hands out the headers of each attempt that no
// listener takes. Such are a TCP connection to a port that isn't in the plan, UDP but DNS, an
// echo request, any other protocol. What stays on the loopback addresses is the program's own
// affair.
func openWatchSocket(p Plan) (int, error) {
	// Protocol 0 takes no packet until the filter is there.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, fmt.Errorf("make a packet socket: %w", err)
	}
	// A kernel that can't leave out a packet's way out has the filter do so.
	_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	code := buildFilter(p)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: (*unix.SockFilter)(unsafe.Pointer(&code[0]))}
	if err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog); err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: toNetworkOrder(unix.ETH_P_ALL), Ifindex: loopbackIndex})
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("watch the network: %w", err)
	}
	return fd, nil
}

// toNetworkOrder returns v as the kernel's structures hold it, its high byte first.
func toNetworkOrder(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// step is one instruction of the filter. A jump names the label that it goes to, and an empty
// one is the next step.
type step struct {
	label      string
	code       uint16
	k          uint32
	yes, other string
}

const (
	loadByte = unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
	loadHalf = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS
	loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	byteAtX  = unix.BPF_LD | unix.BPF_B | unix.BPF_IND
	halfAtX  = unix.BPF_LD | unix.BPF_H | unix.BPF_IND
	equals   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	anyBit   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	keepBits = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	give     = unix.BPF_RET | unix.BPF_K
	ipv4Size = unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH
	setX     = unix.BPF_LDX | unix.BPF_W | unix.BPF_IMM

	auxiliary = 0xfffff000 // SKF_AD_OFF
	protocol  = auxiliary + 0
	direction = auxiliary + 4

	flagSyn, flagAck = 0x02, 0x10
)

// buildFilter passes what openWatchSocket says, as the kernel's classic BPF.
func buildFilter(p Plan) []unix.SockFilter {
	s := []step{
		{code: loadWord, k: direction}, {code: equals, k: unix.PACKET_HOST, other: "drop"},
		{code: loadWord, k: protocol}, {code: equals, k: unix.ETH_P_IP, yes: "ipv4"},
		{code: equals, k: unix.ETH_P_IPV6, yes: "ipv6", other: "drop"},

		{label: "ipv4", code: loadByte, k: 16}, {code: equals, k: 127, yes: "drop"},
		{code: loadHalf, k: 6}, {code: anyBit, k: 0x1fff, yes: "drop"}, // the rest of a packet in pieces
		{code: ipv4Size}, {code: loadByte, k: 9},
		{code: equals, k: unix.IPPROTO_TCP, yes: "tcp"}, {code: equals, k: unix.IPPROTO_UDP, yes: "udp"},
		{code: equals, k: unix.IPPROTO_ICMP, other: "pass"}, {code: byteAtX}, {code: equals, k: 8, yes: "pass", other: "drop"},

		{label: "ipv6", code: loadWord, k: 24}, {code: equals, other: "other6"}, {code: loadWord, k: 28}, {code: equals, other: "other6"},
		{code: loadWord, k: 32}, {code: equals, other: "other6"}, {code: loadWord, k: 36}, {code: equals, k: 1, yes: "drop"},
		{label: "other6", code: setX, k: 40}, {code: loadByte, k: 6},
		{code: equals, k: unix.IPPROTO_TCP, yes: "tcp"}, {code: equals, k: unix.IPPROTO_UDP, yes: "udp"},
		{code: equals, k: unix.IPPROTO_ICMPV6, other: "pass"}, {code: byteAtX}, {code: equals, k: 128, yes: "pass", other: "drop"},

		{label: "udp", code: halfAtX}, {code: equals, k: dnsPort, yes: "drop"},
		{code: halfAtX, k: 2}, {code: equals, k: dnsPort, yes: "drop", other: "pass"},

		{label: "tcp", code: byteAtX, k: 13}, {code: keepBits, k: flagSyn | flagAck}, {code: equals, k: flagSyn, other: "drop"},
		{code: halfAtX, k: 2}, {code: equals, k: dnsPort, yes: "drop"},
	}
	for _, port := range p.Ports {
		s = append(s, step{code: equals, k: uint32(port), yes: "drop"})
	}
	return assembleSteps(append(s, step{label: "pass", code: give, k: FrameSize}, step{label: "drop", code: give}))
}

// assembleSteps turns labels into distances. They are below 256: the plan is bounded.
func assembleSteps(steps []step) []unix.SockFilter {
	at := map[string]int{}
	for i, s := range steps {
		at[s.label] = i
	}
	out := make([]unix.SockFilter, len(steps))
	for i, s := range steps {
		out[i] = unix.SockFilter{Code: s.code, K: s.k}
		if s.yes != "" {
			out[i].Jt = uint8(at[s.yes] - i - 1)
		}
		if s.other != "" {
			out[i].Jf = uint8(at[s.other] - i - 1)
		}
	}
	return out
}
