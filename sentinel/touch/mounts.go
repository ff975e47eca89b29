package touch

import (
	"slices"
	"strings"
)

// containerMounts records the files of this machine that a container is given: what is
// mounted into it, its files of variables, what is copied in or out. A path
// inside the container is no path of this machine. It reports whether the
// command is one that it knows.
func (s *shell) containerMounts(args []field) bool {
	sub := skipOptions(args, "Hcl", []string{"context", "host", "config", "log-level", "tlscacert", "tlscert", "tlskey"})
	for len(sub) > 0 && (sub[0].text == "container" || sub[0].text == "compose") {
		sub = skipOptions(sub[1:], "fp", []string{"file", "project-name", "project-directory", "profile", "env-file"})
	}
	if len(sub) == 0 {
		return false
	}
	at := len(args) - len(sub)
	switch args[at].text {
	case "cp":
		s.copiesIn(operands(args[at+1:], ""))
		return true
	case "run", "create", "exec":
	default:
		return false
	}
	s.mentions(args[:at])
	rest := args[at+1:]
	options := rest[:len(rest)-len(skipOptions(rest, containerShort, containerLong))]
	for i, o := range options {
		opt, val, joined := optionOf(o, "v")
		if !joined && i+1 < len(options) {
			val = options[i+1]
		}
		switch opt {
		case "-v", "--volume":
			s.mounted(val)
		case "--mount":
			for part := range strings.SplitSeq(val.text, ",") {
				if k, v, ok := strings.Cut(part, "="); ok && (k == "src" || k == "source") {
					s.mounted(field{text: v + ":/", unknown: val.unknown, home: val.home})
				}
			}
		case "--env-file", "--cidfile", "--label-file", "--device":
			name, _, _ := strings.Cut(val.text, ":")
			s.path(field{text: name, bare: name, unknown: val.unknown}, Read)
		}
	}
	return true
}

const containerShort = "evuwplhmcaP"

var containerLong = []string{
	"env", "volume", "user", "workdir", "name", "network", "mount", "publish", "entrypoint", "label", "hostname", "memory", "cpus", "add-host", "cap-add",
	"security-opt", "platform", "env-file", "device", "restart", "pid", "ipc", "userns", "gpus", "volumes-from", "net", "link", "dns", "log-driver", "ulimit", "shm-size", "tmpfs",
	"cidfile", "label-file", "cap-drop", "expose", "log-opt", "pull", "runtime", "stop-signal", "sysctl", "group-add", "health-cmd", "isolation", "cgroupns", "domainname",
}

// mounted records HOST of HOST:INSIDE[:ro]. A volume's name is no path; the
// kernel's own trees as a whole are what monitors are given.
func (s *shell) mounted(v field) {
	host, _, ok := strings.Cut(v.text, ":")
	if len(v.text) > 2 && v.text[1] == ':' && letter(v.text[0]) && strings.IndexByte(`\/`, v.text[2]) >= 0 { // a drive
		rest, _, more := strings.Cut(v.text[2:], ":")
		host, ok = v.text[:2]+rest, more
	}
	if !ok || !strings.ContainsAny(host, `/~.$\`) || slices.Contains([]string{"/sys", "/proc", "/dev"}, strings.TrimRight(host, "/")) {
		return
	}
	bare, _, _ := strings.Cut(v.bare, ":")
	s.pathAs(field{text: host, bare: bare, unknown: v.unknown && strings.Contains(host, "$"), home: v.home}, Path{Access: Read, Recursive: true})
}

// copiesIn reads "cp A B", one of which is NAME:PATH in a container.
func (s *shell) copiesIn(ops []field) {
	for i, f := range ops {
		if j := strings.IndexByte(f.text, ':'); j > 0 && strings.IndexAny(f.text[:j], "/~.") != 0 {
			continue
		}
		if i == len(ops)-1 {
			s.path(f, Write)
		} else {
			s.pathAs(f, Path{Access: Read, Recursive: true})
		}
	}
}
