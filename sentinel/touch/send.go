package touch

import (
	"slices"
	"strings"
)

// transfer records the files that curl and wget read and write, also where
// option and value are one word.
func (s *shell) transfer(name string, args []field) {
	for i, a := range args {
		opt, val, joined := optionOf(a, "oOTKdF")
		if !joined {
			if i+1 == len(args) {
				return
			}
			val = args[i+1]
		}
		switch opt {
		case "-o", "--output", "-O", "--output-document":
			if opt != "-O" || name == "wget" {
				s.writes(val)
			}
		case "-K", "--config", "--input-file":
			s.path(val, Read)
		case "-T", "--upload-file", "--post-file", "--body-file":
			s.pathAs(val, Path{Access: Read, Sent: true})
		case "-d", "--data", "--data-binary", "--data-ascii", "--data-raw", "-F", "--form", "--data-urlencode", "--json":
			if j := strings.IndexByte(val.text, '@'); j >= 0 {
				s.pathAs(val.cut(j+1), Path{Access: Read, Sent: true})
			}
		}
	}
}

// optionOf splits "--data=x" and "-dx"; short are the letters that may carry a
// value.
func optionOf(a field, short string) (opt string, val field, joined bool) {
	t := a.text
	if strings.HasPrefix(t, "--") {
		if i := strings.IndexByte(t, '='); i > 0 {
			return t[:i], field{text: t[i+1:], bare: t[i+1:], unknown: a.unknown}, true
		}
		return t, val, false
	}
	if len(t) > 2 && t[0] == '-' && strings.IndexByte(short, t[1]) >= 0 {
		return t[:2], field{text: t[2:], bare: t[2:], unknown: a.unknown}, true
	}
	return t, val, false
}

// senders hand their input to another machine, or to another person.
var senders = set("nc ncat netcat socat telnet mail mailx sendmail mutt msmtp swaks ssh openssl ftp lftp tftp")

// sent marks the files that were read for a command that sends its input:
// those from one index of Paths to another, by the commands from an index on.
func (s *shell) sent(from, to, commands int) {
	t := &s.c.touch
	if from == to || commands >= len(t.Commands) || !slices.ContainsFunc(t.Commands[commands:], sends) {
		return
	}
	for i := from; i < to; i++ {
		t.Paths[i].Sent = t.Paths[i].Sent || t.Paths[i].Access.Has(Read)
	}
}

func sends(c Command) bool {
	switch c.Name {
	case "curl":
		return slices.ContainsFunc(c.Args, func(a string) bool { return a == "@-" || strings.HasSuffix(a, "=@-") || a == "-T-" || a == "-d@-" }) ||
			slices.Contains(c.Args, "-T") && slices.Contains(c.Args, "-")
	case "wget":
		return slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "--post-file=") && strings.HasSuffix(a, "-") })
	case "openssl":
		return len(c.Args) > 0 && c.Args[0] == "s_client"
	}
	return senders[c.Name]
}

// remote reports whether an operand of scp or rsync is on another machine.
func remote(text string) bool {
	i := strings.IndexByte(text, ':')
	return i > 1 && !strings.Contains(text[:i], "/") || strings.Contains(text, "://")
}

// metadata records a metadata service wherever it stands among a client's
// arguments: behind --resolve, as a proxy, in a header.
func (s *shell) metadata(args []field) {
	for _, a := range args {
		if len(a.text) > 1024 || s.quiet {
			continue
		}
		for _, w := range strings.FieldsFunc(a.text, func(r rune) bool { return strings.ContainsRune(":/,@ =?&[]", r) }) {
			if strings.Contains(w, ".") || len(w) == 10 && digits(w) {
				if name, z := ParseHost(w); z == Metadata {
					s.c.host(Host{Name: name, Arg: s.arg, Zone: z, Shell: true})
				}
			}
		}
	}
}
