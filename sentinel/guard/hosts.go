package guard

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// allowed returns one of Options.AllowHosts in the spelling that hosts are
// compared in.
func allowed(h, at string) (string, error) {
	name, zone := touch.ParseHost(h)
	switch {
	case name == "" || strings.ContainsAny(name, " /@*?\\,"):
		return "", &skills.PathError{Path: at, Msg: `must be the name or address of one host, such as "wiki.internal" or "10.0.0.7"`}
	case strings.Contains(name, ":") && !isAddress(name):
		return "", &skills.PathError{Path: at, Msg: "must be a host without a port: all its ports are allowed"}
	case zone == touch.Metadata:
		return "", &skills.PathError{Path: at, Msg: "names a metadata service, which hands out this machine's credentials; it is never allowed"}
	}
	return name, nil
}

func isAddress(name string) bool {
	_, err := netip.ParseAddr(name)
	return err == nil
}

// host looks at one host that the call would reach. A name that resolves to a
// private address is the dialer's to refuse.
func (g *Guard) host(denies, asks *findings, h touch.Host) {
	signal := [...]string{"", "loopback", "private", "metadata"}[h.Zone]
	switch {
	case h.Zone == touch.Metadata:
		denies.add(CodePrivateHost, signal, h.Arg)
	case h.Zone == touch.Open || h.Inside || slices.Contains(g.hosts, h.Name):
	case !h.Shell:
		denies.add(CodePrivateHost, signal, h.Arg)
	case h.Zone == touch.Private:
		asks.add(CodePrivateHost, signal, h.Arg)
	}
}

// limited reports whether a skill declares less than the loss of data.
func limited(e skills.Effect) bool {
	return e == skills.Read || e == skills.Create || e == skills.Modify
}

// exceeds looks for a command line that does more to a file than its skill
// says it does: one that only reads writes nothing, and one that only creates
// or modifies removes nothing. A move keeps what it moves.
func exceeds(denies *findings, p touch.Path, effect skills.Effect) {
	if !p.Shell || !limited(effect) || scratch(p.Clean) {
		return
	}
	removes := p.Access.Has(touch.Delete) && !p.Access.Has(touch.Read)
	switch {
	case removes:
		denies.add(CodeExceeded, "removes", p.Arg)
	case effect == skills.Read && p.Access&(touch.Write|touch.Delete) != 0:
		denies.add(CodeExceeded, "writes", p.Arg)
	}
}

// scratch reports whether nothing stays of what is written to a path.
func scratch(p string) bool {
	return slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "/dev/fd/63"}, p)
}
