package config

import (
	"fmt"
	"slices"
	"time"
)

// DefaultAssistant is the assistant that answers where the configuration names none.
const DefaultAssistant = "vedette"

// Assistant is one of those that chat interfaces choose by the name of a model. Printing it shows
// no secret: it has none.
type Assistant struct {
	// Description is for people who choose.
	Description string `yaml:"description" json:",omitempty"`
	// Prompt takes the place of orchestrator.prompt; PromptFile is the absolute path of the file that it
	// was read from, where it was one.
	Prompt     string `yaml:"prompt" json:",omitempty"`
	PromptFile string `yaml:"prompt_file" json:"-"`
	// Persona says how answers sound, Locale in which language they are.
	Persona string `yaml:"persona" json:",omitempty"`
	Locale  string `yaml:"locale" json:",omitempty" cfg:"pattern=locale"`
	// Roster are the models that take the place of those under roles: orchestrator and agent.
	Roster map[string][]string `yaml:"roster" json:",omitempty" cfg:"single,key=orchestrator|agent"`
	// Skills are the most that its agents may use; none is all.
	Skills []string `yaml:"skills" json:",omitempty" cfg:"nonempty"`
	// Intent says what the trusted intent of a request is to it: "required" grants what the intent's action grants and
	// nothing without one, "advisory" is on record and grants nothing less, "off" or empty asks for none.
	Intent string `yaml:"intent" json:",omitempty" cfg:"enum=required|advisory|off"`
	// Groups are the groups of users who may use it; none is all.
	Groups []string `yaml:"groups" json:",omitempty" cfg:"nonempty"`
	// Limits bound it for users of no tier.
	Limits AssistantLimits `yaml:"limits" json:",omitzero"`
	// Tiers are what holds for groups of users.
	Tiers []AssistantTier `yaml:"tiers" json:",omitempty" cfg:"nonempty"`
}

// AssistantLimits narrow the limits of the configuration for requests to an assistant; zero narrows nothing.
type AssistantLimits struct {
	// Requests are how many each user may send within Window, which is an hour if zero.
	Requests int           `yaml:"requests" json:",omitempty" cfg:"min=1,max=1000000"`
	Window   time.Duration `yaml:"window" json:",omitempty" cfg:"min=1s,max=24h"`
	// Agents is how many a request may have, Calls how many each of them may propose.
	Agents int `yaml:"agents" json:",omitempty" cfg:"min=1,max=10000"`
	Calls  int `yaml:"calls" json:",omitempty" cfg:"min=1,max=10000"`
	// Tokens are what a request may have spent when the orchestrator's model is asked.
	Tokens int `yaml:"tokens" json:",omitempty" cfg:"min=1,max=1000000000000"`
}

// AssistantTier is what an assistant is to the users of a group. What it leaves out is the assistant's.
type AssistantTier struct {
	Group  string              `yaml:"group" cfg:"required"`
	Roster map[string][]string `yaml:"roster" json:",omitempty" cfg:"single,key=orchestrator|agent"`
	Skills []string            `yaml:"skills" json:",omitempty" cfg:"nonempty"`
	Limits AssistantLimits     `yaml:"limits" json:",omitzero"`
}

// Allows reports whether users of the group may use the assistant.
func (a Assistant) Allows(group string) bool {
	return len(a.Groups) == 0 || slices.Contains(a.Groups, group)
}

// ForGroup returns the assistant as it is to users of the group.
func (a Assistant) ForGroup(group string) Assistant {
	for _, t := range a.Tiers {
		if t.Group != group {
			continue
		}
		if t.Roster != nil {
			a.Roster = t.Roster
		}
		if t.Skills != nil {
			a.Skills = t.Skills
		}
		a.Limits = a.Limits.override(t.Limits)
	}
	return a
}

// override returns the limits with those of a tier in their place.
func (l AssistantLimits) override(t AssistantLimits) AssistantLimits {
	if t.Requests != 0 {
		l.Requests = t.Requests
	}
	if t.Window != 0 {
		l.Window = t.Window
	}
	if t.Agents != 0 {
		l.Agents = t.Agents
	}
	if t.Calls != 0 {
		l.Calls = t.Calls
	}
	if t.Tokens != 0 {
		l.Tokens = t.Tokens
	}
	return l
}

// maxPersona bounds Assistant.Persona in bytes.
const maxPersona = 4 << 10

// assistantsCheck looks at assistants as the loader does at everything.
type assistantsCheck struct{ *loader }

// checkAll refuses models and skills that aren't there, two prompts, tiers that don't count.
func (l assistantsCheck) checkAll() {
	all := l.valueAt("assistants")
	if all == nil || all.kind != mappingNode {
		return
	}
	for i := range all.entries {
		e := &all.entries[i]
		a, known := l.cfg.Assistants[e.key]
		if !known || e.val.kind != mappingNode {
			continue
		}
		path := "assistants." + e.key
		l.checkRoster(path+".roster", e.val.get("roster"))
		l.checkSkillNames(e.val.get("skills"))
		l.checkAssistantText(path, e.val, &a)
		asks := a.Intent == "required" || a.Intent == "advisory"
		if n := e.val.get("intent"); n != nil && asks && !l.cfg.Intent.IsOn() {
			l.out.add(n.pos, "%s.intent needs the actions that users can ask for; add intent: {actions: …, policy: …}", path)
		}
		l.checkTiers(path, e.val.get("tiers"), a.Tiers)
		l.cfg.Assistants[e.key] = a
	}
}

// checkRoster refuses models that aren't under models.
func (l assistantsCheck) checkRoster(path string, n *node) {
	if n == nil || n.kind != mappingNode {
		return
	}
	for i := range n.entries {
		if e := &n.entries[i]; e.key == "orchestrator" || e.key == "agent" {
			l.checkModelNames(path+"."+e.key, e.val)
		}
	}
}

// checkSkillNames refuses skills that aren't there.
func (l assistantsCheck) checkSkillNames(n *node) {
	known := l.knownSkills()
	for _, s := range listItems(n) {
		if s.kind == scalarNode && !s.bad && s.text != "" {
			l.checkPattern(s, known)
		}
	}
}

// checkAssistantText reads the prompt's file and refuses texts that are too long.
func (l assistantsCheck) checkAssistantText(path string, n *node, a *Assistant) {
	file := n.get("prompt_file")
	if file != nil && n.get("prompt") != nil {
		l.out.add(file.pos, "%s has a prompt and a prompt_file; remove one", path)
		return
	}
	if file != nil && a.PromptFile != "" {
		a.PromptFile, a.Prompt = l.readText(path+".prompt_file", a.PromptFile, file)
	}
	for _, f := range []struct {
		key, text string
		most      int
	}{{"prompt", a.Prompt, MaxPrompt}, {"persona", a.Persona, maxPersona}} {
		if t := n.get(f.key); t != nil && len(f.text) > f.most {
			l.out.add(t.pos, "%s.%s has more than %d bytes", path, f.key, f.most)
		}
	}
}

// checkTiers refuses tiers of one group, and what they name that isn't there.
func (l assistantsCheck) checkTiers(path string, n *node, tiers []AssistantTier) {
	seen := map[string]bool{}
	for i, t := range listItems(n) {
		if t.kind != mappingNode || i >= len(tiers) {
			continue
		}
		l.checkRoster(fmt.Sprintf("%s.tiers[%d].roster", path, i), t.get("roster"))
		l.checkSkillNames(t.get("skills"))
		if g := t.get("group"); g != nil && tiers[i].Group != "" {
			if seen[tiers[i].Group] {
				l.out.add(g.pos, "%s.tiers names the group %s twice", path, quoteWord(tiers[i].Group))
			}
			seen[tiers[i].Group] = true
		}
	}
}
