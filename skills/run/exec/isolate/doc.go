// Package isolate is the child's half of package exec: it is this binary,
// started again, which isolates itself and becomes a program.
//
// A process can't be restricted from outside, and restricting Vedette would be
// wrong. So exec starts its own binary with a Plan on file 3 and a socket on
// file 4, and MaybeChild does what the plan says.
//
//	A  the binary, started again in namespaces of its own (user, mounts,
//	   network, IPC, host name). It builds the tree of files and the Landlock
//	   rules, and waits for B.
//	B  PID 1 of a process namespace, made by a plain fork of A: one thread that
//	   runs no Go, only a list of system calls that A wrote. It changes the root,
//	   gives up its privileges, starts C, reaps, and tells how C ended.
//	C  the program.
//
// Without a process namespace A becomes the program itself.
//
// # Start-up time
//
// The child starts while packages are initialised: Go initialises those that are
// ready in the order of their import paths, so a package that needs little comes
// before those that cost milliseconds. For that reason isolate imports the
// standard library, golang.org/x/sys and two packages that do so too (listen, mount).
// Of the library it imports what is ready early: not path/filepath, for one.
// TestChildStartsEarly of cmd/vedette/command sees what came before.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through skills/run/exec.
package isolate
