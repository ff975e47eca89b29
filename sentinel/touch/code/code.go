// Package code says what inline code in other languages than the shell's does,
// as far as its own words say: python -c, node -e, awk, sed, SQL, the commands
// of an editor or a debugger. It runs nothing and decodes no encodings; of texts
// it joins two that stand side by side. A name bound once to a text is that text.
//
//	f := code.Read("python", `import os; os.system("rm -rf /srv")`)
//	f.Commands // one: Line "rm -rf /srv"
//
// The package isn't stable: docs/api.md lists those that are.
//
// A word that is able to do harm (it starts a process, removes, writes, goes
// to the network, or runs code that is made while running) is held against the
// literal texts beside it. Where those say what it does, the finding is a
// Path, a Command, a URL, a piece of Inner code or an Effect, and the caller
// judges those. Where they don't, Unread is set: what the code does is unknown,
// and a person should see it. Code without such words has no findings.
//
// Read takes time and memory in proportion to the text, of which it reads 16
// KiB, and 4 KiB of a language whose programs are lines of commands; a longer
// one is Unread. Cost says what it takes of a budget that several share.
// Findings hold pieces of the code: they go into no log, error or record.
package code

// Access is what code does to a path. The bits are those of touch.Access.
type Access uint8

// The ways to touch a path.
const (
	ToRead Access = 1 << iota
	ToWrite
	ToDelete
	ToExecute
)

// Path is a file or folder that the code names.
type Path struct {
	// Text is the path as the code has it. A home folder that the code asks
	// its language for is "~", and "$" stands for what can't be known.
	Text string
	// Access is 0 where an absolute path only stands in the code.
	Access Access
	// Tree is set where all below the path is meant, Names where only names
	// and metadata are read.
	Tree, Names bool
	// Effect is the code (of touch.Danger) of what happens where the path is a
	// tree that matters: "chmod_tree", "chown_tree", "move_tree".
	Effect string
}

// Command is a command that the code starts.
type Command struct {
	// Line is a line for a shell. It is empty where the code hands over words.
	Line string
	// Words are the program and its words, as the program gets them.
	Words []string
	// Lang names the shell of Line where it isn't sh: "powershell", "cmd".
	Lang string
	// Folder is where the code changed to before, empty where it didn't.
	Folder string
}

// Inline is a piece of code in a language, inside of another.
type Inline struct{ Lang, Text string }

// Findings are what a piece of code does, as far as its words say. The zero
// value is of code that does nothing that matters.
type Findings struct {
	Paths    []Path
	Commands []Command
	// URLs are the addresses and bare hosts in the code.
	URLs []string
	// Inner is code that the code runs: read it as well, with less depth left.
	Inner []Inline
	// Effects are codes of touch.Danger: "fork_bomb" and "kill_all" of its
	// dangers, "database_destroy" of its doubts.
	Effects []string
	Traffic
	Secrets
	// Input is set where the code reads its standard input.
	Input bool
	// Unread is set where a word that may do harm stands in the code and no
	// literal text beside it says what it does.
	Unread bool
}

// Traffic says what goes to other machines.
type Traffic struct {
	// Network is set where the code has a word that goes to another machine:
	// then URLs are reached, else they only stand there.
	Network bool
	// Sends is set where the code hands texts of its own making to another machine.
	Sends bool
}

// Secrets says what the code learns that is not for everybody.
type Secrets struct {
	// Environment is set where the code prints or sends the environment as a whole.
	Environment bool
	// Credential is set where the code reads a variable that is named after one.
	Credential bool
}
