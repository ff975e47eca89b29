package host

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/vedette-dev/vedette/internal/netzone"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

var (
	// localNames end the names that no public resolver knows.
	localNames = []string{
		".local", ".localdomain", ".internal", ".lan", ".home.arpa", ".intranet", ".svc", ".cluster.local", ".consul", ".corp",
	}
	// mirrors are public names that resolve to the address they spell.
	mirrors    = []string{".nip.io", ".sslip.io", ".xip.io", ".traefik.me", ".1u.ms", ".rbndr.us", ".nip.direct"}
	ownMirrors = []string{"localtest.me", "lvh.me", "vcap.me", "lacolhost.com"}
	// zonedEndings are the last labels of these names and of this machine's own.
	zonedEndings = listEndings([]string{"localhost", "localdomain", "ip6-localhost", "ip6-loopback"}, localNames, mirrors, ownMirrors)
)

// listEndings returns what stands behind the last dot of each name.
func listEndings(lists ...[]string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lists {
		for _, name := range l {
			out[name[strings.LastIndexByte(name, '.')+1:]] = true
		}
	}
	return out
}

// ParseHost returns the name of a host in the one spelling that every reader
// shares, and its zone. An address in decimal, octal, hexadecimal or short
// form, mapped into IPv6, in full-width digits or escaped, comes back dotted;
// where readers disagree ("010.0.0.1") the worst reading decides the zone.
func ParseHost(h string) (name string, z Zone) {
	h = strings.TrimSpace(strings.ToLower(unescapeHost(h)))
	if strings.HasPrefix(h, "[") {
		h = strings.TrimSuffix(h[1:], "]")
	}
	h = strings.TrimRightFunc(h, func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
	bare := h
	if i := strings.IndexByte(bare, '%'); i >= 0 && strings.Contains(bare, ":") {
		bare = bare[:i] // the interface of a link-local address
	}
	if a, err := parseAddress(bare); err == nil {
		a = a.WithZone("")
		return a.Unmap().String(), findAddressZone(a)
	}
	if a, alt, ok := parseLooseIPv4(bare); ok {
		return a.String(), max(findAddressZone(a), findAddressZone(alt))
	}
	z = findNameZone(h)
	if i := strings.IndexAny(h, "\x00;,!"); i > 0 {
		_, cut := ParseHost(h[:i]) // of a reader that stops there
		z = max(z, cut)
	}
	if shown := UnicodeHost(h); shown != h {
		// A reader that folds what it decodes ends up elsewhere.
		_, folded := ParseHost(unescapeHost(shown))
		z = max(z, folded)
	}
	return h, z
}

var errNoAddress = errors.New("no address")

// parseAddress is netip.ParseAddr without an error made for each name: an address
// begins with a digit or has a colon.
func parseAddress(s string) (netip.Addr, error) {
	if s == "" || !isDigit(s[0]) && strings.IndexByte(s, ':') < 0 {
		return netip.Addr{}, errNoAddress
	}
	return netip.ParseAddr(s)
}

// unescapeHost undoes escapes, full-width characters and look-alike dots.
func unescapeHost(h string) string {
	h = strings.TrimSpace(h)
	for range 2 {
		if !strings.Contains(h, "%") || strings.Contains(h, ":") {
			break
		}
		h = path.DecodePercent(h)
	}
	for i := range len(h) {
		if h[i] >= 0x80 {
			return strings.NewReplacer("。", ".", "\u200b", "", "\u200d", "", "\u2060", "", "\u00ad", "").Replace(norm.NFKC.String(h))
		}
	}
	return h
}

func findAddressZone(a netip.Addr) Zone { return Zone(netzone.Of(a)) }

// parseLooseIPv4 reads an address as inet_aton does: one to four parts, each
// decimal, octal or hexadecimal. alt is what a reader sees to whom a leading
// zero means nothing.
func parseLooseIPv4(h string) (a, alt netip.Addr, ok bool) {
	if h == "" || !isDigit(h[0]) || len(h) > 64 {
		return a, a, false
	}
	parts := strings.Split(h, ".")
	if len(parts) > 4 {
		return a, a, false
	}
	var v, w uint64
	for i, p := range parts {
		x, err := strconv.ParseUint(p, 0, 64)
		y, err10 := strconv.ParseUint(p, 10, 64)
		if err != nil && len(p) > 1 && p[0] == '0' {
			x, err = y, err10 // "08" is no octal
		}
		if err != nil || strings.Contains(p, "_") || strings.HasPrefix(p, "0b") || strings.HasPrefix(p, "0o") {
			return a, a, false
		}
		if err10 != nil {
			y = x
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if x >= 1<<bits {
			if i < len(parts)-1 || len(parts) > 1 {
				return a, a, false
			}
			x &= 1<<32 - 1 // what overflows is dropped
		}
		v, w = v<<bits|x, w<<bits|y&(1<<bits-1)
	}
	return makeIPv4(v), makeIPv4(w), true
}

func makeIPv4(v uint64) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}

func findNameZone(h string) Zone {
	ends := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasSuffix(h, s) })
	}
	switch {
	case netzone.IsMetadataName(h):
		return Metadata
	case !zonedEndings[h[strings.LastIndexByte(h, '.')+1:]]: // most names end there
		return Open
	case h == "localhost" || strings.HasSuffix(h, ".localhost") || h == "localhost.localdomain" || h == "ip6-localhost" || h == "ip6-loopback":
		return Loopback
	case slices.ContainsFunc(ownMirrors, func(m string) bool { return h == m || strings.HasSuffix(h, "."+m) }):
		return Loopback
	case ends(mirrors):
		return findMirroredZone(h)
	case ends(localNames):
		return Private
	}
	return Open
}

// findMirroredZone returns the zone of the address spelt in "app-10-0-0-1.nip.io".
func findMirroredZone(h string) Zone {
	parts := strings.FieldsFunc(h, func(r rune) bool { return r == '.' || r == '-' })
	worst := Open
	for i := 0; i+4 <= len(parts); i++ {
		if a, err := netip.ParseAddr(strings.Join(parts[i:i+4], ".")); err == nil {
			worst = max(worst, findAddressZone(a))
		}
	}
	for _, p := range parts[:max(0, len(parts)-2)] {
		if len(p) == 8 {
			if v, err := strconv.ParseUint(p, 16, 32); err == nil {
				worst = max(worst, findAddressZone(makeIPv4(v)))
			}
		}
	}
	return worst
}
