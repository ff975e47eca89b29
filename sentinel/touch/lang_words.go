package touch

import "strings"

// The kinds of words that say what a program may do; a word may be of several.
const (
	startingWord uint8 = 1 << iota // starting
	runningWord                    // runsText
	removingWord                   // removesTrees
	dialingWord                    // netWords
)

// tellingWords are the words of those lists, so that a program's words
// are looked up once.
var tellingWords = kinds(starting, runsText, removesTrees, netWords)

func kinds(lists ...map[string]bool) map[string]uint8 {
	out := map[string]uint8{}
	for i, list := range lists {
		for w := range list {
			out[w] |= 1 << i
		}
	}
	return out
}

// told returns the kinds of words that a program has, whole or as the last part
// of a name.
func (g *program) told() uint8 {
	var all uint8
	for _, k := range g.toks {
		if k.kind != wordToken || k.end-k.at > 64 {
			continue
		}
		w := strings.ToLower(bare(g.word(k)))
		all |= tellingWords[w]
		if i := strings.LastIndexAny(w, "/:."); i >= 0 {
			all |= tellingWords[w[i+1:]]
		}
	}
	return all
}

// functionNames are those whose value is kept where a program only names them:
// it may call them by another name.
var functionNames = merge(forks, codeRuns, codeEvals, treeRemovers, oneGone)

func merge(lists ...map[string]bool) map[string]bool {
	out := map[string]bool{}
	for _, list := range lists {
		for w, in := range list {
			out[w] = out[w] || in
		}
	}
	return out
}
