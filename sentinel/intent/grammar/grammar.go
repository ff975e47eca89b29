package grammar

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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
	calendar
	actions, expertise, topics phrases
	entities                   map[string]phrases
	listedTopics               bool
	currency                   string
	references                 []string // beginnings of ids

	articles, negations, budget, deadline, lengthWords, top, site, pronouns, stops map[string]bool
	about                                                                          [][]string
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
	g := &Grammar{entities: map[string]phrases{}, listedTopics: o.ListedTopics, currency: o.Currency}
	g.monthFirst = o.MonthFirst
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
		l, known := allLanguages()[code]
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
	for _, m := range []*map[string]bool{&g.links, &g.articles, &g.negations, &g.budget, &g.deadline, &g.in, &g.lengthWords, &g.top, &g.site,
		&g.pronouns, &g.stops} {
		*m = map[string]bool{}
	}
	for _, m := range []*map[string]int64{&g.units, &g.multipliers, &g.spans, &g.todays} {
		*m = map[string]int64{}
	}
	g.months, g.weekdays = map[string]int{}, map[string]time.Weekday{}
}

// sortedKeys lists the keys of a map in their order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
