package bash

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

// fileView is what a shell knows of files: where words lead, what was made, and what
// touching them does.
type fileView struct {
	environment
	links *path.Links
	made  *made
}

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

// remember sets a key of a map that is made on first use, up to a bound.
func remember[T any](b *Budget, m *map[string]T, key string, v T) {
	if *m == nil {
		*m = map[string]T{}
	}
	if len(*m) >= maxMade {
		b.over = true
		return
	}
	(*m)[key] = v
}

// keepFile remembers what a file holds from now on.
func (fv *fileView) keepFile(f field, out stream, add bool) {
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
		remember(fv.budget, &fv.made.files, p, m)
	}
}

// findMade returns what is known of a file that the line has written.
func (fv *fileView) findMade(text string) (madeFile, bool) {
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
var decoders = toSet("curl wget http https xh aria2c nc ncat netcat base64 base32 xxd openssl uudecode")

// settleFiles gives the files that a command's redirects name what it printed.
func (fv *fileView) settleFiles(list []written, out stream) {
	for _, w := range list {
		if (out.secret || out.token) && w.all && isSocket(w.to.text) {
			fv.addUnread(SecretSent)
		}
		if out.known && out.text == "" && !w.add && w.all {
			fv.emptyFile(w.to)
		}
		if !w.all {
			out = stream{} // errors
		}
		fv.keepFile(w.to, out, w.add)
	}
}

// findRenamed returns the program that a word runs after it was copied or linked
// under another name; those that are feared by their own name keep it.
func (fv *fileView) findRenamed(f field, name string) string {
	if scary[name] || f.unknown || !strings.Contains(f.text, "/") {
		return name
	}
	m, _ := fv.findMade(f.text)
	return orElse(m.program, name)
}

// binFolders hold programs and nothing else.
var binFolders = toSet("/bin /usr/bin /sbin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin")

// linkPath makes a path lead to a target.
func (fv *fileView) linkPath(target field, at string, mount bool) {
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

// trackFiles remembers the files, names, links and mounts that a command makes.
func (a *action) trackFiles() {
	s := a.s
	if a.use.Dumps {
		for _, f := range a.listFiles(Write) {
			s.keepFile(f, stream{taint: taint{leak: leak{dump: true}, foreign: true}}, false)
		}
	}
	row, _, _ := strings.Cut(a.use.Row, " ")
	if !a.use.Network && a.readsSecret() {
		for _, f := range a.listFiles(Write) {
			s.keepFile(f, stream{taint: taint{leak: leak{secret: true}}}, false)
		}
	}
	if s.made.scripts > a.before.scripts {
		for _, f := range a.listFiles(Read | Write) {
			s.keepFile(f, codedStream, false)
		}
	}
	switch orElse(row, a.name) {
	case "git":
		a.trackRemote()
	case "sed", "perl", "ruby", "awk", "truncate":
		if a.name == "truncate" || a.emptiesFiles() {
			for _, f := range a.listFiles(Write) {
				s.emptyFile(f)
			}
		}
	case "tee", "sponge":
		for _, f := range a.listFiles(Write) {
			s.keepFile(f, a.in, hasFlag(a.args, "a", "append"))
		}
	case "curl", "wget", "aria2c":
		a.trackDownload()
	case "cp", "mv", "ln", "install", "link", "dd":
		a.trackCopies()
	case "go":
		a.readSources("recipe")
	default:
		if a.trackMounts(); compilers[a.name] {
			a.readSources("c")
		}
	}
}

// trackMounts remembers the devices and mounts that show one place at another.
func (a *action) trackMounts() {
	s := a.s
	switch a.name {
	case "mknod":
		if ops := listOperands(a.args, "mZ"); len(ops) > 1 && ops[1].text != "p" {
			s.made.remapped = append(s.made.remapped, "")
			s.linkPath(literalField("/dev/sda"), ops[0].text, true)
		}
	case "mount", "bindfs", "mklink":
		if text := joinTexts(a.args); a.name != "mount" || remaps.MatchString(text) {
			s.made.remapped = append(s.made.remapped, text[strings.LastIndexByte(text, ' ')+1:])
			if ops := listOperands(a.args, "ot"); len(ops) > 1 {
				s.linkPath(ops[0], ops[1].text, true)
			}
		}
	case "umount", "unmount", "fusermount":
		s.made.remapped = slices.DeleteFunc(s.made.remapped, func(at string) bool { return at != "" && hasWord(a.args, at) })
	}
}

// remaps are the options of mount that show a folder at another place.
var remaps = regexp.MustCompile(`bind|upperdir=|(?:^| )(?:-\w*[BRM]|--move)`)

// readsSecret reports whether a file that an action reads must not leave unseen.
func (a *action) readsSecret() bool {
	for i := range a.use.Parts {
		if p := &a.use.Parts[i]; p.Role == programs.File && Access(p.Access).Has(Read) && a.s.leaksFile(a.field(p), false) {
			return true
		}
	}
	return false
}

// listFiles returns the files of an action that are touched in a way.
func (a *action) listFiles(access Access) []field {
	var out []field
	for _, p := range a.use.Parts {
		if p.Role == programs.File && Access(p.Access).Has(access) {
			out = append(out, a.field(&p))
		}
	}
	return out
}

var fetchedStream = stream{taint: taint{foreign: true}}

// trackDownload remembers the files that come from another machine. A name that
// starts with a dot is seldom one that somebody asked for.
func (a *action) trackDownload() {
	s := a.s
	dir := "."
	for _, p := range a.use.Parts {
		f := a.field(&p)
		switch {
		case p.Role == programs.Folder || p.Option == "-P" || p.Option == "--directory-prefix" || p.Option == "--output-dir":
			dir = f.text
		case p.Role == programs.File && Access(p.Access).Has(Write):
			s.keepFile(f, fetchedStream, false)
		}
	}
	if a.name == "curl" && !hasFlag(a.args, "OJ", "remote-name") {
		return
	}
	for _, f := range a.args {
		if !strings.Contains(f.text, "://") {
			continue
		}
		base, _, _ := strings.Cut(f.text, "?")
		to := literalField(strings.TrimSuffix(dir, "/") + "/" + paths.Base(base))
		s.keepFile(to, fetchedStream, false)
		if base = paths.Base(base); strings.HasPrefix(base, ".") || base == "authorized_keys" {
			s.overwrite(to)
		}
	}
}

// trackCopies follows files under their new names.
func (a *action) trackCopies() {
	s := a.s
	ln := a.name == "ln" || a.name == "link"
	from, to := a.listFiles(Read), a.listFiles(Write)
	if len(to) == 0 && len(from) == 1 && ln {
		to = []field{from[0].withText(paths.Base(from[0].text))}
	}
	if len(to) == 0 || to[0].unknown {
		return
	}
	if len(from) == 0 && !ln {
		s.keepFile(to[0], a.in, false)
	}
	for _, f := range from {
		if f.text == "/dev/null" && !ln {
			s.emptyFile(to[0])
		}
		inside := strings.TrimSuffix(to[0].text, "/") + "/" + paths.Base(f.text)
		if len(from) == 1 && !strings.HasSuffix(to[0].text, "/") && to[0].text != "." {
			s.copyFile(f, to[0].text, (ln || a.name == "cp") && hasFlag(a.args, "s", "symbolic", "symbolic-link"))
		}
		if !ln || len(from) > 1 || strings.HasSuffix(inside, "./"+paths.Base(f.text)) {
			s.copyFile(f, inside, ln && hasFlag(a.args, "s", "symbolic"))
		}
	}
}

// copyFile makes a path hold what a file does, or lead to it.
func (fv *fileView) copyFile(f field, to string, symbolic bool) {
	var m madeFile
	if old, ok := fv.findMade(f.text); ok {
		m = old
	} else if binFolders[paths.Dir(f.text)] {
		m.program = programName(f.text)
	}
	m.secret = m.secret || holdsSecrets(f.text)
	if m != (madeFile{}) {
		for _, p := range fv.listPlaces(to) {
			remember(fv.budget, &fv.made.files, p, m)
		}
	}
	if symbolic {
		fv.linkPath(f, to, false)
	}
}

// compilers make a program of a source.
var compilers = toSet("gcc g++ cc c++ clang clang++ tcc rustc ghc javac kotlinc nvcc gfortran dmd ldc2 zig fpc")

// readSources reads what a compiler is given that the line has written: it runs
// sooner or later.
func (a *action) readSources(lang string) {
	s := a.s
	for _, f := range a.args {
		if in := s.readFile(f, a.in); in.known {
			s.readCode(literalField(in.text), lang)
		}
	}
}
