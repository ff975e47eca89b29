// Package compare holds an intent against the policy of who provides the actions. It is a pure function of both.
//
//	p, err := compare.New(compare.Options{Vocabulary: voc, Actions: []string{"find_experts"}, Budgets: map[string]string{"EUR": "5000"}})
//	r := p.Compare(ctx, one, compare.Facts{User: "ann", Today: today})
//	switch r.Verdict { case compare.Approved: … }
//
// # What is allowed
//
// Lists allow; what they don't name is a mismatch. An action, an expertise, a domain and a currency that no list names
// are hard mismatches. Topics are free unless Topics says something of them. A number above its maximum by up to
// SoftTolerance is a soft mismatch, beyond it a hard one. What Forbid names is blocked, whatever lists allow it.
// Constraints in CEL say soft, hard or blocked where they are true; one that can't be evaluated is a hard mismatch.
//
// The graver mismatch counts, and all are told. Reasons name the policy's own words and numbers, never the intent's.
//
// The zero Policy approves nothing.
//
// The package isn't stable: docs/api.md lists those that are.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/userglob"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/skills"
)

// Verdict is what a comparison comes to.
type Verdict string

// The verdicts, from the mildest on.
const (
	Approved Verdict = "approved"
	Soft     Verdict = "soft_mismatch"
	Hard     Verdict = "hard_mismatch"
	Blocked  Verdict = "blocked"
)

// Graver returns the graver of two verdicts. What is none of them is Blocked.
func Graver(a, b Verdict) Verdict {
	order := []Verdict{Approved, Soft, Hard, Blocked}
	i, j := slices.Index(order, a), slices.Index(order, b)
	if i < 0 || j < 0 {
		return Blocked
	}
	return order[max(i, j)]
}

// Severity is how grave a mismatch is, in the seed document's words.
func (v Verdict) Severity() string {
	switch v {
	case Approved:
		return "none"
	case Soft:
		return "minor"
	}
	return "critical"
}

// Mismatch is one reason against an intent.
type Mismatch struct {
	// Field is the part of the intent, one of intent.FieldNames, or "constraint".
	Field string `json:"field"`
	// Code is a word of a closed list: see Codes.
	Code    string  `json:"code"`
	Verdict Verdict `json:"verdict"`
	// Reason says it in words, without any value of the intent that isn't one of an operator's names.
	Reason string `json:"reason"`
}

// The codes of mismatches.
const (
	CodeAction     = "compare.action"
	CodeExpertise  = "compare.expertise"
	CodeBudget     = "compare.budget"
	CodeCurrency   = "compare.currency"
	CodeResults    = "compare.results"
	CodeLength     = "compare.length"
	CodeDeadline   = "compare.deadline"
	CodeDomain     = "compare.domain"
	CodeTopic      = "compare.topic"
	CodeForbidden  = "compare.forbidden"
	CodeConstraint = "compare.constraint"
	CodeError      = "compare.error"
)

// Codes lists the codes of mismatches.
func Codes() []string {
	return []string{CodeAction, CodeExpertise, CodeBudget, CodeCurrency, CodeResults, CodeLength, CodeDeadline, CodeDomain, CodeTopic,
		CodeForbidden, CodeConstraint, CodeError}
}

// Result is what a comparison came to, with every reason.
type Result struct {
	Verdict    Verdict    `json:"verdict"`
	Mismatches []Mismatch `json:"mismatches,omitempty"`
}

// Explanation says in words how it came about.
func (r Result) Explanation() string {
	if len(r.Mismatches) == 0 {
		return "The intent fits the policy."
	}
	said := make([]string, len(r.Mismatches))
	for i, m := range r.Mismatches {
		said[i] = m.Reason
	}
	return strings.Join(said, " ")
}

// Facts are what a comparison knows beside the intent.
type Facts struct {
	// User is on whose behalf it is.
	User string
	// Today is the date by which deadlines count.
	Today intent.Day
	// Alike returns how similar the intent's topic is to an example of Topics.Like, from 0 to 1; ok is false where it
	// can't say, which is not alike.
	Alike func(example string) (similarity float64, ok bool)
}

// Compare holds an intent against the policy.
func (p *Policy) Compare(ctx context.Context, i intent.Intent, f Facts) Result {
	c := comparison{Policy: p, i: i, f: f}
	if p == nil || p.vocabulary == nil {
		c.add("action", CodeAction, Hard, "No policy is in force, so no action is allowed.")
		return c.result()
	}
	c.checkForbidden()
	c.checkAction()
	c.checkExpertise()
	c.checkBudget()
	c.checkNumbers()
	c.checkDeadline()
	c.checkDomains()
	c.checkTopic()
	c.checkConstraints(ctx)
	return c.result()
}

// comparison is one comparison under way.
type comparison struct {
	*Policy
	i     intent.Intent
	f     Facts
	found []Mismatch
}

func (c *comparison) add(field, code string, v Verdict, format string, args ...any) {
	c.found = append(c.found, Mismatch{field, code, v, fmt.Sprintf(format, args...)})
}

func (c *comparison) result() Result {
	r := Result{Verdict: Approved, Mismatches: c.found}
	for _, m := range c.found {
		r.Verdict = Graver(r.Verdict, m.Verdict)
	}
	return r
}

func (c *comparison) checkForbidden() {
	if c.forbidden.actions[c.i.Action().String()] {
		c.add("action", CodeForbidden, Blocked, "The action %s is forbidden.", c.i.Action())
	}
	for _, e := range c.i.Expertise() {
		if c.forbidden.expertise[e.String()] {
			c.add("expertise", CodeForbidden, Blocked, "The expertise %s is forbidden.", e)
		}
	}
	if n := matchAny(c.forbidden.topics, c.i.Topic().String()); n >= 0 {
		c.add("topic", CodeForbidden, Blocked, "The topic is one that is forbidden: %s.", c.forbidden.topicWords[n])
	}
}

func (c *comparison) checkAction() {
	if !c.actions[c.i.Action().String()] {
		c.add("action", CodeAction, Hard, "The action %s is not among those that are allowed.", c.i.Action())
	}
}

// checkExpertise finds what is asked for and not allowed.
func (c *comparison) checkExpertise() {
	for _, e := range c.i.Expertise() {
		if !c.expertise[e.String()] {
			c.add("expertise", CodeExpertise, Hard, "The expertise %s is not among those that are allowed.", e)
		}
	}
}

func (c *comparison) checkBudget() {
	m, ok := c.i.Constraints().Budget()
	if !ok {
		return
	}
	most, known := c.budgets[m.Currency()]
	if !known {
		c.add("budget", CodeCurrency, Hard, "No budget in %s is allowed.", m.Currency())
		return
	}
	c.checkMost("budget", CodeBudget, m.Minor(), most, formatMinor(most)+" "+m.Currency())
}

func (c *comparison) checkNumbers() {
	cs := c.i.Constraints()
	c.checkMost("max_results", CodeResults, int64(cs.MaxResults()), int64(c.maxResults), fmt.Sprint(c.maxResults))
	c.checkMost("max_length", CodeLength, int64(cs.MaxLength()), int64(c.maxLength), fmt.Sprint(c.maxLength))
}

// checkMost compares a number with its maximum; one without a maximum is allowed, but for budgets, which have one.
func (c *comparison) checkMost(field, code string, got, most int64, shown string) {
	if code != CodeBudget && most == 0 || got <= most {
		return
	}
	soft := most + most*int64(c.tolerance)/100
	if got <= soft {
		c.add(field, code, Soft, "The %s is above the maximum of %s, by no more than %d%%.", word(field), shown, c.tolerance)
		return
	}
	c.add(field, code, Hard, "The %s is above the maximum of %s.", word(field), shown)
}

// word is a field's name for people.
func word(field string) string {
	switch field {
	case "max_results":
		return "number of results"
	case "max_length":
		return "length"
	}
	return field
}

func (c *comparison) checkDeadline() {
	day := c.i.Constraints().Deadline()
	if day.IsZero() {
		return
	}
	switch days := day.DaysAfter(c.f.Today); {
	case days < 0:
		c.add("deadline", CodeDeadline, Hard, "The deadline is in the past.")
	case days < c.earliest:
		c.add("deadline", CodeDeadline, Soft, "The deadline is sooner than in %d days.", c.earliest)
	case c.latest > 0 && days > c.latest:
		c.add("deadline", CodeDeadline, Hard, "The deadline is later than in %d days.", c.latest)
	}
}

func (c *comparison) checkDomains() {
	for _, d := range c.i.Constraints().Domains() {
		if matchAny(c.domains, d.String()) < 0 {
			c.add("domains", CodeDomain, Hard, "A domain is not among those that are allowed.")
			return
		}
	}
}

func (c *comparison) checkTopic() {
	if !c.topicsSet || c.i.Topic() == (intent.Topic{}) {
		return
	}
	id := c.i.Topic().String()
	if c.topics[id] || matchAny(c.topicPatterns, id) >= 0 || c.isAlike() {
		return
	}
	c.add("topic", CodeTopic, Hard, "The topic is not among those that are allowed.")
}

// isAlike reports whether the topic is as similar to one of the examples as is needed.
func (c *comparison) isAlike() bool {
	if c.f.Alike == nil {
		return false
	}
	return slices.ContainsFunc(c.like, func(example string) bool {
		s, ok := c.f.Alike(example)
		return ok && s*100 >= float64(c.leastAlike)
	})
}

func (c *comparison) checkConstraints(ctx context.Context) {
	vars := c.variables()
	for _, r := range c.rules {
		holds, err := r.evaluate(ctx, vars)
		switch {
		case err != nil:
			c.add("constraint", CodeError, Hard, "The constraint %s could not be evaluated, so a person has to look.", r.id)
		case holds:
			c.add("constraint", CodeConstraint, r.then, "%s", r.reason)
		}
	}
}

// matchAny returns the place of the first pattern that a text matches, -1 for none.
func matchAny(patterns []userglob.Glob, text string) int {
	if text == "" {
		return -1
	}
	return slices.IndexFunc(patterns, func(g userglob.Glob) bool { return g.Matches(text) })
}

// formatMinor writes hundredths as a decimal.
func formatMinor(minor int64) string { return fmt.Sprintf("%d.%02d", minor/100, minor%100) }

// pathErrors collects mistakes in options.
type pathErrors []error

func (p *pathErrors) add(path, format string, args ...any) {
	*p = append(*p, &skills.PathError{Path: path, Msg: fmt.Sprintf(format, args...)})
}

func (p *pathErrors) join() error { return errors.Join(*p...) }
