package guard

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
	"github.com/vedette-dev/vedette/skills"
)

// parseAllowedHost returns one of Options.AllowHosts in the spelling that hosts are
// compared in.
func parseAllowedHost(h, at string) (string, error) {
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

// isThisMachine reports whether a private name is the machine's own, as its
// containers call it.
func isThisMachine(name string) bool {
	switch name {
	case "host.docker.internal", "gateway.docker.internal", "kubernetes.docker.internal", "host.containers.internal", "host.lima.internal":
		return true
	}
	return false
}

var (
	// probes ask whether a host is there and bring nothing back.
	probes = toSet("ping ping6 fping arping traceroute tracepath traceroute6 mtr dig nslookup host drill kdig pg_isready wait-for-it " +
		"wait-for-it.sh nmap")
	// loginClients check the server's key or certificate, and send a login of their own.
	loginClients = toSet("ssh scp sftp rsync autossh mosh ssh-keyscan ssh-copy-id " +
		"git psql pg_dump mysql mysqldump mariadb sqlcmd mongosh kubectl")
)

func toSet(list string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		out[w] = true
	}
	return out
}

// trustsNoNetwork reports whether only probes and clients that log in name a private
// host. Such programs reach no service that trusts every caller in its network. A
// client's host has a name, by which a person knows it; a bare address is asked
// about. What such a client does there is judged by its words, as for any host.
func trustsNoNetwork(h touch.Host, commands []touch.Command) bool {
	found := false
	for _, c := range commands {
		if c.Arg != h.Arg || !slices.ContainsFunc(c.Args, func(w string) bool { return strings.Contains(strings.ToLower(w), h.Name) }) {
			continue
		}
		found = true
		switch {
		case c.Dynamic || c.Opaque:
			return false
		case probes[c.Name], isScan(c):
		case loginClients[c.Name] && !isAddress(h.Name) && !speaksHTTP(c):
		default:
			return false
		}
	}
	return found
}

// isScan reports whether a netcat only tries a port.
func isScan(c touch.Command) bool {
	if !slices.Contains([]string{"nc", "ncat", "netcat"}, c.Name) {
		return false
	}
	tries := false
	for _, w := range c.Args {
		if !strings.HasPrefix(w, "-") {
			continue
		}
		if strings.Trim(w, "-zvnuw0123456789") != "" {
			return false
		}
		tries = tries || strings.Contains(w, "z")
	}
	return tries
}

// speaksHTTP reports whether a client is given an address of the web.
func speaksHTTP(c touch.Command) bool {
	return c.Name != "git" && slices.ContainsFunc(c.Args, func(w string) bool { return strings.Contains(strings.ToLower(w), "http://") })
}
