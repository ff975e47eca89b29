package bash

import (
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// reporter takes down what a shell finds.
type reporter struct {
	out    *Findings
	budget *Budget
	texts  *textRoom
	quiet  bool // the text may be no shell at all
}

func (r *reporter) addDanger(code string) { r.out.Dangers = appendCode(r.out.Dangers, code) }

func (r *reporter) addDoubt(code string) { r.out.Doubts = appendCode(r.out.Doubts, code) }

func (r *reporter) addChange(code string) {
	if !r.quiet {
		r.out.Changes = appendCode(r.out.Changes, code)
	}
}

func (r *reporter) addUnread(code string) { r.out.Unread = appendCode(r.out.Unread, code) }

// addEffect records what a program does beyond files.
func (r *reporter) addEffect(e programs.Effect) {
	switch {
	case slices.Contains(UnreadCodes(), e.Code):
		r.addUnread(e.Code)
	case e.Class == programs.Danger:
		r.addDanger(e.Code)
	case e.Class == programs.Doubt:
		r.addDoubt(e.Code)
	default:
		r.addChange(e.Code)
	}
}

func (r *reporter) addCommand(name string, args []field, opaque bool) {
	if r.quiet {
		return
	}
	cmd := Command{Name: name, Opaque: opaque, Dynamic: opaque, Args: r.texts.takeTexts(len(args))}
	if opaque {
		cmd.Name = ""
		r.addDoubt(OpaqueCommand)
	}
	for i := range args {
		cmd.Args[i] = args[i].text
		cmd.Dynamic = cmd.Dynamic || args[i].unknown
	}
	r.out.Commands = append(r.out.Commands, cmd)
}

// growCommands makes room for the commands of n statements in one piece.
func (r *reporter) growCommands(n int) {
	if !r.quiet && n > 4 {
		r.out.Commands = slices.Grow(r.out.Commands, min(n, maxSteps))
	}
}

// addOpaque records an interpreter whose program can't be known.
func (r *reporter) addOpaque(name string) {
	if r.quiet {
		return
	}
	r.out.Commands = append(r.out.Commands, Command{Name: name, Dynamic: true, Opaque: true})
	r.addDoubt(OpaqueCommand)
}

// addHost records a host once.
func (r *reporter) addHost(h Host) {
	whole := h
	whole.Inside = false
	if !slices.Contains(r.out.Hosts, h) && !slices.Contains(r.out.Hosts, whole) && r.budget.takeItems(1) {
		r.out.Hosts = append(r.out.Hosts, h)
	}
}

func (r *reporter) addURLHosts(text string, bare bool) (found bool) {
	for _, h := range host.ListURLHosts(text, bare) {
		r.addHost(Host{Name: h.Name, Zone: h.Zone})
		found = true
	}
	return found
}

// reachHost records the host in a URL or, with bare, in user@host:path.
func (r *reporter) reachHost(text string, bare bool) {
	if r.quiet {
		return
	}
	found := r.addURLHosts(text, false)
	for _, h := range host.ListInnerHosts(text) {
		r.addHost(Host{Name: h.Name, Zone: h.Zone, Inside: true})
	}
	if found || !bare || isNumber(text) && len(text) < 8 { // a port, a number of seconds
		return
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		text = text[i+1:]
	}
	if !strings.HasPrefix(text, "[") && strings.Count(text, ":") < 2 {
		text, _, _ = strings.Cut(text, ":")
	}
	r.addURLHosts(text, true)
}

// dialSocket records the host of /dev/tcp/HOST/PORT, which bash connects to.
func (r *reporter) dialSocket(f field) {
	for _, dev := range sockets {
		if rest, ok := strings.CutPrefix(f.text, dev); ok {
			r.reachHost(strings.SplitN(rest, "/", 2)[0], true)
		}
	}
}

// sockets are where bash finds the hosts that it connects to.
var sockets = []string{"/dev/tcp/", "/dev/udp/"}

func isSocketPath(text string) bool {
	return slices.ContainsFunc(sockets, func(dir string) bool { return strings.HasPrefix(text, dir) })
}

// findMetadata records a metadata service wherever it stands among a client's
// arguments: behind --resolve, as a proxy, in a header.
func (r *reporter) findMetadata(f field) {
	if len(f.text) > 1024 || r.quiet || strings.IndexByte(f.text, '.') < 0 && strings.IndexFunc(f.text, unicode.IsDigit) < 0 {
		return
	}
	for _, w := range strings.FieldsFunc(f.text, func(c rune) bool { return strings.ContainsRune(":/,@ =?&[]", c) }) {
		if strings.Contains(w, ".") || len(w) == 10 && isNumber(w) {
			if name, z := host.ParseHost(w); z == host.Metadata {
				r.addHost(Host{Name: name, Zone: z})
			}
		}
	}
}

// markOpenedPaths marks what was only listed as read where a command takes those
// names for files, and with trees the folders that were listed whole.
func (r *reporter) markOpenedPaths(from, to int, trees bool) {
	for i := from; i < to; i++ {
		p := &r.out.Paths[i]
		if strings.Contains(p.Clean, "/**/") || trees && p.Recursive {
			p.Names = false
		}
	}
}

// takeFindings adds what was read aside, but for its paths and its doubts.
func (r *reporter) takeFindings(t *Findings) {
	for _, code := range t.Dangers {
		r.addDanger(code)
	}
	for _, code := range t.Unread {
		r.addUnread(code)
	}
	for _, code := range t.Changes {
		r.addChange(code)
	}
	for _, h := range t.Hosts {
		r.addHost(h)
	}
}

// readEachLine calls read for the lines of a text, and asks where there are more
// than are read.
func (r *reporter) readEachLine(text string, read func(line string)) {
	n := 0
	for line := range strings.Lines(text) {
		if n++; n > maxLines {
			r.addUnread(UnreadBudget)
			return
		}
		read(strings.TrimSpace(line))
	}
}

// maxLines is how many lines of such a text are read.
const maxLines = 256

func appendCode(list []string, code string) []string {
	if code == "" || slices.Contains(list, code) {
		return list
	}
	return append(list, code)
}
