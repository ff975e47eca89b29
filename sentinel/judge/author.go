package judge

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// A person who answers a message writes to its author. Where strangers' texts have an address as
// that of an author and nowhere else, no text told the agent to write there.

// isAuthor reports whether strangers' texts have a recipient as the author of what the agent
// read, and nowhere else. No payment goes to an author, no right, no copy, and no rule that goes on
// working by itself.
func isAuthor(v *view, val value) bool {
	isCopy := isAny(lastWord(v.splitArgName(val.arg)), copyNames)
	if v.s.Effect() == skills.CostsMoney || v.p.needs&(pays|letsIn) != 0 || isCopy ||
		isAny(splitName(v.c.Name()), standingNames) || v.isPasted(val) {
		return false
	}
	wrote := false
	for st := range listStrange(v, val) {
		if st.Failed || st.Effect != "" && st.Effect != skills.Read || slices.Contains(st.Marks, sentinel.MarkInstructions) {
			return false
		}
		if isLaterInThread(st, val) {
			return false
		}
		r := authorReader{val: val, mail: isAny(splitName(st.Skill), mailWords),
			talk: domainOf(st.Skill) == domainOf(v.c.Name()) && isAny(splitName(domainOf(st.Skill)), talkWords)}
		r.readResult(strings.TrimSpace(st.Result))
		if r.elsewhere || !r.mail && !r.talk {
			return false
		}
		wrote = wrote || r.wrote
	}
	return wrote
}

// copyNames are of arguments that hold who gets a copy.
var copyNames = wordSet("cc bcc copy copies")

// isLaterInThread reports whether an address isn't the one who wrote the first message of what
// the agent read. Somebody whom a later message brings in is new: see findParticipant.
func isLaterInThread(st sentinel.Step, val value) bool {
	if isListing(splitName(st.Skill)) {
		return false
	}
	heads := readHeads(st.Result)
	return len(heads) > 0 && (len(heads[0].from) == 0 || heads[0].from[0] != val.fold)
}

// authorReader looks for an address in one result: as an author's, and elsewhere.
type authorReader struct {
	val              value
	mail, talk       bool // what the result is
	wrote, elsewhere bool
}

func (r *authorReader) readResult(result string) {
	switch {
	case len(result) > maxRecordText:
		r.elsewhere = true
	case looksLikeJSON(result):
		var at any
		if json.Unmarshal([]byte(result), &at) != nil {
			r.elsewhere = true
			return
		}
		r.readNode(at, atTop)
	case r.mail:
		r.readMail(result)
	default:
		for line := range strings.Lines(foldText(result)) {
			r.readTalk(strings.TrimSpace(line))
		}
	}
}

// authorKeys hold who wrote a message, besides those of a mail's head.
var authorKeys = wordSet("author user username handle sender from")

func (r *authorReader) readNode(at any, where depth) {
	switch at := at.(type) {
	case map[string]any:
		record := where == atTop || where == isRecord
		h, isMail := headOf(at)
		below := where.below(true)
		if record && isMail { // what stands in a message is its writer's
			below = inRecord
		}
		for k, e := range at {
			text, _ := e.(string)
			switch key := headKeys[foldText(k)]; {
			case holdsValue(foldText(k), r.val):
				r.elsewhere = true
			case record && r.mail && isMail && h.isHonest() && (key == "from" || key == "reply" || key == "to" || key == "cc"):
				r.wrote = r.wrote || key == "from" && h.from[0] == r.val.fold
			case record && r.talk && isAny(lastWord(splitName(k)), authorKeys) && strings.TrimPrefix(foldText(text), "@") == r.handle():
				r.wrote = true
			default:
				r.readNode(e, below)
			}
		}
	case []any:
		for _, e := range at {
			r.readNode(e, where.below(false))
		}
	case string:
		r.elsewhere = r.elsewhere || holdsValue(foldText(at), r.val)
	}
}

// below is where what an object or a list of this place holds stands.
func (d depth) below(object bool) depth {
	switch {
	case object && d == atTop:
		return aboveAll
	case !object && d < isRecord:
		return isRecord
	}
	return inRecord
}

func (r *authorReader) handle() string { return strings.TrimPrefix(r.val.fold, "@") }

// readMail reads a message with its head, or a list of messages in lines.
func (r *authorReader) readMail(result string) {
	heads := readHeads(result)
	if len(heads) == 0 {
		for line := range strings.Lines(foldText(result)) {
			r.readMailLine(strings.TrimSpace(line))
		}
		return
	}
	head, body, _ := strings.Cut(result, "\n\n")
	for line := range strings.Lines(head) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch headKeys[foldText(strings.TrimSpace(key))] {
		case "from", "reply", "to", "cc":
		default:
			r.elsewhere = r.elsewhere || holdsValue(foldText(line), r.val)
		}
	}
	honest := heads[0].isHonest()
	r.elsewhere = r.elsewhere || holdsValue(foldText(body), r.val) || !honest
	r.wrote = honest && heads[0].from[0] == r.val.fold
}

// fromWords stand before the sender in a line of a list.
var fromWords = wordSet("from von de da van od")

// readMailLine reads a line of a list of messages: an id, and after it the sender.
func (r *authorReader) readMailLine(line string) {
	if !holdsValue(line, r.val) {
		return
	}
	words := strings.Fields(line)
	for i, w := range words {
		w = strings.Trim(w, "<>,;|")
		switch {
		case w == r.val.fold:
			rest := strings.Join(words[i+1:], " ")
			r.wrote, r.elsewhere = true, r.elsewhere || i == 0 || holdsValue(rest, r.val)
			return
		case i > 0 && w != "" && !fromWords[w] && strings.Trim(w, "0123456789-/.:") != "":
			r.elsewhere = true // its text has begun
			return
		}
	}
	r.elsewhere = true
}

// readTalk reads a line of a talk: perhaps a time or an id in brackets, and then who speaks.
func (r *authorReader) readTalk(line string) {
	if !holdsValue(line, r.val) {
		return
	}
	if strings.HasPrefix(line, "[") {
		if _, rest, ok := strings.Cut(line, "]"); ok {
			line = strings.TrimSpace(rest)
		}
	}
	speaker, text, ok := strings.Cut(line, ":")
	if !ok || strings.TrimPrefix(strings.TrimSpace(speaker), "@") != r.handle() || holdsValue(text, r.val) {
		r.elsewhere = true
		return
	}
	r.wrote = true
}
