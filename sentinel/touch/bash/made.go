package bash

import (
	paths "path"
	"slices"
	"strings"
)

// made is what a command line itself has put where a later part of it may
// find it: files, programs under another name, links and mounts. Forks share
// it: a subshell's files stay.
type made struct {
	files   map[string]madeFile
	links   []madeLink
	fds     map[string]stream
	running map[string]place // scripts
	pending []written
	next    int // descriptor that a shell would choose

	sends, opens, trees int // commands that sent their input, took it for names, or for folders
	counts
	impure   bool      // something did more than read
	remapped []string  // where a device, a mount or a junction shows one place at another
	remote   bool      // the repository was told where its remote is
	last     [8]placed // what words named last: see findKept
	self     string    // the name of the running program, once it was asked for
	rooms    []*room   // those that no command uses now
	words    [][]field // the same for words
}

// counts are pieces of inline code: all, those that read the environment or
// credentials, and those that may make a script of the text that they change.
type counts struct{ codes, tells, scripts int }

// madeFile is what is known of a file that was written.
type madeFile struct {
	known   bool
	text    string
	program string // it is a copy of
	taint
}

// madeLink is where a path leads.
type madeLink struct {
	at, target string
	mount      bool // what is removed there is gone at the target
}

// written is a redirect to a file while its command is being read.
type written struct {
	to  field
	add bool
	all bool // of the command's output, not of its errors
}

// The bounds of what one line may make: every path is held against the links.
const (
	maxMade      = 4096
	maxKept      = 32 << 10 // bytes of a file that is added to; a longer one is not looked at
	maxMadeLinks = 64
)

// rememberKey sets a key of a map that is made on first use, up to a bound.
func rememberKey[T any](b *Budget, m *map[string]T, key string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	if len(*m) >= maxMade {
		b.over = true
		return
	}
	(*m)[key] = v
}

// rememberFile remembers what a file holds from now on.
func (fv *fileView) rememberFile(f field, out stream, add bool) {
	if f.blank || f.text == "" || f.text == "/dev/null" || f.proc != nil {
		return
	}
	for _, p := range fv.listPlaces(f.text) {
		m := madeFile{known: out.known, text: out.text, taint: out.taint}
		m.foreign = m.foreign && !out.known
		if old, ok := fv.made.files[p]; ok && (add || fv.unsure > 0) {
			m.mix(old.taint)
			m.foreign = m.foreign || add && out.known != old.known // a script of which a part can't be read
			m.known = m.known && old.known || fv.unsure > 0 && (m.known || old.known)
			m.text = old.text + m.text
		}
		if add && len(m.text) > maxKept || len(m.text) > MaxShell || !fv.budget.TakeBytes(len(out.text)) {
			m = madeFile{taint: taint{foreign: true}}
		}
		rememberKey(fv.budget, &fv.made.files, p, m)
	}
}

// findMadeFile returns what is known of a file that the line has written.
func (fv *fileView) findMadeFile(text string) (madeFile, bool) {
	if len(fv.made.files) == 0 {
		return madeFile{}, false
	}
	for _, p := range fv.resolvePath(text) {
		if m, ok := fv.made.files[p]; ok {
			return m, true
		}
	}
	return madeFile{}, false
}

// decoders print what can't be looked at beforehand.
var decoders = newWordSet("curl wget http https xh aria2c nc ncat netcat base64 base32 xxd openssl uudecode")

// settleFiles gives the files that a command's redirects name what it printed.
func (fv *fileView) settleFiles(list []written, out stream) {
	for _, w := range list {
		if (out.secret || out.token) && w.all && isSocketPath(w.to.text) {
			fv.addUnread(SecretSent)
		}
		if out.known && out.text == "" && !w.add && w.all {
			fv.emptyFile(w.to)
		}
		if !w.all {
			out = stream{} // errors
		}
		fv.rememberFile(w.to, out, w.add)
	}
}

// findRenamed returns the program that a word runs after it was copied or linked
// under another name; those that are feared by their own name keep it.
func (fv *fileView) findRenamed(f field, name string) string {
	if f.unknown || strings.IndexByte(f.text, '/') < 0 || scary.has(name) {
		return name
	}
	m, _ := fv.findMadeFile(f.text)
	return orElse(m.program, name)
}

// binFolders hold programs and nothing else.
var binFolders = toSet("/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin")

// linkPathTo makes a path lead to a target.
func (fv *fileView) linkPathTo(target field, at string, mount bool) {
	if target.unknown || target.text == "" || at == "" {
		return
	}
	for _, p := range fv.listPlaces(at) {
		t := target.text
		if !strings.HasPrefix(t, "/") && !strings.HasPrefix(t, "~") {
			t = paths.Dir(p) + "/" + t // as the link will be read
		}
		for _, to := range fv.resolvePath(t + "/") { // the last is where other links lead
			if len(fv.made.links) >= maxMadeLinks {
				fv.budget.over = true
				return
			}
			old := func(l madeLink) bool { return l.at == p }
			fv.made.links = append(slices.DeleteFunc(fv.made.links, old), madeLink{at: p, target: to, mount: mount})
		}
	}
}

// copyFile makes a path hold what a file does, or lead to it.
func (fv *fileView) copyFile(f field, to string, symbolic bool) {
	var m madeFile
	if old, ok := fv.findMadeFile(f.text); ok {
		m = old
	} else if binFolders[paths.Dir(f.text)] {
		m.program = programName(f.text)
	}
	m.secret = m.secret || holdsSecrets(f.text)
	if m != (madeFile{}) {
		for _, p := range fv.listPlaces(to) {
			rememberKey(fv.budget, &fv.made.files, p, m)
		}
	}
	if symbolic {
		fv.linkPathTo(f, to, false)
	}
}

// readFileStream is what a file holds: what comes on the input, out of <( … ), or was
// written just before.
func (fv *fileView) readFileStream(f field, in stream) stream {
	switch {
	case f.proc != nil:
		return *f.proc
	case isStandardInput(f.text):
		return in
	}
	m, made := fv.findMadeFile(f.text)
	if made && m.known {
		return stream{open: true, known: true, text: m.text, taint: m.taint}
	}
	named := !f.unknown && !strings.HasPrefix(f.text, "/dev/") && !strings.HasPrefix(f.text, "/proc/")
	m.secret = m.secret || holdsSecrets(f.text)
	out := stream{open: true, taint: m.taint}
	switch {
	case isSocketPath(f.text):
		out.source = fromSocket
	case named && !m.foreign:
		out.source = fromFile
	}
	return out
}

// isStandardInput reports whether a file is the standard input.
func isStandardInput(text string) bool {
	return text == "-" || text == "/dev/stdin" || text == "/dev/fd/0" || text == "/proc/self/fd/0"
}

// isDumpFile reports whether a file is somebody's data as a whole, which the line
// has put there.
func (fv *fileView) isDumpFile(f field) bool {
	m, ok := fv.findMadeFile(f.text)
	return ok && m.dump
}

// takeFields returns room for the words of a command, some n of them, which gives it back
// with giveFields.
func (m *made) takeFields(n int) []field {
	var argv []field
	if last := len(m.words) - 1; last >= 0 {
		argv, m.words = m.words[last], m.words[:last]
	}
	if cap(argv) < n {
		argv = make([]field, 0, max(n, 4))
	}
	return argv[:0]
}

func (m *made) giveFields(argv []field) { m.words = append(m.words, argv) }

// takeRoom returns room for a command, which gives it back with giveRoom.
func (m *made) takeRoom() *room {
	if n := len(m.rooms); n > 0 {
		r := m.rooms[n-1]
		m.rooms = m.rooms[:n-1]
		return r
	}
	return &room{}
}

func (m *made) giveRoom(r *room) { m.rooms = append(m.rooms, r) }

func (m *made) runsAlready(file string) bool {
	_, ok := m.running[file]
	return ok
}
