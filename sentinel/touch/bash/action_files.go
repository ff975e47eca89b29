package bash

import (
	paths "path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
	"github.com/vedette-dev/vedette/sentinel/touch/programs"
)

func (a *action) touchFile(p programs.Part, f field) {
	s := a.at
	access := Access(p.Access)
	if p.Inside != "" {
		if kernelTrees[strings.TrimRight(f.text, "/")] {
			return // what monitors are given
		}
		if k, _ := s.findTree(f.text); k != 0 {
			a.kept = append(a.kept, strings.TrimSuffix(p.Inside, "/"), strings.TrimSuffix(f.text, "/"))
		}
	}
	if strings.Contains(f.text, "://") && !isFileURL(f.text) {
		s.reachHost(f.text, false)
		return
	}
	if p.Sent && strings.HasPrefix(f.text, "@") {
		f = f.slice(1, 0)
	}
	if f.proc != nil {
		return
	}
	leaks := p.Sent && !p.Names && (f.secret || s.leaksFile(f, p.Tree))
	stored := leaks && !holdsSecrets(f.text) && isStore[a.name] // a person decides whether a home is kept there
	s.addPath(f, Path{Access: access, Extent: Extent{Recursive: p.Tree, Names: p.Names},
		Exposure: Exposure{Sent: p.Sent && !stored, Client: p.Client && !accountFile.MatchString(f.text)}})
	if leaks || p.Sent && a.use.Network && a.leavesAlone() && s.isDumpFile(f) {
		s.addUnread(SecretSent)
	}
	if access == Read && !p.Client && !p.Names {
		a.reportSecretFile(p, f)
	}
	if access.Has(Write) && unpacks[a.name] {
		if k, _ := s.findTree(f.text); k == path.RootTree {
			a.s.addUnread(UnreadTarget)
		}
	}
	a.judgeFile(p, f)
}

// accountFile is no file that a client logs in with.
var accountFile = regexp.MustCompile(`^/etc/(?:shadow|gshadow|passwd|sudoers|master\.passwd)`)

// isStore are the programs that copy whole folders to a store elsewhere.
var isStore = toSet("aws gsutil gcloud rclone s3cmd mc azcopy s5cmd")

var kernelTrees = toSet("/sys /proc /dev")

// reportSecretFile asks where a program that talks to another machine is given a
// file of credentials, unless as its own settings.
func (a *action) reportSecretFile(p programs.Part, f field) {
	if a.use.Network && holdsSecrets(f.text) && !strings.Contains(p.Option, "env") && !strings.Contains(p.Option, "config") &&
		!strings.Contains(p.Option, "var-file") {
		a.s.addUnread(SecretSent)
	}
}

// judgeFile looks for what can't be undone in what a program does to a file.
func (a *action) judgeFile(p programs.Part, f field) {
	s := a.at
	access := Access(p.Access)
	switch p.Effect {
	case "":
		if access.Has(Delete) {
			s.removeTarget(f, p.Tree)
			if p.Tree && (a.name != "rm" || hasFlag(a.args, "f", "force")) && s.wipesProject(f) {
				s.addDoubt(ProjectWipe) // without -f it stops to ask
			}
		}
		if access.Has(Write) {
			s.writeTarget(a.name, f, access)
		}
	case MakeFS:
		s.makeFileSystem(f)
	case ChmodTree, ChownTree:
		a.changeMode(p, f)
	case MoveTree:
		a.moveTree(f)
	case RmRoot, RmHome, RmSystem, "rsync_delete", "only_core":
		if k, _ := s.findTree(f.text); k != path.NoTree {
			s.addDanger(removalCode(k))
		}
	case DeviceWrite:
		s.writeDevice(f)
	default:
		s.addTreeEffect(p.Effect, f)
	}
}

// changeMode looks at modes, owners and attributes of whole trees.
func (a *action) changeMode(p programs.Part, f field) {
	s := a.at
	k, entries := s.findTree(f.text)
	if k == path.NoTree {
		k = findWindows(f.text)
	}
	if k == path.NoTree {
		return
	}
	mode := a.findMode(p)
	switch {
	case p.Effect == ChownTree:
		if (p.Tree || f.tree) && !s.returnsHome(mode, f, k) {
			s.addDanger(ChownTree)
		}
	case a.name != "chmod":
		if p.Tree && (k != path.HomeTree || a.name == "setfacl" && hasFlag(a.args, "bk", "remove-all", "set", "remove-default")) ||
			a.name == "chcon" && p.Tree {
			s.addDanger(ChmodTree)
		}
	case opensToAll(mode) && (p.Tree || entries || k != path.HomeTree), p.Tree && closesOwner(mode),
		k != path.HomeTree && (p.Tree || mode != "" && strings.Trim(mode, "0") == ""):
		s.addDanger(ChmodTree)
	}
}

// findMode is the mode or the owner that a program gives, the word before its
// first file.
func (a *action) findMode(p programs.Part) string {
	for _, m := range a.use.Parts {
		if m.Role == programs.Data && m.Option == "" && m.Arg >= 0 && m.Arg < p.Arg {
			return a.args[m.Arg].text
		}
	}
	return ""
}

// moveTree is mv: what is moved away is no longer where all look for it.
func (a *action) moveTree(f field) {
	s := a.at
	gone := false
	for _, p := range a.use.Parts {
		if p.Role == programs.File && Access(p.Access) == Write {
			gone = slices.Contains(s.resolvePath(a.fieldOf(&p).text), "/dev/null")
		}
	}
	k, entries := s.findTree(f.text)
	if gone && s.wipesProject(f) {
		s.addDoubt(ProjectWipe)
	}
	if k != path.NoTree && (k != path.HomeTree || !entries || gone) {
		s.addDanger(MoveTree)
	}
}

// readGivenLists reads the lists that a program is given by an option: an archiver's
// of files, a client's of addresses.
func (a *action) readGivenLists() {
	for i := range a.use.Parts {
		p := &a.use.Parts[i]
		if p.Role != programs.File || p.Option == "" {
			continue
		}
		f := a.fieldOf(p)
		if f.proc == nil && len(a.s.made.files) == 0 && !isStandardInput(f.text) {
			continue
		}
		in := a.s.readFileStream(f, a.in)
		switch p.Option {
		case "-T", "--files-from":
			b := *a
			b.in = in
			b.readNameList()
		case "-K", "--config", "-i", "--input-file":
			if a.use.Network && in.known {
				readURLList(a.s, in.text)
			}
		default:
			if f.proc != nil && in.known {
				readForeign(a.s, in.text)
			}
		}
	}
}

// readNameList records the files that an archiver is told of by its input.
func (a *action) readNameList() {
	a.s.made.opens++
	a.s.made.trees++
	sent := slices.ContainsFunc(a.use.Parts, func(p programs.Part) bool { return p.Sent })
	if a.in.known {
		for line := range strings.Lines(a.in.text) {
			a.at.addPath(literalField(strings.TrimSpace(line)), Path{Access: Read, Extent: Extent{Recursive: true}, Exposure: Exposure{Sent: sent}})
		}
	}
	for _, t := range a.in.trees {
		a.at.addPath(literalField(t), Path{Access: Read, Extent: Extent{Recursive: true}, Exposure: Exposure{Sent: sent}})
	}
}

// trackFiles remembers the files, names, links and mounts that a command makes.
func (a *action) trackFiles() {
	s := a.s
	if a.use.Dumps {
		for _, f := range a.listFiles(Write) {
			s.rememberFile(f, stream{taint: taint{leak: leak{dump: true}, foreign: true}}, false)
		}
	}
	row, _, _ := strings.Cut(a.use.Row, " ")
	if !a.use.Network && a.readsSecret() {
		for _, f := range a.listFiles(Write) {
			s.rememberFile(f, stream{taint: taint{leak: leak{secret: true}}}, false)
		}
	}
	if s.made.scripts > a.before.scripts {
		for _, f := range a.listFiles(Read | Write) {
			s.rememberFile(f, codedStream, false)
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
			s.rememberFile(f, a.in, hasFlag(a.args, "a", "append"))
		}
	case "curl", "wget", "aria2c":
		a.trackDownload()
	case "cp", "mv", "ln", "install", "link", "dd":
		a.trackCopies()
	case "go":
		a.readSources("recipe")
	default:
		if a.trackMounts(); compilers.has(a.name) {
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
			s.linkPathTo(literalField("/dev/sda"), ops[0].text, true)
		}
	case "mount", "bindfs", "mklink":
		if text := joinTexts(a.args); a.name != "mount" || remaps.MatchString(text) {
			s.made.remapped = append(s.made.remapped, text[strings.LastIndexByte(text, ' ')+1:])
			if ops := listOperands(a.args, "ot"); len(ops) > 1 {
				s.linkPathTo(ops[0], ops[1].text, true)
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
		if p := &a.use.Parts[i]; p.Role == programs.File && Access(p.Access).Has(Read) && a.s.leaksFile(a.fieldOf(p), false) {
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
			out = append(out, a.fieldOf(&p))
		}
	}
	return out
}

// trackDownload remembers the files that come from another machine. A name that
// starts with a dot is seldom one that somebody asked for.
func (a *action) trackDownload() {
	s := a.s
	dir := "."
	for _, p := range a.use.Parts {
		f := a.fieldOf(&p)
		switch {
		case p.Role == programs.Folder || p.Option == "-P" || p.Option == "--directory-prefix" || p.Option == "--output-dir":
			dir = f.text
		case p.Role == programs.File && Access(p.Access).Has(Write):
			s.rememberFile(f, fetchedStream, false)
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
		s.rememberFile(to, fetchedStream, false)
		if base = paths.Base(base); strings.HasPrefix(base, ".") || base == "authorized_keys" {
			s.overwriteFile(to)
		}
	}
}

var fetchedStream = stream{taint: taint{foreign: true}}

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
		s.rememberFile(to[0], a.in, false)
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

// compilers make a program of a source.
var compilers = newWordSet("gcc g++ cc c++ clang clang++ tcc rustc ghc javac kotlinc nvcc gfortran dmd ldc2 zig fpc")

// readSources reads what a compiler is given that the line has written: it runs
// sooner or later.
func (a *action) readSources(lang string) {
	s := a.s
	for _, f := range a.args {
		if in := s.readFileStream(f, a.in); in.known {
			s.readCode(literalField(in.text), lang)
		}
	}
}

// emptiesFiles reports whether a program that edits files in place leaves
// nothing in them.
func (a *action) emptiesFiles() bool {
	i := slices.IndexFunc(a.use.Parts, func(p programs.Part) bool { return p.Role == programs.Code })
	if i < 0 {
		return false
	}
	text, quiet := strings.TrimSpace(a.fieldOf(&a.use.Parts[i]).text), hasFlag(a.args, "n", "quiet", "silent")
	switch {
	case strings.HasSuffix(a.name, "sed"):
		return deletesLines.MatchString(text) || quiet && text == ""
	case strings.HasSuffix(a.name, "awk"):
		return keepsNoLine.MatchString(text)
	}
	return quiet && keepsNoLine.MatchString(text) || quiet && text == "1"
}

// The programs of editors that keep no line.
var (
	deletesLines = regexp.MustCompile(`^(?:[01],\$|/\.?\*?/)?\s*d;?$`)
	keepsNoLine  = regexp.MustCompile(`^(?:0|\{?\s*(?:next)?;?\s*\}?);?$`)
)

// projectFiles are the files of a project in which a program finds what it
// runs, and their language.
var projectFiles = map[string][2]string{
	"npm": {"json", "package.json"}, "yarn": {"json", "package.json"}, "pnpm": {"json", "package.json"}, "bun": {"json", "package.json"},
	"just": {"recipe", "justfile Justfile"},
	"task": {"recipe", "Taskfile.yml Taskfile.yaml"}, "rake": {"ruby", "Rakefile"}, "ninja": {"recipe", "build.ninja"}, "nox": {"python",
		"noxfile.py"}, "tox": {"recipe", "tox.ini"}, "scons": {"python", "SConstruct"},
	"foreman": {"recipe", "Procfile"}, "honcho": {"recipe", "Procfile"}, "gradle": {"groovy", "build.gradle build.gradle.kts"},
	"ant": {"xml", "build.xml"}, "pre-commit": {"yaml", ".pre-commit-config.yaml"},
	"cargo": {"recipe", "build.rs .cargo/config.toml"}, "make": {"make", "GNUmakefile makefile Makefile"}, "gmake": {"make",
		"GNUmakefile makefile Makefile"},
}

// readProject reads the files of a project that the line itself has made.
func (a *action) readProject() {
	s := a.s
	if len(s.made.files) == 0 {
		return
	}
	p := projectFiles[a.name]
	for file := range strings.FieldsSeq(p[1]) {
		if m, ok := s.findMadeFile(file); ok && m.known {
			s.readCode(literalField(m.text), p[0])
		}
	}
}

// locates are the programs that look a name up in the whole system, greps those
// that search through files.
var (
	locates = newWordSet("locate plocate mlocate slocate mdfind")
	greps   = newWordSet("grep egrep fgrep rg ag ack")
)

// addLookedUp records the names that a search through the system or through
// files is narrowed to.
func (a *action) addLookedUp() {
	s := a.s
	switch {
	case locates.has(a.name):
		for _, o := range listOperands(a.args, "dln") {
			s.addPathBelow(literalField("/"), globOfRegexp(o.text), true)
		}
	case greps.has(a.name):
		a.addIncluded()
	}
}

func (a *action) addIncluded() {
	roots := []field{literalField(".")}
	if ops := listOperands(a.args, "ABCmdgtTe"); len(ops) > 1 {
		roots = ops[1:]
	}
	for i, word := range a.args {
		opt, val, joined := strings.Cut(word.text, "=")
		switch {
		case opt == "--include" || opt == "--glob" || opt == "--iglob":
		case a.name == "rg" && strings.HasPrefix(word.text, "-g"):
			val, joined = word.text[2:], len(word.text) > 2
		default:
			continue
		}
		if !joined && i+1 < len(a.args) {
			val = a.args[i+1].text
		}
		for _, r := range roots {
			if !strings.HasPrefix(val, "!") {
				a.s.addPathBelow(r, val, false)
			}
		}
	}
}
