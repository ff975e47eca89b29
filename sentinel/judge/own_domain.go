package judge

import (
	"fmt"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// readOwnDomains reads the domains of the house. Letters beyond the plain ones are refused:
// two domains that differ in an accent are two.
func readOwnDomains(list []string) (map[string]bool, error) {
	out := map[string]bool{}
	for i, d := range list {
		d = strings.ToLower(d)
		at := fmt.Sprintf("judge.own_domains[%d]", i)
		switch {
		case !strings.Contains(d, ".") || !isDomainText(d) || strings.Trim(d, ".-") != d:
			return nil, &skills.PathError{Path: at, Msg: "is no domain in plain letters; write it as in mill.example, and xn-- for other letters"}
		case publicMail[d]:
			return nil, &skills.PathError{Path: at, Msg: "is a domain where anybody can have an address; name domains of your own house"}
		}
		out[d] = true
	}
	return out, nil
}

// sharedBoxes are parts of addresses that aren't one person of the house: lists, and those
// who are let in from outside.
var sharedBoxes = wordSet(`all everyone everybody staff list lists group groups dl announce crew board members people company
	ext extern external externals guest guests contractor contractors consultant partner partners vendor vendors temp agency`)

// isPersonsOwn reports whether an address at a domain of the house may be one person's: no
// list, no person from outside, no address with a plus.
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

// isDomainText reports whether a text has the signs of a domain alone.
func isDomainText(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 || !isAlnum(s[i]) && s[i] != '-' && s[i] != '.' {
			return false
		}
	}
	return true
}
