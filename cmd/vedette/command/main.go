// Package command is the command line: it decides, measures and explains what agents may do, from the
// command line.
//
//	vedette chat                a conversation at the terminal, approvals asked in place
//	vedette serve               the HTTP API, the pages, and what agents do behind them
//	vedette validate            every mistake of the configuration, with its place
//	vedette check               a decision for each proposed call, one JSON object a line
//	vedette eval                labelled cases and what became of them
//	vedette explain             every gate's working on one proposed call
//	vedette test                the expectations that stand next to the rules
//	vedette lint                rules that do nothing, effects that look too mild
//	vedette ledger list         what was decided; show, verify and head beside it
//	vedette status              how a running process is, and what became of the last reload
//	vedette top                 the supervision tree of a running process
//	vedette pause               stop the work of a user, of a skill, or all of it
//	vedette version             which build this is
//
// # What holds for every command
//
// Data goes to standard output and messages to standard error, so a pipe carries
// data alone. With --json the data is JSON. What comes from a ledger, a journal
// or a case was written by others: before it reaches a terminal, control
// characters and those that turn the direction of writing are escaped. Colour is
// for terminals alone and never with NO_COLOR or TERM=dumb. The exit status says
// how it ended; `vedette help exit-codes` lists the codes.
//
// # How it is made
//
// A file for each subcommand, named after it: its flags, the package that it calls, and
// what it prints. What a command does is in that package. A new subcommand is a
// constructor in the list in root.go.
//
// # In a program of your own
//
// A program with Go skills has the command line in its own binary:
//
//	os.Exit(command.Main(orchestrator.Options{Skills: mySkills}))
//
// Every command knows the skills then: rules may be about them, tests and check
// judge their calls. Of the options Skills, NoReview and Log count for
// commands that judge and read; serve and chat run calls, and all options count there but chat's Approver. Another binary, such as vedette
// itself, knows of the skills what stands under skills.known in the
// configuration; where both are there they must agree (skills.Agree).
//
// # What not to do
//
// Don't parse what is printed without --json: it is for people and changes.
// Don't take the answer of check for a permission: nothing was recorded, counted
// or asked, and nothing runs on it.
package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/skills/run/exec"
)

// Main runs the command line of this process and returns its exit status. A
// program with Go skills of its own calls it with the options that it gives to
// orchestrator.New. Call it before all else: the binary is also the child that
// isolates itself.
func Main(opts orchestrator.Options) int {
	exec.MaybeChild()
	orchestrator.MaybeParser()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	a := standardApp()
	a.opts = opts
	return runLine(ctx, os.Args[1:], a)
}
