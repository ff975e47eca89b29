package bash

import "github.com/vedette-dev/vedette/sentinel/touch/host"

// Access is what would be done to a path. Several may hold at once.
type Access uint8

// The ways to touch a path.
const (
	Read Access = 1 << iota
	Write
	Delete
	Execute
	// Mention is a path that only stands among the words of a program.
	Mention
)

// Has reports whether all of b are set in a.
func (a Access) Has(b Access) bool { return a&b == b }

// Path is a file or folder that the line would touch.
type Path struct {
	// Raw is the text as it stood in the line, Clean where that leads, and Real
	// where existing symbolic links lead that.
	Raw, Clean, Real string
	Access           Access
	Extent
	Exposure
	Spelling
}

// Extent says how much of a path is touched.
type Extent struct {
	// Recursive is set for a touch of everything below the path.
	Recursive bool
	// Names is set where only names below the path are read, or what kind of
	// files they are: not what is in them.
	Names bool
}

// Exposure says who gets to see what a file holds.
type Exposure struct {
	// Sent is set where the file's content goes to another machine.
	Sent bool
	// Client is set where a program logs in with the file, such as the key of
	// "ssh -i": the other side never sees what is in it.
	Client bool
	// Public is set where the file holds nothing secret by its kind, although
	// its folder does: a public key, known_hosts, the metadata of a device.
	Public bool
}

// Spelling says how a line spells a path.
type Spelling struct {
	// Home is set where the text names the home folder of the user who runs the
	// call ("~", "$HOME") and not a folder by name.
	Home bool
	// Glob is set where the text has a pattern that the shell expands: then Clean
	// is the folder that holds the matches, and Recursive or Access apply to its
	// entries.
	Glob bool
}

// Command is one simple command of the line.
type Command struct {
	// Name is the base name of the program; empty where it can't be known.
	Name string
	Args []string
	// Dynamic is set where the name or an argument can't be known before it runs.
	Dynamic bool
	// Opaque is set where what runs can't be known.
	Opaque bool
}

// Host is a host that the line would reach.
type Host struct {
	Name string
	Zone host.Zone
	// Inside is set for one that only stands in a longer text.
	Inside bool
}

// Findings is what one line would do.
type Findings struct {
	Paths    []Path
	Commands []Command
	Hosts    []Host
	// Dangers, Doubts, Changes and Unread hold codes from the closed lists.
	Dangers, Doubts, Changes, Unread []string
	// Unparsed is set where the line is none that a shell reads, or longer than
	// MaxShell.
	Unparsed bool
	// Incomplete is set where the line ends inside a quote or a bracket.
	Incomplete bool
	// Plain is set where the line was read whole and does nothing but read.
	Plain bool
}
