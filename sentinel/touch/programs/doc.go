// Package programs says what programs do with their words and their input, as
// data: one embedded table with a row per program or subcommand, and one reader
// of options for all of them. It evaluates nothing: package bash hands it the
// words of one simple command and follows what comes back.
//
// # The table
//
// The files table/*.tbl hold rows. "#" starts a comment at the start of a line.
// "@source coreutils" names where the knowledge of the rows below is from; the
// rows of one such section are sorted. A row starts at the left edge, lines
// that follow it with a blank in front belong to it:
//
//	timeout|gtimeout: flags -fpv --foreground --preserve-status --verbose;
//	  value -ks --kill-after --signal; posix; args data command
//
// Before the first ": " stand the row's names, comma between two of them. Words
// are the program and its subcommands, "|" separates spellings of one word,
// "*" stands for a piece of a word, and a word "**" for up to five words:
//
//	docker|podman volume rm|remove: …
//	aws * delete-*: …
//	gcloud ** delete: …
//	mkfs.*: …
//
// A name with "@" in front is no program: other rows say "like @name". Behind
// the names stand clauses, ";" between two of them, also at the end of a line.
//
// # Options
//
// "flags" lists options without a value; every other kind (below) lists those
// that take one of that kind. "-abc" means -a, -b and -c, unless the row says
// "single". Long options may be cut short. What a sign after the option says:
//
//	--color?   the value is optional, and joined: --color=auto, -i.bak
//	-l?#       the same, and of digits: "perl -lne" is -l -n -e
//	-o>        the value is the next word even inside a cluster: "bash -oe pipefail"
//	-p~        the next word is the value unless it starts with "-": "node -p -e X"
//	-c!        the options end behind it
//	--arg{2}   two values, of which the last is of the kind; {-2}: the first is
//	-D*        the value is joined, and the option is every word that starts so
//	-#         any number: "nice -5"
//
// Words that end in "=" or ":" narrow a clause to values that start with them,
// in any case of letters; "*" stands for a piece of the key. Behind the sign
// may stand what is cut off as well, or that alone. Without an option in the
// clause they are the keys of operands:
//
//	client -o IdentityFile=; line -o ProxyCommand= LocalCommand=
//	line -c core.pager= alias.*=!
//	write -o; line -o |
//	read if=; write of=
//
// Words among "flags" that have no sign are words without a meaning: "(", "!".
//
// # Kinds
//
//	value, data      text without a meaning for the machine
//	read write rw    a file or folder that is read, written, both
//	append           the same as write
//	delete move run  removed; read and removed; read and executed
//	list             a file of which names or metadata are read, not its content
//	folder           the folder in which a command runs, or everything happens
//	client           a file that the program logs in with and shows to no one
//	sent             a file whose content goes to another machine
//	body             text that goes to another machine; "@file" is a file
//	form             the same behind a name: "name=@file", "name=<file"
//	host url         a host, with or without user, port and path; an address
//	mount            HOST:INSIDE of a container, or source=HOST,target=INSIDE
//	assign           NAME=value for the environment
//	process          a process, or a pattern of processes
//	code:LANG        code in one word
//	script:LANG      a file that is run as code; what follows are its words
//	start:LANG       the same, run before the code that its words or input hold
//	line[:SHELL]     a command line in one word
//	linerest         a command line in one word, and all words behind it
//	words[:SHELL]    a command line that is all words from here on
//	command          a command: its name and all words from here on
//	shell            behind "--" alone: the words of a shell
//	until            a command up to the word ";", or up to "+" behind "{}"
//
// Signs that follow a kind: +tree (all below it), +names (only names and
// metadata are read), +sent, +client, +remote (it may be host:path, or an
// address; where the last operand is, the files before it are sent), +box (it
// runs, or is, in a container or a pod), or a code of an effect, such as +mkfs
// or +chmod_tree: what happens where the file is a device or a tree that
// matters; +only_core is a removal that matters nowhere else.
//
// # Operands
//
// "args" lists the operands' kinds in their order. "..." behind a kind repeats
// it, "*" behind assign takes as many NAME=value as there are; what stands
// behind a repeated kind is counted from the end, and without a second operand
// left out. The last "args" that applies counts. "dash KIND" says what stands
// behind "--". "here KIND" is what happens to the current folder where no
// operand is given.
//
//	cp: args read... write; if -t --target-directory: args read...
//	ssh: args host words+box
//	env: args assign* command
//
// # What it does
//
//	danger|doubt|change CODE   an effect by its code in package touch
//	also KIND TEXT             a file or host that stands in no word: also read ~/.gnupg
//	network                    it talks to another machine by its nature
//	reads                      it does nothing but read, files and input aside
//	environment                it prints the environment or other secrets
//	rehearsal [OPTIONS]        it only shows what it would do (with one of them)
//	input KIND                 shown, items, names, leaves, ignored or runs:LANG;
//	                           "runs:sh/leaves" where something else may hold the code
//	tree, names, sent          the files among its operands are of that sort (those
//	                           that are treated as the first is: no copy's target)
//	like ROW                   all clauses of that row stand here; later ones count more
//
// "--help" and "--version" before the first operand are a rehearsal of every
// program. A rehearsal's value of none, false, no or 0 is none.
//
// # Conditions
//
// "if A B: clause" counts where one of A and B holds, "unless A B: clause"
// where none does. They may be nested: "if A: if B: clause" needs both. A kind
// with options behind a condition changes what their values are:
//
//	tar: write -f --file; if -x --extract: read -f --file
//
//	-x, --long      the option is given; it becomes a flag where no clause says more
//	-X=put,delete   the option is given and its value is one of these ("*" in them)
//	1=rm,del        the first operand is one of these; 2=, 3=, last=, any= alike
//	--              "--" stands among the words
//	none, some      no operand is given; there is one
//	code            something is run that its words hold
//
// # Manners
//
//	posix     options end at the first operand; so they do at a command, at
//	          words, a line and a script of every row
//	single    long options have a single dash (find, java); write -a -b for letters
//	abbrev    subcommands, and options of "single", may be cut short
//	nocase    options and subcommands in any case of letters
//	bundle    the first word is a cluster of options without a dash: "tar xzf"
//	windows   options start with "/", in any case of letters
//	own       the options of the rows above ("git" of "git push") aren't its own
//	loose     unknown options before code are not reported
//
// A subcommand's row has the options of the rows above it, and their network,
// single, abbrev, nocase, windows, loose and rehearsal options; nothing else.
package programs
