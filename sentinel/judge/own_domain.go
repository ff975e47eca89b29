package judge

import "strings"

// sharedBoxes are parts of addresses that aren't one person of the house: lists, and those
// who are let in from outside.
var sharedBoxes = wordSet(`all everyone everybody staff list lists group groups dl announce crew board members people company
	ext extern external externals guest guests contractor contractors consultant partner partners vendor vendors temp agency`)

// isPersonsOwn reports whether an address at a domain of the house may be one person's: no
// list, nobody from outside, no address with a plus.
func isPersonsOwn(fold string) bool {
	local := fold[:max(0, strings.LastIndexByte(fold, '@'))]
	if local == "" || strings.Contains(local, "+") {
		return false
	}
	for _, p := range splitLocalPart(local) {
		if sharedBoxes[p] || impersonal[p] {
			return false
		}
	}
	return true
}
