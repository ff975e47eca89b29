package grammar

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/skills"
)

// Options are an operator's words. They are plain data, so that they can be sent to another process.
type Options struct {
	// Languages are those of the users: some of Languages(). None is en.
	Languages []string `json:"languages,omitempty"`
	// Actions, Expertise and Topics are phrases by name.
	Actions   map[string][]string `json:"actions"`
	Expertise map[string][]string `json:"expertise,omitempty"`
	Topics    map[string][]string `json:"topics,omitempty"`
	// ListedTopics takes topics from Topics alone: what stands behind "about" is none.
	ListedTopics bool `json:"listed_topics,omitempty"`
	// Entities are phrases by kind and name.
	Entities map[string]map[string][]string `json:"entities,omitempty"`
	// Currency is that of amounts without one; empty takes them for no amounts.
	Currency string `json:"currency,omitempty"`
	// References are the beginnings of ids: doc_.
	References []string `json:"references,omitempty"`
	// MonthFirst reads 3/4/2026 as the 4th of March.
	MonthFirst bool `json:"month_first,omitempty"`
}

// Grammar reads texts. It doesn't change and is safe for concurrent use.
type Grammar struct {
	actions, expertise, topics phrases
	entities                   map[string]phrases
	listedTopics, monthFirst   bool
	currency                   string
	references                 []string // beginnings of ids
	compounds                  bool     // numbers may be one word

	units, multipliers, spans, todays                            map[string]int64
	numberLinks, articles, negations, most, budget, deadline, in map[string]bool
	lengthWords, top, site, pronouns, stops                      map[string]bool
	about                                                        [][]string
	months                                                       map[string]int
	weekdays                                                     map[string]time.Weekday
}

// pathErrors collects mistakes in options.
type pathErrors []error

func (p *pathErrors) add(path, format string, args ...any) {
	*p = append(*p, &skills.PathError{Path: path, Msg: fmt.Sprintf(format, args...)})
}

// Compile reads an operator's words. The error joins *skills.PathError values, with paths such as
// actions.find_experts[0].
func Compile(o Options) (*Grammar, error) {
	var errs pathErrors
	g := &Grammar{entities: map[string]phrases{}, listedTopics: o.ListedTopics, monthFirst: o.MonthFirst, currency: o.Currency}
	g.actions = readPhrases(&errs, "actions", o.Actions)
	g.expertise = readPhrases(&errs, "expertise", o.Expertise)
	g.topics = readPhrases(&errs, "topics", o.Topics)
	for _, kind := range sortedKeys(o.Entities) {
		g.entities[kind] = readPhrases(&errs, "entities."+kind, o.Entities[kind])
	}
	if len(o.Actions) == 0 {
		errs.add("actions", "is empty; name at least one action")
	}
	g.readReferences(&errs, o.References)
	if len(o.Languages) == 0 {
		o.Languages = []string{"en"}
	}
	g.initWords()
	for i, code := range o.Languages {
		l, known := languages[code]
		if !known {
			errs.add(fmt.Sprintf("languages[%d]", i), "%q is no language that is known; use %s", code, strings.Join(Languages(), ", "))
			continue
		}
		g.addLanguage(l)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return g, nil
}

// readReferences takes down how ids begin.
func (g *Grammar) readReferences(errs *pathErrors, list []string) {
	for i, s := range list {
		if _, err := intent.NewReference(s); err != nil || len(s) > 32 {
			errs.add(fmt.Sprintf("references[%d]", i), "must be the beginning of an id: at most 32 letters, digits, _ and -, such as doc_")
			continue
		}
		g.references = append(g.references, s)
	}
}

// initWords makes the sets of words.
func (g *Grammar) initWords() {
	for _, m := range []*map[string]bool{&g.numberLinks, &g.articles, &g.negations, &g.most, &g.budget, &g.deadline, &g.in, &g.lengthWords,
		&g.top, &g.site, &g.pronouns, &g.stops} {
		*m = map[string]bool{}
	}
	for _, m := range []*map[string]int64{&g.units, &g.multipliers, &g.spans, &g.todays} {
		*m = map[string]int64{}
	}
	g.months, g.weekdays = map[string]int{}, map[string]time.Weekday{}
}

// addLanguage adds the words of a language.
func (g *Grammar) addLanguage(l language) {
	for _, pair := range []struct {
		to   map[string]int64
		list string
	}{{g.units, l.units}, {g.multipliers, l.scales}, {g.spans, l.spans}, {g.todays, l.today}} {
		for field := range strings.FieldsSeq(pair.list) {
			name, value, _ := strings.Cut(field, "=")
			pair.to[name], _ = strconv.ParseInt(value, 10, 64) // our own table
		}
	}
	for _, pair := range []struct {
		to   map[string]bool
		list string
	}{{g.numberLinks, l.links}, {g.articles, l.articles}, {g.negations, l.negations}, {g.most, l.most}, {g.budget, l.budget},
		{g.deadline, l.deadline}, {g.in, l.in}, {g.lengthWords, l.wordsOf}, {g.top, l.top}, {g.site, l.site}, {g.pronouns, l.pronouns},
		{g.stops, l.stops}} {
		maps.Copy(pair.to, words(pair.list))
	}
	for field := range strings.FieldsSeq(l.about) {
		g.about = append(g.about, strings.Split(field, "_"))
	}
	for i, field := range strings.Fields(l.months) {
		for name := range strings.SplitSeq(field, "/") {
			g.months[name] = i + 1
		}
	}
	for i, field := range strings.Fields(l.days) {
		for name := range strings.SplitSeq(field, "/") {
			g.weekdays[name] = time.Weekday((i + 1) % 7)
		}
	}
	g.compounds = g.compounds || l.compoundedNumbers
}

// sortedKeys lists the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
