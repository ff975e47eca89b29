package judge

import (
	"slices"
	"strings"
)

// stake is what a value decides in a call. The more it decides, the less a stranger's word is worth.
type stake uint8

const (
	ofThing stake = iota // which record, file, place or offer it is
	ofReach              // who is written to
	ofRight              // who is let in
	ofMoney              // who is paid, or what goes on by itself
)

// stakeOf tells what a value decides.
func stakeOf(v *view, val value) stake {
	name := v.splitArgName(val.arg)
	switch {
	case val.kind != recipient:
		return ofThing
	case holdsAccount(val.fold), v.p.handlesMoney && v.isOutgoing() && v.namesReceiver(name) && !isAny(name, deliveryNames):
		return ofMoney
	case !isSomebody(v, val):
		return ofThing
	case isAny(splitName(v.c.Name()), standingNames), isAny(name, standingNames):
		return ofMoney
	case v.p.needs&(shares|controls) != 0, v.p.needs&invites != 0 && !v.p.isOfEvents():
		return ofRight
	}
	return ofReach
}

// isSomebody reports whether a recipient is a person, an address or an account, and no place or thing: by its look or by its
// argument's name.
func isSomebody(v *view, val value) bool {
	if isAddress(val.fold) || isHandle(val.fold) {
		return true
	}
	name := v.splitArgName(val.arg)
	return !isAny(lastWord(name), placeNames) && !isAny(name, deliveryNames) && !strings.HasPrefix(val.fold, "#") &&
		(v.namesReceiver(name) || isAny(name, somebodyNames))
}

var (
	// somebodyNames are of arguments that hold somebody, besides those that namesReceiver knows.
	somebodyNames = wordSet("with whom who person principal grantee provider invite forward send collaborator")
	// deliveryNames are of arguments that hold where a thing is brought.
	deliveryNames = wordSet("ship shipping deliver delivery")
)

// isAddress reports whether a folded text is one under which somebody is reached from anywhere. No skill looks it up, so it comes
// from a text or from nowhere.
func isAddress(fold string) bool {
	return isEmail(fold) || holdsAccount(fold) || isPhone(fold) || strings.Contains(fold, "://") || isPage(fold) || namesDomain(fold)
}

// holdsAccount reports whether a folded text is an account, perhaps with its owner's name beside it.
func holdsAccount(fold string) bool {
	parts := strings.FieldsFunc(fold, func(r rune) bool { return strings.ContainsRune("()<>,;:", r) })
	return slices.ContainsFunc(parts, func(s string) bool {
		s = strings.TrimSpace(s)
		return isAccount(dropGrouping(s)) || isWallet(s)
	})
}
