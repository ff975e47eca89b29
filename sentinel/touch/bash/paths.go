package bash

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// fileView is what a shell knows of files: where words lead, what was made, and what
// touching them does.
type fileView struct {
	environment
	links *path.Links
	made  *made
}

func (fv *fileView) addAccess(f field, a Access) { fv.addPath(f, Path{Access: a}) }

// addPath records a path for each place that a word may name.
func (fv *fileView) addPath(f field, p Path) {
	if f.text == "" || f.blank || f.proc != nil || f.text == "-" || len(f.text) > maxPath {
		return
	}
	if i := strings.Index(f.text, ":"); i > 1 && !strings.Contains(f.text[:i], "/") && p.Access != Mention {
		fv.addAccess(literalField(f.text[i+1:]), Mention) // host:path is elsewhere
	}
	if fv.budget.over { // nothing is recorded any more
		fv.budget.takeItems(1)
		return
	}
	p.Raw, p.Glob = f.text, f.glob
	p.Home = f.home || path.NamesHome(f.text) || !strings.HasPrefix(f.text, "/") && fv.worksInHome()
	p.Recursive = p.Recursive || f.tree
	for _, clean := range fv.listReadings(f) {
		if !fv.budget.takeItems(1) {
			return
		}
		p.Clean, p.Real = clean, fv.links.Follow(clean)
		p.Public = isPublicPath(p)
		fv.out.Paths = append(fv.out.Paths, p)
	}
}

// listReadings returns the places that a word may name, 16 at most.
func (fv *fileView) listReadings(f field) []string {
	clean := fv.resolvePath(f.text)
	if len(f.text) > 2 && f.text[1] == ':' && strings.Contains(f.text, `\`) {
		clean = fv.resolvePath(strings.ReplaceAll(f.text, `\`, "/"))
	}
	if isFileURL(f.text) && strings.Contains(f.text, "%") {
		clean = appendNew(clean, path.Clean(f.text, fv.env)) // a client undoes the escapes
	}
	if f.unknown && f.bare != "" {
		for _, b := range fv.resolvePath(f.bare) {
			clean = appendNew(clean, b)
		}
	}
	clean = slices.Clip(clean[:min(len(clean), 16)])
	for i := 0; i < len(clean) && i < 16; i++ {
		if r := path.FollowProc(clean[i]); r != clean[i] {
			clean = appendNew(clean, path.Lexical(r, fv.env))
		}
	}
	return clean
}

// publicFile is a file that holds nothing secret by its kind.
var publicFile = regexp.MustCompile(`(?i)/(?:\.ssh/(?:known_hosts[^/]*|[^/]+\.pub)|etc/ssh/[^/]+\.pub|etc/ssh/ssh_known_hosts)$`)

// isPublicPath reports whether what is read of a path is nothing secret: a public
// key, known_hosts, the metadata of a device.
func isPublicPath(p Path) bool {
	if p.Access != Read {
		return false
	}
	if p.Names && path.IsDevice(p.Clean) {
		return true
	}
	return strings.Contains(p.Clean, "ssh/") && publicFile.MatchString(p.Clean) && publicFile.MatchString(p.Real)
}

// findTree says which tree an argument names: as a whole, or all of its entries.
func (fv *fileView) findTree(text string) (k path.Tree, entries bool) {
	if text == "" || len(fv.made.links) > 0 {
		return fv.findPlacedTree(text)
	}
	fv.listPlaces(text)
	at := fv.made.findKept(text)
	if !at.looked {
		at.tree, at.entries = fv.findPlacedTree(text)
		at.looked = true
	}
	return at.tree, at.entries
}

func (fv *fileView) findPlacedTree(text string) (k path.Tree, entries bool) {
	for _, p := range fv.resolvePath(text) {
		if k, entries = path.FindTree(p, fv.env); k != path.NoTree {
			return k, entries
		}
	}
	return path.NoTree, false
}

// listPlaces returns what a word of a command names, for each folder that the
// command may run in. A shell hands paths over as they are: nothing is decoded.
func (fv *fileView) listPlaces(text string) []string {
	if text == "" {
		return fv.placeWord(text, fv.def.vars[folderName])
	}
	var folders value // those of an absolute path don't matter
	if text[0] != '/' {
		folders = fv.def.vars[folderName]
	}
	last := fv.made.findKept(text)
	if last.text != text || !areSameFolders(last.folders, folders) {
		*last = placed{text: text, folders: folders, places: fv.placeWord(text, folders)}
	}
	return last.places // each word is asked for several times
}

// placeWord is listPlaces without what is kept.
func (fv *fileView) placeWord(text string, folders value) []string {
	var out []string
	for i, f := range folders {
		if i > 0 && !fv.budget.TakeBytes(f.size()+len(text)) {
			break
		}
		env := fv.env
		env.Root = f.text()
		out = appendNew(out, path.Lexical(text, env))
	}
	if len(out) == 0 {
		out = append(out, path.Lexical(text, fv.env))
	}
	return slices.Clip(out)
}

// areSameFolders reports whether two variables hold the very same values: a variable's
// are never changed in place.
func areSameFolders(a, b value) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// placed is what a word named last, in which folders, and which tree that is.
type placed struct {
	text    string
	folders value
	places  []string
	looked  bool
	tree    path.Tree
	entries bool
}

// findKept returns where the place of a word is kept. The words of a command
// often come in turns, so there are several.
func (m *made) findKept(text string) *placed {
	return &m.last[(len(text)*5+int(text[0])+int(text[len(text)-1])*3)%len(m.last)]
}

// resolvePath returns what a word of a command names, and where links that were
// just made lead it.
func (fv *fileView) resolvePath(text string) []string {
	out := fv.listPlaces(text)
	if len(fv.made.links) == 0 {
		return out
	}
	for i, n := 0, len(out); i < n; i++ {
		for _, l := range fv.made.links {
			p, at := out[i], l.at
			switch {
			case strings.HasPrefix(p, at+"/"):
				out = appendNew(out, path.ResolveDots(l.target+p[len(at):]))
			case p == at && (l.mount || strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.")):
				out = appendNew(out, l.target)
			}
		}
	}
	return out
}

// mentionWords records the arguments that look like paths, also behind "=", ":",
// "@" or a short option.
func (fv *fileView) mentionWords(args []field) {
	for _, a := range args {
		switch {
		case strings.ContainsAny(a.text, " \t\n") && !strings.HasPrefix(a.text, "/") && !strings.HasPrefix(a.text, "~"):
		case strings.Contains(a.text, "://"):
			fv.reachHost(a.text, false)
			if isFileURL(a.text) {
				fv.addAccess(a, Read)
			}
		default:
			fv.mentionWord(a)
		}
	}
}

func (fv *fileView) mentionWord(a field) {
	if i := strings.IndexByte(a.text, ':'); i > 1 && strings.IndexByte("/~.", a.text[0]) >= 0 {
		fv.mentionPath(a.slice(0, i)) // HERE:THERE
	}
	if !strings.HasPrefix(a.text, "-") && fv.mentionPath(a) {
		return
	}
	if t := a.text; len(t) > 2 && t[0] == '-' && t[1] != '-' {
		fv.mentionPath(cutFieldPiece(a, 2))
	}
	for i, n := 0, 0; i+1 < len(a.text) && n < 8; i++ {
		if strings.IndexByte("=:@,", a.text[i]) >= 0 {
			fv.mentionPath(cutFieldPiece(a, i+1))
			n++
		}
	}
}

// cutFieldPiece returns the field from byte i on, up to a separator.
func cutFieldPiece(f field, i int) field {
	t := f.text[i:]
	if j := strings.IndexAny(t, ",:;"); j > 0 {
		t = t[:j]
	}
	f.text, f.bare, f.home = t, t, false
	return f
}

func (fv *fileView) mentionPath(f field) bool {
	t := f.text
	if strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") || strings.HasPrefix(t, ".") && len(t) > 2 ||
		strings.Contains(t, "/.") || strings.Contains(t, "../") {
		fv.addAccess(f, Mention)
		return true
	}
	return false
}

// secretName is what files and variables are called that hold credentials.
var (
	secretVariable = regexp.MustCompile(`(?i)(^|_)(token|secret|secrets|password|passwd|passphrase|credentials?|apikey|private_key` +
		`|access_key|api_key|secret_key|auth_key|pat|pgpassword)(_|$)|^AWS_(SECRET|SESSION)`)
	secretFile = regexp.MustCompile(`(?i)(^|/)(\*?\.env(\.[a-z]+)?|\.(e|en|env)?[*?]+|id_[*?]+|\.envrc` +
		`|[^/]*credentials?(\.[a-z]+)?|secrets?\.(ya?ml|json|toml|env|txt` +
		`|ini)|\.npmrc|\.pypirc|\.netrc|\.pgpass|\.git-credentials|\.vault-token|\.dockercfg|kubeconfig[^/]*|[^/]*\.(pem|key|p12|pfx|jks` +
		`|keystore|kdbx|ovpn|tfstate|tfvars)|id_(rsa|dsa|ecdsa|ed25519)|terraform\.tfstate|master\.key|\.(bash|zsh|python|psql|mysql` +
		`|node_repl)_history|\.(aws|ssh|gnupg|kube|docker|azure)(/.*)?|\.config/(gcloud|gh|hub|op)(/.*)?)$`)
	secretSample = regexp.MustCompile(`(?i)\.(example|sample|template|dist|defaults?|pub)$`)
)

func namesSecret(variable string) bool { return secretVariable.MatchString(variable) }

// holdsSecrets reports whether a file holds credentials by its name.
func holdsSecrets(file string) bool {
	last := file[strings.LastIndexByte(file, '/')+1:]
	if !strings.Contains(last, ".") && !strings.Contains(file, "/.") && !strings.Contains(last, "_") && !strings.Contains(last, "cred") &&
		!strings.Contains(last, "kube") {
		return false // most
	}
	return len(file) <= maxPath && secretFile.MatchString(file) && !secretSample.MatchString(file)
}

// leaksFile reports whether a file, or all below a folder, must not leave
// unseen: one that holds credentials by its name, a home or a system tree. One
// into which the line has put a secret lends its name to those that begin so:
// "a" to zip's "a.zip", "x_" to split's "x_aa".
func (fv *fileView) leaksFile(f field, all bool) bool {
	if holdsSecrets(f.text) {
		return true
	}
	if len(fv.made.files) > 0 && fv.leaksMade(f.text) {
		return true
	}
	if !all {
		return false
	}
	k, _ := fv.findTree(f.text)
	return k != path.NoTree
}

// leaksMade reports whether a word names a file into which the line has put a
// secret, or one whose name begins so.
func (fv *fileView) leaksMade(text string) bool {
	for _, p := range fv.resolvePath(text) {
		from := strings.LastIndexByte(p, '/') + 2
		for i := from; i <= min(len(p), from+maxList); i++ {
			if fv.made.files[p[:i]].secret {
				return true
			}
		}
	}
	return false
}

// valueOfFolder is what PWD holds in a folder.
func (fv *fileView) valueOfFolder(f field) value {
	if f.unknown {
		return unknownValue(f.text)
	}
	var v value
	for _, p := range fv.resolvePath(f.text) {
		v = append(v, frags{{s: p, kind: quotedFrag, provenance: provenance{home: f.home || path.NamesHome(f.text), fed: f.fed}}})
	}
	return v
}

// addPathBelow records the files of a name, or a path's end, that may lie anywhere
// below root: "/**/" stands for the folders between.
func (fv *fileView) addPathBelow(root field, pattern string, names bool) {
	if len(pattern) > 256 || root.unknown || matchesAllNames(pattern) {
		return
	}
	text := strings.TrimRight(root.text, "/") + "/**/" + pattern
	below := field{text: text, bare: text, glob: true}
	below.home = root.home || path.NamesHome(root.text)
	fv.addPath(below, Path{Access: Read, Extent: Extent{Names: names}})
}

func (fv *fileView) addMatchedPaths(re *regexp.Regexp, text string) {
	for _, m := range re.FindAllStringSubmatch(text, 16) {
		fv.addAccess(literalField(m[1]), Read)
	}
}

// sendListedFile records a file that a client is told to send.
func (fv *fileView) sendListedFile(file string, all bool) {
	f := literalField(file)
	fv.addPath(f, Path{Access: Read, Exposure: Exposure{Sent: true}})
	if fv.leaksFile(f, all) {
		fv.addUnread(SecretSent)
	}
}

// markSentPaths marks the files that were read for a command that sends its input,
// those from one index of Paths to another.
func (fv *fileView) markSentPaths(from, to int) {
	for i := from; i < to; i++ {
		p := &fv.out.Paths[i]
		p.Sent = p.Sent || p.Access.Has(Read)
		if p.Sent && !p.Names && fv.leaksFile(literalField(p.Clean), p.Recursive) {
			fv.addUnread(SecretSent)
		}
	}
}

// doubtPassedProgram asks about a program in a folder for passing files: somebody put it
// there.
func (fv *fileView) doubtPassedProgram(f field) {
	for _, at := range fv.listPlaces(f.text) {
		if f.text != "" && slices.ContainsFunc(scratchFolders, func(dir string) bool { return strings.HasPrefix(at, dir) }) {
			fv.addOpaque("")
		}
	}
}

// loadLibraries reads the libraries that every program is to load first: one that
// was just put somewhere is a program that nothing is known of.
func (fv *fileView) loadLibraries(f field) {
	if f.blank {
		fv.addOpaque("")
		return
	}
	for _, p := range strings.FieldsFunc(f.text, func(r rune) bool { return r == ':' || r == ' ' }) {
		fv.addAccess(f.withText(p), Read|Execute)
		fv.doubtPassedProgram(f.withText(p))
	}
}
