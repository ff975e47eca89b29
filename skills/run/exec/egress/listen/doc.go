// Package listen makes what listens inside a sandbox's network namespace, for the
// package egress to serve from outside of it.
//
// It runs in the sandbox's child, before the program does, so it imports the
// standard library and golang.org/x/sys alone.
//
// Open makes every address local: a connection to any address then ends at one of
// the listeners, and none leaves the namespace. What no listener takes is refused by
// the kernel; one packet socket sees those attempts, so that they can be recorded.
//
// Do not call Open outside of a network namespace of its own: it would make every
// address of the machine local.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through skills/run/exec.
package listen

// Plan says what to listen on.
type Plan struct {
	// Proxy is the TCP port of the HTTP proxy, on the loopback addresses alone.
	Proxy uint16 `json:"proxy"`
	// Ports are the TCP ports that connections to other hosts may use. At most
	// MaxPorts.
	Ports []uint16 `json:"ports"`
}

// MaxPorts is the greatest number of ports in a Plan: with the fixed sockets, 64.
const MaxPorts = 64 - Fixed

// The places of the fixed sockets among what Open returns. The listeners of
// Plan.Ports follow, in their order.
const (
	Watch  = iota // a packet socket: attempts that no listener takes
	DNS           // UDP, port 53
	DNSTCP        // TCP, port 53
	Proxy         // TCP, Plan.Proxy
	Fixed         // how many these are
)

// FrameSize is the greatest number of bytes that the packet socket hands out of one packet.
// They are the headers, and nothing that was said.
const FrameSize = 80

const dnsPort = 53
