package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/internal/netzone"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// MaxEntries is the greatest number of entries in a list of hosts.
const MaxEntries = 64

// Policy is a list of hosts and ports, checked. The zero value lists none.
type Policy struct {
	entries []entry
	proxy   uint16
	// private are hosts that may have a private address, and private addresses that
	// any listed host may have (guard.allow_hosts).
	private   []string
	addresses []netip.Addr
}

// entry is one host and port: a name, all names below one, or an address.
type entry struct {
	name string // without the "*."
	wild bool
	addr netip.Addr
	port uint16
}

// Parse returns the Policy of a list such as ["pypi.org:443", "*.example.com:443"], or every
// mistake in it. The error joins *skills.PathError values below the path at. The names and
// addresses in allowHosts are guard.allow_hosts, in small letters.
func Parse(at string, list, allowHosts []string) (*Policy, error) {
	p := &Policy{private: allowHosts}
	for _, h := range allowHosts {
		if a, err := netip.ParseAddr(h); err == nil {
			p.addresses = append(p.addresses, a.Unmap())
		}
	}
	if len(list) > MaxEntries {
		return nil, &skills.PathError{Path: at, Msg: fmt.Sprintf("has %d entries; at most %d", len(list), MaxEntries)}
	}
	var errs []error
	for i, s := range list {
		e, fault := p.parseEntry(s)
		if fault == "" && slices.Contains(p.entries, e) {
			fault = "stands in the list twice"
		}
		if fault != "" {
			errs = append(errs, &skills.PathError{Path: fmt.Sprintf("%s[%d]", at, i), Msg: fault})
			continue
		}
		p.entries = append(p.entries, e)
	}
	if n := len(p.listPorts()); n > listen.MaxPorts {
		errs = append(errs, &skills.PathError{Path: at, Msg: fmt.Sprintf("names %d different ports; at most %d", n, listen.MaxPorts)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.proxy = pickPort(p.listPorts())
	return p, nil
}

// pickPort returns a port for the proxy that isn't listed.
func pickPort(taken []uint16) uint16 {
	port := uint16(3128)
	for slices.Contains(taken, port) {
		port++
	}
	return port
}

const metadataFault = "hands out this machine's credentials; it is never allowed"

// parseEntry returns what s names, or what is wrong with it.
func (p *Policy) parseEntry(s string) (e entry, fault string) {
	host, digits, err := net.SplitHostPort(s)
	if err != nil || host == "" {
		return e, `must be a host and a port, such as "pypi.org:443", "*.example.com:443" or "[2606:4700::1]:443"`
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != digits {
		return e, `its port must be a number from 1 to 65535: write a host and a port without scheme and path, such as "pypi.org:443"`
	}
	e.port = uint16(port)
	if port == 53 {
		return e, "names port 53, which the sandbox's own resolver has; leave it out"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		e.addr = a
		return e, p.checkAddress(a)
	}
	e.name, e.wild = strings.CutPrefix(strings.ToLower(host), "*.")
	return e, checkName(e.name, e.wild)
}

// checkAddress returns what is wrong with an address in the list.
func (p *Policy) checkAddress(a netip.Addr) string {
	switch {
	case netzone.Of(a) == netzone.Metadata:
		return metadataFault
	case a.Zone() != "" || a.Is4In6():
		return "its address must be plain: without an interface, and an IPv4 address as such"
	case a.IsUnspecified() || a.IsMulticast():
		return "its address is no host's"
	case !p.mayReach("", a):
		return "its address is private, local or reserved; list it in guard.allow_hosts if that is meant"
	}
	return ""
}

// checkName returns what is wrong with a name in the list.
func checkName(name string, wild bool) string {
	labels := strings.Split(name, ".")
	switch {
	case strings.Contains(name, "*"):
		return `may have one star, in front and before a dot: "*.example.com:443"`
	case len(name) > 253 || slices.ContainsFunc(labels, isBadLabel):
		return "is no host's name; write letters of another alphabet as xn--"
	case isNumeric(labels[len(labels)-1]):
		return "its last part is a number, as in an address; write the address in full"
	case netzone.IsMetadataName(name):
		return metadataFault
	case labels[len(labels)-1] == "localhost":
		return "is the sandbox's own localhost; name the machine's address, such as 127.0.0.1"
	case wild && len(labels) < 2:
		return "allows a whole top-level domain; name a domain below it"
	}
	return ""
}

func isBadLabel(l string) bool {
	return l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
		strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-_") != ""
}

// isNumeric reports whether a name that ends so is read as an IPv4 address.
func isNumeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// listPorts returns the listed ports, each once, in order.
func (p *Policy) listPorts() []uint16 {
	var out []uint16
	for _, e := range p.entries {
		out = append(out, e.port)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Plan returns what must listen inside the sandbox.
func (p *Policy) Plan() listen.Plan { return listen.Plan{Proxy: p.proxy, Ports: p.listPorts()} }

// Environ returns the variables that lead programs to the proxy, as NAME=value.
func (p *Policy) Environ() []string {
	proxy := "http://127.0.0.1:" + strconv.Itoa(int(p.proxy))
	own := "localhost,127.0.0.1,::1"
	return []string{
		"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "NO_PROXY=" + own,
		"https_proxy=" + proxy, "http_proxy=" + proxy, "no_proxy=" + own,
	}
}

// Resolver returns the text of the program's /etc/resolv.conf.
func (p *Policy) Resolver() string { return "nameserver 127.0.0.1\n" }

// trimHostName returns a name as the list spells it.
func trimHostName(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

// judgeName says whether a listed name and port are meant: Connected, or why not.
// The name must be plain.
func (p *Policy) judgeName(name string, port uint16) Outcome {
	if netzone.IsMetadataName(name) {
		return Metadata
	}
	out := HostNotListed
	for _, e := range p.entries {
		switch {
		case !e.matchesName(name):
		case e.port == port:
			return Connected
		default:
			out = PortNotListed
		}
	}
	return out
}

// listsName reports whether a name may be reached at some port.
func (p *Policy) listsName(name string) bool {
	return !netzone.IsMetadataName(name) && slices.ContainsFunc(p.entries, func(e entry) bool { return e.matchesName(name) })
}

func (e entry) matchesName(name string) bool {
	if !e.wild {
		return e.name != "" && e.name == name
	}
	below, ok := strings.CutSuffix(name, "."+e.name)
	return ok && len(name) <= 253 && !slices.ContainsFunc(strings.Split(below, "."), isBadLabel)
}

// judgeAddress is judgeName for an address.
func (p *Policy) judgeAddress(a netip.Addr, port uint16) Outcome {
	out := AddressNotListed
	if netzone.Of(a) == netzone.Metadata {
		return Metadata
	}
	for _, e := range p.entries {
		switch {
		case !e.addr.IsValid() || e.addr != a.Unmap():
		case e.port == port:
			return Connected
		default:
			out = PortNotListed
		}
	}
	return out
}

// mayReach reports whether a connection that is meant for name may go to an address.
// These are the rules of the skills of kind http.
func (p *Policy) mayReach(name string, a netip.Addr) bool {
	a = a.Unmap()
	switch netzone.Of(a) {
	case netzone.Metadata:
		return false
	case netzone.Open:
		return a.Zone() == ""
	}
	return name != "" && slices.Contains(p.private, name) || slices.Contains(p.addresses, a)
}
