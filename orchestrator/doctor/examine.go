package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

// Status says how grave a finding is.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Finding is what one look at one thing came to.
type Finding struct {
	// Check names what was looked at: "model fast", "store".
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Advice says what to do; empty where nothing is to be done.
	Advice string `json:"advice,omitempty"`
	// TookMS is how long finding it took, in milliseconds.
	TookMS float64 `json:"took_ms"`
}

// Report is an examination.
type Report struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"` // no finding is a problem
	Warnings int       `json:"warnings"`
	Problems int       `json:"problems"`
	Findings []Finding `json:"findings"`
}

// Options shape an examination; the zero value examines everything.
type Options struct {
	// Offline asks no model and no server.
	Offline bool
	// Program are the skills that the program registers: config.Options.Program.
	Program []*skills.Skill
	// Found, where it is set, is told each finding as it is made, one at a time:
	// those of one model together, the models as they come. Report.Findings has
	// the models in the order of their names.
	Found func(Finding)
}

// exam is an examination under way.
type exam struct {
	cfg      *config.Config
	offline  bool
	program  []*skills.Skill
	findings []Finding
	began    time.Time     // of the check under way
	told     func(Finding) // nil where who made this exam tells
	// given reports whether the examination was given up. What is found from
	// then on is dropped: it may be wrong for this alone.
	given   func() bool
	skipped []string // what was not looked at to its end
}

// Examine loads the configuration at path and looks at all that it names. When
// ctx ends it returns what is known by then, and a problem that says so.
func Examine(ctx context.Context, path string, o Options) Report {
	e := &exam{offline: o.Offline, program: o.Program, began: time.Now(), told: o.Found, given: func() bool { return ctx.Err() != nil }}
	if e.told == nil {
		e.told = func(Finding) {}
	}
	if e.loadConfiguration(path) {
		e.examineRest(ctx)
	}
	if ctx.Err() != nil {
		e.given = func() bool { return false }
		e.problem("examination", "it was given up before its end, and not all was looked at: "+strings.Join(e.skipped, ", "), "run it again")
	}
	r := Report{File: path, Findings: e.findings}
	for _, f := range r.Findings {
		switch f.Status {
		case Warning:
			r.Warnings++
		case Problem:
			r.Problems++
		}
	}
	r.OK = r.Problems == 0
	return r
}

// examineRest looks at what a configuration names. Files come before the store: opening
// it would put its own mode right. Models come last: they take the longest.
func (e *exam) examineRest(ctx context.Context) {
	for _, c := range []struct {
		name string
		look func(context.Context)
	}{
		{"permissions", e.examinePolicy}, {"approvals", e.examineApprovals}, {"skills", e.examineSkills}, {"files", e.examineFiles},
		{"roots", e.examineRoots}, {"store", e.examineStore},
		{"ledger", e.examineLedger}, {"pauses", e.examinePauses}, {"limits", e.examineLimits}, {"sandbox", e.examineSandbox},
		{"snapshot", e.examineSnapshots}, {"models", e.examineModels},
	} {
		e.began = time.Now()
		skipped := len(e.skipped)
		if ctx.Err() == nil {
			c.look(ctx)
		}
		if ctx.Err() != nil && len(e.skipped) == skipped {
			e.skipped = append(e.skipped, c.name)
		}
	}
}

// addFinding notes and tells a finding; the time for the next one begins.
func (e *exam) addFinding(s Status, check, message, advice string) {
	if e.given != nil && e.given() {
		return
	}
	now := time.Now()
	f := Finding{check, s, message, advice, float64(now.Sub(e.began).Microseconds()) / 1000}
	e.findings, e.began = append(e.findings, f), now
	if e.told != nil {
		e.told(f)
	}
}

func (e *exam) ok(check, format string, args ...any) {
	e.addFinding(OK, check, fmt.Sprintf(format, args...), "")
}

func (e *exam) warn(check, message, advice string)    { e.addFinding(Warning, check, message, advice) }
func (e *exam) problem(check, message, advice string) { e.addFinding(Problem, check, message, advice) }

// loadConfiguration loads the configuration and builds what it describes; false means that nothing
// can be said of the rest.
func (e *exam) loadConfiguration(path string) bool {
	cfg, err := config.Load(path, config.Options{Program: e.program})
	if err == nil {
		err = assembly.Check(cfg)
	}
	if err != nil {
		e.problem("configuration", err.Error(), "vedette validate "+path+" lists every mistake")
		return false
	}
	e.cfg = cfg
	e.ok("configuration", "%d models, %d skills, %d rules", len(cfg.Models), len(cfg.Skills), len(cfg.Permissions))
	return true
}
