package command

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/orchestrator/assembly"
	"github.com/vedette-dev/vedette/skills"
)

func newValidate(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [FILE]",
		Short: "Find every mistake of a configuration",
		Long: `Validate reads a configuration with its skill files, builds the gates and the ways
to run its skills, and tells every mistake at once as file:line:column: message.
It opens no database and reaches no model and no Redis server. The exit status is 3 where there are mistakes. Warnings are
for what is allowed and may surprise; they don't change the status.`,
		Example: `  vedette validate
  vedette validate deploy/vedette.yaml --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := defaultConfig
			if len(args) == 1 {
				path = args[0]
			}
			return a.validate(path, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// mistake is one finding of validate.
type mistake struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

type warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// The place, where there is one.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// validation is what validate prints.
type validation struct {
	File     string              `json:"file"`
	Valid    bool                `json:"valid"`
	Skills   map[string]int      `json:"skills"` // by effect
	Rules    int                 `json:"rules"`
	Roles    map[string][]string `json:"roles"`
	Review   string              `json:"review"` // off where no call is judged
	Limits   string              `json:"limits"` // where they are counted
	Mistakes []mistake           `json:"mistakes"`
	Warnings []warning           `json:"warnings"`

	reviewButFor string // what to add to Review for people
}

func (a *app) validate(path string, asJSON bool) error {
	if err := readable(path, "name the configuration: vedette validate FILE"); err != nil {
		return err
	}
	v := validation{File: path, Skills: map[string]int{}, Roles: map[string][]string{}, Mistakes: []mistake{}, Warnings: []warning{}}
	draft := config.Inspect(path, a.configOptions())
	cfg, err := draft.Config, assembly.CheckDraft(draft)
	v.Mistakes = append(v.Mistakes, mistakes(path, err)...)
	if v.Valid = err == nil; v.Valid {
		v.describe(cfg)
	}
	if asJSON {
		if err := writeJSON(a.out, v, true); err != nil {
			return err
		}
	}
	if !v.Valid {
		return a.tellMistakes(v)
	}
	if asJSON {
		return nil
	}
	return a.tellValid(v)
}

// mistakes takes a tree of errors apart. What has no place of its own is the
// whole file's.
func mistakes(path string, err error) []mistake {
	if err == nil {
		return nil
	}
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		var out []mistake
		for _, sub := range e.Unwrap() {
			out = append(out, mistakes(path, sub)...)
		}
		return out
	}
	var all config.Errors
	if errors.As(err, &all) {
		return mistakes(path, all)
	}
	var one *config.Error
	if errors.As(err, &one) {
		return []mistake{{one.File, one.Line, one.Column, one.Msg}}
	}
	return []mistake{{File: path, Message: err.Error()}}
}

// leftOut lists the effects and skills that are not reviewed.
func leftOut(m config.Modes) string {
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

func (v *validation) describe(cfg *config.Config) {
	effects := map[skills.Effect]int{}
	for _, s := range cfg.Skills {
		effects[s.Skill.Effect()]++
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
		v.reviewButFor = ", but for what sentinel.modes names"
	}
	v.warn(cfg)
	v.surprises(cfg) // those with a place come after those without
}

// warn tells what is allowed and rarely meant.
func (v *validation) warn(cfg *config.Config) {
	warn := func(code, msg string) { v.Warnings = append(v.Warnings, warning{Code: code, Message: msg}) }
	if len(cfg.Skills) == 0 {
		warn("no_skills", "no skills: every call is denied; name skill files under skills.include")
	}
	if left := leftOut(cfg.Sentinel.Modes); left != "" {
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

// surprises adds what is written and does nothing, or more than it seems to.
func (v *validation) surprises(cfg *config.Config) {
	for _, w := range cfg.Warnings() {
		v.Warnings = append(v.Warnings, warning{w.Code, w.Msg + "; " + w.Advice, w.Pos.File, w.Pos.Line, w.Pos.Column})
	}
}

func (a *app) tellMistakes(v validation) error {
	for _, m := range v.Mistakes {
		e := config.Error{File: m.File, Line: m.Line, Column: m.Column, Msg: m.Message}
		for _, line := range strings.Split(e.Error(), "\n") {
			_, _ = fmt.Fprintln(a.err, clean(line))
		}
	}
	n := "1 mistake"
	if len(v.Mistakes) != 1 {
		n = fmt.Sprintf("%d mistakes", len(v.Mistakes))
	}
	return &failure{code: exitFindings, err: fmt.Errorf("%s in %s", n, v.File)}
}

func (a *app) tellValid(v validation) error {
	total := 0
	var by, roles []string
	for _, e := range slices.Sorted(maps.Keys(v.Skills)) {
		total += v.Skills[e]
		by = append(by, fmt.Sprintf("%d %s", v.Skills[e], e))
	}
	for _, r := range slices.Sorted(maps.Keys(v.Roles)) {
		roles = append(roles, r+": "+strings.Join(v.Roles[r], ", "))
	}
	t := table{}
	t.add("skills", strings.TrimSuffix(fmt.Sprintf("%d (%s)", total, strings.Join(by, ", ")), " ()"))
	t.add("rules", fmt.Sprint(v.Rules))
	t.add("roles", cmp.Or(strings.Join(roles, "; "), "none"))
	t.add("review", v.Review+v.reviewButFor)
	t.add("limits", v.Limits)
	if err := t.write(a.out); err != nil {
		return err
	}
	for _, w := range v.Warnings {
		at := config.Position{File: w.File, Line: w.Line, Column: w.Column}.String()
		if at != "" {
			at += ": "
		}
		if _, err := fmt.Fprintln(a.out, clean("warning: "+at+w.Message)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(a.out, clean(v.File)+" is valid")
	return err
}
