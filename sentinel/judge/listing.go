package judge

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// An id is a stranger's word where prose names it, and the skill's own where the skill
// returns it as the id of a record. A stranger writes what stands in a record's other fields
// and chooses no id. In JSON nothing that is written in one field gets into another. In lines
// a text with a line break in it can look like the next record: such an id stays in doubt.

// What a file or a page holds may look like any record, and so it is no listing.

// listingWords are in the names of skills that return records, and not what is in one.
var (
	listingWords = wordSet("list search find lookup")
	openWords    = wordSet("web http url internet browser page pages site sites feed rss file content contents online")
	// talkWords are of the domains whose results are messages, one after the other.
	talkWords = wordSet("chat chats slack teams messenger channel channels")
	// textNames end names of skills whose results are texts, though the word is a plural.
	textNames = wordSet("logs notes contents details news process access status")
)

// kinDomains are domains that work on the same records.
var kinDomains = []map[string]bool{
	wordSet("issue issues repo repos repository repositories git pull pulls pr prs merge code tracker"),
	wordSet("mail email mails emails mailbox inbox"),
	wordSet("crm ticket tickets support helpdesk"),
}

// originOfListed returns where an id of untrusted results comes from: listed as the id of a
// record, and outside in all other cases. A stranger has records made, and chooses their
// words. So such an id is in doubt.
func originOfListed(v *view, val value) origin {
	if val.kind != reference || !isPlainID(val.fold) || v.request == nil || namesOtherID(v, val) {
		return outside
	}
	if isOnRecord(v, val) {
		return listed
	}
	from := outside
	for st := range listStrange(v, val) {
		if from = originInStep(v, st, val); from == outside {
			return outside
		}
	}
	return from
}

// listStrange returns the untrusted results that hold a value, of this turn and of earlier
// ones. What strangers wrote in a trusted one counts as a failed step: it is no record.
func listStrange(v *view, val value) iter.Seq[sentinel.Step] {
	return func(yield func(sentinel.Step) bool) {
		t := v.c.Trace()
		for _, st := range t.Earlier() {
			if holdsValue(st.Said().Fold(), val) && !yield(st) {
				return
			}
		}
		for st := range t.LearntSteps() {
			if st.Trust != skills.Trusted && holdsValue(st.Said().Fold(), val) && !yield(st) {
				return
			}
		}
		for i := range t.Len() {
			if s := t.StrangersText(i); s != "" && holdsValue(foldText(s), val) && !yield(sentinel.Step{Failed: true}) {
				return
			}
		}
	}
}

// originInStep is originOfListed of one untrusted result that holds the id.
func originInStep(v *view, st sentinel.Step, val value) origin {
	name := splitName(st.Skill)
	lists := isListing(name)
	switch {
	case st.Failed || st.Effect != "" && st.Effect != skills.Read || isOrderOf(st, val):
		return outside
	case isAny(name, openWords) || isAny(name, fileDomains) && !lists || !isOfSameKind(st.Skill, v.c.Name()):
		return outside
	case !lists && v.isFinal(): // what one record says chooses nothing that can't be taken back
		return outside
	}
	if head := strings.TrimSpace(st.Result); looksLikeJSON(head) {
		return originInJSON(head, val)
	}
	if listsInLines(st.Result, val) || !lists && beginsWithID(st.Result, val) {
		return listed
	}
	return outside
}

// isListing reports whether a skill of this name returns records: it lists or searches, it is
// called by what it returns ("crm.tickets"), or it reads what people say to each other.
func isListing(name []string) bool {
	if isAny(name, listingWords) || len(name) > 0 && talkWords[name[0]] {
		return true
	}
	tail := lastWord(name)
	return len(name) == 2 && len(tail[0]) > 4 && strings.HasSuffix(tail[0], "s") && !textNames[tail[0]]
}

// isOfSameKind reports whether two skills work on the same kind of records.
func isOfSameKind(a, b string) bool {
	if domainOf(a) == domainOf(b) {
		return true
	}
	return slices.ContainsFunc(kinDomains, func(kin map[string]bool) bool {
		return isAny(splitName(domainOf(a)), kin) && isAny(splitName(domainOf(b)), kin)
	})
}

// looksLikeJSON reports whether a result is JSON, or begins as if it were. "[14:02] ann: hello" is
// a line of a talk.
func looksLikeJSON(result string) bool {
	if result == "" || result[0] != '{' && result[0] != '[' {
		return false
	}
	inner := strings.TrimSpace(result[1:])
	return result[0] == '{' || inner == "" || strings.ContainsRune(`{["`, rune(inner[0])) || json.Valid([]byte(result))
}

func originInJSON(head string, val value) origin {
	var found any
	dec := json.NewDecoder(strings.NewReader(head))
	dec.UseNumber()
	if dec.Decode(&found) != nil || dec.More() { // no JSON, or text behind it
		return outside
	}
	r := recordReader{val: val}
	r.readNode(found, atTop)
	if r.elsewhere || !r.found {
		return outside
	}
	return listed
}

// beginsWithID reports whether the result of one record begins with its id and has it nowhere
// else.
func beginsWithID(result string, val value) bool {
	text := strings.TrimSpace(foldText(result))
	lead := leadingID(text)
	return lead == val.fold && !holdsValue(text[strings.Index(text, lead)+len(lead):], val)
}

// domainOf is what stands before the last dot of a skill's name.
func domainOf(skill string) string { return skill[:strings.LastIndexByte(skill, '.')+1] }

// isPlainID reports whether a value is one word that is no path and no address.
func isPlainID(fold string) bool {
	return len(fold) >= 2 && len(fold) <= maxIDSize && !strings.ContainsAny(fold, " \t\n/\\@\"'|")
}

// recordReader looks for an id in a JSON result. The result is a record, or it has lists of
// them; what is deeper in a record may be of a stranger's making, its names too.
type recordReader struct {
	val       value
	found     bool // it is a record's id
	elsewhere bool // it stands in another field or a key, too
}

// depth is where in a result an object stands.
type depth uint8

const (
	atTop    depth = iota
	aboveAll       // below the top, in no list
	isRecord
	inRecord
)

func (r *recordReader) readNode(at any, where depth) {
	switch at := at.(type) {
	case map[string]any:
		for k, e := range at {
			r.readMember(k, e, where)
		}
	case []any:
		for _, e := range at {
			if where < isRecord {
				r.readNode(e, isRecord)
			} else {
				r.readNode(e, inRecord)
			}
		}
	case string:
		r.elsewhere = r.elsewhere || holdsValue(foldText(at), r.val)
	case json.Number:
		r.elsewhere = r.elsewhere || at.String() == r.val.fold
	}
}

func (r *recordReader) readMember(k string, e any, where depth) {
	text, scalar := e.(string)
	if n, ok := e.(json.Number); ok {
		text, scalar = n.String(), true
	}
	switch {
	case holdsValue(foldText(k), r.val):
		r.elsewhere = true
	case scalar && foldText(text) == r.val.fold && (where == atTop || where == isRecord) && isAny(lastWord(splitName(k)), recordIDs):
		r.found = true
	case where == atTop:
		r.readNode(e, aboveAll)
	case where == isRecord:
		r.readNode(e, inRecord)
	default:
		r.readNode(e, where)
	}
}

// recordIDs are the last words of fields that hold the id of their record.
var recordIDs = wordSet("id ids key number uid sku code")

// listsInLines reports whether an id is that of a record in a listing of lines, and stands nowhere
// else in it. More than maxOtherLines may not be records.
func listsInLines(result string, val value) bool {
	records, others, text := false, 0, foldText(result)
	shape := ""
	for line := range splitRecords(text) {
		lead := leadingID(line)
		isOption := isOptionOf(lead, val.fold)
		if shape == "" && (lead == val.fold || isOption) {
			shape = shapeOfLead(lead)
		}
		switch {
		case lead == val.fold && !holdsValue(line[strings.Index(line, lead)+len(lead):], val):
			records = true
		case isOption && holdsOnce(line, val):
			records = true
		case holdsValue(line, val):
			return false
		}
	}
	if !records {
		return false
	}
	for line := range splitRecords(text) {
		if lead := leadingID(line); lead == "" || shapeOfLead(lead) != shape {
			others++
		}
	}
	return others <= maxOtherLines
}

// splitRecords returns the records of a listing: its lines, or what semicolons set apart where
// all of it is one line and each part begins with an id.
func splitRecords(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var lines []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
		if len(lines) == 1 {
			lines = splitOneLine(lines[0])
		}
		for _, line := range lines {
			if !yield(line) {
				return
			}
		}
	}
}

func splitOneLine(line string) []string {
	parts := strings.Split(line, ";")
	first := shapeOfLead(leadingID(strings.TrimSpace(parts[0])))
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
		if lead := leadingID(parts[i]); !hasDigit(lead) || shapeOfLead(lead) != first {
			return []string{line}
		}
	}
	return parts
}

// isOptionOf reports whether an id is one of a record's own, such as a room of a hotel: the
// record's id, a hyphen and a word.
func isOptionOf(lead, id string) bool {
	rest, ok := strings.CutPrefix(id, lead+"-")
	return ok && hasDigit(lead) && rest != "" && isAlnum(rest[0])
}

// holdsOnce reports whether a line has a value in one place.
func holdsOnce(line string, val value) bool {
	i := strings.Index(line, val.fold)
	return i >= 0 && !strings.Contains(line[i+len(val.fold):], val.fold)
}

// isOrderOf reports whether a result speaks to a model in what it says of a value.
func isOrderOf(st sentinel.Step, val value) bool {
	return slices.Contains(st.Marks, sentinel.MarkInstructions) && isOrderIn(foldText(st.Result), val)
}

// isOrderIn reports whether a text that speaks to a model does so of a value that it has. Of a
// listing in lines that is the id's own record: what a seller writes in his is no word about
// another's.
func isOrderIn(text string, val value) bool {
	if val.kind != reference || looksLikeJSON(strings.TrimSpace(text)) {
		return true
	}
	shape, clean, spoke := shapeOfLead(val.fold), false, false
	var rest strings.Builder
	for line := range strings.Lines(text) {
		lead := leadingID(strings.TrimSpace(line))
		isRecord := hasDigit(lead) && shapeOfLead(lead) == shape
		if !speaksToModel(line) {
			clean = clean || lead == val.fold
			rest.WriteString(line)
			continue
		}
		if spoke = true; !isRecord || holdsValue(line, val) {
			return true
		}
	}
	return !clean || !spoke || speaksToModel(rest.String())
}

func speaksToModel(text string) bool {
	return slices.Contains(sentinel.TextMarks(text), sentinel.MarkInstructions)
}

// isOnRecord reports whether a trusted skill of the call's own kind returned a record under the
// id, with more in it than the id. That a stranger named the id first, too, doesn't make it his.
func isOnRecord(v *view, val value) bool {
	for i := range v.c.Trace().Len() {
		st := v.c.Trace().Step(i)
		if st.Trust != skills.Trusted || !isLook(st) || !isOfSameKind(st.Skill, v.c.Name()) ||
			slices.Contains(st.Marks, sentinel.MarkInstructions) {
			continue
		}
		for _, o := range entriesOf(st) {
			if o.isUnder(val) {
				return true
			}
		}
	}
	return false
}

// isUnder reports whether an object is the record of an id: one field is the id, and others say
// more.
func (o object) isUnder(val value) bool {
	under, more := false, 0
	for _, f := range o.fields {
		tail := lastWord(splitName(f.key))
		switch {
		case foldText(strings.TrimSpace(f.text)) != val.fold:
			more++
		case isAny(tail, recordIDs) || isAny(tail, recordNames):
			under = true
		}
	}
	return under && more > 1
}

// maxOtherLines is how many lines of a listing are no records: what stands above and below.
const maxOtherLines = 2

// leadingID is the first word of a line without its number in the list and the signs that set
// ids apart.
func leadingID(line string) string {
	line = strings.TrimLeft(line, "[(#-•* ")
	rest := strings.TrimLeft(line, "0123456789")
	if isNumbered := strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "); isNumbered && len(rest) < len(line) {
		line = strings.TrimLeft(rest[1:], "[(# ")
	}
	i := strings.IndexAny(line, " \t|,;:])")
	if i <= 0 {
		return ""
	}
	return line[:i]
}

// shapeOfLead is what the ids of one listing have in common: the letters that they begin with.
func shapeOfLead(id string) string {
	i := strings.IndexFunc(id, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case i < 0:
		return "word"
	case i == 0 && strings.Trim(id, "0123456789") != "":
		return "sign"
	}
	return id[:i]
}
