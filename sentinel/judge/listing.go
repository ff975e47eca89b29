package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// An id is a stranger's word where prose names it, and the skill's own where the skill
// returns it as the id of a record. A stranger writes what stands in a record's other fields
// and chooses no id. In JSON nothing that is written in one field gets into another. In lines
// a text with a line break in it can look like the next record: such an id stays in doubt.

// listingWords are in the names of skills that return records, and not what is in one. What
// a file or a page holds may look like any record.
var (
	listingWords = wordSet("list search find lookup")
	openWords    = wordSet("web http url internet browser page pages site sites feed rss file content contents online")
)

// originOfListed returns where an id of untrusted results comes from: listed as the id of a
// JSON record, or of a line that the request speaks of, and outside in all other cases. A stranger
// has records made, and chooses their words. So what pays or reaches others has no listed id.
func originOfListed(v *view, val value) origin {
	if val.kind != reference || !isPlainID(val.fold) || v.request == nil || namesOtherID(v, val) {
		return outside
	}
	if v.isOutgoing() || v.s.Effect() == skills.CostsMoney {
		return outside
	}
	for _, st := range v.c.Trace().Earlier() {
		if holdsValue(st.Said().Fold(), val) {
			return outside
		}
	}
	from := outside
	for i := range v.c.Trace().Len() {
		st := v.c.Trace().Step(i)
		if st.Trust == skills.Trusted || !holdsValue(v.c.Trace().Said(i).Fold(), val) {
			continue
		}
		if from = originInStep(v, st, val); from == outside {
			return outside
		}
	}
	return from
}

// originInStep is originOfListed of one untrusted result that holds the id.
func originInStep(v *view, st sentinel.Step, val value) origin {
	name := splitName(st.Skill)
	switch {
	case st.Failed || st.Effect != "" && st.Effect != skills.Read || slices.Contains(st.Marks, sentinel.MarkInstructions):
		return outside
	case !isAny(name, listingWords) || isAny(name, openWords) || domainOf(st.Skill) != domainOf(v.c.Name()):
		return outside
	}
	if head := strings.TrimSpace(st.Result); head != "" && (head[0] == '{' || head[0] == '[') {
		var found any
		dec := json.NewDecoder(strings.NewReader(head))
		dec.UseNumber()
		if dec.Decode(&found) != nil || dec.More() { // no JSON, or text behind it
			return outside
		}
		r := recordReader{val: val}
		r.readNode(found, atTop)
		if r.elsewhere || len(r.records) == 0 {
			return outside
		}
		return listed
	}
	if records := findRecordLines(st.Result, val); len(records) > 0 && speaksOf(v, records...) {
		return listed
	}
	return outside
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
	records   []string // the texts of the objects of which it is the id
	elsewhere bool     // it stands in another field or a key, too
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
			r.readMember(k, e, at, where)
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

func (r *recordReader) readMember(k string, e any, in map[string]any, where depth) {
	text, scalar := e.(string)
	if n, ok := e.(json.Number); ok {
		text, scalar = n.String(), true
	}
	switch {
	case holdsValue(foldText(k), r.val):
		r.elsewhere = true
	case scalar && foldText(text) == r.val.fold && (where == atTop || where == isRecord) && isAny(lastWord(splitName(k)), recordIDs):
		r.records = append(r.records, joinOwnValues(in))
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

func joinOwnValues(record map[string]any) string {
	var b strings.Builder
	for _, e := range record {
		if s, ok := e.(string); ok {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// findRecordLines returns the lines of a listing that begin with the id. It returns none where
// the id stands anywhere else, or where more than maxOtherLines are no records.
func findRecordLines(result string, val value) []string {
	var records []string
	shape, others := shapeOfLead(val.fold), 0
	for line := range strings.Lines(foldText(result)) {
		line = strings.TrimSpace(line)
		lead := leadingID(line)
		switch {
		case line == "":
		case lead == val.fold && !holdsValue(line[strings.Index(line, lead)+len(lead):], val):
			records = append(records, line)
		case holdsValue(line, val):
			return nil
		case lead == "" || shapeOfLead(lead) != shape:
			others++
		}
	}
	if others > maxOtherLines {
		return nil
	}
	return records
}

// maxOtherLines is how many lines of a listing are no records: what stands above and below.
const maxOtherLines = 2

// leadingID is the first word of a line without the signs that set ids apart.
func leadingID(line string) string {
	line = strings.TrimLeft(line, "[(#-•* ")
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

// speaksOf reports whether each of the records has a word of the request, or of the one before
// it, that is no word of asking.
func speaksOf(v *view, records ...string) bool {
	words := nounsAsked(v.request)
	if v.last != nil {
		words = append(words, nounsAsked(v.last)...)
	}
	for _, record := range records {
		fold := foldText(record)
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(fold, w) }) {
			return false
		}
	}
	return true
}

// minNoun is how many letters a noun has, and minShared how many of a longer one count.
const (
	minNoun   = 4
	minShared = 6
)

// nounsAsked are the words of a text that say what is meant, cut to where endings begin. Of
// scripts that put no blanks between words they are pairs of letters.
func nounsAsked(t *text) []string {
	var out []string
	for w := range t.raw {
		if hasUnspaced(w) {
			out = append(out, pairsOf(w)...)
			continue
		}
		n := utf8.RuneCountInString(w)
		st := stemWord(w)
		if n < minNoun && !hasDigit(w) || len(w) < 2 || !t.people[w] || functionWords[w] || everydayWords[w] || smallWords[w] || pointing[w] ||
			dayWords[w] || saying[st] != 0 || languagesOf[w].function != 0 {
			continue
		}
		if n > minShared {
			w = string([]rune(w)[:max(minShared, n-3)])
		} else if n > minNoun {
			w = strings.TrimSuffix(w, "s")
		}
		out = append(out, w)
	}
	return out
}

func pairsOf(w string) []string {
	var out []string
	letters := []rune(w)
	plain := func(r rune) bool { return unicode.IsLetter(r) && unspacedFunction[string(r)] == 0 }
	for i := 1; i < len(letters); i++ {
		if plain(letters[i-1]) && plain(letters[i]) && unspacedAsks[string(letters[i-1:i+1])] == 0 {
			out = append(out, string(letters[i-1:i+1]))
		}
	}
	return out
}
