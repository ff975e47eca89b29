package touch

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/bash"
	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

// Env is what paths are resolved against. The zero value resolves relative
// paths against "/" and knows no home folder but the usual places.
type Env = path.Env

// Extent says how much of a path is touched: see package bash.
type Extent = bash.Extent

// Exposure says who gets to see what a file holds: see package bash.
type Exposure = bash.Exposure

// Spelling says how a path is spelt: see package bash.
type Spelling = bash.Spelling

// Zone says where a host is, as far as its name tells.
type Zone = host.Zone

// The zones, the worst last: see package host.
const (
	Open     = host.Open
	Loopback = host.Loopback
	Private  = host.Private
	Metadata = host.Metadata
)

// Clean returns the path that the laxest receiver would open for raw: see
// path.Clean.
func Clean(raw string, env Env) string { return path.Clean(raw, env) }

// Lexical returns raw as it is written, absolute: see path.Lexical.
func Lexical(raw string, env Env) string { return path.Lexical(raw, env) }

// Real returns where a cleaned path leads once the symbolic links that exist
// are followed. With NoFS it is the path itself.
func Real(clean string, env Env) string { return path.Real(clean, env) }

// ParseHost returns the name of a host in the one spelling that every reader
// shares, and its zone: see host.ParseHost.
func ParseHost(h string) (name string, z Zone) { return host.ParseHost(h) }

// UnicodeHost returns text with each label in it that is spelt in Punycode as it
// is shown to people: see host.UnicodeHost.
func UnicodeHost(text string) string { return host.UnicodeHost(text) }

// PlainMailbox reports whether every mail server delivers an address to the
// domain behind its "@": see host.PlainMailbox.
func PlainMailbox(s string) bool { return host.PlainMailbox(s) }

// Routed reports whether a text is an address that is no PlainMailbox.
func Routed(s string) bool { return host.Routed(s) }

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func hasDigitsAlone(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
