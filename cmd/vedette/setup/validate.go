package setup

import (
	"errors"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
)

// Mistake is one mistake of a configuration. Without a place it is the whole file's.
type Mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// Warning is what is allowed and may surprise.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// The place, where there is one.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Validation is what a configuration holds, and what is wrong with it.
type Validation struct {
	File     string              `json:"file"`
	Valid    bool                `json:"valid"`
	Skills   map[string]int      `json:"skills"` // by effect
	Rules    int                 `json:"rules"`
	Roles    map[string][]string `json:"roles"`
	Review   string              `json:"review"` // off where no call is judged
	Limits   string              `json:"limits"` // where they are counted
	Mistakes []Mistake           `json:"mistakes"`
	Warnings []Warning           `json:"warnings"`

	// ReviewButFor is what to add to Review for people.
	ReviewButFor string `json:"-"`
}

// String is the mistake as file:line:column: message.
func (m Mistake) String() string {
	return (&config.Error{File: m.File, Line: m.Line, Column: m.Column, Msg: m.Message}).Error()
}

// String is the warning with its place, where it has one.
func (w Warning) String() string {
	at := FormatPlace(w.File, w.Line, w.Column)
	if at != "" {
		at += ": "
	}
	return "warning: " + at + w.Message
}

// Validate reads a configuration with its skill files, builds its gates and finds every
// mistake at once. It opens no database and reaches no server. The error is an
// *advice.Error where the file can't be read.
func (p Program) Validate(path string) (Validation, error) {
	if err := advice.CheckReadable(path, "name the configuration: vedette validate FILE"); err != nil {
		return Validation{}, err
	}
	v := Validation{File: path, Skills: map[string]int{}, Roles: map[string][]string{}, Mistakes: []Mistake{}, Warnings: []Warning{}}
	draft := config.Inspect(path, p.ConfigOptions())
	cfg, err := draft.Config, assembly.CheckDraft(draft)
	v.Mistakes = append(v.Mistakes, listMistakes(path, err)...)
	if v.Valid = err == nil; v.Valid {
		v.describeConfig(cfg)
	}
	return v, nil
}

// listMistakes takes a tree of errors apart. What has no place of its own is the
// whole file's.
func listMistakes(path string, err error) []Mistake {
	if err == nil {
		return nil
	}
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		var out []Mistake
		for _, sub := range e.Unwrap() {
			out = append(out, listMistakes(path, sub)...)
		}
		return out
	}
	var all config.Errors
	if errors.As(err, &all) {
		return listMistakes(path, all)
	}
	var one *config.Error
	if errors.As(err, &one) {
		return []Mistake{{one.File, one.Line, one.Column, one.Msg}}
	}
	return []Mistake{{File: path, Message: err.Error()}}
}

// listUnreviewed lists the effects and skills that are not reviewed.
func listUnreviewed(m config.Modes) string {
	var out []string
	for effect, mode := range m.Effect {
		if mode == config.Off {
			out = append(out, "effect "+effect)
		}
	}
	for skill, mode := range m.Skill {
		if mode == config.Off {
			out = append(out, "skill "+skill)
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (v *Validation) describeConfig(cfg *config.Config) {
	for _, s := range cfg.Skills {
		v.Skills[string(s.Skill.Effect())]++
	}
	v.Rules, v.Review, v.Limits = len(cfg.Permissions), string(cfg.Sentinel.Mode), cfg.Limits.Store.Driver
	for role, models := range cfg.Roles {
		v.Roles[role] = models
	}
	switch m := cfg.Sentinel.Modes; {
	case cfg.Sentinel.Idle():
		v.Review = string(config.Off)
	case len(m.Effect)+len(m.Skill) > 0:
		v.ReviewButFor = ", but for what sentinel.modes names"
	}
	v.warnOfRare(cfg)
	v.warnOfSurprises(cfg) // those with a place come after those without
}

// warnOfRare adds what is allowed and rarely meant.
func (v *Validation) warnOfRare(cfg *config.Config) {
	warn := func(code, msg string) { v.Warnings = append(v.Warnings, Warning{Code: code, Message: msg}) }
	if len(cfg.Skills) == 0 {
		warn("no_skills", "no skills: every call is denied; name skill files under skills.include")
	}
	if left := listUnreviewed(cfg.Sentinel.Modes); left != "" {
		warn("review_modes", "sentinel.modes leaves calls out of the review: "+left)
	}
	switch m := cfg.Sentinel.Modes; {
	case cfg.Sentinel.Mode != config.Off:
	case len(m.Effect)+len(m.Skill) > 0:
		warn("review_off", "sentinel.mode is off: the rules decide alone, but for what sentinel.modes names")
	default:
		warn("review_off", "sentinel.mode is off: the rules decide alone")
	}
	if cfg.Sentinel.Mode == config.Shadow {
		warn("review_shadow", "sentinel.mode is shadow: what the review says is recorded and not applied")
	}
	if len(cfg.Guard.Roots) == 0 {
		warn("no_roots", "guard.roots is empty: no folder binds what calls may name; name the folders that agents work in")
	}
	if cfg.Judge.Threshold == 0 {
		warn("judge_off", "judge.threshold is 0: no score denies")
	}
	if cfg.Ledger.Values != config.ValuesKeys {
		warn("ledger_values", "ledger.values is "+string(cfg.Ledger.Values)+": what the ledger holds of values can't be erased")
	}
	if away := cfg.Limits.Store.WhenAway; cfg.Limits.Store.Driver == config.LimitsOnRedis &&
		slices.Contains([]config.Action{away.Modify, away.Irreversible, away.CostsMoney, away.Outward}, config.Allow) {
		warn("limits_away", "limits.store.when_away lets more than reads and creations go on while the server that counts is away")
	}
	for _, role := range []string{"orchestrator", "agent"} {
		if len(cfg.Roles[role]) == 0 {
			warn("no_"+role, "roles."+role+" names no model: check and eval work, conversations don't")
		}
	}
}

// warnOfSurprises adds what is written and does nothing, or more than it seems to.
func (v *Validation) warnOfSurprises(cfg *config.Config) {
	for _, w := range cfg.Warnings() {
		v.Warnings = append(v.Warnings, Warning{w.Code, w.Msg + "; " + w.Advice, w.Pos.File, w.Pos.Line, w.Pos.Column})
	}
}
