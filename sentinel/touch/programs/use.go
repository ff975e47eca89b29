package programs

// Word is one word after a program's name, as the shell hands it over.
type Word struct {
	// Text is the word with stand-ins for what can't be known.
	Text string
	// Known is set where Text is exactly what the program gets.
	Known bool
}

// Access is what a program does to a file. The bits are those of touch.Access.
type Access uint8

// The ways to touch a file.
const (
	Read Access = 1 << iota
	Write
	Delete
	Execute
)

// Role is what a piece of a program's words means to it.
type Role uint8

// The closed list of roles.
const (
	// File is a file or a folder; see Part.Access.
	File Role = iota + 1
	// Command is a command: its name at Arg, its words up to End.
	Command
	// Line is a command line in one word, or in the words up to End with
	// blanks between them. Lang names the shell where it isn't sh.
	Line
	// Code is inline code in Lang: "python", "sql", "awk", … What follows it,
	// or a Line that is one word, and is no Part itself, are its parameters.
	Code
	// Script is a file that is run as code in Lang; what follows are its words.
	Script
	// Host is a host, with or without user, port or path: "ann@host:dir".
	Host
	// URL is an address with a scheme, or without where the program adds one.
	URL
	// Folder is where a command runs.
	Folder
	// Assign is NAME=value for the environment of a command.
	Assign
	// Data is text without a meaning for the machine: a pattern, a format, a message.
	Data
	// Sent is text that goes to another machine; "@file" was made a File with Sent set.
	Sent
	// Process is a process or a group of them that is signalled.
	Process
)

// Part is one piece of a program's words.
type Part struct {
	Role Role
	// Arg is the index of its word, From the byte in it where the piece starts
	// ("-fFILE", "--file=FILE", "if=FILE").
	Arg, From int
	// To is the byte behind the piece where it ends before its word does
	// ("HOST:INSIDE"), else 0.
	To int
	// Text is the piece where it stands in no word, such as the store whose
	// secrets a program prints. Arg is -1 then.
	Text string
	// End is the index after the last word of a Command or Line; else Arg+1.
	End int
	// Access is what happens to a File.
	Access Access
	// Extent is how much of a File is meant.
	Extent
	// Sent is set where the content of a File goes to another machine, Client
	// where the program logs in with it and shows it to no one.
	Sent, Client bool
	// Boxed is set where a Command or Line runs in a container or a pod, whose
	// files are not this machine's.
	Boxed bool
	// Inside is where a Boxed command sees a File: "/host" of "/:/host".
	Inside string
	// Effect is the code (of touch.Danger) of what happens where a File is a
	// device or a tree that matters: "mkfs", "chmod_tree", "move_tree". Empty
	// for what follows from Access alone.
	Effect string
	// Lang is the language of Code, Script and Line.
	Lang string
	// Option is the option that it is the value of, empty for an operand.
	Option string
}

// Extent says how much of a file or a folder is meant.
type Extent struct {
	// Tree is set where all below it is meant, Names where only names and
	// metadata are read.
	Tree, Names bool
}

// Input is what a program does with its standard input.
type Input uint8

// The closed list of inputs.
const (
	// Ignored: it doesn't read, or only where a person types.
	Ignored Input = iota
	// Shown: it is data that is printed, counted or kept: most filters.
	Shown
	// Items: each line or word becomes words of the Command (xargs).
	Items
	// Names: each line names a file that File parts stand for (cpio, rsync --files-from=-).
	Names
	// Runs: it is code in InputLang, and nothing among the words holds the code.
	Runs
	// Leaves: it goes to another machine.
	Leaves
)

// Class is how bad an effect is.
type Class uint8

// The classes, as Touch holds them.
const (
	// Change says what a skill must have declared (Touch.Changes).
	Change Class = iota + 1
	// Doubt is for a person (Touch.Doubts).
	Doubt
	// Danger is never allowed (Touch.Dangers).
	Danger
)

// Effect is what a program does beyond files.
type Effect struct {
	Class Class
	// Code is from touch's closed lists, such as "cloud_destroy".
	Code string
}

// Use is what one command does, as far as its words say.
type Use struct {
	// Known is set where the table has a row for the program.
	Known bool
	// Row is the row's name, with its subcommands: "git push".
	Row   string
	Parts []Part
	// Here is what happens to the current folder: its Role is File where no
	// operand names another, else 0. Its Arg means nothing.
	Here  Part
	Input Input
	// InputLang is the language of an input that runs: "sh", "python", "sql".
	InputLang string
	Effects   []Effect
	// Network is set where it talks to another machine by its nature.
	Network bool
	// Reads is set where it does nothing but read, files and input aside.
	Reads bool
	// Rehearsal is set where it only shows what it would do, or how it is used.
	Rehearsal bool
	// Output is what it prints.
	Output
	// Unread are the options that the row doesn't name and that stand before
	// code or a command, or may change what the operands are.
	Unread []string
}

// Output says what a program prints.
type Output struct {
	// Environment is set where the program prints the environment or other secrets.
	Environment bool
	// Token is set where what it prints is a credential, TokenHosts are the
	// hosts that this one is for, with those below them.
	Token      bool
	TokenHosts []string
	// Setup is set where it prints lines that set up a shell for itself.
	Setup bool
	// Dumps is set where it gives out somebody's data as a whole: a database,
	// a repository, an image.
	Dumps bool
}
