package touch

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// inContainer reads what docker and its kin do: the volumes they remove, and
// the command that "run" and "exec" start.
func (s *shell) inContainer(words []string, args []field, in stream) {
	s.container(words, args)
	at := slices.IndexFunc(args, func(f field) bool { return f.text == "run" || f.text == "exec" })
	if at < 0 {
		return
	}
	rest := args[at+1:]
	cmd := skipOptions(rest, "evuwplhmcaP", []string{
		"env", "volume", "user", "workdir", "name", "network", "mount", "publish", "entrypoint", "label", "hostname", "memory", "cpus", "add-host", "cap-add",
		"security-opt", "platform", "env-file", "device", "restart", "pid", "ipc", "userns", "gpus", "volumes-from", "net", "link", "dns", "log-driver", "ulimit", "shm-size", "tmpfs",
	})
	options := rest[:len(rest)-len(cmd)]
	if len(cmd) < 2 {
		return
	}
	host, inside := hostMount(options)
	if inside == "" {
		s.elsewhere(cmd[1:], in)
		return
	}
	outside := make([]field, 0, len(cmd))
	for _, f := range cmd[1:] {
		f.text, f.bare = mapped(f.text, inside, host), mapped(f.bare, inside, host)
		outside = append(outside, f)
	}
	s.fork().run(outside, in)
}

func mapped(text, inside, host string) string {
	if text == inside {
		return host + "/"
	}
	return strings.ReplaceAll(text, inside+"/", host+"/")
}

// hostMount returns a folder of this machine that the container sees, and
// where it sees it. Only one that is a tree as a whole matters.
func hostMount(options []field) (host, inside string) {
	for i, o := range options {
		v := ""
		switch {
		case (o.text == "-v" || o.text == "--volume") && i+1 < len(options):
			v = options[i+1].text
		case strings.HasPrefix(o.text, "--volume="):
			v = o.text[len("--volume="):]
		case strings.HasPrefix(o.text, "-v") && len(o.text) > 2:
			v = o.text[2:]
		}
		parts := strings.SplitN(v, ":", 3)
		if len(parts) < 2 || len(parts[1]) < 2 {
			continue
		}
		if k, _ := path.FindTree(strings.TrimSuffix(parts[0], "/")+"/", Env{}); parts[0] == "/" || k == path.SystemTree {
			return strings.TrimSuffix(parts[0], "/"), strings.TrimSuffix(parts[1], "/")
		}
	}
	return "", ""
}

// inPod reads the command that "kubectl exec" runs.
func (s *shell) inPod(args []field, in stream) {
	if at := slices.IndexFunc(args, func(f field) bool { return f.text == "--" }); at > 0 && slices.ContainsFunc(args[:at], func(f field) bool { return f.text == "exec" }) {
		s.elsewhere(args[at+1:], in)
	}
}

// elsewhere reads a command that runs in a container. Its files are not this
// machine's; what it destroys is lost there all the same.
func (s *shell) elsewhere(cmd []field, in stream) {
	f := s.fork()
	f.c = &collector{env: Env{NoFS: true}, links: path.NewLinks(Env{NoFS: true}), hosts: map[Host]bool{}, arg: s.arg}
	f.run(cmd, in)
	t := f.c.touch
	if len(t.Dangers) > 0 || slices.ContainsFunc(t.Paths, func(p Path) bool { return p.Access.Has(Delete) && p.Recursive }) {
		s.doubt(VolumeLoss)
	}
	for _, d := range t.Doubts {
		if d.Code != ProjectWipe && d.Code != OpaqueCommand && d.Code != UnsetTree && d.Code != UnknownTarget {
			s.doubt(d.Code)
		}
	}
	if s.quiet {
		return
	}
	for _, d := range t.Changes {
		s.change(d.Code)
	}
	for _, h := range t.Hosts {
		s.c.host(h)
	}
	s.c.touch.Commands = append(s.c.touch.Commands, t.Commands...)
}

var (
	drives = set("del erase rd rmdir format remove-item ri diskpart cipher icacls takeown clear-disk format-volume")
	// wholeDrive is a drive, or what Windows can't be without on it. A POSIX
	// shell eats the backslashes.
	wholeDrive = regexp.MustCompile(`(?i)^[a-z]:[\\/]*(\*(\.\*)?|windows.*|users|program ?files.*|programdata)?$`)
)

// drive looks at what Windows' own commands remove.
func (s *shell) drive(name string, args []field) {
	has := func(list ...string) bool {
		return slices.ContainsFunc(args, func(f field) bool {
			return slices.ContainsFunc(list, func(o string) bool { return strings.EqualFold(f.text, o) })
		})
	}
	args = apart(args)
	if name == "clear-disk" || name == "format-volume" {
		if len(args) > 0 && !has("-whatif") {
			s.danger(MakeFS)
		}
		return
	}
	whole := slices.ContainsFunc(args, func(f field) bool {
		return wholeDrive.MatchString(f.text) || wholeByName.MatchString(f.text) ||
			len(f.text) > 2 && f.text[0] == '%' && wholeWindows.MatchString(f.text)
	})
	switch {
	case !whole || has("/?"):
	case name == "format":
		s.danger(MakeFS)
	case name == "icacls":
		if has("/t") && has("/reset", "/grant", "/grant:r", "/deny", "/remove", "/setowner", "/inheritance:r", "/inheritance:d") {
			s.danger(ChmodTree)
		}
	case name == "takeown":
		if has("/r") {
			s.danger(ChownTree)
		}
	case (name == "del" || name == "erase" || name == "rd" || name == "rmdir") && has("/s", "/q"), has("-recurse", "-r", "-rec"):
		s.danger(RmSystem)
	}
}

// wholeByName are the variables that hold a drive, or what Windows needs.
var wholeByName = regexp.MustCompile(`(?i)^%(systemroot|systemdrive|windir|userprofile|homedrive|programfiles|programdata|allusersprofile)%[\\/]*(\*(\.\*)?)?$`)

// apart takes the words of Windows' commands apart where a backslash before a
// blank has joined them.
func apart(args []field) []field {
	out := make([]field, 0, len(args))
	for _, a := range args {
		drive, rest, ok := strings.Cut(a.text, ": ")
		if !ok || len(drive) != 1 {
			out = append(out, a)
			continue
		}
		out = append(append(out, literals([]string{drive + ":"})...), literals(strings.Fields(rest))...)
	}
	return out
}
