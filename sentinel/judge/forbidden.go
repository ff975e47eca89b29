package judge

import (
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// forbiddenWords are those that stand under a negation, and nowhere else in the text.
type forbiddenWords struct{ raw, stems map[string]bool }

var (
	// refusals are the words under which nothing is asked for, besides negations.
	refusals = wordSet(`no cannot can't mustn't shouldn't nor neither kein keine keinen keiner keinerlei ne ni sans sin zonder geen nao non
		nem sem senza`)
	// turns are words that end what a negation speaks of: "no one but him can edit".
	turns = wordSet("but sondern aber mais pero sino mas ma bensi maar just instead otherwise unless if wenn si se als")
	// preventing are in the names of switches that are on where something shall not be.
	preventing = wordSet(`no not non never disable disabled prevent block deny forbid without restrict restricted lock locked hide only
		exclude skip ignore off anti`)
)

// forbidden returns the words that the user's own words negate.
func forbidden(v *view) forbiddenWords { return v.own.negated }

// readForbidden reads the words of a folded text that it negates.
func readForbidden(fold string) forbiddenWords {
	fields := strings.Fields(strings.ReplaceAll(fold, "’", "'"))
	left := 0
	begin := 0 // of the clause
	under := make([]bool, len(fields))
	some := false
	for i, f := range fields {
		w := strings.Trim(f, ".,:;!?()\"'")
		isEnd := strings.ContainsAny(f[len(f)-1:], ".,;:!?") || i+1 == len(fields)
		switch {
		case negatesWords(w) && !(i+1 < len(fields) && urges[strings.Trim(fields[i+1], ".,:;!?")]):
			some, left = true, negatedNear
			for j := max(begin, i-negatedNear); isEnd && i-begin > 0 && j < i; j++ { // "teile es nicht"
				under[j] = true
			}
		case turns[w]:
			left = 0
		case left > 0:
			under[i] = true
			left--
		}
		if isEnd {
			left, begin = 0, i+1
		}
	}
	if !some {
		return forbiddenWords{}
	}
	return gatherForbidden(fields, under)
}

// negatesWords reports whether a word negates those behind it.
func negatesWords(w string) bool {
	return w != "except" && (negations[w] || refusals[w] || strings.HasSuffix(w, "n't"))
}

// gatherForbidden returns the words that are under a negation alone.
func gatherForbidden(fields []string, under []bool) forbiddenWords {
	out := forbiddenWords{map[string]bool{}, map[string]bool{}}
	for _, negated := range []bool{true, false} {
		for i, f := range fields {
			if under[i] != negated {
				continue
			}
			for _, t := range splitTokens(f) {
				if negated {
					out.raw[t.word], out.stems[t.stem] = true, true
					continue
				}
				delete(out.raw, t.word)
				delete(out.stems, t.stem)
			}
		}
	}
	return out
}

// asksForAny reports whether the user's own words have one of these, not under a negation.
func asksForAny(v *view, words map[string]bool) bool {
	return v.own.mentionsAny(words, nil) && mentionsBut(v.own, words, forbidden(v).raw)
}

// mentionsBut reports whether a text has one of the words that isn't among others.
func mentionsBut(t *text, words, others map[string]bool) bool {
	for w := range words {
		if t.raw[w] && !others[w] {
			return true
		}
	}
	return false
}

// isForbidden reports whether an argument turns on or gives what the user's own words negate:
// "don't let him reshare". A switch that prevents it does as they say.
func isForbidden(v *view, a skills.Arg) bool {
	words := splitName(a.Name)
	s, isText := a.Text()
	switch {
	case a.Value == true:
	case isText && len(s) < 64 && isAny(words, roleNames):
		words = splitName(foldText(s))
	default:
		return false
	}
	if isAny(words, preventing) {
		return false
	}
	forbidden := forbidden(v)
	for _, w := range words {
		if !helpers[w] && (forbidden.raw[w] || forbidden.stems[stemWord(w)]) {
			return true
		}
		for _, group := range rightWords {
			for g := range group.words {
				if group.values[w] && forbidden.raw[g] {
					return true
				}
			}
		}
	}
	return false
}
