package sentinel

import "fmt"

// Outcome is what a gate or the whole checkpoint says of a call, ordered from
// no to yes. The zero value denies; combining is min.
type Outcome uint8

// The four outcomes.
const (
	// Deny: it does not run.
	Deny Outcome = iota
	// Defer: not now. Nothing runs, no person is asked, and the same call may come
	// again from the first gate.
	Defer
	// Ask: a person decides.
	Ask
	// Allow: it may run.
	Allow
)

var outcomeWords = [...]string{"deny", "defer", "ask", "allow"}

// String returns deny, defer, ask or allow; any other value reads as deny.
func (o Outcome) String() string {
	if int(o) < len(outcomeWords) {
		return outcomeWords[o]
	}
	return outcomeWords[Deny]
}

// ParseOutcome reads an outcome's word.
func ParseOutcome(s string) (Outcome, error) {
	for i, w := range outcomeWords {
		if w == s {
			return Outcome(i), nil
		}
	}
	return Deny, fmt.Errorf("outcome %q: say deny, defer, ask or allow", s)
}

// MarshalText writes the outcome's word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the outcome's word.
func (o *Outcome) UnmarshalText(b []byte) (err error) {
	*o, err = ParseOutcome(string(b))
	return err
}
