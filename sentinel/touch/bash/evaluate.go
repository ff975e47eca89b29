// Package bash works out what a command line of a shell would do, without
// running it: quotes, variables, functions, pipes, redirects, loops, files and
// links that the line itself makes, and every command inside of a command.
//
//	found := bash.Evaluate(`cd /tmp && rm -rf "$D"`, env, bash.NewBudget())
//
// What a program does with its words says package programs, what inline code
// in another language does says package code. What can't be known is marked
// (Dynamic, Opaque, Doubts), and what can't be read is named (Unparsed,
// Incomplete, Unread): empty Findings with one of those set are no harmless
// line.
package bash

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

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

// Evaluate returns what a shell would do with a line. It takes what it needs
// from the budget; a line that needs more has UnreadBudget.
// It runs nothing and reads the file system for symbolic links alone.
func Evaluate(line string, env path.Env, b *Budget) Findings {
	s := newShell(env, b)
	if out := s.parseText(line); out.secret && out.minted != "" { // the caller reads it
		s.addUnread(SecretSent)
	}
	return s.closeFindings()
}

// EvaluateWords is Evaluate for a list of words: joined, as one command with
// its arguments, and each item that may be a line of its own.
func EvaluateWords(words []string, env path.Env, b *Budget) Findings {
	s := newShell(env, b)
	s.parseText(strings.Join(words, " "))
	g := newShell(env, b)
	g.out, g.quiet = s.out, true
	g.runWords(literalFields(words), stream{})
	for _, item := range words {
		if strings.ContainsAny(item, " \t\n;") {
			g.fork().parseText(item)
		}
	}
	return s.closeFindings()
}

// closeFindings says how far the line was read.
func (s *shell) closeFindings() Findings {
	f := s.out
	if s.budget.over {
		s.addUnread(UnreadBudget)
	}
	stopped := f.Unparsed || f.Incomplete || len(f.Dangers)+len(f.Doubts)+len(f.Changes)+len(f.Unread) > 0
	f.Plain = !stopped && !s.made.impure && len(f.Commands) > 0 &&
		!slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Opaque }) &&
		!slices.ContainsFunc(f.Paths, func(p Path) bool { return p.Access&(Write|Delete|Execute) != 0 || p.Sent })
	return *f
}

// reporter takes down what a shell finds.
type reporter struct {
	out    *Findings
	budget *Budget
	quiet  bool // the text may be no shell at all
}

func addCode(list []string, code string) []string {
	if code == "" || slices.Contains(list, code) {
		return list
	}
	return append(list, code)
}

func (r *reporter) addDanger(code string) { r.out.Dangers = addCode(r.out.Dangers, code) }

func (r *reporter) addDoubt(code string) { r.out.Doubts = addCode(r.out.Doubts, code) }

func (r *reporter) addChange(code string) {
	if !r.quiet {
		r.out.Changes = addCode(r.out.Changes, code)
	}
}

func (r *reporter) addUnread(code string) { r.out.Unread = addCode(r.out.Unread, code) }

// addHost records a host once.
func (r *reporter) addHost(h Host) {
	whole := h
	whole.Inside = false
	if !slices.Contains(r.out.Hosts, h) && !slices.Contains(r.out.Hosts, whole) && r.budget.takeItems(1) {
		r.out.Hosts = append(r.out.Hosts, h)
	}
}

// The bounds of what is read of one call.
const (
	// MaxShell is the longest command line in bytes: what Linux lets sh -c have.
	MaxShell = 128 << 10

	maxBytes   = 1 << 20 // produced by expansion
	maxItems   = 4096    // values, words and files that one line makes of others
	maxSteps   = 5_000   // commands
	maxLevels  = 32      // command lines inside command lines
	maxNesting = 500     // statements inside statements; a && b && c is three
	maxOpeners = 20_000  // brackets, which nest the parser
	maxAlts    = 64      // values that a word may have where several are combined
	maxValue   = 64 << 10
	maxPath    = 16 << 10
)

// Budget bounds the work for all command lines of one call. It isn't safe for
// concurrent use.
type Budget struct {
	bytes, items, steps int
	over                bool
}

// NewBudget returns the budget of one call: 1 MiB of text, 4096 items and
// 5,000 commands.
func NewBudget() *Budget { return &Budget{} }

// IsSpent reports whether something needed more than there was.
func (b *Budget) IsSpent() bool { return b.over }

// TakeBytes charges n bytes of text and reports whether they were left.
func (b *Budget) TakeBytes(n int) bool {
	b.bytes += n
	b.over = b.over || b.bytes > maxBytes
	return !b.over
}

func (b *Budget) takeItems(n int) bool {
	b.items += n
	b.over = b.over || b.items > maxItems
	return !b.over
}

func (b *Budget) takeStep() bool {
	b.steps++
	b.over = b.over || b.steps > maxSteps
	return !b.over
}

// The closed list of codes in Dangers.
const (
	RmRoot        = "rm_root"        // everything is removed
	RmHome        = "rm_home"        // a home folder, or all that is in it
	RmSystem      = "rm_system"      // a system tree, or all that is in it
	MakeFS        = "mkfs"           // a file system is made over what is there
	DeviceWrite   = "device_write"   // a device is overwritten or repartitioned
	ForkBomb      = "fork_bomb"      // processes breed until none can start
	ChmodTree     = "chmod_tree"     // root, a system tree or a home is opened to all
	ChownTree     = "chown_tree"     // root, a system tree or a home changes hands
	MoveTree      = "move_tree"      // root, a system tree or a home is moved away
	KillAll       = "kill_all"       // every process is killed
	VolumeDestroy = "volume_destroy" // a volume, a pool or its key is destroyed
	// Operator is this program's own command that only its operators may give:
	// it pauses, lifts a pause, or erases or opens what is kept.
	Operator = "operator_command"
)

// The closed list of codes in Doubts.
const (
	OpaqueCommand = "opaque_command" // what runs can't be known
	UnsetTree     = "unset_tree"     // a removal that is of root if a variable is empty
	UnknownTarget = "unknown_target" // a tree is removed, or a device written, that can't be known
	VolumeRemoval = "volume_removal" // a volume is removed, the tool will ask

	ProjectWipe  = "project_wipe"     // the working tree, or its history, is removed as a whole
	CloudDestroy = "cloud_destroy"    // resources or data in a cloud or a service are deleted
	DatabaseLoss = "database_destroy" // a database, a table or a queue is dropped or emptied
	VolumeLoss   = "volume_destroy"   // a container's volumes or a virtual machine are deleted
	BackupLoss   = "backup_destroy"   // backups are deleted
	KeyLoss      = "key_destroy"      // a secret key is deleted
	Persistence  = "persistence"      // something is made to run later, or at every start
)

// The closed list of codes in Unread.
const (
	UnreadOption  = "unread_option"  // an option before code or a command that the program's row does not name
	UnreadProgram = "unread_program" // a program without a row acts on a device or a core path, or gets code
	UnreadCode    = "unread_code"    // inline code in another language that may do harm
	UnreadTarget  = "unread_target"  // what is removed or overwritten comes from a pipe, a loop or a search
	UnreadBudget  = "unread_budget"  // the line needs more than the budget
	SecretSent    = "secret_sent"    // credentials or the environment go into a network client
	RemoteShell   = "remote_shell"   // a shell is handed to another machine
)

// UnreadCodes returns the codes that Unread may hold.
func UnreadCodes() []string {
	return []string{UnreadOption, UnreadProgram, UnreadCode, UnreadTarget, UnreadBudget, SecretSent, RemoteShell}
}

// DangerCodes returns the codes that Dangers may hold.
func DangerCodes() []string {
	return []string{RmRoot, RmHome, RmSystem, MakeFS, DeviceWrite, ForkBomb, ChmodTree, ChownTree, MoveTree, KillAll, VolumeDestroy, Operator}
}

// DoubtCodes returns the codes that Doubts may hold.
func DoubtCodes() []string {
	return []string{OpaqueCommand, UnsetTree, UnknownTarget, VolumeRemoval, ProjectWipe, CloudDestroy, DatabaseLoss, VolumeLoss, BackupLoss,
		KeyLoss, Persistence}
}

// The closed list of codes in Changes.
const (
	RemoteChange     = "remote_change"     // something on another machine or service
	RemoteRemoval    = "remote_removal"    // the same, taken away
	SystemChange     = "system_change"     // packages, services, accounts, mounts, the kernel
	SystemRemoval    = "system_removal"    // a package or an account is removed
	ProcessChange    = "process_change"    // a process is signalled
	ContainerChange  = "container_change"  // containers, images, networks of this machine
	ContainerRemoval = "container_removal" // the same, removed
	HistoryChange    = "history_change"    // a repository's history, index or working tree
	HistoryRemoval   = "history_removal"   // files or commits of it are dropped
	DatabaseChange   = "database_change"   // rows, tables or keys of a database
)

// ChangeCodes returns the codes that Changes may hold.
func ChangeCodes() []string {
	return []string{
		RemoteChange, RemoteRemoval, SystemChange, SystemRemoval, ProcessChange, ContainerChange, ContainerRemoval,
		HistoryChange, HistoryRemoval, DatabaseChange,
	}
}

// Removes reports whether a change takes something away.
func Removes(code string) bool { return strings.HasSuffix(code, "_removal") }
