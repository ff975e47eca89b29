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
	src, err := l.files.read(path)
	if err != nil {
		return nil, Errors{{File: path, Msg: readFailed(err)}}
	}
	return l.load(src)
}

// Parse is Load for a configuration that isn't a file on disk: name stands in
// positions, src is its text, includes come from opts.FS, other paths are
// relative to opts.Dir.
func Parse(name string, src []byte, opts Options) (*Config, error) {
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, Errors{{File: name, Msg: "the working directory is gone; give an absolute Options.Dir"}}
	}
	return newLoader(name, embedded{opts.FS}, dir, opts).load(src)
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
	pending []pending           // skills in the order of the files
	// searched are the patterns that were looked for on disk.
	searched []searched
	broken   bool // a skill's name could not be read: names is short
	// unsure are skills with mistakes as far as they could be mended, spoilt the
	// names of all that have some.
	unsure []LoadedSkill
	spoilt []string
}

func newLoader(name string, f files, dir string, opts Options) *loader {
	if opts.Env == nil {
		opts.Env = os.LookupEnv
	}
	out := &problems{hidden: scrubber{env: opts.Env, seen: map[string]bool{}}}
	cfg := defaults()
	cfg.File = name
	cfg.where = newIndex(name)
	return &loader{name: name, files: f, dir: dir, opts: opts, out: out, dec: newDecoder(out), cfg: cfg,
		names: map[string]Position{}, read: map[string]bool{}}
}

func (l *loader) load(src []byte) (*Config, error) {
	l.readAll(src)
	if err := l.out.err(); err != nil {
		return nil, err
	}
	return l.cfg, nil
}

// readAll reads the configuration and all that it includes as far as it goes;
// false means that there is nothing to go on from.
func (l *loader) readAll(src []byte) bool {
	l.root = parseYAML(l.name, src, l.out, withEnv)
	if l.root == nil {
		return false
	}
	if l.root.kind == scalarNode && l.root.isNull() {
		l.root = &node{kind: mappingNode, pos: Position{l.name, 1, 1}, size: 1}
	}
	l.cfg.where.root = l.root
	l.dec.value(place{l.root, l.root.pos, ""}, reflect.ValueOf(l.cfg).Elem(), field{})
	id := l.files.identity(l.name)
	l.noteFile(l.name, id)
	l.stack = append(l.stack, id)
	if n := l.get("skills"); n != nil && n.kind == mappingNode {
		l.include(l.name, n.get("include"))
	}
	l.addKnown()
	l.cfg.where.hidden = l.out.hidden // every file is read: no value comes after this
	l.compileAll()
	l.addProgram()
	l.check()
	return true
}

// get returns the value of a top-level key, nil where it isn't written.
func (l *loader) get(key string) *node { return l.root.get(key) }

func (l *loader) noteFile(name, id string) {
	l.read[id] = true
	if !l.onDisk() {
		return
	}
	if abs, err := filepath.Abs(name); err == nil {
		l.cfg.Files = append(l.cfg.Files, abs)
	}
}

func (l *loader) onDisk() bool {
	_, ok := l.files.(disk)
	return ok
}

// include reads the files that the patterns in list match. What list should
// have been was checked when it was decoded.
func (l *loader) include(from string, list *node) {
	if list == nil || list.kind != listNode {
		l.broken = l.broken || list != nil
		return
	}
	for _, pat := range list.items {
		if pat.kind != scalarNode || pat.bad || pat.isNull() || pat.text == "" {
			l.broken = true
			continue
		}
		if l.onDisk() {
			base, pattern := globBase(from, pat.text)
			l.searched = append(l.searched, searched{base, pattern, l.shown(pat)})
		}
		found, err := l.files.glob(from, pat.text)
		switch {
		case err != nil:
			l.broken = true
			l.out.add(pat.pos, "include %s: %s", l.shown(pat), cause(err))
			continue
		case len(found) == 0:
			l.broken = true
			l.out.add(pat.pos, "include %s matches no file", l.shown(pat))
		}
		slices.Sort(found)
		for _, name := range found {
			l.includeFile(name, pat)
		}
	}
}

// shown is a scalar as a message may show it.
func (l *loader) shown(n *node) string {
	if n.outside {
		return redacted
	}
	return quote(n.text)
}

func (l *loader) includeFile(name string, pat *node) {
	id := l.files.identity(name)
	if slices.Contains(l.stack, id) {
		l.out.add(pat.pos, "include %s leads back to %s, which is being read: a cycle", l.shown(pat), name)
		return
	}
	if l.read[id] {
		return // two patterns may match one file
	}
	l.noteFile(name, id)
	if msg := l.tooMany(); msg != "" {
		l.broken = true
		l.out.add(pat.pos, "include %s: %s", l.shown(pat), msg)
		return
	}
	src, err := l.files.read(name)
	if err != nil {
		l.broken = true
		l.out.add(pat.pos, "include %s: %s: %s", l.shown(pat), name, readFailed(err))
		return
	}
	l.stack = append(l.stack, id)
	l.skillFile(name, src)
	l.stack = l.stack[:len(l.stack)-1]
}

func (l *loader) tooMany() string {
	switch {
	case len(l.read) > MaxFiles:
		return "more than 1000 files are included"
	case len(l.stack) > MaxIncludes:
		return "includes are more than 64 deep"
	}
	return ""
}

// skillFile reads a file of one skill, or of a list under skills.
func (l *loader) skillFile(name string, src []byte) {
	if strings.EqualFold(filepath.Ext(name), ".md") {
		l.skillText(name, src)
		return
	}
	n := parseYAML(name, src, l.out, withEnv)
	if n == nil {
		l.guessNames(src)
		return
	}
	if n.kind != mappingNode {
		l.broken = true
		l.out.add(n.pos, "a skill file holds one skill, or a list of them under skills")
		return
	}
	if n.get("skills") == nil && n.get("include") == nil {
		l.addSkill(n, "skill")
		return
	}
	d := *l.dec
	var head skillFile
	d.value(place{n, n.pos, ""}, reflect.ValueOf(&head).Elem(), field{})
	l.include(name, n.get("include"))
	list := n.get("skills")
	if list == nil || list.isNull() {
		return
	}
	if list.kind != listNode {
		l.broken = true
		l.out.add(list.pos, "skills must be a list of skills%s", notA(list))
		return
	}
	for i, item := range list.items {
		l.addSkill(item, place{n: list, path: "skills"}.item(i).path)
	}
}

// section returns the value at two keys, nil where it isn't written.
func (l *loader) section(a, b string) *node {
	n := l.get(a)
	if n == nil || n.kind != mappingNode {
		return nil
	}
	return n.get(b)
}

// readPrompt reads the text that sentinel.prompt names. It is taken as it is:
// no ${NAME} is replaced in it.
func (l *loader) readPrompt(n *node) {
	if n == nil || n.bad || n.kind != scalarNode || l.cfg.Sentinel.Prompt == "" {
		return // nothing is named, or it was reported
	}
	name, ok := l.promptFile(n)
	if !ok {
		return
	}
	l.cfg.Sentinel.Prompt = name
	src, err := l.files.read(name)
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	at, bad := badByte(src)
	switch {
	case err != nil:
		l.out.add(n.pos, "sentinel.prompt %s: %s", l.shown(n), readFailed(err))
		return
	case len(src) > MaxPrompt:
		l.out.add(n.pos, "sentinel.prompt %s: the file has more than %d bytes", l.shown(n), MaxPrompt)
	case bad:
		at.File = name
		l.out.add(at, "the file must be UTF-8 text without control characters")
	case l.unseen(name, src):
	case len(bytes.TrimSpace(src)) == 0:
		l.out.add(n.pos, "sentinel.prompt %s: the file holds no text", l.shown(n))
	}
	l.cfg.Sentinel.PromptText = string(src)
	if l.onDisk() && !slices.Contains(l.cfg.Files, name) {
		l.cfg.Files = append(l.cfg.Files, name)
	}
}

// promptFile returns the file's name where files are read from: absolute on
// disk, within the file system of an embedded configuration otherwise.
func (l *loader) promptFile(n *node) (string, bool) {
	name := l.cfg.Sentinel.Prompt
	if l.onDisk() {
		name = l.abs(name, n)
		return name, name != ""
	}
	if e, ok := l.files.(embedded); ok && e.fsys == nil {
		l.out.add(n.pos, "sentinel.prompt %s: there is no file system to read it from", l.shown(n))
		return "", false
	}
	return path.Join(path.Dir(path.Clean(filepath.ToSlash(l.name))), strings.TrimPrefix(filepath.ToSlash(name), "./")), true
}
