package config

import (
	"bytes"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MaxPrompt is the greatest size in bytes of the file that sentinel.prompt names.
const MaxPrompt = 16 << 10

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
