// Package touch works out, once, what a call would touch: paths, commands,
// hosts, recipients and amounts, whichever skill it comes through. The guard,
// the judge, permission rules and the record all read the same Touch, so that
// a file written by a shell redirect and one written by files.write look the
// same to every one of them.
//
//	t := touch.Of(skill, args, touch.Env{Root: "/srv/workspace", Home: "/home/alice"})
//	for _, p := range t.Paths { … p.Clean, p.Real, p.Access … }
//
// The package isn't stable: docs/api.md lists those that are.
//
// Package bash evaluates command lines, package programs holds what programs do
// with their words, package code reads inline code in other languages, packages
// path and host read names. This package gathers what they find over a call's
// arguments by the marks of its schema.
// What can't be known is marked (Dynamic, Opaque, Doubts), and what can't be
// read is named (Unparsed, Incomplete, Unread): never take an empty Touch for a
// harmless call without looking at those. Never match on Raw, and don't open
// Clean later as if it were still what was looked at: links change.
//
// A Touch describes; it decides nothing. It holds argument values, so it goes
// to gates and approvers and never to the ledger, a log or a metric.
package touch

// Access is what would be done to a path. Several may hold at once.
type Access uint8

// The ways to touch a path.
const (
	Read Access = 1 << iota
	Write
	Delete
	Execute
	// Mention is a path that only stands in an argument: the guard's core
	// counts it, roots don't.
	Mention
)

// Has reports whether all of b are set in a.
func (a Access) Has(b Access) bool { return a&b == b }

// Path is a file or folder that the call would touch.
type Path struct {
	// Raw is the text as it stood in the argument or in the command.
	Raw string
	// Clean is absolute and lexically cleaned, "~" expanded, relative paths
	// resolved against the first root.
	Clean string
	// Real is where Clean leads once existing symbolic links are followed;
	// equal to Clean where there are none.
	Real   string
	Access Access
	// Arg is the name of the argument it came from. Here and below it is
	// empty for an argument that the schema does not name.
	Arg string
	// Declared is set where the schema marks the argument x-path: roots bind
	// those.
	Declared bool
	// Inert is set where what is written there is known to run nothing, whatever the
	// path's name says.
	Inert bool
	// Shell is set where it came out of a command line.
	Shell bool
	// Unplaced is set where receivers differ too much for Clean to be relied
	// on: overlong or nested escapes, "%u2215", a URL. Such a path lies in
	// no root.
	Unplaced bool
	Extent
	Exposure
	Spelling
}

// Command is one simple command of a command line, wrappers such as sudo, env
// and xargs peeled off.
type Command struct {
	// Name is the base name of the program; empty where it can't be known.
	Name string
	// Args are the words that follow, expanded where that is certain.
	Args []string
	// Dynamic is set where the name or an argument can't be known before it
	// runs.
	Dynamic bool
	// Opaque is set where what runs can't be known: the name is dynamic, or
	// an interpreter reads its program from where the guard can't look.
	Opaque bool
	// Arg is the name of the argument it came from.
	Arg string
}

// Host is a host that the call would reach.
type Host struct {
	// Name is in lower case, without port; an address is dotted (or IPv6)
	// however it was spelt.
	Name string
	Arg  string
	// Zone is where it is.
	Zone Zone
	// Shell is set where it came out of a command line.
	Shell bool
	// Inside is set for one that only stands in a longer text, such as a
	// sentence or a URL's query. Those are listed only where Zone isn't Open.
	Inside bool
}

// Recipient is who would be reached or affected: an address, account or id in
// an x-target argument, or an email address. Of an address that mail servers may
// send on elsewhere ("a%b.test@c.test") each place is one: see PlainMailbox.
type Recipient struct {
	Value string
	Arg   string
}

// Amount is a number in an argument that names money or a quantity.
type Amount struct {
	Value string
	Arg   string
}

// Danger is an effect that no request justifies: one that can't be undone, or
// one that is this program's operators' alone.
type Danger struct {
	// Code is from the closed list of this package, such as RmRoot.
	Code string
	// Arg is the name of the argument it came from.
	Arg string
}

// Touch is what one call would touch. The zero value touches nothing.
type Touch struct {
	Paths      []Path
	Commands   []Command
	Hosts      []Host
	Recipients []Recipient
	Amounts    []Amount
	// Dangers are such effects seen while parsing command lines.
	Dangers []Danger
	// Doubts are effects that a person should see first: dangers if
	// something unknown turns out badly, such as "rm -r $X/*" where X may be
	// empty, and the loss of data that may be meant, such as a database.
	Doubts []Danger
	// Changes are what command lines change that is no file of this machine:
	// a service, an account, something on another machine. They are no
	// dangers: they say what a skill must have declared.
	Changes []Danger
	// Injected are arguments that are no command line and hold a piece of
	// one, such as "example.com; id".
	Injected []Danger
	// Unread are pieces of command lines that could not be read: an option
	// that may hold a command, code beyond the budget, a program that nothing
	// is known of on a device. They are no harm by themselves; what they do is
	// unknown, so a person should see them.
	Unread []Danger
	// Plain names the x-shell arguments whose command lines were read whole and
	// do nothing but read.
	Plain []string
	// Unparsed names the arguments whose command line could not be parsed.
	Unparsed []string
	// Incomplete names the arguments whose command line ends inside a quote
	// or a bracket. It was read as if it were closed.
	Incomplete []string
}
