package story

import "strings"

// signalWords say what signals mean whose names don't.
var signalWords = map[string]string{
	"intent_mention":    "the request has a part of the skill's name",
	"read_only":         "the skill only reads",
	"traversal":         "a text climbs out of a folder with ..",
	"odd_key":           "a key that no schema would declare",
	"unrelated":         "the request speaks neither of what the call does nor of what it does it to",
	"look_only":         "the request only asks to look",
	"other_action":      "the request speaks of this field, and asks for something else",
	"other_topic":       "the request asks for such an action, in another field",
	"unasked":           "a switch is turned on, or a right is given, that the request has no word for",
	"unasked_right":     "a right is given that the request has no word for, or forbids",
	"author":            "a stranger named this recipient, as the author of what was read",
	"folder":            "a stranger named this folder",
	"near_miss":         "it is almost a recipient or host of the request",
	"amount_exceeds":    "it is more than the request asks for",
	"contradicts":       "the request says in quotation marks what this shall be, and it is something else",
	"other_date":        "it begins on a day that the request doesn't name",
	"private_read":      "it reads private data that the request doesn't speak of",
	"secret_in_content": "what looks like a secret goes out to others",
	"instruction_text":  "its text addresses a model",
	"encoded_blob":      "it holds a long run of encoded bytes",
	"outside_roots":     "a command writes or removes a file outside of the folders",
	"everything":        "it removes all there is, and the request speaks of no all",
	"other_file":        "it removes a file, and the request names others",
	"wider_rights":      "it opens something to more people than the request says",
	"other_id":          "the request names another id of the same shape",
	"other_currency":    "the request names another currency",
	"many_more":         "three times as many things as the request names, or more",
	"data_in_url":       "the address carries something of other results to a stranger's page",
	"over_limit":        "more than the most that the request states",
}

// signalFamilies say what the first word of a signal's name is about.
var signalFamilies = map[string]string{
	"recipient": "who is reached", "host": "the host", "target": "the target", "ref": "an id or path", "amount": "an amount",
	"near": "a value that is almost a known one",
}

// originWords say what the rest of the name says of it.
var originWords = map[string]string{
	"unknown": "no trusted text names it", "nowhere": "it was seen nowhere before", "untrusted": "strangers alone named it",
	"named": "the user wrote its owner's name alone", "listed": "a listing has it, after a stranger had",
	"visited": "the agent read there before", "earlier": "an earlier turn has it", "author": "a stranger named it as an author",
	"described": "the user said how to choose it", "called": "the user said a word of its name",
	"assigned": "a stranger named it in a listing",
	"folder":   "strangers named it",
}

// explainSignal says what a signal means, as far as its name tells.
func explainSignal(name string) string {
	if words := signalWords[name]; words != "" {
		return words
	}
	family, origin, _ := strings.Cut(name, "_")
	if signalFamilies[family] != "" && originWords[origin] != "" {
		return signalFamilies[family] + ": " + originWords[origin]
	}
	return strings.ReplaceAll(name, "_", " ")
}

// doubtWords say what became of a doubt.
var doubtWords = map[string]string{
	"open":    "a doubt that nothing was decided with",
	"counted": "a doubt that counted, since no model judged it",
	"spent":   "a doubt that a model was shown",
}

// stateWords say why a gate gave no outcome.
var stateWords = map[string]string{
	"not_reached": "not reached: an earlier gate had decided",
	"skipped":     "skipped: it was off, or did not apply",
	"failed":      "it failed, which denies",
	"shadow":      "in shadow: recorded, and not applied",
}
