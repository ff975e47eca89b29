package bash

// attributes are what is known of a variable beyond its value.
type attributes uint8

const (
	arrayVar     attributes = 1 << iota // it has elements: "$x" is the first
	headlessVar                         // its first element may be missing
	fixedVar                            // it is readonly: an assignment fails
	perhapsVar                          // it may not be set: what sets it may not run
	lowerVar                            // the shell writes its values in small letters
	upperVar                            // the shell writes its values in capitals
	referenceVar                        // it is another name for the variable that it is given next
	exportedVar                         // processes that the shell starts have it, or the function of its name
)

// markVariable adds and takes attributes of a variable. What may not run takes none, and exports
// none.
func (e *environment) markVariable(name string, add, take attributes) {
	had := e.def.marks[name]
	if e.unsure > 0 {
		take = 0
		add &^= exportedVar
	}
	if now := had&^take | add; now != had {
		setKey(&e.ownNames().marks, name, now)
	}
}

// hasMark reports whether a variable has one of some attributes.
func (e *environment) hasMark(name string, any attributes) bool { return e.def.marks[name]&any != 0 }

// ownValues are variables that the shell gives their values itself, whatever a line assigns.
var ownValues = toSet("_ FUNCNAME GROUPS DIRSTACK BASH_SOURCE BASH_LINENO BASH_ARGC BASH_ARGV BASH_SUBSHELL BASH_COMMAND BASHPID " +
	"PIPESTATUS HISTCMD LINENO RANDOM SRANDOM SECONDS EPOCHSECONDS EPOCHREALTIME UID EUID PPID BASH_VERSINFO SHELLOPTS BASHOPTS")
