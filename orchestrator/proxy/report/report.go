// Package report says what the streaming proxy would have stopped while it watched, and which lines of the configuration
// may be missing.
//
//	r, err := report.Read(ctx, source, report.Options{Since: time.Now().AddDate(0, 0, -7)})
//	err = r.WriteText(os.Stdout, colour)
//
// It reads records of the kind shadow, beside the process that writes them. Names of tools that the operator didn't name
// are values: they come from the journal, so it needs the keys, and says so where they are gone.
//
// The package isn't stable: docs/api.md lists those that are.
package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/records"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/journal"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// Options say what is read.
type Options struct {
	// Since is from when on records count.
	Since time.Time
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Report is what enforcing would have come to.
type Report struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Calls were watched. Allowed, Asked, Deferred and Denied of them would have been so; Refused besides were no call that
	// can be judged.
	Calls    int `json:"calls"`
	Allowed  int `json:"allowed"`
	Asked    int `json:"asked"`
	Deferred int `json:"deferred"`
	Denied   int `json:"denied"`
	Refused  int `json:"refused"`
	// Tools are those that were called, the most called first, and Stops what would have stopped calls of them.
	Tools []Tool `json:"tools"`
	Stops []Stop `json:"stops"`
	// Suggestions are lines for the configuration, to be read before they are used.
	Suggestions []Suggestion `json:"suggestions"`
}

// Tool is a tool that was called.
type Tool struct {
	// Name is the client's, empty where the journal has it no more.
	Name   string `json:"name"`
	Skill  string `json:"skill"`
	Effect string `json:"effect"`
	// Named says that proxy.tools has it by its name.
	Named bool `json:"named"`
	Calls int  `json:"calls"`
	Stops int  `json:"stops"` // calls that would have been stopped or asked about
}

// Stop is one reason to stop calls of a tool.
type Stop struct {
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	Gate    string `json:"gate"`
	Code    string `json:"code"`
	Reason  string `json:"reason"`
	Calls   int    `json:"calls"`
	// Examples are decisions, for vedette ledger show.
	Examples []string `json:"examples"`
}

// maxExamples is how many decisions a Stop names.
const maxExamples = 3

// gone stands for a tool whose name the journal has no more.
const gone = "(name erased)"

// body is what is read of a record.
type body struct {
	Effect string `json:"effect"`
	Reason string `json:"reason"`
	Skill  string `json:"skill_digest"`
}

// Read reads a report. The error says what the database or the keys lack.
func Read(ctx context.Context, src records.Source, o Options) (r *Report, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s, err := records.OpenSealed(ctx, src, o.Now)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	c := counter{report: &Report{Since: o.Since.UTC(), Until: o.Now().UTC()}, tools: map[string]*Tool{}, stops: map[stopKey]*Stop{}, sealed: s}
	for _, kind := range []string{sentinel.RecordShadow, sentinel.RecordRefused} {
		if err := c.countKind(ctx, kind); err != nil {
			return nil, err
		}
	}
	return c.sum(), nil
}

// counter counts records.
type counter struct {
	report *Report
	sealed *records.Sealed
	tools  map[string]*Tool
	stops  map[stopKey]*Stop
}

// stopKey is what Stops are told apart by.
type stopKey struct{ tool, outcome, gate, code string }

const pageOfRecords = 500

func (c *counter) countKind(ctx context.Context, kind string) error {
	after := int64(-1)
	for {
		page, err := c.sealed.Ledger.List(ctx, ledger.Query{Kind: kind, Since: c.report.Since, AfterIndex: &after, Limit: pageOfRecords})
		if err != nil {
			return err
		}
		names, err := c.openNames(ctx, page)
		if err != nil {
			return err
		}
		for i := range page {
			after = page[i].Index
			c.count(&page[i], names)
		}
		if len(page) < pageOfRecords {
			return nil
		}
	}
}

// openNames returns the names of skills that the records don't have, by call.
func (c *counter) openNames(ctx context.Context, page []ledger.Record) (map[string][]journal.Value, error) {
	var calls []string
	for _, r := range page {
		if r.Skill == "" && r.Kind == sentinel.RecordShadow {
			calls = append(calls, r.Call)
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	return c.sealed.Journal.ByCalls(ctx, calls, []string{"skill"})
}

func (c *counter) count(r *ledger.Record, names map[string][]journal.Value) {
	var b body
	_ = json.Unmarshal(r.Body, &b) // what can't be read says nothing
	if r.Kind == sentinel.RecordRefused {
		if strings.HasPrefix(r.Code, "stream.") || strings.HasPrefix(r.Code, "parse.") {
			c.report.Refused++
			c.addStop(r, &b, "", "deny")
		}
		return
	}
	skill := r.Skill
	if list := names[r.Call]; skill == "" && len(list) > 0 {
		skill = string(list[len(list)-1].Data)
	}
	t := c.tools[skill]
	if t == nil {
		t = &Tool{Skill: skill, Effect: b.Effect, Named: r.Skill != ""}
		if t.Name, _ = skills.ToolOf(skill); t.Name == "" {
			t.Name = cmp.Or(skill, gone)
		}
		c.tools[skill] = t
	}
	t.Calls++
	c.report.Calls++
	switch r.Outcome {
	case sentinel.Allow.String():
		c.report.Allowed++
		return
	case sentinel.Ask.String():
		c.report.Asked++
	case sentinel.Defer.String():
		c.report.Deferred++
	default:
		c.report.Denied++
	}
	t.Stops++
	c.addStop(r, &b, t.Name, r.Outcome)
}

func (c *counter) addStop(r *ledger.Record, b *body, tool, outcome string) {
	key := stopKey{tool, outcome, r.Gate, r.Code}
	s := c.stops[key]
	if s == nil {
		s = &Stop{Tool: tool, Outcome: outcome, Gate: r.Gate, Code: r.Code, Reason: b.Reason}
		c.stops[key] = s
	}
	s.Calls++
	if len(s.Examples) < maxExamples {
		s.Examples = append(s.Examples, r.Decision)
	}
}

// sum puts the counts in order.
func (c *counter) sum() *Report {
	r := c.report
	for _, t := range c.tools {
		r.Tools = append(r.Tools, *t)
	}
	slices.SortFunc(r.Tools, func(a, b Tool) int { return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Name, b.Name)) })
	for _, s := range c.stops {
		r.Stops = append(r.Stops, *s)
	}
	slices.SortFunc(r.Stops, func(a, b Stop) int {
		return cmp.Or(b.Calls-a.Calls, strings.Compare(a.Tool, b.Tool), strings.Compare(a.Code, b.Code))
	})
	r.Suggestions = suggest(r)
	return r
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
