package config

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Load reads the configuration file at path and the skill files it includes.
// Paths in a file are relative to its folder. The error is Errors: every
// mistake of every file.
func Load(path string, opts Options) (*Config, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, Errors{{File: path, Msg: "the working directory is gone; give an absolute path"}}
	}
	l := newLoader(path, disk{}, dir, opts)
	src, err := l.files.readFile(path)
	if err != nil {
		return nil, Errors{{File: path, Msg: readFailureText(err)}}
	}
	return l.loadSource(src)
}

// Parse is Load for a configuration that isn't a file on disk. name stands in
// positions, src is its text. Includes come from opts.FS, other paths are relative
// to opts.Dir.
func Parse(name string, src []byte, opts Options) (*Config, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, Errors{{File: name, Msg: "the working directory is gone; give an absolute Options.Dir"}}
	}
	return newLoader(name, embedded{opts.FS}, dir, opts).loadSource(src)
}

// loader reads one configuration.
type loader struct {
	name  string // of the main file, as shown
	files files
	dir   string // absolute: what paths are relative to
	opts  Options
	out   *problems
	dec   *decoder
	cfg   *Config

	root    *node
	names   map[string]Position // skills by name, also those with mistakes
	read    map[string]bool     // files by identity
	stack   []string            // identities of the files that are being included
	pending []pendingSkill      // skills in the order of the files
	// searched are the patterns that were looked for on disk.
	searched     []searchedPattern
	namesMissing bool // a skill's name could not be read: names is short
	// unsure are skills with mistakes as far as they could be mended, spoilt the
	// names of all that have some.
	unsure        []LoadedSkill
	mistakenNames []string
}

// newLoader returns a loader that has read nothing yet.
func newLoader(name string, f files, dir string, opts Options) *loader {
	if opts.Env == nil {
		opts.Env = os.LookupEnv
	}
	out := &problems{hidden: scrubber{env: opts.Env, seen: map[string]bool{}}}
	cfg := defaultConfig()
	cfg.File = name
	cfg.where = newIndex(name)
	return &loader{name: name, files: f, dir: dir, opts: opts, out: out, dec: newDecoder(out), cfg: cfg,
		names: map[string]Position{}, read: map[string]bool{}}
}

// loadSource loads the configuration in src.
func (l *loader) loadSource(src []byte) (*Config, error) {
	l.readAll(src)
	if err := l.out.sortedError(); err != nil {
		return nil, err
	}
	return l.cfg, nil
}

// readAll reads the configuration and all that it includes as far as it goes. It
// returns false where there is nothing to go on from.
func (l *loader) readAll(src []byte) bool {
	l.root = parseYAML(l.name, src, l.out, withEnv)
	if l.root == nil {
		return false
	}
	if l.root.kind == scalarNode && l.root.isNull() {
		l.root = &node{kind: mappingNode, pos: Position{l.name, 1, 1}, size: 1}
	}
	l.cfg.where.root, l.cfg.where.source = l.root, string(src)
	l.dec.decodeValue(place{l.root, l.root.pos, ""}, reflect.ValueOf(l.cfg).Elem(), field{})
	id := l.files.fileIdentity(l.name)
	l.noteFile(l.name, id)
	l.stack = append(l.stack, id)
	if n := l.valueAt("skills"); n != nil && n.kind == mappingNode {
		l.includePatterns(l.name, n.get("include"))
	}
	l.addKnown()
	l.cfg.where.hidden = l.out.hidden // every file is read: no value comes after this
	l.compileAll()
	l.addProgram()
	l.checkAll()
	return true
}

// valueAt returns the value below keys, nil where it isn't written.
func (l *loader) valueAt(keys ...string) *node { return nodeBelow(l.root, keys...) }

// noteFile keeps the name of a file that was read.
func (l *loader) noteFile(name, id string) {
	l.read[id] = true
	if !l.readsDisk() {
		return
	}
	if abs, err := filepath.Abs(name); err == nil {
		l.cfg.Files = append(l.cfg.Files, abs)
	}
}

// readsDisk reports whether the configuration is a file on disk.
func (l *loader) readsDisk() bool {
	_, ok := l.files.(disk)
	return ok
}

// includePatterns reads the files that the patterns in list match. The decoder has
// checked what list should be.
func (l *loader) includePatterns(from string, list *node) {
	if list == nil || list.kind != listNode {
		l.namesMissing = l.namesMissing || list != nil
		return
	}
	for _, pat := range list.items {
		if pat.kind != scalarNode || pat.bad || pat.isNull() || pat.text == "" {
			l.namesMissing = true
			continue
		}
		if l.readsDisk() {
			base, pattern := splitGlobBase(from, pat.text)
			l.searched = append(l.searched, searchedPattern{base, pattern, l.quoteNode(pat)})
		}
		found, err := l.files.findFiles(from, pat.text)
		switch {
		case err != nil:
			l.namesMissing = true
			l.out.add(pat.pos, "include %s: %s", l.quoteNode(pat), causeWithoutPath(err))
			continue
		case len(found) == 0:
			l.namesMissing = true
			l.out.add(pat.pos, "include %s matches no file", l.quoteNode(pat))
		}
		slices.Sort(found)
		for _, name := range found {
			l.includeFile(name, pat)
		}
	}
}

// quoteNode returns a scalar as a message may show it.
func (l *loader) quoteNode(n *node) string {
	if n.outside {
		return redacted
	}
	return quoteWord(n.text)
}

// includeFile reads a skill file that pat matches, unless it was read before.
func (l *loader) includeFile(name string, pat *node) {
	id := l.files.fileIdentity(name)
	if slices.Contains(l.stack, id) {
		l.out.add(pat.pos, "include %s leads back to %s, which is being read: a cycle", l.quoteNode(pat), name)
		return
	}
	if l.read[id] {
		return // two patterns may match one file
	}
	l.noteFile(name, id)
	if msg := l.includeMistake(); msg != "" {
		l.namesMissing = true
		l.out.add(pat.pos, "include %s: %s", l.quoteNode(pat), msg)
		return
	}
	src, err := l.files.readFile(name)
	if err != nil {
		l.namesMissing = true
		l.out.add(pat.pos, "include %s: %s: %s", l.quoteNode(pat), name, readFailureText(err))
		return
	}
	l.stack = append(l.stack, id)
	l.readSkillFile(name, src)
	l.stack = l.stack[:len(l.stack)-1]
}

// includeMistake says which bound on includes is passed, empty for none.
func (l *loader) includeMistake() string {
	switch {
	case len(l.read) > MaxFiles:
		return "more than 1000 files are included"
	case len(l.stack) > MaxIncludes:
		return "includes are more than 64 deep"
	}
	return ""
}

// readSkillFile reads a file of one skill, or of a list under skills.
func (l *loader) readSkillFile(name string, src []byte) {
	if strings.EqualFold(filepath.Ext(name), ".md") {
		l.readSkillText(name, src)
		return
	}
	n := parseYAML(name, src, l.out, withEnv)
	if n == nil {
		l.guessNames(src)
		return
	}
	if n.kind != mappingNode {
		l.namesMissing = true
		l.out.add(n.pos, "a skill file holds one skill, or a list of them under skills")
		return
	}
	if n.get("skills") == nil && n.get("include") == nil {
		l.addSkill(n, "skill")
		return
	}
	d := *l.dec
	var head skillFile
	d.decodeValue(place{n, n.pos, ""}, reflect.ValueOf(&head).Elem(), field{})
	l.includePatterns(name, n.get("include"))
	list := n.get("skills")
	if list == nil || list.isNull() {
		return
	}
	if list.kind != listNode {
		l.namesMissing = true
		l.out.add(list.pos, "skills must be a list of skills%s", describeGot(list))
		return
	}
	for i, item := range list.items {
		l.addSkill(item, place{n: list, path: "skills"}.placeOfItem(i).path)
	}
}

// readPrompt reads the text that sentinel.prompt names, as it is: no ${NAME} is
// replaced.
func (l *loader) readPrompt(n *node) {
	if n == nil || n.bad || n.kind != scalarNode || l.cfg.Sentinel.Prompt == "" {
		return // nothing is named, or it was reported
	}
	if name, text := l.readText("sentinel.prompt", l.cfg.Sentinel.Prompt, n); name != "" {
		l.cfg.Sentinel.Prompt, l.cfg.Sentinel.PromptText = name, text
	}
}

// readText reads the text of a file that path names. The name is empty where files can't be read from
// there, the text where there is a mistake.
func (l *loader) readText(path, file string, n *node) (name, text string) {
	name, ok := l.textFile(path, file, n)
	if !ok {
		return "", ""
	}
	src, err := l.files.readFile(name)
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	at, bad := findBadByte(src)
	switch {
	case err != nil:
		l.out.add(n.pos, "%s %s: %s", path, l.quoteNode(n), readFailureText(err))
		return name, ""
	case len(src) > MaxPrompt:
		l.out.add(n.pos, "%s %s: the file has more than %d bytes", path, l.quoteNode(n), MaxPrompt)
	case bad:
		at.File = name
		l.out.add(at, "the file must be UTF-8 text without control characters")
	case l.checkUnseen(name, src):
	case len(bytes.TrimSpace(src)) == 0:
		l.out.add(n.pos, "%s %s: the file holds no text", path, l.quoteNode(n))
	}
	if l.readsDisk() && !slices.Contains(l.cfg.Files, name) {
		l.cfg.Files = append(l.cfg.Files, name)
	}
	return name, string(src)
}

// textFile returns the file's name where files are read from. On disk the name
// is absolute. In an embedded configuration it is within the file system.
func (l *loader) textFile(key, name string, n *node) (string, bool) {
	if l.readsDisk() {
		name = l.absPath(name, n)
		return name, name != ""
	}
	if e, ok := l.files.(embedded); ok && e.fsys == nil {
		l.out.add(n.pos, "%s %s: there is no file system to read it from", key, l.quoteNode(n))
		return "", false
	}
	return path.Join(path.Dir(path.Clean(filepath.ToSlash(l.name))), strings.TrimPrefix(filepath.ToSlash(name), "./")), true
}
