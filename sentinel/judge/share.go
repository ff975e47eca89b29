package judge

import (
	"regexp"
	"slices"
)

// sharePattern finds a share of something in a folded text: "5%", "3 prozent".
var sharePattern = regexp.MustCompile(`\d+(?:[.,]\d+)?\s*(?:%|per ?cent|prozent|pour ?cent|por ?ciento|por ?cento|procent|процент)`)

// dropShares returns a folded text without its shares, whose numbers are no days.
func dropShares(fold string) string { return sharePattern.ReplaceAllString(fold, " . ") }

// countedIn returns the most that a trusted result counts, where the user's own words ask for a share of it, or 0.
func countedIn(v *view) float64 {
	most := 0.0
	if v.own == nil || !sharePattern.MatchString(v.own.fold) {
		return most
	}
	for _, r := range v.trusted {
		if n := readSums(r, splitTokens(r)).all; len(n) > 0 {
			most = max(most, slices.Max(n))
		}
	}
	return most
}
