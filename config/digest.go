package config

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
)

// Digest identifies the effective policy: everything that can change a decision,
// defaults included. Files and the order of keys don't count. Two configurations
// with the same Digest decide alike. Digest leaves out the keys of models,
// passwords in addresses, and places in files. It holds secrets in a skill's run
// options only through the skill's own digest. PolicyText is what it stands for.
func (c Config) Digest() string { return c.PolicyText().Digest() }

// PolicyText returns what the configuration's digest stands for.
func (c Config) PolicyText() PolicyText { return writePolicyText(c) }

// digestWhole is a digest of everything that can change a decision.
func (c Config) digestWhole() [sha256.Size]byte {
	type skillDigest struct{ Name, Digest string }
	list := make([]skillDigest, len(c.Skills))
	for i, s := range c.Skills {
		list[i] = skillDigest{s.Skill.Name(), s.Skill.Digest()}
	}
	slices.SortFunc(list, func(a, b skillDigest) int { return strings.Compare(a.Name, b.Name) })
	rules := slices.Clone(c.Permissions)
	for i := range rules {
		rules[i].Pos = Position{}
	}
	models := make(map[string]Model, len(c.Models))
	for name, m := range c.Models {
		m.APIKey = Secret{}
		models[name] = m
	}
	c.Limits.Store.URL = Secret{}
	c.Approvals.Notify = nil // whom it tells changes no decision
	b, err := json.Marshal(struct {
		Version            int
		Models             map[string]Model
		Roles              map[string][]string
		Skills             []skillDigest
		PermissionsDefault Action
		Permissions        []Rule
		Guard              Guard
		Judge              Judge
		Sentinel           Sentinel
		Limits             Limits
		Approvals          Approvals
		Answers            Answers
		Values             Values
		Retention          Journal
		Proxy              *proxyPolicy `json:",omitempty"`
		Intent             Intent       `json:",omitzero"`
	}{c.Version, models, c.Roles, list, c.PermissionsDefault, rules, c.Guard, c.Judge,
		c.Sentinel, c.Limits, c.Approvals, c.Answers, c.Ledger.Values, c.Journal, c.Proxy.policy(), c.Intent})
	if err != nil { // plain data: nothing in it can fail
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(b)
}
