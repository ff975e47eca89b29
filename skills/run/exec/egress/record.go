package egress

import (
	"net/netip"
	"sync"
	"time"
)

// Connection is one connection of the program, or one attempt that was refused.
type Connection struct {
	// Via says how the program asked.
	Via Via `json:"via"`
	// Host is what it asked for, a name or an address. A program can write anything
	// there, so it is a value: it belongs in no log and no ledger.
	Host string `json:"host,omitempty"`
	Port uint16 `json:"port,omitempty"`
	// Address is what was dialled; not valid where nothing was.
	Address netip.AddrPort `json:"address,omitzero"`
	Outcome Outcome        `json:"outcome"`
	// Out and In are bytes that left for the host, and that came from it.
	Out int64 `json:"out"`
	In  int64 `json:"in"`
	// Took is the time from the request to the end.
	Took time.Duration `json:"took_ns"`
}

// Via is a way in which the program asked for a connection.
type Via string

// The ways.
const (
	ViaProxy   Via = "proxy"   // by the HTTP proxy
	ViaDirect  Via = "direct"  // by a connection to the address that DNS gave
	ViaDNS     Via = "dns"     // by a name in DNS
	ViaTCP     Via = "tcp"     // seen by the watch: TCP to a port that isn't listed
	ViaUDP     Via = "udp"     // seen by the watch: UDP, so QUIC too
	ViaICMP    Via = "icmp"    // seen by the watch: an echo request
	ViaUnknown Via = "unknown" // seen by the watch: another protocol
)

// Outcome says what became of a connection: a closed list.
type Outcome string

// The outcomes.
const (
	Connected        Outcome = "connected"          // it was made, and ended by itself
	HostNotListed    Outcome = "host_not_listed"    // the name isn't listed
	PortNotListed    Outcome = "port_not_listed"    // the host is, at other ports
	AddressNotListed Outcome = "address_not_listed" // an address, and not one that is listed
	AddressPrivate   Outcome = "address_private"    // the name has a private address
	Metadata         Outcome = "metadata"           // a metadata service
	Protocol         Outcome = "protocol"           // anything but TCP
	Unresolved       Outcome = "unresolved"         // the name has no address
	Unreachable      Outcome = "unreachable"        // no address took the connection
	BadRequest       Outcome = "bad_request"        // the proxy or DNS can't read it
	Full             Outcome = "full"               // too many names below wildcards
	Idle             Outcome = "idle"               // nothing was said for too long
	TooLong          Outcome = "bytes"              // the bytes of the run are used up
	Stopped          Outcome = "stopped"            // the run ended first
	Broken           Outcome = "broken"             // a fault of our own
)

// hasConnected reports whether a connection was made, whatever ended it.
func (o Outcome) hasConnected() bool {
	return o == Connected || o == Idle || o == TooLong || o == Stopped
}

// Recorder is told of each connection when it ends, and of each refusal. Calls come
// one at a time, from several goroutines, and never after Stop has returned.
type Recorder interface {
	Record(c Connection)
}

// Totals are the numbers of a run. They hold no value.
type Totals struct {
	// Connections were made.
	Connections int64 `json:"connections"`
	// Refused attempts, each time they came; those that the kernel refused are
	// counted up to a bound.
	Refused int64 `json:"refused"`
	Out     int64 `json:"bytes_out"`
	In      int64 `json:"bytes_in"`
	// Unrecorded are connections and refusals beyond what is recorded one by one. A
	// refusal like an earlier one isn't among them.
	Unrecorded int64 `json:"unrecorded,omitempty"`
}

// account counts everything and records what isn't too much: the program decides how
// often it tries.
type account struct {
	mu     sync.Mutex
	to     Recorder
	max    int
	told   int
	seen   map[refusal]bool
	totals Totals
}

// refusal is what makes two refusals alike; the second is counted alone.
type refusal struct {
	via     Via
	host    string
	port    uint16
	outcome Outcome
}

func newAccount(to Recorder, most int) *account {
	return &account{to: to, max: most, seen: map[refusal]bool{}}
}

// maxHost bounds the text of a host in a record.
const maxHost = 255

func (a *account) addConnection(c Connection) {
	if len(c.Host) > maxHost {
		c.Host = c.Host[:maxHost]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.totals.Out, a.totals.In = a.totals.Out+c.Out, a.totals.In+c.In
	if c.Outcome.hasConnected() {
		a.totals.Connections++
	} else {
		a.totals.Refused++
		key := refusal{c.Via, c.Host, c.Port, c.Outcome}
		if a.seen[key] {
			return
		}
		if a.told < a.max {
			a.seen[key] = true
		}
	}
	if a.told >= a.max {
		a.totals.Unrecorded++
		return
	}
	a.told++
	a.tellRecorder(c)
}

// tellRecorder counts what a broken Recorder didn't take.
func (a *account) tellRecorder(c Connection) {
	defer func() {
		if recover() != nil {
			a.totals.Unrecorded++
		}
	}()
	if a.to != nil {
		a.to.Record(c)
	}
}

func (a *account) readTotals() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}
