package pause

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// The kinds of record that a Switch leaves in the ledger.
const (
	RecordPaused = "paused"
	RecordLifted = "pause_lifted"
)

// The scopes of a Target.
const (
	ScopeAll   = "all"
	ScopeUser  = "user"
	ScopeSkill = "skill"
)

// maxName bounds the name of a user, a skill or an operator in bytes. maxPauses
// bounds how many pauses there can be at a time.
const (
	maxName   = 128
	maxPauses = 1000
)

var (
	// ErrTarget refuses a Target that names nothing, or more than one thing.
	ErrTarget = errors.New("pause one of: a user, a skill, or all")
	// ErrUnknown refuses a skill that there is none of: nothing would stop.
	ErrUnknown = errors.New("there is no such skill, so nothing would stop")
	// ErrNotWritten is Pause's error for a pause that is in force here and not
	// written down. Until it is written down, the pause ends with the process. A
	// disk that stalls may get to it yet. After a disk's failure another Pause
	// asks again.
	ErrNotWritten = errors.New("paused in this process, but the pause could not be written down and ends with it")
	// ErrNotShared is Pause's error for a pause that other processes don't know
	// yet. The pause is in force here and written down. Other processes learn of
	// it once they can be reached.
	ErrNotShared = errors.New("paused in this process; other processes could not be told yet")
	// ErrFull is returned by Pause at 1,000 pauses. Pause all instead.
	ErrFull = errors.New("there are too many pauses already; pause all instead")
)

// Target is what a pause stops: exactly one of the three.
type Target struct {
	All  bool   `json:"all,omitempty"`
	User string `json:"user,omitempty"`
	// Skill is a name, or a domain as in a scope: email.*
	Skill string `json:"skill,omitempty"`
}

// Scope returns the target's scope, empty for one that is none.
func (t Target) Scope() string {
	switch {
	case t.All && t.User == "" && t.Skill == "":
		return ScopeAll
	case !t.All && t.User != "" && t.Skill == "":
		return ScopeUser
	case !t.All && t.User == "" && t.Skill != "":
		return ScopeSkill
	}
	return ""
}

// userOrSkill returns the name of the user or the skill, empty for all.
func (t Target) userOrSkill() string { return cmp.Or(t.User, t.Skill) }

// checkTarget refuses what could not be matched or recorded. It returns the scope
// of skills that a skill's pause covers.
func (t Target) checkTarget() (skills.Scope, error) {
	if t.Scope() == "" {
		return skills.Scope{}, ErrTarget
	}
	if !isPlainName(t.userOrSkill()) {
		return skills.Scope{}, fmt.Errorf("%w: a name is one line of at most %d bytes", ErrTarget, maxName)
	}
	if t.Skill == "" {
		return skills.Scope{}, nil
	}
	s, err := skills.NewScope(t.Skill)
	if err != nil {
		return skills.Scope{}, fmt.Errorf("%w: %w", ErrTarget, err)
	}
	return s, nil
}

// isPlainName reports whether s is one line of at most maxName bytes.
func isPlainName(s string) bool {
	return len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// Pause is one pause in force.
type Pause struct {
	Target
	// By is who asked for it.
	By    string    `json:"by"`
	Since time.Time `json:"since"`

	covers skills.Scope
}

// stopsCall reports whether the pause stops a call of the skill by the user.
func (p Pause) stopsCall(user, skill string) bool {
	switch p.Scope() {
	case ScopeAll:
		return true
	case ScopeUser:
		return p.User == user
	case ScopeSkill:
		return p.covers.Allows(skill)
	}
	return true // what can't be read stops
}
