// Package query chooses records of the ledger by a line of terms, counts them and writes them in
// formats of other programs.
//
//	q, err := query.Parse("outcome:deny skill:email.* since:24h", time.Now())
//	page, next, err := q.ReadPage(ctx, reader, nil, 100)
//
// The package isn't stable: docs/api.md lists those that are.
//
// What not to do: don't build a query's text from what a person or a model wrote; Term quotes a value.
package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// The bounds of a query's text.
const (
	// MaxBytes is the greatest length of a query in bytes.
	MaxBytes = 4096
	// MaxTerms is how many terms a query may have.
	MaxTerms = 64
)

// Query chooses records by a line of terms, all of which must hold:
//
//	outcome:deny gate:guard skill:email.* user:ann since:24h
//	effect:irreversible,costs_money tainted:yes -by:carol "over budget"
//
// A term is KEY:VALUE. Several values after commas are alternatives, and a minus before the term
// turns it round. A star stands for any text. What has a space, a comma or a quote in it stands in
// double quotes, as in Go. A term without a key is looked for in reasons and codes, in any case.
// Keys lists the keys.
//
// The zero Query chooses every record.
type Query struct {
	text  string
	terms []term
}

// Error says what is wrong with a query, and where.
type Error struct {
	// Column is where the mistake begins, in characters from 1.
	Column int
	// Problem says what is wrong and what to do.
	Problem string
}

// Error returns the place and the problem.
func (e *Error) Error() string {
	return fmt.Sprintf("query, character %d: %s", e.Column, e.Problem)
}

// term is one condition.
type term struct {
	keyInfo

	key    string // empty for a text
	not    bool
	values []pattern
	ranges []numbers // in place of values, where the key has numbers
	moment time.Time // of since and until
	column int
}

// pattern is a value: whole, or with stars in it.
type pattern []string // the pieces between the stars

// matches reports whether s is what the pattern says.
func (p pattern) matches(s string) bool {
	if len(p) == 1 {
		return s == p[0]
	}
	rest, ok := strings.CutPrefix(s, p[0])
	if !ok {
		return false
	}
	for _, piece := range p[1 : len(p)-1] {
		_, after, found := strings.Cut(rest, piece)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, p[len(p)-1])
}

// keyInfo is a key of the language.
type keyInfo struct {
	about string
	// words, if not nil, are all values that a record can have.
	words func() []string
	// readColumn or readBody returns what a record has under the key.
	readColumn func(r *ledger.Record) string
	readBody   func(b *recordBody) []string
	// readNumber returns hundredths, nil where a record has none.
	readNumber func(b *recordBody) *int
}

func yesNo() []string { return []string{"yes", "no"} }

func sayYesNo(b bool) []string {
	if b {
		return []string{"yes"}
	}
	return []string{"no"}
}

// keys are the keys, but for since and until.
func keys() map[string]keyInfo {
	column := func(about string, words func() []string, read func(*ledger.Record) string) keyInfo {
		return keyInfo{about: about, words: words, readColumn: read}
	}
	body := func(about string, words func() []string, read func(*recordBody) []string) keyInfo {
		return keyInfo{about: about, words: words, readBody: read}
	}
	return map[string]keyInfo{
		"id":           column("the record's id", nil, func(r *ledger.Record) string { return r.ID }),
		"kind":         column("the kind of record", Kinds, func(r *ledger.Record) string { return r.Kind }),
		"call":         column("the call's id", nil, func(r *ledger.Record) string { return r.Call }),
		"decision":     column("the decision's id", nil, func(r *ledger.Record) string { return r.Decision }),
		"conversation": column("the conversation's id", nil, func(r *ledger.Record) string { return r.Conversation }),
		"user":         column("the user", nil, func(r *ledger.Record) string { return r.User }),
		"agent":        column("the agent", nil, func(r *ledger.Record) string { return r.Agent }),
		"skill":        column("the skill", nil, func(r *ledger.Record) string { return r.Skill }),
		"outcome":      column("what was decided, or what became of it", Outcomes, func(r *ledger.Record) string { return r.Outcome }),
		"gate":         column("the gate that decided", Gates, func(r *ledger.Record) string { return r.Gate }),
		"code":         column("the code of the reason", nil, func(r *ledger.Record) string { return r.Code }),

		"effect":     body("the skill's effect", Effects, func(b *recordBody) []string { return []string{b.Effect} }),
		"by":         body("who approved or refused the call", nil, func(b *recordBody) []string { return []string{b.Approver} }),
		"via":        body("how the person answered", nil, func(b *recordBody) []string { return []string{b.Via} }),
		"policy":     body("the digest of the configuration in force", nil, func(b *recordBody) []string { return []string{b.Policy} }),
		"turn":       body("the turn's id", nil, func(b *recordBody) []string { return []string{b.Turn} }),
		"mission_by": body("who wrote the mission", nil, func(b *recordBody) []string { return []string{b.MissionBy} }),
		"tainted":    body("a stranger's text stood behind the call", yesNo, func(b *recordBody) []string { return sayYesNo(b.Tainted) }),
		"outward":    body("the call reached others", yesNo, func(b *recordBody) []string { return sayYesNo(b.Outward) }),
		"degraded":   body("the model could not judge", yesNo, func(b *recordBody) []string { return sayYesNo(b.Degraded) }),
		"asked":      body("a person was asked", yesNo, func(b *recordBody) []string { return sayYesNo(!b.AskedAt.IsZero()) }),
		"signal":     body("a signal of any gate", nil, func(b *recordBody) []string { return b.listSignals(false) }),
		"doubt":      body("a doubt of any gate", nil, func(b *recordBody) []string { return b.listSignals(true) }),

		"drift": {about: "how far the conversation's actions are from its requests, up to a decision: >0.5, 0.2..0.4",
			readNumber: func(b *recordBody) *int { return b.Drift }},
		"deviation": {about: "how far the call is from what was asked for", readNumber: func(b *recordBody) *int { return b.Deviation }},
	}
}

// Keys returns the keys of the language, each with what it is about.
func Keys() map[string]string {
	out := map[string]string{
		"since": "from this time on: RFC 3339, a day, or how long ago (24h, 7d)",
		"until": "before this time",
	}
	for name, k := range keys() {
		out[name] = k.about
	}
	return out
}

// Parse reads a query. Times such as 24h are before now. The error is a *Error.
func Parse(text string, now time.Time) (Query, error) {
	if len(text) > MaxBytes || !utf8.ValidString(text) {
		return Query{}, &Error{1, fmt.Sprintf("the query must be UTF-8 text of at most %d bytes; shorten it", MaxBytes)}
	}
	q := Query{text: strings.TrimSpace(text)}
	p := queryParser{rest: text, column: 1, now: now, keys: keys()}
	for p.skipSpace(); p.rest != ""; p.skipSpace() {
		t, err := p.readTerm()
		if err != nil {
			return Query{}, err
		}
		if q.terms = append(q.terms, t); len(q.terms) > MaxTerms {
			return Query{}, &Error{t.column, fmt.Sprintf("there are more than %d terms; put alternatives after commas", MaxTerms)}
		}
	}
	return q, nil
}

// queryParser reads terms from the left.
type queryParser struct {
	rest   string
	column int // of rest, in characters from 1
	now    time.Time
	keys   map[string]keyInfo
}

// take takes n bytes off the left.
func (p *queryParser) take(n int) string {
	s := p.rest[:n]
	p.rest, p.column = p.rest[n:], p.column+utf8.RuneCountInString(s)
	return s
}

func (p *queryParser) skipSpace() {
	p.take(len(p.rest) - len(strings.TrimLeftFunc(p.rest, unicode.IsSpace)))
}

func (p *queryParser) readTerm() (term, error) {
	t := term{column: p.column}
	if len(p.rest) > 1 && p.rest[0] == '-' {
		t.not = true
		p.take(1)
	}
	if name, ok := p.peekKey(); ok {
		k, known := p.keys[name]
		if !known && name != "since" && name != "until" {
			return t, p.refuseKey(name)
		}
		t.key, t.keyInfo = name, k
		p.take(len(name) + 1)
	}
	for {
		at := p.column
		word, quoted, err := p.readWord()
		if err != nil {
			return t, err
		}
		if err := p.addValue(&t, word, quoted, at); err != nil {
			return t, err
		}
		if !strings.HasPrefix(p.rest, ",") {
			return t, nil
		}
		p.take(1)
	}
}

// peekKey returns the key that the next term begins with.
func (p *queryParser) peekKey() (string, bool) {
	name, _, ok := strings.Cut(p.rest, ":")
	if !ok || name == "" {
		return "", false
	}
	for _, c := range name {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", false
		}
	}
	return name, true
}

// refuseKey says what is wrong with a key.
func (p *queryParser) refuseKey(name string) error {
	known := []string{"since", "until"}
	for k := range p.keys {
		known = append(known, k)
	}
	slices.Sort(known)
	problem := fmt.Sprintf("unknown key %q", name)
	if near := skills.Nearest(strings.ToLower(name), known); near != "" {
		problem += fmt.Sprintf("; did you mean %q?", near)
	} else {
		problem += "; the keys are " + strings.Join(known, ", ") + "; a text with a colon stands in double quotes"
	}
	return &Error{p.column, problem}
}

// readWord reads a word, or a text in double quotes.
func (p *queryParser) readWord() (word string, quoted bool, err error) {
	if strings.HasPrefix(p.rest, `"`) {
		prefix, err := strconv.QuotedPrefix(p.rest)
		if err != nil {
			return "", true, &Error{p.column, "the double quote isn't closed, or a backslash stands before what it can't; close it"}
		}
		text, err := strconv.Unquote(prefix)
		if err != nil || !utf8.ValidString(text) {
			return "", true, &Error{p.column, "the text in double quotes can't be read; write it as plain text"}
		}
		p.take(len(prefix))
		if p.rest != "" && p.rest[0] != ',' && !unicode.IsSpace(firstRune(p.rest)) {
			return "", true, &Error{p.column, "a space or a comma must follow the closing quote"}
		}
		return text, true, nil
	}
	end := strings.IndexFunc(p.rest, func(c rune) bool { return c == ',' || c == '"' || unicode.IsSpace(c) })
	if end < 0 {
		end = len(p.rest)
	}
	if end < len(p.rest) && p.rest[end] == '"' {
		return "", false, &Error{p.column, "a double quote stands inside a word; put the whole value in double quotes"}
	}
	return p.take(end), false, nil
}

func firstRune(s string) rune {
	c, _ := utf8.DecodeRuneInString(s)
	return c
}

// addValue adds a value to the term, once it is one that records can have.
func (p *queryParser) addValue(t *term, word string, quoted bool, at int) error {
	if word == "" && !quoted {
		return &Error{at, "a value is missing; write KEY:VALUE, or KEY:\"\" for none"}
	}
	switch t.key {
	case "":
		t.values = append(t.values, pattern{strings.ToLower(word)})
		return nil
	case "since", "until":
		m, ok := readMoment(word, p.now)
		if !ok || t.not || !t.moment.IsZero() {
			return &Error{at, t.key + " needs one time: 2026-01-02T15:04:05Z, a day such as 2026-01-02, or how long ago such as 24h or 7d"}
		}
		t.moment = m
		return nil
	}
	if t.readNumber != nil {
		return t.addNumbers(word, at)
	}
	value := pattern{word}
	if !quoted {
		value = pattern(strings.Split(word, "*"))
	}
	if t.words != nil && word != "" && !slices.ContainsFunc(t.words(), value.matches) {
		problem := fmt.Sprintf("%s is never %q", t.key, word)
		if near := skills.Nearest(strings.ToLower(word), t.words()); near != "" {
			problem += fmt.Sprintf("; did you mean %q?", near)
		} else {
			problem += "; say " + strings.Join(t.words(), ", ")
		}
		return &Error{at, problem}
	}
	t.values = append(t.values, value)
	return nil
}

// readMoment reads a time: RFC 3339, a day, or how long ago.
func readMoment(s string, now time.Time) (time.Time, bool) {
	ago := s
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			ago = strconv.FormatUint(n*24, 10) + "h"
		}
	}
	if d, err := time.ParseDuration(ago); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() > 1970 && t.Year() < 2200 {
			return t, true
		}
	}
	return time.Time{}, false
}

// Term returns the term that chooses records whose value under a key is exactly this one.
func Term(key, value string) string { return key + ":" + strconv.Quote(value) }

// String returns the query as it was written.
func (q Query) String() string { return q.text }

// Matches reports whether the query chooses a record.
func (q Query) Matches(r *ledger.Record) bool {
	var read *recordBody
	body := func() *recordBody {
		if read == nil {
			read = openBody(r)
		}
		return read
	}
	for _, t := range q.terms {
		if t.matches(r, body) == t.not {
			return false
		}
	}
	return true
}

// matches reports whether a record has one of the term's values.
func (t term) matches(r *ledger.Record, body func() *recordBody) bool {
	switch {
	case t.key == "since":
		return !r.Time.Before(t.moment)
	case t.key == "until":
		return r.Time.Before(t.moment)
	case t.key == "":
		return slices.ContainsFunc(t.values, func(p pattern) bool { return body().hasText(r, p[0]) })
	case t.readColumn != nil:
		return slices.ContainsFunc(t.values, func(p pattern) bool { return p.matches(t.readColumn(r)) })
	}
	if t.readNumber != nil {
		n := t.readNumber(body())
		return slices.ContainsFunc(t.ranges, func(r numbers) bool { return r.contain(n) })
	}
	has := t.readBody(body())
	if len(has) == 0 {
		has = []string{""}
	}
	return slices.ContainsFunc(t.values, func(p pattern) bool { return slices.ContainsFunc(has, p.matches) })
}
