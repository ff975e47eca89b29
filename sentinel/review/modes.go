package review

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/runes"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/evidence"
	"github.com/vedette-dev/vedette/skills"
)

// Modes are the modes that differ from Options.Mode. A skill's own counts
// before its effect's.
type Modes struct {
	Effect map[skills.Effect]Mode
	Skill  map[string]Mode
}

// DefaultRejectBelow is the score, in hundredths, below which a graded
// approval is none.
const DefaultRejectBelow = 50

// Bounds of what shapes the question.
const (
	maxTrace  = 20
	maxPrompt = 16 << 10 // bytes
)

// modeOf returns the mode that holds for a call, and the key that says so.
func (o Options) modeOf(c sentinel.Call) (mode Mode, key string) {
	if s := c.Skill(); s != nil {
		if m, ok := o.Modes.Skill[s.Name()]; ok {
			return m, "sentinel.modes.skill." + s.Name()
		}
		if m, ok := o.Modes.Effect[s.Effect()]; ok {
			return m, "sentinel.modes.effect." + string(s.Effect())
		}
	}
	return o.Mode, "sentinel.mode"
}

// isOff reports whether no call is ever asked about.
func (o Options) isOff() bool {
	on := func(m Mode) bool { return m != Off }
	return o.Mode == Off && !slices.ContainsFunc(slices.Collect(maps.Values(o.Modes.Effect)), on) &&
		!slices.ContainsFunc(slices.Collect(maps.Values(o.Modes.Skill)), on)
}

func (m Modes) checkModes() error {
	var errs []error
	for _, e := range slices.Sorted(maps.Keys(m.Effect)) {
		path := "sentinel.modes.effect." + string(e)
		if !slices.Contains(skills.Effects(), e) {
			errs = append(errs, &skills.PathError{Path: path, Msg: "is no effect"})
		}
		errs = append(errs, m.Effect[e].checkMode(path))
	}
	for _, s := range slices.Sorted(maps.Keys(m.Skill)) {
		errs = append(errs, m.Skill[s].checkMode("sentinel.modes.skill."+s))
	}
	return errors.Join(errs...)
}

// checkMode refuses what is no mode; unlike Options.Mode none of these has a default.
func (m Mode) checkMode(path string) error {
	switch m {
	case Enforce, ShadowMode, Off:
		return nil
	}
	return &skills.PathError{Path: path, Msg: fmt.Sprintf("%q is not one of enforce, shadow, off", string(m))}
}

// checkQuestion checks what shapes question and answer.
func (o Options) checkQuestion() error {
	var errs []error
	add := func(path, msg string) { errs = append(errs, &skills.PathError{Path: path, Msg: msg}) }
	if o.RejectBelow > 100 {
		add("sentinel.reject_below", "must be from 0.00 to 1.00")
	}
	if o.Trace < 0 || o.Trace > maxTrace {
		add("sentinel.trace", fmt.Sprintf("must be from 1 to %d", maxTrace))
	}
	switch {
	case o.Prompt == "":
	case strings.TrimFunc(o.Prompt, isBlankRune) == "":
		add("sentinel.prompt", "holds no text")
	case len(o.Prompt) > maxPrompt:
		add("sentinel.prompt", fmt.Sprintf("has more than %d bytes", maxPrompt))
	case !utf8.ValidString(o.Prompt):
		add("sentinel.prompt", "is not UTF-8 text")
	}
	return errors.Join(errs...)
}

// documentView is what a document shows of a call.
func (o Options) documentView() view {
	return view{keys: o.Keys, trace: o.Trace, plain: !o.showsEvidence(), evidence: o.Evidence}
}

// showsEvidence reports whether questions have the calls' evidence.
func (o Options) showsEvidence() bool { return o.Evidence.Mode != evidence.Off }

// isBlankRune reports whether the character is invisible to people.
func isBlankRune(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || runes.IsInvisible(r)
}
