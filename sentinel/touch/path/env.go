// Package path says which file or folder of a machine a text names: as it is
// written (Lexical), as the laxest receiver would read it (Clean), in every
// way in which some receiver would (ListReadings), and where symbolic links
// lead it (Real, Links). FindTree and IsDevice tell what stands at a path that
// must not be lost.
//
// The package isn't stable: docs/api.md lists those that are.
//
// All but Links is text alone: it needs no file system, and time in
// proportion to the text. Paths are absolute and have slashes; drive letters
// stay ("C:/x") and network names keep two slashes ("//host/share").
//
// Texts come from models and strangers. Nothing here returns an error: a text
// that no receiver would open has a reading as well, and IsUnplaced tells of
// those that no two receivers need agree on.
package path

import "strings"

// The stand-ins for what Env does not know.
const (
	unknownHome = "/home/user"
	// UnknownFolder is where a command line runs when no root is known: not
	// "/", or every "rm -r *" would be one of everything.
	UnknownFolder = "/workspace"
)

// Env is what paths are resolved against. The zero value resolves relative
// paths against "/" and knows no home folder but the usual places.
type Env struct {
	// Root is the first of the guard's roots: relative paths start there.
	Root string
	// Home is the home folder of the user the process runs as.
	Home string
	// Program is the absolute path of the running program, links followed: its
	// operators' commands are known by it, as they are by the name of vedette.
	Program string
	// NoFS keeps symbolic links from being followed: for measuring calls
	// whose files are elsewhere.
	NoFS bool
}

// HomeFolder returns the folder that "~" stands for.
func (e Env) HomeFolder() string {
	if e.Home == "" {
		return unknownHome
	}
	return e.Home
}

// NamesHome reports whether a text is spelt from the home folder of the user
// who runs it: "~" or "~/x", not "~bob".
func NamesHome(text string) bool { return text == "~" || strings.HasPrefix(text, "~/") }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
