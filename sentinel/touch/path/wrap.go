package path

import (
	"slices"
	"strings"
)

// wrapperSchemes are those of URLs that open a file by way of something else.
var wrapperSchemes = []string{"view-source:", "jar:", "url:", "netdoc:", "local_file:", "phar:", "zip:", "glob:",
	"compress.zlib:", "compress.bzip2:", "php:", "feed:", "rar:", "ogg:"}

// Unwrap cuts what a URL such as "jar:file:///a.jar!/b" puts around a file. It
// reports whether text is one.
func Unwrap(raw string) (string, bool) {
	raw = strings.TrimSpace(raw)
	if !slices.ContainsFunc(wrapperSchemes, func(s string) bool { return hasPrefixFold(raw, s) }) {
		return "", false
	}
	_, rest, _ := strings.Cut(raw, ":")
	if i := strings.Index(strings.ToLower(rest), "resource="); i >= 0 {
		rest = rest[i+len("resource="):]
	}
	if i := strings.IndexAny(rest, "!#"); i > 0 {
		rest = rest[:i]
	}
	if strings.HasPrefix(rest, "///") {
		rest = rest[2:]
	}
	return rest, rest != "" && !strings.Contains(rest, "://") || hasPrefixFold(rest, "file:")
}

// cutDataStream cuts an alternate data stream, "name:stream", from a path: to
// Windows it is part of the same file.
func cutDataStream(p string) (string, bool) {
	i := strings.LastIndexAny(p, `/\`) + 1
	j := strings.IndexByte(p[i:], ':')
	if j <= 1 || strings.Contains(p, "://") { // "C:" is a drive
		return p, false
	}
	return p[:i+j], true
}

// CutScheme cuts "https://" and the like from a text; file: has no host. It
// reports whether there was one.
func CutScheme(text string) (rest string, found bool) {
	i := strings.Index(text, "://")
	if i <= 0 || i > 16 {
		return "", false
	}
	for j := range i {
		if !isLetter(text[j]) && (j == 0 || strings.IndexByte("+-.0123456789", text[j]) < 0) {
			return "", false
		}
	}
	if hasPrefixFold(text, "file:") {
		return "", false
	}
	return text[i+3:], true
}
