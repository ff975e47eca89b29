package config

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// hostLabel is one part of a host's name. The standard forbids an underscore there, but
// names in use have underscores.
const hostLabel = `[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?`

// hostRE is what a host's name looks like: labels between dots.
var hostRE = regexp.MustCompile(`^(?:` + hostLabel + `\.)*` + hostLabel + `\.?$`)

// validHost reports whether a host is an address or could be a name. What ends
// in a number is an address or a slip: no top-level domain does.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	name := strings.TrimSuffix(host, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	_, err := strconv.ParseUint(last, 10, 64)
	return len(host) <= 253 && hostRE.MatchString(host) && err != nil
}

// listenAddress splits the address that a server listens on into host and port. It
// reports false where no server could listen. An empty host means every interface.
func listenAddress(text string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", "", false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return host, port, err == nil && (host == "" || validHost(host))
}

// validTarget reports whether requests could be sent to a URL's host and port.
func validTarget(u *url.URL) bool {
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return validHost(u.Hostname()) && !strings.HasSuffix(u.Host, ":")
}

// mayBeReachable reports whether a host that an address names could be one. It
// passes an address without a host, as of a socket. It passes a name in other
// letters too, which clients write in their own way.
func mayBeReachable(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return true
	}
	if strings.ContainsFunc(u.Hostname(), func(r rune) bool { return r > unicode.MaxASCII }) {
		u.Host = strings.Replace(u.Host, u.Hostname(), "h", 1) // its port is told apart all the same
	}
	return validTarget(u)
}
