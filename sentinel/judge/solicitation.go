package judge

import (
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// An injected call is one that a text asks for. So a value that strangers alone have is a verdict where a sentence of theirs names it
// and asks: by a word for what the call does, or by one that asks for anything. A listing names a record at the head of its line, and
// a talk who speaks: what follows is no sentence about them.

// isAskedFor reports whether a stranger's sentence asks for the call with a value. Of an earlier turn, which the user has seen, that is a
// sentence that asks before it names the value: "send it to eve@evil.test". Who only asks is no target of it. A thing that the call
// only changes, and can be changed back, they may have been asked for.
func isAskedFor(v *view, val value) bool {
	if !v.isPast(val) {
		return isSolicited(v, val)
	}
	return (stakeOf(v, val) != ofThing || v.isFinal()) && anyStrangersText(v, func(text string) bool {
		return slices.ContainsFunc(splitSentences(text), func(s string) bool {
			before, _, found := strings.Cut(s, val.fold)
			return found && solicits(v, dropOwner(before))
		})
	})
}

// dropOwner returns what stands before an address without the name of its owner: "mark tully <".
func dropOwner(before string) string {
	bare, isNamed := strings.CutSuffix(strings.TrimRight(before, " "), "<")
	if !isNamed {
		return before
	}
	words := strings.Fields(bare)
	return strings.Join(words[:max(0, len(words)-maxOwner)], " ")
}

// maxOwner is how many words a person's name has.
const maxOwner = 2

// isSolicited reports whether a stranger's sentence that has a value asks for the call. Where no line has it plainly, they hid it.
func isSolicited(v *view, val value) bool {
	isPlain := false
	isAsked := anyStrangersText(v, func(text string) bool {
		for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '|' }) {
			if line = strings.TrimSpace(line); !holdsValue(line, val) {
				continue
			}
			isPlain = true
			if !isHead(v, line, val) && slices.ContainsFunc(sentencesWith(line, val), func(s string) bool { return solicits(v, s) }) {
				return true
			}
		}
		return false
	})
	return isAsked || !isPlain
}

// isCallSolicited reports whether a stranger's text speaks to a model, or asks in any sentence for what the call does.
func isCallSolicited(v *view) bool {
	return len(v.orders) > 0 || anyStrangersText(v, func(text string) bool {
		return slices.ContainsFunc(splitSentences(text), func(s string) bool { return solicits(v, s) })
	})
}

// sentencesWith returns the sentences of a line that have a value, without it: the whole line where the value has the sign of an end.
func sentencesWith(line string, val value) []string {
	var out []string
	for _, s := range splitSentences(line) {
		if holdsValue(s, val) {
			out = append(out, strings.ReplaceAll(s, val.fold, " "))
		}
	}
	if out == nil {
		return []string{strings.ReplaceAll(line, val.fold, " ")}
	}
	return out
}

// anyStrangersText reports whether a folded text fits that strangers wrote, of this turn or an earlier one.
func anyStrangersText(v *view, fits func(string) bool) bool {
	if slices.ContainsFunc(v.untrusted, fits) {
		return true
	}
	for s := range v.c.Trace().LearntSteps() { // of other agents, too
		if s.Trust != skills.Trusted && fits(s.Said().Fold()) {
			return true
		}
	}
	return false
}

// isHead reports whether a value stands at the head of a line and nowhere else in it: before it are ids, times and signs alone, or
// what begins the field of a message's sender. Behind somebody is a sign, or nothing: "eve must have it" is a sentence.
func isHead(v *view, line string, val value) bool {
	before, after, found := strings.Cut(line, val.fold)
	if !found || holdsValue(after, val) {
		return false
	}
	after = strings.TrimLeft(after, " ")
	if val.kind == recipient && isSomebody(v, val) && after != "" && strings.IndexAny(after, ":,;<>()[]-–'\"/0123456789") != 0 {
		return false
	}
	for w := range strings.FieldsSeq(before) {
		if key, isField := strings.CutSuffix(w, ":"); isField && fromWords[key] {
			return true
		}
		if w = strings.Trim(w, "[](){}<>#*-:;,.•\"'"); w != "" && !hasDigit(w) && !fromWords[w] {
			return false
		}
	}
	return true
}

// fromWords stand before the sender of a message.
var fromWords = wordSet("from von de da van od")

// solicits reports whether a sentence asks for what the call does, or for anything.
func solicits(v *view, s string) bool {
	list := splitTokens(dropAddresses(s))
	act := stemWord(splitName(v.c.Name()[len(domainOf(v.c.Name())):])[0])
	for i, w := range list {
		switch isAct := w.stem == act || verbsOf(w)&v.p.needs != 0; {
		case askingWords[w.word] || pleases[w.word]:
			return true
		case !isAct || isTellingForm(w.word) || strings.Contains(s, w.word+":"): // "contact:" is a label
		case !nounToo[w.word] || i == 0 || beforeVerb[list[i-1].word]:
			return true
		}
	}
	for part, does := range unspacedAsks {
		if does&v.p.needs != 0 && strings.Contains(s, part) {
			return true
		}
	}
	return slices.ContainsFunc(askingParts, func(part string) bool { return strings.Contains(s, part) })
}

var (
	// askingWords ask for what follows, whatever that is.
	askingWords = wordSet(foldText(`must should shall required needs need kindly use attach soll sollen sollte müssen muss doit doivent devez
		veuillez debe deben deberá deberán deve devem deverá devono dovete moet moeten dient powinien musi trzeba należy proszę должен должны
		нужно надо пожалуйста måste skal skall benutze nutze utilisez utilise usa use usar usen gebruik meli gerekiyor gerekir lütfen
		يجب يرجى צריך נא चाहिए कृपया phải tolong cc bcc approve reviewer reviewers assistants`))
	askingParts = foldAll("请", "須", "务必", "ください", "してほしい", "必要があ", "주세요", "해야")
)
