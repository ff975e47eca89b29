package evidence

// Place is where a value was seen.
type Place struct {
	// Step is the number of a step; 0 for words of the user.
	Step int
	// Name is the step's skill, "request", "earlier" (with Turn), or "pasted".
	Name string
	// Turn is 0 for this turn and negative for those before.
	Turn  int
	Trust Trust
	// Field is the path in the step's JSON; of trusted results alone.
	Field Quote
	// Text is the record that holds the value, or no quote.
	Text Quote
	// As says what the value is in a stranger's result; empty where that isn't told.
	As As
}

// As says what a value is in a stranger's result. The words are a closed list.
type As string

// What a value may be. A stranger chooses the words of a text, and not the ids of a listing.
const (
	AsID     As = "record id" // of a JSON record, or of a line in a listing of the same domain
	AsSender As = "sender"    // the From of a head, or the author of a line
	AsText   As = "text"      // anything else
	// AsArgument: no result has it, and the agent gave the address to a read that answered. That grounds nothing.
	AsArgument As = "argument of this read"
)

// NameRecord is a name of the request, and where the trusted record stands that has the value
// under that name.
type NameRecord struct {
	Name  Quote
	Place Place
}

// Rival is another record of the same kind that the user's words could mean.
type Rival struct {
	Place Place
	Value Quote
	// Better: it shares more words with the request than the value's own record.
	Better bool
}

// How says how a value is near another one. The words are a closed list: see Hows.
type How string

// The ways to be near.
const (
	HowCheckDigits How = "wrong_check_digits" // of an account or a routing number
	HowSwapped     How = "swapped"            // two characters stand in the other order
	HowEdited      How = "edited"             // one or two characters differ
	HowGroup       How = "one_group"          // one group of four differs
	HowEnds        How = "same_ends"          // the first eight and the last four are the same
	HowLookalike   How = "lookalike"          // other letters that look alike
	HowSuffix      How = "other_suffix"       // the same name below another top-level domain
	HowAffix       How = "affix"              // a known name with something before or behind it
	HowInside      How = "domain_inside"      // a known domain inside of another
	HowTens        How = "power_of_ten"
	HowSounds      How = "number_word" // fifteen for fifty
	HowLimit       How = "beyond_limit"
	HowOtherYear   How = "other_year"
	HowOtherMonth  How = "other_month"
	HowDaySwapped  How = "day_and_month_swapped"
)

// Hows returns the closed list.
func Hows() []How {
	return []How{HowCheckDigits, HowSwapped, HowEdited, HowGroup, HowEnds, HowLookalike, HowSuffix, HowAffix, HowInside, HowTens,
		HowSounds, HowLimit, HowOtherYear, HowOtherMonth, HowDaySwapped}
}

// NearMiss is a value that is almost, and not quite, one that was seen.
type NearMiss struct {
	How   How
	Place Place // where the other one was seen; no place for check digits and limits
	Value Quote // the other one, where its source may be quoted
}

// Operand is one part of what an amount is made of.
type Operand struct {
	Place Place
	Value Quote
}

// Made says what an amount can be made of: two amounts that were seen, or the sum of a list.
type Made struct {
	// Op is "+", "-", "*", "/", "%" or "sum".
	Op   string
	From []Operand
	// Of is how many amounts a sum has.
	Of int
}

// Named is one argument that names somebody or something, and what is known of its value.
type Named struct {
	Pointed
	Kind Kind
	// Seen is where the value was seen, the best first: empty means nowhere.
	Seen []Place
	// Beside are words of the request that stand in its record; of ids, paths and amounts alone.
	Beside []Quote
	Rivals []Rival
	Near   []NearMiss
	Made   *Made
	// Also are places that count for nothing and are told where there is room: in a result of an
	// earlier turn, and the second place at strangers'.
	Also []Place
	// Alias is the trusted record by which a name of the request is the value; nil for none.
	Alias *NameRecord
	// Hidden says that the value is secret or sensitive.
	Hidden bool
	// late: only Also knows the value, so it takes no room from others.
	late bool
}

// best is the place that may be believed most; ok is false for nowhere.
func (n *Named) best() (Trust, bool) {
	if len(n.Seen) == 0 {
		return Stranger, false
	}
	return n.Seen[0].Trust, true
}

// Pointed names an argument: by its JSON pointer, and by the declared top-level argument. Only
// Declared may stand in a record; it is empty where no schema names the argument.
type Pointed struct {
	Pointer  Quote
	Declared string
}

// Carry is something that content takes along.
type Carry struct {
	Pointed
	Step int
	How  string
}

// Report is what Build found. It holds quotes: Question, JournalJSON, Findings and Digest are the
// ways to use it.
type Report struct {
	Named   []Named
	Nowhere []Pointed // recipients, hosts and accounts that were seen nowhere
	Unasked []Pointed // switches and rights that the request doesn't speak of
	Carries []Carry
	// Condition is a clause of the request that the call may depend on; nil where there is none.
	Condition *Condition
	// LeftOut counts values that were not looked for, and Unread results that were not read as a
	// whole.
	LeftOut, Unread int
	// Asks: a recipient, host or account of a call that isn't a read was left out.
	Asks bool

	mode     Mode
	keys     bool
	reads    bool
	findings []Finding
	doubts   []Finding
}
