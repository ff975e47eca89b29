package skills

import "strings"

// Nearest returns the known word that got was probably meant to be: at most
// two edits away, or the only one that it is a prefix of. Empty if none is.
func Nearest(got string, known []string) string {
	best, bestDist := "", 3
	for _, k := range known {
		if d := editDistance(strings.ToLower(got), strings.ToLower(k)); d < bestDist && d < max(len(k), 2) {
			best, bestDist = k, d
		}
	}
	if best != "" || len(got) < 3 {
		return best
	}
	for _, k := range known {
		if strings.HasPrefix(k, got) || strings.HasPrefix(got, k) {
			if best != "" {
				return ""
			}
			best = k
		}
	}
	return best
}

// editDistance is the Damerau-Levenshtein distance (adjacent swaps count once).
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
