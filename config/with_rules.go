package config

import (
	"fmt"
	"slices"
	"strings"
)

// WithRules returns the configuration with more permission rules behind its own, to try them. Each is one rule as it
// stands under permissions, on one line: {skill: email.send, then: ask}. One without an id is called proposed-N.
func WithRules(c *Config, rules ...string) (*Config, error) {
	text := "version: 1\npermissions:\n"
	for _, r := range rules {
		if strings.ContainsAny(r, "\r\n") {
			return nil, fmt.Errorf("a rule is one line, such as {skill: email.send, then: ask}")
		}
		text += "  - " + r + "\n"
	}
	known := make([]string, len(c.Skills))
	for i, s := range c.Skills {
		known[i] = s.Skill.Name()
	}
	more, err := Parse("proposed", []byte(text), Options{KnownSkills: known})
	if err != nil {
		return nil, err
	}
	out := *c
	out.Permissions = slices.Clone(c.Permissions)
	for i, r := range more.Permissions {
		if r.ID == fmt.Sprintf("rule-%d", i+1) {
			r.ID = fmt.Sprintf("proposed-%d", i+1)
		}
		out.Permissions = append(out.Permissions, r)
	}
	return &out, nil
}
