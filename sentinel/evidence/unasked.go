package evidence

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// maxUnasked bounds how many switches are named.
const maxUnasked = 8

var (
	rightNames = wordSet(`role roles permission permissions access visibility privilege privileges right rights scope link level audience
		sharing`)
	// leastRights open nothing.
	leastRights = wordSet("none no private single viewer view reader read freebusy self me only restricted own")
	plainSwitch = wordSet("can is has allow allowed enable enabled should be do use set with include includes flag also")
	// guards are words of switches that protect, and open something when they are off.
	guards = wordSet(`protect protected protection require required requires confirm confirmation verify verified encrypt encrypted private
		secure 		approval restricted readonly locked`)
)

// listUnasked returns the switches and rights of a call that changes something and of which the
// request has no word.
func listUnasked(in Input, own string) []Pointed {
	if in.Effect == skills.Read {
		return nil
	}
	var out []Pointed
	words := wordsOf(own)
	for _, a := range in.Arguments {
		if a.Marks&(skills.Content|skills.Shell|skills.Secret) == 0 && isUnasked(a, words) {
			out = append(out, a.pointTo())
		}
	}
	slices.SortFunc(out, func(x, y Pointed) int { return strings.Compare(x.Pointer.plainText(), y.Pointer.plainText()) })
	return out[:min(len(out), maxUnasked)]
}

func isUnasked(a Argument, request []string) bool {
	name := splitName(a.Name)
	switch v := a.Value.(type) {
	case bool:
		if v == hasAny(name, guards) {
			return false
		}
		told := slices.DeleteFunc(slices.Clone(name), func(w string) bool { return plainSwitch[w] })
		return len(told) > 0 && !speaksOf(request, told)
	case string:
		told := wordsOf(foldText(v))
		return hasAny(name, rightNames) && !hasAny(told, leastRights) && len(v) <= maxVerbatim && len(told) > 0 && !speaksOf(request, told)
	}
	return false
}

// speaksOf reports whether a request has one of the words, whatever their ending.
func speaksOf(request, words []string) bool {
	for _, w := range words {
		stem := stemOf(w)
		if slices.ContainsFunc(request, func(r string) bool { return stemOf(r) == stem }) {
			return true
		}
	}
	return false
}

// stemOf drops the commonest endings of a word.
func stemOf(w string) string {
	for _, end := range [...]string{"ations", "ation", "ions", "ion", "ings", "ing", "ers", "er", "ors", "or", "ed", "es", "s", "e"} {
		if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
			return w[:len(w)-len(end)]
		}
	}
	return w
}

// scalarText is a scalar as text.
func scalarText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	}
	return ""
}
