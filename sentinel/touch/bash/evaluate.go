// Package bash works out what a command line of a shell would do, without
// running it: quotes, variables, functions, pipes, redirects, loops, files and
// links that the line itself makes, and every command inside of a command.
//
//	found := bash.Evaluate(`cd /tmp && rm -rf "$D"`, env, bash.NewBudget())
//
// The package isn't stable: docs/api.md lists those that are.
//
// What a program does with its words says package programs, what inline code
// in another language does says package code. What can't be known is marked
// (Dynamic, Opaque, Doubts), and what can't be read is named (Unparsed,
// Incomplete, Unread): empty Findings with one of those set are no harmless
// line.
package bash

import (
	"strings"

	"github.com/vedette-dev/vedette/sentinel/touch/path"
)

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
