package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
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
}

// exam is an examination under way.
type exam struct {
	cfg      *config.Config
	offline  bool
	findings []Finding
	began    time.Time // of the check under way
}

// Examine loads the configuration at path and looks at all that it names.
func Examine(ctx context.Context, path string, o Options) Report {
	e := &exam{offline: o.Offline, began: time.Now()}
	if e.configuration(path) {
		// Files come before the store: opening it would put its own mode right.
		for _, check := range []func(context.Context){
			e.policy, e.approvals, e.skills, e.models, e.files, e.roots, e.store, e.ledger, e.pauses, e.limits, e.sandbox,
		} {
			e.began = time.Now()
			if ctx.Err() != nil {
				e.problem("examination", "it was given up before its end", "run it again")
				break
			}
			check(ctx)
		}
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

// add notes a finding; the time for the next one begins.
func (e *exam) add(s Status, check, message, advice string) {
	now := time.Now()
	e.findings = append(e.findings, Finding{check, s, message, advice, float64(now.Sub(e.began).Microseconds()) / 1000})
	e.began = now
}

func (e *exam) ok(check, format string, args ...any) {
	e.add(OK, check, fmt.Sprintf(format, args...), "")
}

func (e *exam) warn(check, message, advice string)    { e.add(Warning, check, message, advice) }
func (e *exam) problem(check, message, advice string) { e.add(Problem, check, message, advice) }

// configuration loads it and builds what it describes; false means that nothing
// can be said of the rest.
func (e *exam) configuration(path string) bool {
	cfg, err := config.Load(path, config.Options{})
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
