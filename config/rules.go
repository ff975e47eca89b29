package config

import (
	"encoding/json"
	"time"
)

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
	Set string   `yaml:"set" json:",omitempty" jsonschema_description:"The argument that takes the value to."`
	To  Constant `yaml:"to" json:",omitempty" jsonschema_description:"With set: the value."`
	// Clamp holds a number between Min and Max.
	Clamp string `yaml:"clamp" json:",omitempty" jsonschema_description:"The number that is held between min and max."`
	Min   Number `yaml:"min" json:",omitempty" jsonschema_description:"With clamp: the least."`
	Max   Number `yaml:"max" json:",omitempty" jsonschema_description:"With clamp: the greatest."`
	// Redact puts With in the place of Text or of what Pattern matches.
	Redact  string `yaml:"redact" json:",omitempty" jsonschema_description:"The argument in whose texts text or pattern is replaced."`
	Text    string `yaml:"text" json:",omitempty" cfg:"empty" jsonschema_description:"With redact: what is replaced; with append: what is added."`
	Pattern string `yaml:"pattern" json:",omitempty" jsonschema_description:"With redact: an RE2 expression of what is replaced."`
	With    string `yaml:"with" json:",omitempty" cfg:"empty" jsonschema_description:"With redact: what stands in its place (default nothing)."`
	// Append adds Text where the argument doesn't end with it.
	Append string `yaml:"append" json:",omitempty" jsonschema_description:"The text that ends with text afterwards."`
	// Remove takes the argument out.
	Remove string `yaml:"remove" json:",omitempty" jsonschema_description:"The argument that is taken out."`
	// Narrow keeps of a list the texts that Keep matches.
	Narrow string `yaml:"narrow" json:",omitempty" jsonschema_description:"The list of texts of which those that match keep stay."`
	Keep   string `yaml:"keep" json:",omitempty" jsonschema_description:"With narrow: an RE2 expression of what stays."`
}

// Test is one expectation: what becomes of a call. The review takes no part.
type Test struct {
	// Name says what is expected, for people.
	Name string `yaml:"name" cfg:"required" jsonschema_description:"What is expected, in words."`
	// Call is what is proposed.
	Call TestCall `yaml:"call" cfg:"required" jsonschema_description:"The call that is proposed."`
	// User, Agent and Mission are the grant's; empty where not given.
	User    string `yaml:"user" jsonschema_description:"The user's id."`
	Agent   string `yaml:"agent" jsonschema_description:"The agent's id."`
	Mission string `yaml:"mission" jsonschema_description:"What the agent was told to do."`
	// Request is the user's own words; none where it isn't given.
	Request string `yaml:"request" jsonschema_description:"The user's own words (default: there are none)."`
	// Granted are the skills the agent holds; by default the call's own.
	Granted []string `yaml:"granted" cfg:"nonempty" jsonschema_description:"Skills the agent holds (default: the call's own)."`
	// History is what had come back before.
	History []TestStep `yaml:"history" cfg:"nonempty" jsonschema_description:"What the agent's skills had returned before, oldest first."`
	// Time is when the call is made, RFC 3339; now where it isn't given.
	Time string `yaml:"time" jsonschema_description:"When the call is made, as 2026-01-31T18:00:00Z (default now)."`
	// Expect is allow, ask, deny, or modify: rewritten and not denied.
	Expect Action `yaml:"expect" cfg:"required,enum=allow|ask|deny|modify" jsonschema_description:"What becomes of the call; modify: it is rewritten and not denied."`
	// Code and Gate are those that the decision must name, where given.
	Code string `yaml:"code" jsonschema_description:"The code that the decision must have, such as permission.ask."`
	Gate string `yaml:"gate" cfg:"enum=parse|schema|scope|permission|guard|judge" jsonschema_description:"The gate that must decide."`
	// Args are the arguments as they must be judged, where given.
	Args Constant `yaml:"args" jsonschema_description:"The arguments that must be judged, after rules rewrote them."`
	// Pos is where the test stands.
	Pos Position `yaml:"-" json:"-"`
	// At is Time.
	At time.Time `yaml:"-" json:"-"`
}

// TestCall is a proposed call.
type TestCall struct {
	Skill string          `yaml:"skill" cfg:"required" jsonschema_description:"The skill's name."`
	Args  json.RawMessage `yaml:"args" jsonschema_description:"Its arguments (default none)."`
}

// TestStep is one thing that a skill had returned.
type TestStep struct {
	Skill  string          `yaml:"skill" cfg:"required" jsonschema_description:"The skill's name."`
	Args   json.RawMessage `yaml:"args" jsonschema_description:"Its arguments (default none)."`
	Result string          `yaml:"result" cfg:"empty" jsonschema_description:"What it returned."`
	Trust  string          `yaml:"trust" cfg:"enum=trusted|untrusted" jsonschema_description:"Whether that may be believed (default untrusted)."`
}

// number decodes a number and keeps every digit that was written.
func (d *decoder) number(p place) Number {
	if p.n.kind == scalarNode && p.n.bare() {
		n := *p.n
		n.outside = false // a number is read from the environment too
		if k := n.scalarKind(); k == intScalar || k == floatScalar {
			if s, ok := jsonNumber(n.text); ok {
				return Number(s)
			}
		}
	}
	d.fail(p, p.n.pos, "must be a number%s", notA(p.n))
	return ""
}

// checkTests does for tests what no single value shows. Which skills there are
// doesn't matter: that an unknown one is denied may be what is expected.
func (l *loader) checkTests() {
	list := l.get("tests")
	if list == nil || list.kind != listNode {
		return
	}
	names := map[string]Position{}
	for i := range l.cfg.Tests {
		t, n := &l.cfg.Tests[i], list.items[i]
		t.Pos = n.pos
		if n.kind != mappingNode {
			continue
		}
		if name := n.get("name"); name != nil && t.Name != "" {
			if first, twice := names[t.Name]; twice {
				l.out.add(name.pos, "tests[%d]: another test has this name already, at %s", i, first)
			}
			names[t.Name] = name.pos
		}
		if at := n.get("time"); at != nil && t.Time != "" {
			var err error
			if t.At, err = time.Parse(time.RFC3339, t.Time); err != nil {
				l.out.add(at.pos, "tests[%d].time must be a time such as 2026-01-31T18:00:00Z%s", i, notA(at))
			}
		}
		l.checkObject(n.get("call"), "args", "tests[%d].call.args", i)
		l.checkObject(n, "args", "tests[%d].args", i)
		if steps := n.get("history"); steps != nil && steps.kind == listNode {
			for j, s := range steps.items {
				l.checkObject(s, "args", "tests[%d].history[%d].args", i, j)
			}
		}
		if t.Expect == Allow && (t.Code != "" || t.Gate != "") {
			l.out.add(n.pos, "tests[%d]: an allowed call has no code and no gate; remove them", i)
		}
	}
}

// checkObject refuses arguments that are no mapping.
func (l *loader) checkObject(n *node, key, path string, at ...any) {
	if n == nil || n.kind != mappingNode {
		return
	}
	if v := n.get(key); v != nil && !v.bad && !v.isNull() && v.kind != mappingNode {
		l.out.add(v.pos, path+" must be a mapping of arguments to values%s", append(at, notA(v))...)
	}
}
