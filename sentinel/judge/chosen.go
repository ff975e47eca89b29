package judge

import (
	"slices"
)

// readChosen returns the stems of the nouns of which a text says how to choose:
// "each user", "all of the members", "a channel with the smallest number".
func readChosen(list []token) map[string]bool {
	var out map[string]bool
	add := func(w token) {
		if out == nil {
			out = map[string]bool{}
		}
		out[w.stem] = true
	}
	for i, w := range list {
		rest := list[i+1:]
		switch {
		case w.word == "everyone" || w.word == "everybody":
			add(w)
		case each[w.word]:
			for j, n := range rest[:min(len(rest), 3)] {
				if j > 0 && n.first {
					break
				}
				add(n)
			}
		case leastOf[w.word]:
			before := list[max(0, i-4):i]
			with := slices.IndexFunc(before, func(n token) bool { return n.word == "with" || n.word == "has" || n.word == "have" })
			if with < 0 {
				before = rest[:min(len(rest), 2)]
			} else {
				before = before[:with] // "a channel with the most users" chooses no users
			}
			for _, n := range before {
				add(n)
			}
		}
	}
	return out
}
