package evidence

import (
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// Mode says what of the history a report quotes.
type Mode uint8

// The modes. The zero value is Records.
const (
	Records    Mode = iota // records of trusted results; of strangers' results step and trust
	Provenance             // where each value was seen, and no text of any result
	All                    // strangers' records too
	Off                    // nothing is shown to the reviewer; near misses are still found
)

var modeWords = [...]string{Records: "records", Provenance: "provenance", All: "all", Off: "off"}

// String returns the word that a configuration uses.
func (m Mode) String() string { return modeWords[min(int(m), len(modeWords)-1)] }

// ParseMode reads the word of a configuration; the empty word is Records. The error names the
// words that there are.
func ParseMode(word string) (Mode, error) {
	if word == "" {
		return Records, nil
	}
	for m, w := range modeWords {
		if w == word {
			return Mode(m), nil
		}
	}
	return Off, fmt.Errorf("evidence: unknown mode; use one of %s", strings.Join(modeWords[:], ", "))
}

// Trust says how far a place may be believed. The zero value is the least.
type Trust uint8

// The grades of trust, the least first.
const (
	Stranger Trust = iota // somebody else could have written it
	Tainted               // a trusted store that says again what a stranger or the agent could have put there
	Trusted               // a store that only the user can write
	User                  // the user's own words
)

var trustWords = [...]string{Stranger: "stranger", Tainted: "tainted", Trusted: "trusted", User: "user"}

// String returns the word that reviewers read.
func (t Trust) String() string { return trustWords[min(int(t), len(trustWords)-1)] }

// Kind says what a value stands for.
type Kind uint8

// The kinds. Unknown lets Build tell by the marks, the name and the shape of the value.
const (
	Unknown   Kind = iota
	Reference      // an id, or the name of a thing
	Path           // a file or folder
	Recipient      // who is reached, paid or let in
	Host           // a machine or page
	Account        // an account number
	Amount         // money
	Count          // how many
	Date           // a day
	numKinds
)

var kindWords = [numKinds]string{"name", "id", "path", "recipient", "host", "account", "amount", "count", "date"}

// String returns the word that reviewers read.
func (k Kind) String() string { return kindWords[min(int(k), len(kindWords)-1)] }

// isReach reports whether a value of the kind says who is reached: those are never left out in
// silence.
func (k Kind) isReach() bool { return k == Recipient || k == Host || k == Account }

// Argument is one scalar of the call's arguments.
type Argument struct {
	// Pointer is its JSON pointer; Name the property that it belongs to.
	Pointer, Name string
	// Value is a string, a json.Number or a bool; others are passed over.
	Value any
	Marks skills.Annotation
	// Declared says that the schema names the top-level argument; other names are a model's text.
	Declared bool
	// Sensitive values are told of like x-secret ones: never quoted.
	Sensitive bool
	// Kind is what the caller knows of the value; Unknown lets Build tell.
	Kind Kind
}

// Step is one earlier result.
type Step struct {
	// Number is the step's place in the history, from 1. It names the step, whatever the order
	// in which steps are given.
	Number int
	Skill  string
	// Turn is 0 for this turn, -1 for the one before.
	Turn  int
	Trust Trust
	// Sensitive results are never quoted.
	Sensitive bool
	// Clock says that the result is the time: its date is near to every date.
	Clock bool
	// Look says that the step read and succeeded, and that its result doesn't speak to a model. Only
	// such a result can be a listing, a talk or an address book.
	Look bool
	// Args are the arguments of the step. What stands there, a later result only says again.
	Args string
	// Result is JSON or text. Read, where the caller has it, saves the reading of Result.
	Result string
	Read   *Reading
	// StrangerFields are the names of fields that their subject writes. They are a stranger's,
	// whatever the trust of the result.
	StrangerFields []string
}

// Carried is something that content takes along, as the caller has found.
type Carried struct {
	Argument string // its JSON pointer
	// Declared is false where the pointer is a model's text.
	Declared bool
	Step     int    // where it comes from
	How      string // a word of the caller's own list
}

// Input is all that Build looks at. Build changes nothing of it.
type Input struct {
	Skill  string
	Effect skills.Effect
	// Request is the user's words of this turn, Earlier those before, the oldest first. Pasted
	// is what stood in the request and isn't the user's, as the caller has found.
	Request string
	Earlier []string
	Pasted  string
	// Arguments may come in any order.
	Arguments []Argument
	// History may come in any order.
	History []Step
	Carries []Carried
	// Attests, where it is set, reports whether a trusted result attests a value that one of
	// them holds. sentinel.Trace.Attests is stricter than what this package sees by itself.
	Attests func(value string) bool
	Mode    Mode
	// Keys withholds every value and every name that no schema declares.
	Keys bool
	// Full adds what a reviewer alone reads: places in Past, aliases, and as what a value stands in
	// a stranger's result. It changes no finding, no doubt and no trust.
	Full bool
	// Past are the results of earlier turns, trusted ones too, the oldest first. They ground nothing.
	Past []Step
	// PastGone says that some of Past is no longer known: what is left may repeat it.
	PastGone bool
}
