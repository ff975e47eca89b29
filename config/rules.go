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
