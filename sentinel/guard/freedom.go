package guard

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch"
)

// freedom is what a command line that only reads may do with a place.
type freedom uint8

const (
	refused freedom = iota // the place's contents are secret, or it is written
	asked                  // a person may allow it
	free
)

// freedomToRead says what a command line may do with a place of the core without
// destroying it or seeing what is secret in it. Arguments that are no command
// line keep to the whole core: what their skill does with them is unknown.
func freedomToRead(signal, n string, p touch.Path) freedom {
	if !p.Shell || p.Sent || p.Recursive && !p.Names || p.Access.Has(touch.Delete) {
		return refused
	}
	// A pattern may stand for any name, so that only a mode for the owner is plain.
	if strings.ContainsAny(n, meta) && (!p.Names || !p.Client || strings.Contains(n, "**")) {
		return refused
	}
	if p.Access.Has(touch.Write) {
		return freedomToWrite(signal, splitPath(n), p)
	}
	parts := splitPath(n)
	if len(parts) == 0 {
		return refused
	}
	last := parts[len(parts)-1]
	switch {
	case p.Client, p.Public, p.Names:
		return free
	case strings.HasSuffix(last, ".pub"):
		return free
	case signal == PlaceSSH:
		return freedomInSSH(last, parts)
	case signal == PlaceAccounts:
		if strings.TrimSuffix(last, "-") == "passwd" {
			return asked
		}
	case signal == PlaceSSHD:
		if !strings.HasPrefix(last, "ssh_host_") {
			return asked
		}
	case signal == PlaceBoot:
		return asked
	case signal == PlaceSys:
		return free
	case signal == PlaceProc:
		return freedomInProc(parts)
	}
	return refused
}

// freedomToWrite says what a command line may change at a place without destroying
// it: the mode of a user's own keys, a key that its own program makes, and what
// ssh reads beside the keys. A mode for the owner alone takes nothing from anyone.
func freedomToWrite(signal string, parts []string, p touch.Path) freedom {
	beside := signal == PlaceSSH && !p.Recursive && isBesideKeys(parts)
	if (p.Names || p.Client) && !p.Recursive &&
		(signal == PlaceSSH || signal == PlaceGnuPG || signal == PlaceKey || signal == PlaceCloud || signal == PlaceStored) {
		if p.Names && p.Client {
			return free
		}
		return asked
	}
	if beside {
		return asked
	}
	return refused
}

// isBesideKeys reports whether a file in a folder .ssh says which hosts there are and
// how they are reached. Its name alone tells it from a key.
func isBesideKeys(parts []string) bool {
	i := slices.Index(parts, ".ssh")
	if i < 0 || len(parts) < i+2 {
		return false
	}
	name := parts[i+1]
	if name == "config.d" {
		return true
	}
	return len(parts) == i+2 && (name == "config" || strings.HasPrefix(name, "config.") || strings.HasPrefix(name, "known_hosts"))
}

// freedomInSSH is freedomToRead for a file in a folder .ssh. Any name may be a key's.
func freedomInSSH(name string, parts []string) freedom {
	switch {
	case strings.HasPrefix(name, "known_hosts"):
		return free
	case name == "authorized_keys", isBesideKeys(parts):
		return asked
	}
	return refused
}

// freedomInProc is freedomToRead for /proc: what a process is, not what it holds.
func freedomInProc(parts []string) freedom {
	plain := []string{"status", "stat", "statm", "cgroup", "limits", "comm", "mounts", "mountinfo", "io",
		"sched", "loadavg", "net", "ns", "oom_score", "uptime"}
	if len(parts) > 2 && slices.Contains(plain, parts[2]) {
		return free
	}
	return refused
}
