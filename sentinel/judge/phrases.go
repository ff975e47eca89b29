package judge

import (
	"slices"
	"strings"
)

// phrase reads what only several words say together, from the first of them
// on: "let Kim know", "drop her a line", "block Friday afternoon".
func (t *text) phrase(list []token) {
	rest := list[1:]
	t.rightsPhrase(list)
	switch list[0].word {
	case "write", "writing":
		if len(rest) > 0 && (rest[0].word == "to" || rest[0].word == "back") {
			t.talks()
		}
	case "let":
		if near(rest, 12, wordsOf.know) {
			t.talks()
		}
	case "leave":
		if near(rest, 4, wordsOf.groups) {
			t.says |= removes
		}
	case "drop", "shoot", "give":
		if near(rest, 6, wordsOf.lines) && !near(rest, 1, wordsOf.me) {
			t.talks()
		}
	case "get":
		if near(rest, 1, wordsOf.back) && near(rest, 3, wordsOf.to) || near(rest, 2, wordsOf.touch) {
			t.talks()
		}
	case "reach":
		if near(rest, 2, wordsOf.to) {
			t.talks()
		}
	case "follow":
		if near(rest, 1, wordsOf.up) && near(rest, 2, wordsOf.with) {
			t.talks()
		}
	default:
		t.scheduling(list[0].word, rest)
	}
}

// scheduling reads phrases of calendars alone.
func (t *text) scheduling(word string, rest []token) {
	switch word {
	case "lunch", "dinner", "breakfast", "coffee", "drinks", "call", "session":
		if near(rest, 1, wordsOf.with) {
			t.concepts |= concepts[stem("calendar")]
		}
	case "find":
		if near(rest, 4, wordsOf.free) {
			t.concepts |= concepts[stem("calendar")]
		}
	case "block", "hold", "keep", "reserve", "free", "set", "put", "pencil", "make", "schedule", "reschedule",
		"move", "push", "plan", "organize", "organise", "arrange":
		if near(rest, 5, wordsOf.times) {
			t.concepts |= concepts[stem("calendar")]
			t.says |= creates | books
		}
	case "1", "one":
		if near(rest, 1, wordsOf.one) || len(rest) > 1 && rest[0].word == "on" && rest[1].word == "one" {
			t.concepts |= concepts[stem("calendar")]
		}
	}
}

// reminder reads what follows "remind me": "to call mum" asks for one, "what he
// said" only for an answer.
func (t *text) reminder(rest []token) {
	if near(rest, 1, wordsOf.questions) {
		t.says |= looks
		return
	}
	t.says |= saying[stem("remind")]
	t.concepts |= concepts[stem("remind")]
}

// addressed reports whether an address of mail follows a word within a few.
func (t *text) addressed(rest []token) bool {
	return slices.ContainsFunc(rest[:min(len(rest), 6)], func(w token) bool { return !t.people[w.word] })
}

// namesAccount reports whether a text has the number of an account.
func (t *text) namesAccount() bool {
	for w := range strings.FieldsSeq(t.fold) {
		if isAccount(strings.Trim(w, ".,:;!?()'\"")) {
			return true
		}
	}
	return false
}

func (t *text) talks() {
	t.says |= sends
	t.concepts |= talk()
}

// wordsOf are the second halves of phrases.
var wordsOf = struct{ know, lines, me, back, to, touch, up, with, times, free, one, groups, questions map[string]bool }{
	set("know"), set("line note message email mail text call ring word"), set("me us"), set("back"), set("to"),
	set("touch"), set("up"), set("with"),
	set(strings.Join([]string{
		"monday tuesday wednesday thursday friday saturday sunday morning afternoon evening noon hour hours slot time",
		"call meeting lunch coffee breakfast standup sync interview appointment",
	}, " ")),
	set("time slot hour"), set("1"), set("channel group team workspace server chat"),
	set("what how who which where when why whether if of about"),
}

// near reports whether one of the words is among the first n of a sentence's
// rest.
func near(rest []token, n int, words map[string]bool) bool {
	for _, w := range rest[:min(len(rest), n)] {
		if words[w.word] {
			return true
		}
	}
	return false
}

// smallWords are English and of other languages too: they count only for how
// much of a text is understood.
var smallWords = set("a an in on at me i we us our up out off by be do not no if so or as")

// covered reports whether enough of a text is in words that are known here. A
// word by chance says nothing of a text in another language.
func (t *text) covered(list []token) bool {
	known, all := 0, 0
	for _, w := range list {
		if w.word[0] < 'a' && w.word[0] < 0x80 || t.proper[w.word] || !t.people[w.word] {
			continue
		}
		all++
		if functionWords[w.word] || smallWords[w.word] || saying[w.stem] != 0 || concepts[w.stem] != 0 {
			known++
		}
	}
	return known*10 >= all*3
}
