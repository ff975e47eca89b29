package evidence

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/internal/runes"
)

// Bounds of what is written, in bytes.
const (
	maxQuestion = 1500
	maxJournal  = 32 << 10
)

// The shape of evidence as it is written. Fields stand in the order in which they are read.
type (
	reportPart struct {
		Condition *conditionPart `json:"condition,omitempty"`

		Named   []namedPart `json:"named"`
		Nowhere []string    `json:"nowhere,omitempty"`
		Carries []string    `json:"carries,omitempty"`
		Unasked []string    `json:"unasked,omitempty"`
		LeftOut int         `json:"left_out,omitempty"`
		Unread  int         `json:"unread_results,omitempty"`
	}
	conditionPart struct {
		Clause string      `json:"clause"`
		Told   []placePart `json:"told"`
	}
	namedPart struct {
		Arg    string      `json:"arg,omitempty"`
		Args   []string    `json:"args,omitempty"`
		Is     string      `json:"is"`
		Digits string      `json:"check_digits,omitempty"`
		Seen   []placePart `json:"seen"`
		Alias  string      `json:"alias,omitempty"`
		Beside []string    `json:"beside,omitempty"`
		Near   []placePart `json:"near,omitempty"`
		Rivals []placePart `json:"rivals,omitempty"`
		Made   string      `json:"made_of,omitempty"`
		Limit  string      `json:"limit,omitempty"`
	}
	placePart struct {
		Value  string `json:"value,omitempty"`
		How    string `json:"how,omitempty"`
		Better bool   `json:"fits_better,omitempty"`
		In     string `json:"in"`
		Field  string `json:"field,omitempty"`
		Turn   int    `json:"turn,omitempty"`
		Trust  string `json:"trust"`
		As     As     `json:"as,omitempty"`
		Text   string `json:"text,omitempty"`
	}
)

// Question writes the report for the question to a reviewer: one JSON object of at most 1,500
// bytes, without characters that no screen shows. What has no room is counted, the values that
// may be believed least stand first. It is "" where the mode is Off, or where nothing is to say.
func (r *Report) Question() string {
	if r.mode == Off || r.isEmpty() {
		return ""
	}
	out, _ := r.fitInto(maxQuestion)
	return out
}

// AsksFor reports whether a recipient, host or account of a call that isn't a read has no room in
// Question or was not looked for: then a person is asked.
func (r *Report) AsksFor() bool {
	if r.Asks || r.mode == Off || r.reads {
		return r.Asks
	}
	_, hidden := r.fitInto(maxQuestion)
	return hidden
}

// JournalJSON writes the report for the journal, quotes and all: at most 32 KB. It must go nowhere
// else.
func (r *Report) JournalJSON() json.RawMessage {
	if r.mode == Off || r.isEmpty() {
		return nil
	}
	out, _ := r.fitInto(maxJournal)
	return json.RawMessage(out)
}

func (r *Report) isEmpty() bool {
	return len(r.Named)+len(r.Nowhere)+len(r.Unasked)+len(r.Carries)+r.LeftOut+r.Unread == 0 && r.Condition == nil
}

// fitInto writes as much as has room: bare entries of all values first, then the texts of near
// misses and rivals, then those of the places where values were seen. hidden says that a
// recipient, host or account was dropped.
func (r *Report) fitInto(limit int) (out string, hidden bool) {
	p := r.describeLists()
	for len(p.Nowhere)+len(p.Unasked)+len(p.Carries) > 0 && len(encode(p)) > limit/3 {
		p.shortenLists()
	}
	list := r.sortedNamed()
	w := &fitting{r: r, part: p, limit: limit}
	if !w.addBare(list, false) {
		w = &fitting{r: r, part: p, limit: limit}
		w.addBare(list, true)
	}
	w.addCondition(false)
	for detail := 1; detail <= mostDetail; detail++ {
		w.shown = map[string]bool{}
		if detail == detailAlso {
			w.addCondition(true)
		}
		for _, n := range w.kept {
			w.addDetail(n, detail)
		}
	}
	return encode(w.part), w.hidden
}

// describeLists is all of a report but its values.
func (r *Report) describeLists() reportPart {
	return reportPart{Named: []namedPart{}, Nowhere: r.showPointers(r.Nowhere), Unasked: r.showPointers(r.Unasked),
		Carries: r.describeCarries(), LeftOut: r.LeftOut, Unread: r.Unread}
}

// fitting is a report on its way into a bounded text.
type fitting struct {
	r      *Report
	part   reportPart
	limit  int
	kept   []*Named
	hidden bool
	shown  map[string]bool // texts that need not be said twice
}

// reserved is the room that counts of what is left out may need.
const reserved = 40

// The steps of detail: bare, with the texts of near misses and rivals, with what counts for
// nothing, with all texts.
const (
	detailRivals = 1 + iota
	detailAlso
	mostDetail
)

// addBare puts all values in without texts, those alike as one. Values with texts are only alike
// where room is short. It reports whether all had room.
func (w *fitting) addBare(list []*Named, alike bool) bool {
	all := true
	for _, n := range list {
		next := w.part
		bare := w.r.describeNamed(n, 0)
		if alike || encode(bare) == encode(w.r.describeNamed(n, mostDetail)) {
			next.Named = mergeNamed(next.Named, bare)
		} else {
			next.Named = append(slices.Clip(next.Named), bare)
		}
		if len(encode(next)) > w.limit-reserved {
			all = false
			w.part.LeftOut++
			w.hidden = w.hidden || n.Kind.isReach() && !w.r.reads
			continue
		}
		w.part, w.kept = next, append(w.kept, n)
	}
	return all
}

// addDetail puts a value in with its texts, if there is room.
func (w *fitting) addDetail(n *Named, detail int) {
	full := w.r.describeNamed(n, detail)
	for _, list := range [][]placePart{full.Near, full.Rivals, full.Seen} {
		for i := range list {
			if w.shown[list[i].Text] {
				list[i].Text = ""
			}
		}
	}
	at := slices.IndexFunc(w.part.Named, func(e namedPart) bool { return e.Arg == full.Arg && e.Args == nil && e.Is == full.Is })
	if at < 0 {
		return // it is one of several that are alike
	}
	next := w.part
	next.Named = slices.Clone(next.Named)
	next.Named[at] = full
	if len(encode(next)) > w.limit {
		return
	}
	w.part = next
	for _, list := range [][]placePart{full.Near, full.Rivals, full.Seen} {
		for _, e := range list {
			w.shown[e.Text] = e.Text != "" || w.shown[e.Text]
		}
	}
}

// addCondition puts in the request's condition, with what trusted results say of it where text is
// set, if there is room.
func (w *fitting) addCondition(text bool) {
	next := w.part
	next.Condition = w.r.describeCondition(text)
	if len(encode(next)) <= w.limit {
		w.part = next
	}
}

// mergeNamed adds an entry. Entries that differ in the argument alone become one.
func mergeNamed(list []namedPart, n namedPart) []namedPart {
	list = slices.Clone(list)
	for i := range list {
		if e := &list[i]; e.isLike(n) {
			if e.Arg != "" {
				e.Args, e.Arg = []string{e.Arg}, ""
			}
			e.Args = append(slices.Clip(e.Args), n.Arg)
			return list
		}
	}
	return append(list, n)
}

func (n namedPart) isLike(o namedPart) bool {
	n.Arg, n.Args, o.Arg, o.Args = "", nil, "", nil
	return len(n.Near)+len(n.Rivals) == 0 && n.Made == "" && encode(n) == encode(o)
}

func (p *reportPart) shortenLists() {
	p.LeftOut++
	switch {
	case len(p.Carries) > 1:
		p.Carries = p.Carries[:len(p.Carries)-1]
	case len(p.Unasked) > 1:
		p.Unasked = p.Unasked[:len(p.Unasked)-1]
	case len(p.Nowhere) > 0:
		p.Nowhere = p.Nowhere[:len(p.Nowhere)-1]
	case len(p.Unasked) > 0:
		p.Unasked = nil
	default:
		p.Carries = nil
	}
}

// sortedNamed are the values, those first that may be believed least, and of them those that say
// who is reached.
func (r *Report) sortedNamed() []*Named {
	var out []*Named
	for i := range r.Named {
		out = append(out, &r.Named[i])
	}
	rank := func(n *Named) int {
		t, seen := n.best()
		switch {
		case len(n.Near) > 0:
			return 0
		case n.late:
			return 7
		case !seen && n.Kind.isReach():
			return 1
		case !seen:
			return 6
		}
		return 2 + int(t)
	}
	slices.SortStableFunc(out, func(a, b *Named) int {
		return cmp.Or(rank(a)-rank(b), boolOf(b.Kind.isReach())-boolOf(a.Kind.isReach()),
			cmp.Compare(a.Pointer.plainText(), b.Pointer.plainText()))
	})
	return out
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// describeNamed writes what is known of a value. detail says which texts stand with it.
func (r *Report) describeNamed(n *Named, detail int) namedPart {
	out := namedPart{Arg: r.showPointer(n.Pointed), Is: n.Kind.String(), Seen: []placePart{}}
	for _, p := range n.Seen {
		out.Seen = append(out.Seen, describePlace(p, detail >= mostDetail))
	}
	if detail >= detailAlso {
		for i, p := range n.Seen {
			out.Seen[i].As = p.As
		}
		for _, p := range n.Also {
			e := describePlace(p, detail >= mostDetail)
			e.As = p.As
			out.Seen = append(out.Seen, e)
		}
		out.Alias = n.Alias.describeAlias()
	}
	for _, w := range n.Beside {
		if detail >= mostDetail && !r.keys && (r.mode == Records || r.mode == All) {
			out.Beside = append(out.Beside, cleanText(w.plainText()))
		}
	}
	for _, m := range n.Near {
		switch m.How {
		case HowCheckDigits:
			out.Digits = "wrong"
		case HowLimit:
			out.Limit = "exceeded"
		default:
			e := describePlace(m.Place, detail >= detailRivals)
			e.How, e.Value = string(m.How), cleanText(m.Value.plainText())
			out.Near = append(out.Near, e)
		}
	}
	for _, v := range n.Rivals {
		e := describePlace(v.Place, detail >= detailRivals)
		e.Value, e.Better = cleanText(v.Value.plainText()), v.Better
		out.Rivals = append(out.Rivals, e)
	}
	out.Made = n.Made.describeMade()
	return out
}

// describeCondition writes the request's condition, with the records that speak of it where text is set.
func (r *Report) describeCondition(text bool) *conditionPart {
	if r.Condition == nil {
		return nil
	}
	out := &conditionPart{Clause: cleanText(r.Condition.Clause.plainText()), Told: []placePart{}}
	for _, p := range r.Condition.Told {
		out.Told = append(out.Told, describePlace(p, text))
	}
	return out
}

func describePlace(p Place, text bool) placePart {
	out := placePart{In: placeName(p.Name, p.Step), Turn: p.Turn, Trust: p.Trust.String()}
	if text {
		out.Field = cleanText(p.Field.plainText())
		out.Text = cleanText(p.Text.plainText())
	}
	return out
}

// describeAlias is "Mum -> contacts.lookup#1".
func (a *NameRecord) describeAlias() string {
	if a == nil {
		return ""
	}
	return cleanText(a.Name.plainText() + " -> " + placeName(a.Place.Name, a.Place.Step))
}

// placeName is "email.read#2" for a step and the name for everything else.
func placeName(name string, step int) string {
	if step > 0 {
		return name + "#" + strconv.Itoa(step)
	}
	return name
}

// describeMade is "96.60 / 3 (bank.list_transactions#1, request)".
func (m *Made) describeMade() string {
	if m == nil {
		return ""
	}
	var values, places []string
	for _, o := range m.From {
		v := o.Value.plainText()
		if v == "" {
			v = "number"
		}
		place := placeName(o.Place.Name, o.Place.Step)
		if o.Place.Trust == Stranger {
			place += " stranger"
		}
		values, places = append(values, v), append(places, place)
	}
	if m.Op == "sum" {
		return "sum of " + strconv.Itoa(m.Of) + " (" + places[0] + ")"
	}
	op := m.Op
	if op == "%" {
		op = "by"
	}
	return cleanText(strings.Join(values, " "+op+" ") + " (" + strings.Join(places, ", ") + ")")
}

func (r *Report) describeCarries() (out []string) {
	for _, c := range r.Carries {
		out = append(out, r.showPointer(c.Pointed)+" "+cleanSkill(c.How)+" #"+strconv.Itoa(c.Step))
	}
	return out
}

// withheld stands for a name that no schema has, where values are withheld.
const withheld = "undeclared"

func (r *Report) showPointer(p Pointed) string {
	switch {
	case !r.keys:
		return cleanText(p.Pointer.plainText())
	case p.Declared != "":
		return "/" + p.Declared
	}
	return withheld
}

// showPointers are pointers as they may be shown.
func (r *Report) showPointers(list []Pointed) []string {
	var out []string
	for _, p := range list {
		if s := r.showPointer(p); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// cleanText keeps what can be seen. JSON escapes the rest.
func cleanText(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		switch n++; {
		case n > maxQuote+2:
			return -1
		case unicode.IsControl(r) || runes.IsInvisible(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// encode writes a part that always can be written.
func encode(v any) string {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// Digest is the same for two reports that say the same: all that JournalJSON writes, findings,
// doubts, mode and what is left out. The order of arguments and steps is no part of it, nor are
// steps in which no value of the call was found.
func (r *Report) Digest() [sha256.Size]byte {
	type whole struct {
		Report         reportPart
		Asks           bool
		Mode           string
		Keys           bool
		Found, Doubted []Finding
	}
	p := r.describeLists()
	p.Condition = r.describeCondition(true)
	for _, n := range r.sortedNamed() {
		p.Named = append(p.Named, r.describeNamed(n, mostDetail))
	}
	return sha256.Sum256([]byte(encode(whole{p, r.Asks, r.mode.String(), r.keys, r.findings, r.doubts})))
}
