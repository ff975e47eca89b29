package judge

import (
	"strings"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/touch"
)

// kind is what a value stands for; it decides what an unknown origin costs.
type kind uint8

const (
	noTarget  kind = iota
	reference      // an id, a name of a thing, a file
	account        // a target of another kind: a payment method, a postal address
	readHost       // a URL that is only read
	amount         // money or a quantity of it
	recipient      // who is reached, paid or let in
	host           // a URL that something is sent to
	numKinds
)

// value is one scalar of the arguments.
type value struct {
	arg  string // top-level and declared, or empty
	kind kind
	raw  string
	fold string
	// exact is how an address is written that isn't in plain letters.
	exact string
	// amount is the number that a value of that kind stands for.
	amount float64
	// target: it is who or what the call is done to.
	target bool
}

// isRouted reports whether mail servers may send an address on to another domain than its last
// one: neither its owner's name nor that domain says whose it is.
func (val value) isRouted() bool {
	return strings.Contains(val.fold, "@") && (!touch.PlainMailbox(val.raw) || !touch.PlainMailbox(val.fold))
}

// withExact notes how an address is written that isn't in plain letters: there an
// accent is another address, though it is a slip in a name.
func withExact(val value) value {
	if val.kind < recipient || !strings.ContainsAny(val.fold, "@.") {
		return val
	}
	if s := exactText(val.raw); strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		val.exact = s
	}
	return val
}

// exactText is a text in small letters and one form for each of them, and with
// its accents.
func exactText(s string) string { return sentinel.ExactText(s) }
