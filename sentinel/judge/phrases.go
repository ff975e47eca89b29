package judge

import (
	"slices"
	"strings"
)

// readPhrase reads what only several words say together, from the first of them
// on: "let Kim know", "drop her a line", "block Friday afternoon".
func (t *text) readPhrase(list []token) {
	rest := list[1:]
	t.readRightsPhrase(list)
	switch list[0].word {
	case "write", "writing":
		if len(rest) > 0 && (rest[0].word == "to" || rest[0].word == "back") {
			t.addTalking()
		}
	case "let":
		if hasWordNear(rest, 12, wordsOf.know) {
			t.addTalking()
		}
		if hasWordNear(rest[min(1, len(rest)):], 2, wordSetIn) { // "let her in"
			t.says |= controls
		}
	case "hook":
		if hasWordNear(rest, 3, wordsOf.up) {
			t.says |= creates | controls
		}
	case "leave":
		if hasWordNear(rest, 4, wordsOf.groups) {
			t.says |= removes
		}
	case "drop", "shoot", "give":
		if hasWordNear(rest, 6, wordsOf.lines) && !hasWordNear(rest, 1, wordsOf.me) {
			t.addTalking()
		}
	case "get":
		if hasWordNear(rest, 1, wordsOf.back) && hasWordNear(rest, 3, wordsOf.to) || hasWordNear(rest, 2, wordsOf.touch) {
			t.addTalking()
		}
		if t.fields == 0 && hasWordNear(rest, 8, wordsOf.again) { // "get me the same ones again"
			t.says |= saying[stemWord("buy")]
			t.addConcept(fields.order)
		}
	case "reach":
		if hasWordNear(rest, 2, wordsOf.to) {
			t.addTalking()
		}
	case "follow":
		if hasWordNear(rest, 1, wordsOf.up) && hasWordNear(rest, 2, wordsOf.with) {
			t.addTalking()
		}
	default:
		t.readScheduling(list[0].word, rest)
		t.readRestoring(list[0].word, rest)
	}
}

// readRestoring reads "roll it back" and "put it back to what it was".
func (t *text) readRestoring(word string, rest []token) {
	if restoring[word] && hasWordNear(rest, 4, wordsOf.back) && (word == "roll" || hasWordNear(rest, 5, wordsOf.to)) {
		t.says |= saying[stemWord("revert")]
	}
}

var restoring = wordSet("roll put switch")

// readScheduling reads phrases of calendars alone.
func (t *text) readScheduling(word string, rest []token) {
	switch word {
	case "lunch", "dinner", "breakfast", "coffee", "drinks", "call", "session":
		if hasWordNear(rest, 1, wordsOf.with) {
			t.addConcept(concepts[stemWord("calendar")])
		}
	case "find":
		if hasWordNear(rest, 4, wordsOf.free) {
			t.addConcept(concepts[stemWord("calendar")])
		}
	case "block", "hold", "keep", "reserve", "free", "set", "put", "pencil", "make", "schedule", "reschedule",
		"move", "push", "plan", "organize", "organise", "arrange":
		if hasWordNear(rest, 5, wordsOf.times) {
			t.addConcept(concepts[stemWord("calendar")])
			t.says |= creates | books
		}
	case "1", "one":
		if hasWordNear(rest, 1, wordsOf.one) || len(rest) > 1 && rest[0].word == "on" && rest[1].word == "one" {
			t.addConcept(concepts[stemWord("calendar")])
		}
	}
}

// readReminder reads what follows "remind me": "to call mum" asks for one, "what he
// said" only for an answer.
func (t *text) readReminder(rest []token) {
	if hasWordNear(rest, 1, wordsOf.questions) {
		t.says |= looks
		return
	}
	t.says |= saying[stemWord("remind")]
	t.addConcept(concepts[stemWord("remind")])
}

// hasAddressNear reports whether an address of mail follows a word within a few.
func (t *text) hasAddressNear(rest []token) bool {
	return slices.ContainsFunc(rest[:min(len(rest), 6)], func(w token) bool { return !t.people[w.word] })
}

func (t *text) addTalking() {
	t.says |= sends
	t.concepts |= talkConcepts()
}

// wordsOf are the second halves of phrases.
var wordsOf = struct {
	know, lines, me, back, to, touch, up, with, times, free, one, groups, questions, again,
	see map[string]bool
}{
	wordSet("know"), wordSet("line note message email mail text call ring word"), wordSet("me us"), wordSet("back"), wordSet("to"),
	wordSet("touch"), wordSet("up"), wordSet("with"),
	wordSet(strings.Join([]string{
		"monday tuesday wednesday thursday friday saturday sunday morning afternoon evening noon hour hours slot time",
		"call meeting lunch coffee breakfast standup sync interview appointment",
	}, " ")),
	wordSet("time slot hour"), wordSet("1"), wordSet("channel group team workspace server chat"),
	wordSet("what how who which where when why whether if of about"), wordSet("again another"), wordSet("see"),
}

var wordSetIn = wordSet("in inside")

// hasWordNear reports whether one of the words is among the first n of a sentence's
// rest.
func hasWordNear(rest []token, n int, words map[string]bool) bool {
	for _, w := range rest[:min(len(rest), n)] {
		if words[w.word] {
			return true
		}
	}
	return false
}

// readRightsPhrase reads phrases of who may do what and of what is known of
// somebody: "make Kim an owner", "give her access", "change Kim's number",
// "mark it as done".
func (t *text) readRightsPhrase(list []token) {
	rest := list[1:]
	switch list[0].word {
	case "make", "promote", "appoint", "demote":
		if hasWordNear(rest, 8, wideWords) {
			t.says |= shares | controls | modifies | invites
			t.addConcept(concepts[stemWord("role")])
		}
	case "give", "grant", "let", "allow":
		if hasWordNear(rest, 8, accessWords) || list[0].word == "let" && !hasWordNear(rest, 1, wordsOf.me) && hasWordNear(rest, 5, wordsOf.see) {
			t.says |= shares | controls | modifies
			t.addConcept(concepts[stemWord("role")])
		}
	case "mark", "tick", "check", "cross":
		if hasWordNear(rest, 8, doneWords) {
			t.addConcept(concepts[stemWord("task")])
		}
	case "change", "update", "set", "correct", "replace":
		t.readStandingPayment(rest)
		if hasWordNear(rest, 5, detailWords) {
			t.addConcept(concepts[stemWord("contact")] | concepts[stemWord("profile")])
		}
	case "create", "schedule", "start":
		t.readStandingPayment(rest)
	case "text", "message", "dm", "sms":
		if list[0].first && len(rest) > 0 {
			t.addTalking()
		}
	}
}

// readStandingPayment reads "set up a standing order": a thing to be made that pays.
func (t *text) readStandingPayment(rest []token) {
	if hasWordNear(rest, 4, payNouns) && !hasWordNear(rest, 4, aboutNouns) {
		t.says |= pays
	}
}

var (
	payNouns    = wordSet("payment transfer order debit donation subscription")
	aboutNouns  = wordSet("reminder note task event alert meeting rule to in my")
	wideWords   = wordSet("public private owner admin administrator editor viewer moderator member manager")
	accessWords = wordSet("access open edit view role rights permission permissions")
	doneWords   = wordSet("done complete completed finished off")
	detailWords = wordSet("phone number email address birthday mobile")
)
