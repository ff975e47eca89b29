package judge

import (
	"encoding/json"
	"slices"
	"strings"
)

// mailHead is what the head of a message says, and no more than that: what stands in the text
// of a message is its writer's.
type mailHead struct {
	from, replyTo, to, cc []string // addresses, folded
	name                  string   // what the sender is called, folded
	subject               string
	torn                  bool // a field stands twice, or can't be read
}

// isHonest reports whether answers go to the one who wrote.
func (h mailHead) isHonest() bool {
	return !h.torn && len(h.from) == 1 && (len(h.replyTo) == 0 || len(h.replyTo) == 1 && h.replyTo[0] == h.from[0])
}

// headKeys are the fields of a head in the languages in which mail programs write them.
var headKeys = map[string]string{
	"from": "from", "sender": "from", "von": "from", "de": "from", "da": "from", "van": "from", "fra": "from", "från": "from",
	"od": "from", "reply-to": "reply", "reply_to": "reply", "replyto": "reply", "antwort an": "reply", "repondre a": "reply",
	"responder a": "reply", "rispondi a": "reply",
	"to": "to", "an": "to", "para": "to", "a": "to", "aan": "to", "till": "to", "til": "to", "do": "to",
	"cc": "cc", "kopie": "cc", "copie": "cc", "subject": "subject", "betreff": "subject", "asunto": "subject", "objet": "subject",
	"oggetto": "subject", "onderwerp": "subject", "temat": "subject", "assunto": "subject",
}

func (h *mailHead) addField(key, text string) {
	var to *[]string
	switch headKeys[foldText(key)] {
	case "from":
		to = &h.from
		h.name, _, _ = strings.Cut(foldText(text), "<")
	case "reply":
		to = &h.replyTo
	case "to":
		to = &h.to
	case "cc":
		to = &h.cc
	case "subject":
		h.subject = foldText(text)
		return
	default:
		return
	}
	if *to != nil {
		h.torn = true
		return
	}
	found, _ := readMailboxes(text)
	for _, m := range found {
		*to = append(*to, foldText(m))
	}
	h.torn = h.torn || len(*to) == 0 && strings.Contains(text, "@")
}

// readHeads returns the heads of the messages in a result, the oldest first. It reads objects
// of JSON, and the lines of a text before its first blank one.
func readHeads(result string) []mailHead {
	result = strings.TrimSpace(result)
	if len(result) > maxRecordText {
		return nil
	}
	if strings.HasPrefix(result, "{") || strings.HasPrefix(result, "[") {
		var at any
		if json.Unmarshal([]byte(result), &at) != nil {
			return nil
		}
		return headsOf(at, 0)
	}
	var h mailHead
	for line := range strings.SplitSeq(result, "\n") {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || len(key) > maxHeadKey {
			break
		}
		h.addField(strings.TrimSpace(key), rest)
	}
	if h.from == nil {
		return nil
	}
	return []mailHead{h}
}

// maxHeadKey is how long the name of a field may be.
const maxHeadKey = 24

// headsOf finds the heads in JSON: an object with a sender, or a list of such, bare or under
// one key.
func headsOf(at any, deep int) []mailHead {
	if deep > 3 {
		return nil
	}
	switch at := at.(type) {
	case []any:
		var out []mailHead
		for _, e := range at {
			out = append(out, headsOf(e, deep+1)...)
		}
		return out
	case map[string]any:
		if h, ok := headOf(at); ok {
			return []mailHead{h}
		}
		for _, k := range []string{"messages", "thread", "message", "email", "mail", "items"} {
			if e, ok := at[k]; ok {
				return headsOf(e, deep+1)
			}
		}
	}
	return nil
}

func headOf(m map[string]any) (mailHead, bool) {
	var h mailHead
	for k, e := range m {
		if headKeys[foldText(k)] == "" {
			continue
		}
		text, ok := joinScalars(e)
		if !ok {
			h.torn = true
		}
		h.addField(k, text)
	}
	return h, h.from != nil
}

// joinScalars returns a text, the texts of a list, or name and address of an object.
func joinScalars(at any) (string, bool) {
	switch at := at.(type) {
	case string:
		return at, true
	case nil:
		return "", true
	case []any:
		var parts []string
		for _, e := range at {
			s, ok := joinScalars(e)
			if !ok {
				return "", false
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, ", "), true
	case map[string]any:
		name, _ := at["name"].(string)
		for _, k := range []string{"email", "address"} {
			if s, ok := at[k].(string); ok {
				return name + " <" + s + ">", true
			}
		}
	}
	return "", false
}

// replying are the words of skills that answer in a thread.
var replying = stemSet("reply respond answer")

// findParticipant looks for somebody of a thread that the user named, in a reply to it: the
// one who wrote, and in a longer thread those who wrote in it or were in it from the start.
// Somebody whom a later message brings in is new and asks, and so does an answer that goes
// elsewhere than to the one who wrote.
func findParticipant(v *view, val value) int {
	if !isEmail(val.fold) || val.isRouted() || !isReply(v) {
		return -1
	}
	for i := v.c.Trace().Len() - 1; i >= 0; i-- {
		s := v.c.Trace().Step(i)
		if !isLook(s) || !answersTo(v, s.Args) {
			continue
		}
		heads := readHeads(s.Result)
		if len(heads) == 0 || slices.ContainsFunc(heads, func(h mailHead) bool { return !h.isHonest() }) {
			return -1
		}
		named := slices.ContainsFunc(heads, func(h mailHead) bool {
			return isHeadNamed(v, h) && !isRivalled(v, value{kind: recipient, raw: h.from[0], fold: h.from[0]})
		})
		if named && takesPart(heads, val.fold) && (v.namesOwner(val) == 0 || !isRivalled(v, val)) {
			return i
		}
		return -1
	}
	return -1
}

func takesPart(heads []mailHead, at string) bool {
	for i, h := range heads {
		if h.from[0] == at || i == 0 && len(heads) > 1 && (slices.Contains(h.to, at) || slices.Contains(h.cc, at)) {
			return true
		}
	}
	return false
}

func isReply(v *view) bool {
	for _, w := range splitName(v.s.Name()) {
		if replying[stemWord(w)] {
			return true
		}
	}
	return false
}

// answersTo reports whether the call has the id of the message or thread that arguments ask for.
func answersTo(v *view, args string) bool {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil {
		return false
	}
	for k, at := range m {
		id, ok := at.(string)
		words := splitName(k)
		if !ok || id == "" || len(words) == 0 || !idTails[words[len(words)-1]] && !recordNames[words[len(words)-1]] {
			continue
		}
		for _, val := range v.values {
			if val.kind == reference && val.raw == id {
				return true
			}
		}
	}
	return false
}

// isHeadNamed reports whether the user's words name a message: its sender or its subject.
func isHeadNamed(v *view, h mailHead) bool {
	if v.namesOwner(value{kind: recipient, raw: h.from[0], fold: h.from[0]}) > 0 {
		return true
	}
	for w := range strings.FieldsFuncSeq(h.name, func(r rune) bool { return !isWordRune(r) }) {
		if !strings.Contains(h.name, "@") && v.anySaid(func(t *text) bool { return namesPerson(t, w) }) {
			return true
		}
	}
	n := 0
	for w := range strings.FieldsFuncSeq(h.subject, func(r rune) bool { return !isWordRune(r) }) {
		if len(w) > 3 && !functionWords[w] && v.anySaid(func(t *text) bool { return t.words[stemWord(w)] }) {
			n++
		}
	}
	return n > 1
}
