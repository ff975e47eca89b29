package evidence

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vedette-dev/vedette/sentinel/touch/host"
)

// An id is a stranger's word where prose names it, and the skill's own where the skill returns
// it as the id of a record. An address is its owner's where a message comes from it. In JSON
// nothing that is written in one field gets into another. In lines a text with a line break in
// it can look like the next record: so what a value is counts for nothing, and a reviewer reads it.

// tellStanding says what a value is that strangers alone have, and adds the place where it is
// the other of head and text.
func tellStanding(b *builder, n *Named, v *value, hits []hit) {
	if v.kind != Reference && v.kind != Recipient {
		return
	}
	told := false // of the first place
	for _, h := range hits {
		if h.trust != Stranger || h.source.place.Step == 0 {
			continue
		}
		as := standsAs(b, h.source, v)
		if !told {
			i := slices.IndexFunc(n.Seen, func(p Place) bool { return p.Trust == Stranger && p.Step != 0 })
			if i < 0 {
				return
			}
			n.Seen[i].As, told = as, true
			continue
		}
		if first := n.Seen[len(n.Seen)-1].As; (first == AsText) != (as == AsText) {
			p := b.placeOf(v, h)
			p.As = as
			n.Also = append(n.Also, p)
			return
		}
	}
}

// standsAs says what a value is in a stranger's result that holds it.
func standsAs(b *builder, s *source, v *value) As {
	name := splitName(s.place.Name)
	if !s.look || s.place.Trust != Stranger || hasAny(name, openWords) || !b.spend(len(s.raw)) {
		return AsText
	}
	switch root, rest, isJSON := readNodes(s.raw); {
	case isJSON && (rest != "" || len(root.children) != 1 || len(root.cells) > 0):
		return AsText
	case v.kind == Recipient && isJSON:
		if hasSender(root.children[0], v, atTop) {
			return AsSender
		}
	case v.kind == Recipient:
		if isHeadSender(s.raw, v) || isLineAuthor(s.raw, v) {
			return AsSender
		}
	case !isPlainID(v.fold) || !hasAny(name, listingWords) || domainOfSkill(s.place.Name) != domainOfSkill(b.in.Skill):
	case isJSON:
		r := recordReader{v: v}
		if r.readNode(root.children[0], atTop); r.found && !r.elsewhere {
			return AsID
		}
	case isLineRecord(s.raw, v):
		return AsID
	}
	return AsText
}

var (
	// listingWords are in the names of skills that return records. What a file or a page holds may
	// look like any record.
	listingWords = wordSet("list search find lookup")
	openWords    = wordSet("web http url internet browser page pages site sites feed rss file content contents online")
	// recordIDs are the last words of fields that hold the id of their record.
	recordIDs = wordSet("id ids key number uid sku code")
	// senderNames are fields that hold who wrote a message.
	senderNames = wordSet(foldText("from sender author von de da van fra från od user username posted_by"))
	// reachedNames are fields of a sender that hold how the sender is reached.
	reachedNames = wordSet("email mail address id handle username user login")
)

// domainOfSkill is what stands before the last dot of a skill's name.
func domainOfSkill(skill string) string { return skill[:strings.LastIndexByte(skill, '.')+1] }

func isPlainID(fold string) bool {
	return len(fold) >= 2 && len(fold) <= maxID && !strings.ContainsAny(fold, " \t\n/\\@\"'|")
}

// depth is where in a result an object or a list stands.
type depth uint8

const (
	atTop    depth = iota
	aboveAll       // below the top, in no list
	isRecord
	inRecord
)

// enterMember is the depth of what stands in a member of an object.
func (d depth) enterMember() depth {
	switch d {
	case atTop:
		return aboveAll
	case isRecord:
		return inRecord
	}
	return d
}

// enterItem is the depth of what stands in a list.
func (d depth) enterItem() depth {
	if d < isRecord {
		return isRecord
	}
	return inRecord
}

// enter is the depth of what stands in a node.
func (n *node) enter(d depth) depth {
	if n.object {
		return d.enterMember()
	}
	return d.enterItem()
}

// is reports whether a scalar of JSON is a value as a whole.
func (c cell) is(v *value) bool {
	return (c.kind == '"' || c.kind == '0') && host.UnicodeHost(foldText(strings.TrimSpace(c.text))) == v.fold
}

// recordReader looks for an id in a JSON result. The result is a record, or it has lists of
// them. What is deeper in a record may be of a stranger's making, its names too.
type recordReader struct {
	v         *value
	found     bool // as the id of a record
	elsewhere bool // in another field or a name, too
}

func (r *recordReader) readNode(n *node, where depth) {
	own := n.object && (where == atTop || where == isRecord)
	for _, c := range n.cells {
		switch {
		case holdsWhole(foldText(c.name), r.v.fold):
			r.elsewhere = true
		case own && c.is(r.v) && hasAny(lastOf(splitName(c.name)), recordIDs):
			r.found = true
		default:
			r.elsewhere = r.elsewhere || (c.kind == jsontext.KindString || c.kind == jsontext.KindNumber) &&
				holdsWhole(foldText(c.text), r.v.fold)
		}
	}
	for _, c := range n.children {
		r.elsewhere = r.elsewhere || holdsWhole(foldText(c.name), r.v.fold)
		r.readNode(c, n.enter(where))
	}
}

// isLineRecord reports whether the id heads a line of a listing and stands nowhere else in it.
// More than maxOtherLines lines that are no records make no listing.
func isLineRecord(result string, v *value) bool {
	found, others, shape := false, 0, leadShape(v.fold)
	for line := range strings.Lines(foldText(result)) {
		line = strings.TrimSpace(line)
		lead := leadingWord(line)
		switch {
		case line == "":
		case lead == v.fold && !holdsWhole(line[strings.Index(line, lead)+len(lead):], v.fold):
			found = true
		case holdsWhole(line, v.fold):
			return false
		case lead == "" || leadShape(lead) != shape:
			others++
		}
	}
	return found && others <= maxOtherLines
}

// maxOtherLines is how many lines of a listing are no records: what stands above and below.
const maxOtherLines = 2

// leadingWord is the first word of a line without its number in the list and the signs that set
// ids apart.
func leadingWord(line string) string {
	line = strings.TrimLeft(line, "[(#-•* ")
	rest := strings.TrimLeft(line, "0123456789")
	if isNumbered := strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "); isNumbered && len(rest) < len(line) {
		line = strings.TrimLeft(rest[1:], "[(# ")
	}
	if i := strings.IndexAny(line, " \t|,;:])"); i > 0 {
		return line[:i]
	}
	return ""
}

// leadShape is what the ids of one listing have in common: the letters that they begin with.
func leadShape(id string) string {
	i := strings.IndexFunc(id, func(r rune) bool { return !unicode.IsLetter(r) })
	switch {
	case i < 0:
		return "word"
	case i == 0 && strings.Trim(id, "0123456789") != "":
		return "sign"
	}
	return id[:i]
}

// hasSender reports whether a message of a JSON result comes from a value. What is deeper in a
// record is no message.
func hasSender(n *node, v *value, where depth) bool {
	if n.object && where <= isRecord {
		for _, c := range n.cells {
			if senderNames[foldText(c.name)] && c.kind == jsontext.KindString && isSentBy(c.text, v) {
				return true
			}
		}
	}
	for _, c := range n.children {
		if n.object && where <= isRecord && senderNames[foldText(c.name)] && c.isPerson(v) {
			return true
		}
		if hasSender(c, v, n.enter(where)) {
			return true
		}
	}
	return false
}

// isPerson reports whether a node is one person: an object with an address, or a list of one.
func (n *node) isPerson(v *value) bool {
	if !n.object {
		return len(n.children) == 0 && len(n.cells) == 1 && isSentBy(n.cells[0].text, v)
	}
	return slices.ContainsFunc(n.cells, func(c cell) bool { return reachedNames[foldText(c.name)] && c.is(v) })
}

// isSentBy reports whether a field names a value as the one who wrote. A name that looks like
// another address names no person.
func isSentBy(text string, v *value) bool {
	fold := host.UnicodeHost(foldText(strings.TrimSpace(text)))
	if boxes := readMailboxes(fold); len(boxes) > 0 {
		return len(boxes) == 1 && boxes[0] == v.fold
	}
	return fold != "" && strings.TrimPrefix(fold, "@") == strings.TrimPrefix(v.fold, "@")
}

// isHeadSender reports whether the head of a text says that a value wrote it: one From, before
// the first blank line.
func isHeadSender(result string, v *value) bool {
	found := 0
	for line := range strings.SplitSeq(strings.TrimSpace(result), "\n") {
		key, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || len(key) > maxHeadKey {
			break
		}
		if !senderNames[foldText(strings.TrimSpace(key))] {
			continue
		}
		if found++; found > 1 || !isSentBy(rest, v) {
			return false
		}
	}
	return found == 1
}

// Bounds of heads in bytes: of the name of a field, and of who wrote a line.
const (
	maxHeadKey = 24
	maxAuthor  = 96
)

// isLineAuthor reports whether a value heads a line of a talk, of which at least half of the
// lines have somebody at the head.
func isLineAuthor(result string, v *value) bool {
	found, heads, lines := false, 0, 0
	for line := range strings.Lines(result) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		lines++
		if head, ok := authorOf(line); ok {
			heads++
			found = found || isSentBy(head, v)
		}
	}
	return found && 2*heads >= lines
}

// authorOf returns who wrote a line: what stands before the first colon with a blank behind it,
// without the time.
func authorOf(line string) (string, bool) {
	line = strings.TrimLeft(line, "-•* ")
	if rest, ok := strings.CutPrefix(line, "["); ok {
		if _, rest, ok = strings.Cut(rest, "]"); ok {
			line = rest
		}
	}
	head, _, ok := strings.Cut(line, ": ")
	if !ok || len(head) > maxAuthor {
		return "", false
	}
	words := strings.Fields(head)
	for len(words) > 0 && strings.Trim(words[0], "0123456789:.-/,tz") == "" {
		words = words[1:]
	}
	if len(words) == 0 || len(words) > maxNameWords || senderNames[foldText(words[0])] {
		return "", false
	}
	return strings.Join(words, " "), true
}
