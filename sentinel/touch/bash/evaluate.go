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
	// Recursive is set for a touch of everything below the path.
	Recursive bool
	// Home is set where the line names the home folder and no folder by name.
	Home bool
	// Sent is set where the file's content goes to another machine.
	Sent bool
	// Names is set where only names below the path are read.
	Names bool
	// Client is set where a program logs in with the file and shows it to no one.
	Client bool
	// Public is set where the file holds nothing secret by its kind.
	Public bool
	// Glob is set where Raw has a pattern that the shell expands.
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
	// Unparsed is set where the line is none that a shell reads, or too large.
	Unparsed bool
	// Incomplete is set where the line ends inside a quote or a bracket.
	Incomplete bool
	// Plain is set where the line was read whole and does nothing but read.
	Plain bool
}

// Evaluate returns what a shell would do with a line. It takes what it needs
// from the budget; a line that needs more is Unparsed and has UnreadBudget.
// It runs nothing and reads the file system for symbolic links alone.
func Evaluate(line string, env path.Env, b *Budget) Findings {
	s := newShell(env, b)
	s.parseText(line)
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
		f.Unparsed = true
		s.addUnread(UnreadBudget)
	}
	stopped := f.Unparsed || f.Incomplete || len(f.Dangers)+len(f.Doubts)+len(f.Changes)+len(f.Unread) > 0
	f.Plain = !stopped && !s.made.impure && len(f.Commands) > 0 &&
		!slices.ContainsFunc(f.Commands, func(c Command) bool { return c.Opaque }) &&
		!slices.ContainsFunc(f.Paths, func(p Path) bool { return p.Access&(Write|Delete|Execute) != 0 || p.Sent })
	return *f
}

func addCode(list []string, code string) []string {
	if code == "" || slices.Contains(list, code) {
		return list
	}
	return append(list, code)
}

func (s *shell) addDanger(code string) { s.out.Dangers = addCode(s.out.Dangers, code) }

func (s *shell) addDoubt(code string) { s.out.Doubts = addCode(s.out.Doubts, code) }

func (s *shell) addChange(code string) {
	if !s.quiet {
		s.out.Changes = addCode(s.out.Changes, code)
	}
}

func (s *shell) addUnread(code string) { s.out.Unread = addCode(s.out.Unread, code) }

// addHost records a host once.
func (s *shell) addHost(h Host) {
	whole := h
	whole.Inside = false
	if !slices.Contains(s.out.Hosts, h) && !slices.Contains(s.out.Hosts, whole) && s.budget.takeItems(1) {
		s.out.Hosts = append(s.out.Hosts, h)
	}
}
