package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
)

// Proposal is a change of the permission rules, with the configuration that it leads to.
type Proposal struct {
	// Says is what to do: "add" or "change".
	Says string
	// Rule is the rule as it stands under permissions, on one line.
	Rule   string
	Config *config.Config
}

// Propose returns changes of the rules under which a call like this would be decided as it should be, the narrowest
// first. Where it should get less than was decided, that needs one more rule. To let more through, each rule that fits
// the skill is made milder, or given an exception: no other gate is loosened by rules. args are the call's arguments,
// and stand in the rules.
func Propose(cfg *config.Config, skill string, args json.RawMessage, decided, should, of string) ([]Proposal, error) {
	conditions := describeTargets(cfg, skill, args)
	was, _ := sentinel.ParseOutcome(decided)
	wanted, known := sentinel.ParseOutcome(should)
	switch {
	case known != nil:
		return nil, known
	case wanted == sentinel.Allow:
		return proposeExceptions(cfg, skill, conditions)
	case wanted > was:
		return proposeQuestions(cfg, skill)
	}
	var out []Proposal
	for _, when := range append(conditions, "") {
		rule, err := writeRule(ruleText{Skill: skill, Then: should, When: when, Reason: "a reviewer of " + of + " said so"})
		if err != nil {
			return nil, err
		}
		next, err := config.WithRules(cfg, rule)
		if err != nil {
			return nil, err
		}
		out = append(out, Proposal{"add", rule, next})
	}
	return out, nil
}

// proposeQuestions has each rule that denies calls of the skill ask.
func proposeQuestions(cfg *config.Config, skill string) (out []Proposal, err error) {
	for i, r := range cfg.Permissions {
		if r.Then != config.Deny || !fitsSkill(r.Skill, skill) {
			continue
		}
		next := *cfg
		next.Permissions = slices.Clone(cfg.Permissions)
		next.Permissions[i].Then = config.Ask
		rule, err := writeRule(ruleText{r.ID, r.Skill, r.Users, string(config.Ask), r.When, r.Reason})
		if err != nil {
			return nil, err
		}
		out = append(out, Proposal{"change", rule, &next})
	}
	return out, nil
}

// proposeExceptions gives each rule that lowers calls of the skill an exception.
func proposeExceptions(cfg *config.Config, skill string, conditions []string) (out []Proposal, err error) {
	for i, r := range cfg.Permissions {
		if r.Then != config.Deny && r.Then != config.Ask || !fitsSkill(r.Skill, skill) {
			continue
		}
		for _, but := range conditions {
			when := "!(" + but + ")"
			if r.When != "" {
				when = "(" + r.When + ") && " + when
			}
			next := *cfg
			next.Permissions = slices.Clone(cfg.Permissions)
			next.Permissions[i].When = when
			rule, err := writeRule(ruleText{r.ID, r.Skill, r.Users, string(r.Then), when, r.Reason})
			if err != nil {
				return nil, err
			}
			out = append(out, Proposal{"change", rule, &next})
		}
	}
	return out, nil
}

// fitsSkill reports whether a rule's skill is this one, its domain or all.
func fitsSkill(pattern, skill string) bool {
	domain, all := strings.CutSuffix(pattern, "*")
	return pattern == skill || all && strings.HasPrefix(skill, domain)
}

// identifier is a name that stands in CEL without quotes.
var identifier = regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*$`)

// describeTargets returns conditions for what a call affects: the same targets, and those of the same domain of mail.
func describeTargets(cfg *config.Config, skill string, raw json.RawMessage) []string {
	i := slices.IndexFunc(cfg.Skills, func(s config.LoadedSkill) bool { return s.Skill.Name() == skill })
	var args map[string]any
	if i < 0 || json.Unmarshal(raw, &args) != nil {
		return nil
	}
	var same, domain []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		marks, declared := cfg.Skills[i].Skill.ArgMarks(name)
		value, text := args[name].(string)
		if !declared || !text || !marks.Has(skills.Target) || !identifier.MatchString(name) {
			continue
		}
		same = append(same, fmt.Sprintf("has(args.%s) && args.%s == %s", name, name, strconv.QuoteToASCII(value)))
		if at := strings.LastIndexByte(value, '@'); at > 0 && at < len(value)-1 {
			domain = append(domain, fmt.Sprintf("has(args.%s) && args.%s.endsWith(%s)", name, name, strconv.QuoteToASCII(value[at:])))
		}
	}
	var out []string
	for _, list := range [][]string{same, domain} {
		if len(list) > 0 {
			out = append(out, strings.Join(list, " && "))
		}
	}
	return out
}

// ruleText is a rule in the order in which people write one.
type ruleText struct {
	ID     string
	Skill  string
	Users  []string
	Then   string
	When   string
	Reason string
}

// writeRule writes a rule on one line. What a configuration would replace stands for itself.
func writeRule(r ruleText) (string, error) {
	var parts []string
	for _, p := range []struct {
		key   string
		value any
		empty bool
	}{{"id", r.ID, r.ID == ""}, {"skill", r.Skill, false}, {"users", r.Users, len(r.Users) == 0}, {"then", r.Then, false},
		{"when", r.When, r.When == ""}, {"reason", r.Reason, r.Reason == ""}} {
		if p.empty {
			continue
		}
		text, err := plainjson.Marshal(p.value)
		if err != nil {
			return "", err
		}
		parts = append(parts, p.key+": "+strings.ReplaceAll(string(text), "${", "$${"))
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}

// Effect says in a sentence what the change would have come to.
func (r *Report) Effect() string {
	asked, denied, more := 0, 0, 0
	for _, c := range r.Changes {
		was, _ := sentinel.ParseOutcome(c.Was)
		now, _ := sentinel.ParseOutcome(c.Now)
		switch {
		case now > was:
			more += c.Calls
		case now == sentinel.Deny:
			denied += c.Calls
		default:
			asked += c.Calls
		}
	}
	s := fmt.Sprintf("would have asked %d and denied %d of %d calls", asked, denied, r.Calls)
	if more > 0 {
		s += fmt.Sprintf(", and let %d get more than they got", more)
	}
	if r.Indeterminate > 0 {
		s += fmt.Sprintf("; of %d it can't be told", r.Indeterminate)
	}
	return s
}
