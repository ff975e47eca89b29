package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/intent/fold"
)

// Errors of Read. Their texts hold no word of the text.
var (
	// ErrNoAction: no action is named.
	ErrNoAction = errors.New("no action is named")
	// ErrAmbiguous: the text can be read in two ways; the error that wraps it says of what.
	ErrAmbiguous = errors.New("the text can be read in two ways")
	// ErrNegated: the action that is named is not wanted.
	ErrNegated = errors.New("the action that is named is negated")
	// ErrTooLong: the text has more than MaxTokens words.
	ErrTooLong = errors.New("the text is too long to be read by rules")
)

// MaxTokens is how many words and marks a text may have.
const MaxTokens = 20_000

// reading is one text while it is read.
type reading struct {
	g     *Grammar
	t     tokens
	today time.Time
	draft intent.Draft
	used  []bool // tokens that a rule has read
	// actions are where the action is named.
	actions []span
	err     error
}

// Read reads a text. today is the day by which deadlines are counted. The error wraps ErrNoAction, ErrAmbiguous,
// ErrNegated, ErrTooLong, intent.ErrRange or intent.ErrDate. What the draft names still has to be built.
func (g *Grammar) Read(text string, today time.Time) (intent.Draft, error) {
	r := reading{g: g, t: lex(text), today: makeDay(today.Year(), int(today.Month()), today.Day())}
	if len(r.t) > MaxTokens {
		return intent.Draft{}, ErrTooLong
	}
	r.used = make([]bool, len(r.t))
	r.draft.Confidence = 1
	r.readAction()
	r.readReferences(text)
	r.readDomains()
	r.readDates()
	r.readMoney()
	r.readCounts()
	r.draft.Expertise = names(g.expertise.find(r.t))
	r.readEntities()
	r.readTopic()
	if r.err != nil {
		return intent.Draft{}, r.err
	}
	return r.draft, nil
}

func (r *reading) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// failTwice says that something is said in two ways.
func (r *reading) failTwice(what string) { r.fail(fmt.Errorf("%w: %s", ErrAmbiguous, what)) }

func (r *reading) use(from, to int) {
	for i := max(from, 0); i < to && i < len(r.used); i++ {
		r.used[i] = true
	}
}

// negatedWithin is how many words before an action a negation is looked for.
const negatedWithin = 3

func (r *reading) readAction() {
	r.actions = r.g.actions.find(r.t)
	all := names(r.actions)
	switch {
	case len(all) == 0:
		r.fail(ErrNoAction)
		return
	case len(all) > 1:
		r.failTwice("several actions are named")
	}
	for _, s := range r.actions {
		for i := s.from - 1; i >= max(s.from-negatedWithin, 0) && r.t[i].kind != end; i-- {
			if r.t.is(i, r.g.negations) {
				r.fail(ErrNegated)
			}
		}
		r.use(s.from, s.to)
	}
	r.draft.Action = all[0]
}

// readReferences finds ids, with their letters as they were written.
func (r *reading) readReferences(text string) {
	seen := fold.Visible(text)
	for at := 0; at < len(seen); at++ {
		from := at
		for at < len(seen) && isIDByte(seen[at]) {
			at++
		}
		id := strings.TrimRight(seen[from:at], "-")
		if r.g.beginsID(id) && !slices.Contains(r.draft.References, id) {
			r.draft.References = append(r.draft.References, id)
		}
	}
	if len(r.draft.References) == 0 {
		return
	}
	for i, one := range r.t {
		if slices.ContainsFunc(r.draft.References, func(id string) bool { return one.text == strings.ToLower(id) }) {
			r.use(i, i+1)
		}
	}
}

// beginsID reports whether a word begins as ids do, and goes on.
func (g *Grammar) beginsID(s string) bool {
	return slices.ContainsFunc(g.references, func(begin string) bool { return len(s) > len(begin) && strings.HasPrefix(s, begin) })
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// readDomains finds hosts behind a word that says so: "site example.com".
func (r *reading) readDomains() {
	for i := range r.t {
		if !r.t.is(i, r.g.site) {
			continue
		}
		host, to := r.hostAt(i + 1)
		if host == "" {
			continue
		}
		r.use(i, to)
		if !slices.Contains(r.draft.Constraints.Domains, host) {
			r.draft.Constraints.Domains = append(r.draft.Constraints.Domains, host)
		}
	}
}

// hostAt puts the name of a host together, whose dots are tokens of their own.
func (r *reading) hostAt(i int) (host string, to int) {
	var b strings.Builder
	dots := 0
	for j := i; j < len(r.t) && (j == i || !r.t[j].spaced); j++ {
		t := r.t[j]
		switch {
		case t.kind == word || t.kind == figures || t.text == "-":
			b.WriteString(t.text)
		case t.text == "." && j+1 < len(r.t) && !r.t[j+1].spaced && r.t[j+1].kind == word:
			b.WriteByte('.')
			dots++
		default:
			j = len(r.t)
			continue
		}
		to = j + 1
	}
	if dots == 0 {
		return "", 0
	}
	return b.String(), to
}

func (r *reading) readDates() {
	found := ""
	for i := 0; i < len(r.t); i++ {
		d, ok := r.g.dateAt(r.t, i, r.today)
		if !ok {
			continue
		}
		if d.invalid {
			r.fail(intent.ErrDate)
			return
		}
		from := d.from
		for from > 0 && (r.t.is(from-1, r.g.deadline) || r.t.is(from-1, r.g.articles) || r.t.textAt(from-1) == "next") {
			from--
		}
		r.use(from, d.to)
		day := d.day.Format(time.DateOnly)
		if found != "" && found != day {
			r.failTwice("several dates are named")
		}
		found = day
		i = d.to - 1
	}
	if found != "" {
		r.draft.Constraints.Deadline = &found
	}
}

// readMoney finds amounts, and numbers behind the word for a budget.
func (r *reading) readMoney() {
	var found *amount
	take := func(a amount) {
		r.use(a.from, a.to)
		if a.negative {
			r.fail(fmt.Errorf("%w: a budget below zero", intent.ErrRange))
		}
		if found != nil && (found.minor != a.minor || found.currency != a.currency) {
			r.failTwice("several amounts are named")
		}
		found = &a
	}
	for i := 0; i < len(r.t); i++ {
		if r.used[i] {
			continue
		}
		if a, ok := r.g.amountAt(r.t, i); ok {
			take(a)
			i = a.to - 1
			continue
		}
		if n, ok := r.g.numberAt(r.t, i); ok {
			if r.g.currency != "" && r.isBudget(n) {
				take(amount{n, r.g.currency})
			}
			i = n.to - 1
		}
	}
	if found != nil {
		r.draft.Constraints.Budget = found.money()
	}
}

// budgetWithin is how many words before a number the word for a budget is looked for.
const budgetWithin = 3

// isBudget reports whether a number without a currency is a budget: a word for it stands closely before it.
func (r *reading) isBudget(n number) bool {
	for i := n.from - 1; i >= max(n.from-budgetWithin, 0) && r.t[i].kind != end; i-- {
		if r.t.is(i, r.g.budget) {
			return true
		}
	}
	return false
}

// readCounts finds numbers of results and of words. A number that counts nothing is left alone.
func (r *reading) readCounts() {
	results, length := number{}, number{}
	for i := 0; i < len(r.t); i++ {
		n, ok := r.g.numberAt(r.t, i)
		if !ok {
			continue
		}
		i = n.to - 1
		if r.isUsed(n.from, n.to) {
			continue
		}
		into := &results
		switch {
		case r.t.is(n.to, r.g.lengthWords):
			into = &length
			r.use(n.from, n.to+1)
		case !r.countsResults(n):
			continue
		}
		r.use(n.from, n.to)
		if n.negative || !n.isWhole() || n.minor == 0 {
			r.fail(intent.ErrRange)
			return
		}
		if into.to != 0 && into.minor != n.minor {
			r.failTwice("several numbers of the same are named")
		}
		*into = n
	}
	if results.to != 0 {
		r.draft.Constraints.MaxResults = results.whole()
	}
	if length.to != 0 {
		r.draft.Constraints.MaxLength = length.whole()
	}
}

// isUsed reports whether a rule has read any of the tokens.
func (r *reading) isUsed(from, to int) bool {
	return slices.Contains(r.used[max(from, 0):min(to, len(r.used))], true) && !r.isWithinAction(from, to)
}

// isWithinAction reports whether the tokens stand in the gap of the action's phrase: find three experts.
func (r *reading) isWithinAction(from, to int) bool {
	for _, s := range r.actions {
		if from > s.from && to < s.to {
			return true
		}
	}
	return false
}

// countsResults reports whether a number says how many are wanted: a word follows it that is no article, or it stands
// behind "top". The words for one are articles as well, and count nothing.
func (r *reading) countsResults(n number) bool {
	if r.t.is(n.from-1, r.g.top) {
		return true
	}
	if n.inWords && n.minor == 100 && n.to == n.from+1 {
		return false
	}
	return n.to < len(r.t) && r.t[n.to].kind == word && r.g.spans[r.t[n.to].text] == 0 && !r.g.stops[r.t[n.to].text]
}

func (r *reading) readEntities() {
	for _, kind := range sortedKeys(r.g.entities) {
		for _, name := range names(r.g.entities[kind].find(r.t)) {
			r.draft.Constraints.Entities = append(r.draft.Constraints.Entities, intent.DraftEntity{Kind: kind, Name: name})
		}
	}
}

func (r *reading) readTopic() {
	listed := names(r.g.topics.find(r.t))
	switch {
	case len(listed) > 1:
		r.failTwice("several topics are named")
	case len(listed) == 1:
		r.draft.Topic = listed[0]
	case !r.g.listedTopics:
		r.draft.Topic = r.freeTopic()
	}
}

// maxTopicWords is how many words a topic has at most that no list names.
const maxTopicWords = 8

// freeTopic returns what stands behind "about" and its like, up to the next mark, limit or sentence.
func (r *reading) freeTopic() string {
	for i := range r.t {
		n := r.aboutAt(i)
		if n == 0 {
			continue
		}
		var out []string
		for j := i + n; j < len(r.t) && len(out) < maxTopicWords && !r.endsTopic(j, len(out) == 0); j++ {
			if len(out) > 0 || !r.t.is(j, r.g.articles) {
				out = append(out, r.t[j].text)
			}
		}
		if len(out) > 0 {
			return strings.Join(out, " ")
		}
	}
	return ""
}

// aboutAt returns how many words of "about" and its like begin at token i, 0 for none.
func (r *reading) aboutAt(i int) int {
	for _, list := range r.g.about {
		n := 0
		for n < len(list) && i+n < len(r.t) && r.t[i+n].text == list[n] && !r.used[i+n] {
			n++
		}
		if n == len(list) {
			return n
		}
	}
	return 0
}

// endsTopic reports whether a topic ends before token j.
func (r *reading) endsTopic(j int, first bool) bool {
	t := r.t[j]
	if r.used[j] || t.kind == end || t.kind == mark && t.text != "-" && t.text != "&" || r.t.is(j, r.g.pronouns) {
		return true
	}
	return !first && (r.g.stops[t.text] || r.aboutAt(j) > 0)
}

// decimal is the number as a draft has it.
func (n number) decimal() intent.Decimal {
	s := strconv.FormatInt(n.minor/100, 10)
	if !n.isWhole() {
		s += fmt.Sprintf(".%02d", n.minor%100)
	}
	if n.negative {
		s = "-" + s
	}
	return intent.Decimal(s)
}

// whole is a number without a fraction as a draft has it.
func (n number) whole() *intent.Decimal {
	d := n.decimal()
	return &d
}
