package config

import (
	"encoding/json"
	"time"
)

// Rule is one permission rule. It matches a call when its skill, one of its
// users and its condition do.
type Rule struct {
	// ID names the rule in records; "rule-N", counted from 1, where none is given.
	ID string `yaml:"id" cfg:"pattern=id"`
	// Skill is a skill's name, "domain.*" or "*".
	Skill string `yaml:"skill" cfg:"required"`
	// Users are patterns of user ids; none means every user. What makes a
	// good one is the rule's to say: see package permission.
	Users []string `yaml:"users" cfg:"nonempty"`
	// When is a CEL condition; empty is always true. It isn't compiled here.
	When string `yaml:"when"`
	// Then is deny, ask, allow or modify.
	Then Action `yaml:"then" cfg:"required,enum=allow|ask|deny|modify"`
	// Modify are the rewrites of a rule that says modify. What they mean is
	// checked by the package that applies them.
	Modify []Rewrite `yaml:"modify" json:",omitempty" cfg:"nonempty"`
	// Reason is shown to people.
	Reason string `yaml:"reason"`
	// Pos is where the rule stands.
	Pos Position `yaml:"-" json:"-"`
}

// Constant is any value of a YAML file but null, as JSON.
type Constant json.RawMessage

// MarshalJSON writes the value as it is.
func (c Constant) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	return c, nil
}

// Number is a number as it was written, in the form of JSON; empty where there
// is none.
type Number string

// Rewrite is one declared change of one argument of a call. Exactly one of
// set, clamp, redact, append, remove and narrow names the argument.
type Rewrite struct {
	// Set gives the argument the value To.
	Set string   `yaml:"set" json:",omitempty"`
	To  Constant `yaml:"to" json:",omitempty"`
	// Clamp holds a number between Min and Max.
	Clamp string `yaml:"clamp" json:",omitempty"`
	Min   Number `yaml:"min" json:",omitempty"`
	Max   Number `yaml:"max" json:",omitempty"`
	// Redact puts With in the place of Text or of what Pattern matches.
	Redact  string `yaml:"redact" json:",omitempty"`
	Text    string `yaml:"text" json:",omitempty" cfg:"empty"`
	Pattern string `yaml:"pattern" json:",omitempty"`
	With    string `yaml:"with" json:",omitempty" cfg:"empty"`
	// Append adds Text where the argument doesn't end with it.
	Append string `yaml:"append" json:",omitempty"`
	// Remove takes the argument out.
	Remove string `yaml:"remove" json:",omitempty"`
	// Narrow keeps of a list the texts that Keep matches.
	Narrow string `yaml:"narrow" json:",omitempty"`
	Keep   string `yaml:"keep" json:",omitempty"`
}

// Test is one expectation: what becomes of a call. The review takes no part.
type Test struct {
	// Name says what is expected, for people.
	Name string `yaml:"name" cfg:"required"`
	// Call is what is proposed.
	Call TestCall `yaml:"call" cfg:"required"`
	// User, Agent and Mission are the grant's; empty where not given.
	User    string `yaml:"user"`
	Agent   string `yaml:"agent"`
	Mission string `yaml:"mission"`
	// Request is the user's own words; none where it isn't given.
	Request string `yaml:"request"`
	// Granted are the skills the agent holds; by default the call's own.
	Granted []string `yaml:"granted" cfg:"nonempty"`
	// History is what had come back before.
	History []TestStep `yaml:"history" cfg:"nonempty"`
	// Time is when the call is made, RFC 3339; now where it isn't given.
	Time string `yaml:"time"`
	// Expect is allow, ask, deny, or modify: rewritten and not denied.
	Expect Action `yaml:"expect" cfg:"required,enum=allow|ask|deny|modify"`
	// Code and Gate are those that the decision must name, where given.
	Code string `yaml:"code"`
	Gate string `yaml:"gate" cfg:"enum=parse|schema|scope|permission|guard|judge"`
	// Args are the arguments as they must be judged, where given.
	Args Constant `yaml:"args"`
	// Pos is where the test stands.
	Pos Position `yaml:"-" json:"-"`
	// At is Time.
	At time.Time `yaml:"-" json:"-"`
}

// TestCall is a proposed call.
type TestCall struct {
	Skill string          `yaml:"skill" cfg:"required"`
	Args  json.RawMessage `yaml:"args"`
}

// TestStep is one thing that a skill had returned.
type TestStep struct {
	Skill  string          `yaml:"skill" cfg:"required"`
	Args   json.RawMessage `yaml:"args"`
	Result string          `yaml:"result" cfg:"empty"`
	Trust  string          `yaml:"trust" cfg:"enum=trusted|untrusted"`
}
