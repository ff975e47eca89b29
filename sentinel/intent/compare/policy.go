package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/skills"
)

// Options are a policy as it is written. Names are those of the vocabulary; an unknown one is a mistake.
type Options struct {
	Vocabulary *intent.Vocabulary
	// Actions and Expertise are what is allowed.
	Actions, Expertise []string
	// Budgets are the greatest amounts by currency, as decimals: "5000" or "99.50".
	Budgets map[string]string
	// MaxResults and MaxLength bound the numbers that intents name; 0 is no bound.
	MaxResults, MaxLength int
	// Earliest and Latest bound deadlines, in days from today; 0 is no bound. A deadline in the past is never allowed.
	Earliest, Latest int
	// Domains are patterns of hosts: example.com, *.example.com. None allows no domain.
	Domains []string
	// Topics says which topics are allowed. The zero value allows all.
	Topics Topics
	// Forbid is what no list and no person allows.
	Forbid Forbid
	// SoftTolerance is by how many percent a number may be above its maximum and be a soft mismatch. Zero is
	// DefaultTolerance; a negative number is none.
	SoftTolerance int
	// Constraints are conditions of one's own.
	Constraints []Constraint
}

// DefaultTolerance is Options.SoftTolerance where it is zero.
const DefaultTolerance = 10

// Topics says which topics are allowed: those that any of its parts allow.
type Topics struct {
	// Allow are topics, in any spelling.
	Allow []string
	// Patterns are patterns of topics' ids: supply_*.
	Patterns []string
	// Like are examples; a topic that is LeastAlike or more similar to one is allowed. It needs a model of the role
	// embedding.
	Like []string
	// LeastAlike is in hundredths. Zero is 80.
	LeastAlike int
}

// Forbid is what is blocked.
type Forbid struct {
	Actions, Expertise []string
	// Topics are patterns of topics' ids.
	Topics []string
}

// Constraint is a condition in CEL over the names of Variables.
type Constraint struct {
	// ID names it in records. Empty is constraint-1 and so on.
	ID   string
	When string
	// Then is soft, hard or blocked.
	Then   string
	Reason string
}

// Policy is a compiled policy. It doesn't change and is safe for concurrent use.
type Policy struct {
	vocabulary         *intent.Vocabulary
	actions, expertise map[string]bool
	budgets            map[string]int64
	maxResults         int
	maxLength          int
	earliest, latest   int
	tolerance          int
	domains            []userglob.Glob

	topicsSet     bool
	topics        map[string]bool
	topicPatterns []userglob.Glob
	like          []string
	leastAlike    int

	forbidden struct {
		actions, expertise map[string]bool
		topics             []userglob.Glob
		topicWords         []string
	}
	rules []rule
}

// Examples are the topics that Facts.Alike is asked about.
func (p *Policy) Examples() []string { return slices.Clone(p.like) }

// New compiles a policy. The error joins *skills.PathError values with paths such as policy.actions[0].
func New(o Options) (*Policy, error) {
	if o.Vocabulary == nil {
		return nil, &skills.PathError{Path: "policy", Msg: "has no vocabulary"}
	}
	var errs pathErrors
	p := &Policy{vocabulary: o.Vocabulary, maxResults: o.MaxResults, maxLength: o.MaxLength, earliest: o.Earliest, latest: o.Latest,
		tolerance: o.SoftTolerance, like: o.Topics.Like, leastAlike: o.Topics.LeastAlike}
	switch {
	case p.tolerance == 0:
		p.tolerance = DefaultTolerance
	case p.tolerance < 0:
		p.tolerance = 0
	}
	if p.leastAlike == 0 {
		p.leastAlike = 80
	}
	p.actions = readNames(&errs, "policy.actions", "action", o.Actions, o.Vocabulary.Actions())
	p.expertise = readNames(&errs, "policy.expertise", "expertise", o.Expertise, o.Vocabulary.ListExpertise())
	p.readBudgets(&errs, o)
	p.checkBounds(&errs)
	p.domains = readPatterns(&errs, "policy.domains", o.Domains)
	p.readTopics(&errs, o.Topics)
	p.forbidden.actions = readNames(&errs, "policy.forbid.actions", "action", o.Forbid.Actions, o.Vocabulary.Actions())
	p.forbidden.expertise = readNames(&errs, "policy.forbid.expertise", "expertise", o.Forbid.Expertise, o.Vocabulary.ListExpertise())
	p.forbidden.topics, p.forbidden.topicWords = readPatterns(&errs, "policy.forbid.topics", o.Forbid.Topics), o.Forbid.Topics
	p.rules = compileConstraints(&errs, o.Constraints)
	if err := errs.join(); err != nil {
		return nil, err
	}
	return p, nil
}

// readNames reads a list of names that must be known.
func readNames(errs *pathErrors, path, what string, list, known []string) map[string]bool {
	out := map[string]bool{}
	for i, name := range list {
		if !slices.Contains(known, name) {
			hint := ""
			if near := skills.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			errs.add(fmt.Sprintf("%s[%d]", path, i), "no %s is called %q%s", what, name, hint)
		}
		out[name] = true
	}
	return out
}

func (p *Policy) readBudgets(errs *pathErrors, o Options) {
	p.budgets = map[string]int64{}
	for _, currency := range slices.Sorted(maps.Keys(o.Budgets)) {
		at := "policy.budget." + currency
		if !slices.Contains(o.Vocabulary.Currencies(), currency) {
			errs.add(at, "is no currency that intents may have; use %s", strings.Join(o.Vocabulary.Currencies(), ", "))
			continue
		}
		minor, err := intent.ParseAmount(o.Budgets[currency])
		if err != nil {
			errs.add(at, "is no amount such as 5000 or 99.50")
		}
		p.budgets[currency] = minor
	}
}

func (p *Policy) checkBounds(errs *pathErrors) {
	for _, b := range []struct {
		name string
		n    int
		most int
	}{{"max_results", p.maxResults, intent.MaxCount}, {"max_length", p.maxLength, intent.MaxCount}, {"deadline.earliest", p.earliest, maxDays},
		{"deadline.latest", p.latest, maxDays}, {"soft_tolerance", p.tolerance, 100}, {"topics.least_alike", p.leastAlike, 100}} {
		if b.n < 0 || b.n > b.most {
			errs.add("policy."+b.name, "must be from 0 to %d", b.most)
		}
	}
	if p.latest > 0 && p.earliest > p.latest {
		errs.add("policy.deadline.earliest", "is after deadline.latest, so no deadline fits")
	}
}

// maxDays is how far deadlines can be bounded.
const maxDays = 36500

// readPatterns reads patterns of topics or hosts.
func readPatterns(errs *pathErrors, path string, list []string) []userglob.Glob {
	out := make([]userglob.Glob, len(list))
	for i, s := range list {
		g, mistake := userglob.Parse(s)
		if mistake != "" {
			errs.add(fmt.Sprintf("%s[%d]", path, i), "%s", mistake)
		}
		out[i] = g
	}
	return out
}

func (p *Policy) readTopics(errs *pathErrors, t Topics) {
	p.topicsSet = len(t.Allow)+len(t.Patterns)+len(t.Like) > 0
	p.topics = map[string]bool{}
	for i, text := range t.Allow {
		topic, err := intent.NewTopic(text)
		if err != nil {
			errs.add(fmt.Sprintf("policy.topics.allow[%d]", i), "is no topic: %v", err)
		}
		p.topics[topic.String()] = true
	}
	p.topicPatterns = readPatterns(errs, "policy.topics.patterns", t.Patterns)
}
