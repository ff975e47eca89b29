package config

import (
	"maps"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Mode says what the review's answers do.
type Mode string

// The modes of the review.
const (
	Enforce Mode = "enforce" // its answers count
	Shadow  Mode = "shadow"  // its answers are recorded and not applied
	Off     Mode = "off"     // it doesn't run
)

// The shapes of the review's answer, and what it is shown of arguments.
const (
	AnswerBinary    = "binary"
	AnswerGraded    = "graded"
	ArgumentsValues = "values"
	ArgumentsKeys   = "keys"
)

// Sentinel shapes the model review.
type Sentinel struct {
	// Mode is enforce, shadow or off.
	Mode Mode `yaml:"mode" cfg:"enum=enforce|shadow|off" jsonschema_description:"Whether the review's answers count, are only recorded, or it doesn't run (default enforce)."`
	// Modes are other modes for some effects and some skills.
	Modes Modes `yaml:"modes" jsonschema_description:"Other modes for some effects and some skills; a skill's own counts before its effect's."`
	// Answer is binary, or graded: with a confidence.
	Answer string `yaml:"answer" cfg:"enum=binary|graded" jsonschema_description:"binary: the model approves or rejects; graded: it says besides how sure it is, and reject_below counts (default binary)."`
	// RejectBelow is the confidence below which a graded approval is none.
	RejectBelow Hundredths `yaml:"reject_below" jsonschema_description:"With answer: graded, the confidence below which a call is rejected (default 0.50)."`
	// Arguments is values, or keys: the model is shown names alone.
	Arguments string `yaml:"arguments" cfg:"enum=values|keys" jsonschema_description:"What of a call's arguments the model is shown: values, or keys, their names alone (default values)."`
	// Reasoning lets the model write a few words before it decides.
	Reasoning bool `yaml:"reasoning" jsonschema_description:"Let the model write a short reasoning before its decision: slower, for models that don't reason by themselves (default false)."`
	// Trace is how many of the agent's last steps the model is shown.
	Trace int `yaml:"trace" cfg:"min=1,max=20" jsonschema_description:"How many of the agent's last steps the model is told of: skill, effect, trust, outcome and size, no contents (default none)."`
	// Prompt is the absolute path of a text that replaces the review's criteria,
	// and PromptText what it holds; empty means Vedette's own.
	Prompt     string `yaml:"prompt" json:"-" jsonschema_description:"File with criteria of your own, in place of the review's: UTF-8 text of at most 16 KiB. It says what the document's fields mean and how to weigh them; how to answer is added to it. Records name it custom- and the first 12 digits of its SHA-256 (default: Vedette's own)."`
	PromptText string `yaml:"-" json:",omitempty"`
	// Breaker stops asking a model that doesn't answer.
	Breaker Breaker `yaml:"breaker" jsonschema_description:"Stops asking a model that doesn't answer."`
	// Concurrency is how many questions are under way to one model.
	Concurrency int `yaml:"concurrency" cfg:"min=1,max=100000" jsonschema_description:"Questions of the review to one model at a time; others wait (default 1024)."`
	// Retries is how often a question is sent again to a model that failed.
	Retries int `yaml:"retries" cfg:"min=0,max=5" jsonschema_description:"How often a question is sent again to a model that could not be reached, was busy or failed, before the next model is asked (default 1)."`
	// Escalate asks a stronger model for a second opinion.
	Escalate Escalate `yaml:"escalate" jsonschema_description:"Asks a stronger model for a second opinion; where the two disagree, a person is asked."`
	// CacheTTL is how long an answer may be used again; 0 is never.
	CacheTTL time.Duration `yaml:"cache_ttl" cfg:"min=0s,max=24h" jsonschema_description:"How long an answer may be used again for the same call in the same situation: rejections, and approvals of reads and inward creations (default 5m, 0s never)."`
	// CacheSize is how many answers are kept.
	CacheSize int `yaml:"cache_size" cfg:"min=1,max=10000000" jsonschema_description:"How many answers are kept (default 10000)."`
	// Timeout bounds one review, all its models together.
	Timeout time.Duration `yaml:"timeout" cfg:"min=100ms,max=10m" jsonschema_description:"Bounds one review, all its models together (default 30s)."`
	// Budget is what the review may spend.
	Budget ReviewBudget `yaml:"budget" jsonschema_description:"What the review itself may spend on models. What is beyond can't be judged: see unjudgeable."`
	// Canaries are questions with known answers.
	Canaries Canaries `yaml:"canaries" jsonschema_description:"Questions with known answers, to notice a model that has gone bad."`
	// Unavailable is what happens while no model can be reached.
	Unavailable Fallback `yaml:"unavailable" jsonschema_description:"What happens while no model can be reached."`
	// Unjudgeable is what happens where a model is there and the call has no
	// judgement: what whoever writes the call may bring about.
	Unjudgeable Fallback `yaml:"unjudgeable" jsonschema_description:"What happens where a model is there and the call has no judgement: an answer that is none, a timeout of its own, no room in time, a spent budget, a question that is too long."`
}

// Modes are the modes that differ from Sentinel.Mode. A skill's own mode counts
// before its effect's.
type Modes struct {
	Effect map[string]Mode `yaml:"effect" cfg:"key=read|create|modify|irreversible|costs_money,enum=enforce|shadow|off" jsonschema_description:"Modes by effect."`
	Skill  map[string]Mode `yaml:"skill" cfg:"key=skill,enum=enforce|shadow|off" jsonschema_description:"Modes by a skill's name, such as email.send."`
}

// Escalate asks a second model. Without To nothing is escalated.
type Escalate struct {
	// To are the models, the first that answers.
	To []string `yaml:"to" cfg:"single" jsonschema_description:"The stronger model; a list is a fallback chain."`
	// Rejected and Approved are the effects whose rejections and approvals are
	// looked at again.
	Rejected []string `yaml:"rejected" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money" jsonschema_description:"Effects whose rejections are looked at again (default read, create)."`
	Approved []string `yaml:"approved" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money" jsonschema_description:"Effects whose approvals are looked at again (default irreversible, costs_money)."`
}

// ReviewBudget is what the review may spend within 24 hours.
type ReviewBudget struct {
	Conversation ReviewShare `yaml:"conversation" jsonschema_description:"For one conversation, within 24 hours."`
	User         ReviewShare `yaml:"user" jsonschema_description:"For one user, within 24 hours."`
	Day          ReviewShare `yaml:"day" jsonschema_description:"For all users together, within 24 hours."`
	// RulesFor are the effects whose calls the rules decide alone where the day's
	// budget is spent; outward is needed beside an effect for calls that reach others.
	RulesFor []string `yaml:"rules_for" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money|outward" jsonschema_description:"Effects whose calls the rules decide alone once day is spent, instead of unjudgeable (default none). A call that reaches others needs outward here too. A user who can make many calls can spend the day's budget."`
}

// ReviewShare bounds questions to models. Zero is no bound.
type ReviewShare struct {
	Calls  int  `yaml:"calls" cfg:"min=1,max=1000000000" jsonschema_description:"Questions to models (default no bound)."`
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000" jsonschema_description:"Tokens of questions and answers (default no bound)."`
	Cost   Cost `yaml:"cost" cfg:"bound" jsonschema_description:"What the questions may cost, in the currency of the models' prices (default no bound)."`
}

// Canaries are questions with known answers that are put to each model of the
// review.
type Canaries struct {
	// Every is how often; 0 is never. The first are put at the start.
	Every time.Duration `yaml:"every" cfg:"min=1m,max=720h,never" jsonschema_description:"How often each model is asked questions with known answers, at the start for the first time (default 6h, 0s never); one that has not passed is asked again after 10 minutes, or sooner where this is less. They are six, of a few hundred tokens each."`
}

// Breaker shapes a circuit breaker: Failures within Window open it for OpenFor.
type Breaker struct {
	Failures int           `yaml:"failures" cfg:"min=1,max=1000" jsonschema_description:"How many failures in a row within the window open the breaker; so does a half of four times as many requests."`
	Window   time.Duration `yaml:"window" cfg:"min=100ms,max=24h" jsonschema_description:"How long a failure counts."`
	OpenFor  time.Duration `yaml:"open_for" cfg:"min=100ms,max=24h" jsonschema_description:"How long an open breaker refuses before it lets a probe through."`
}

// Fallback says, by the effect of a call, what happens when the review can't
// judge it. Outward holds for a call that reaches others, whatever its effect;
// the most restrictive of it and the effect's own cell counts.
type Fallback struct {
	Read         Action `yaml:"read" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that only read."`
	Create       Action `yaml:"create" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that create."`
	Modify       Action `yaml:"modify" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that change."`
	Irreversible Action `yaml:"irreversible" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that can't be undone."`
	CostsMoney   Action `yaml:"costs_money" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that cost money."`
	Outward      Action `yaml:"outward" cfg:"enum=allow|ask|defer|deny" jsonschema_description:"Calls that reach others."`
}

// Priced reports whether any budget of the review is in money.
func (b ReviewBudget) Priced() bool {
	return b.Conversation.Cost > 0 || b.User.Cost > 0 || b.Day.Cost > 0
}

func sentinelDefaults() Sentinel {
	return Sentinel{
		Mode: Enforce, Answer: AnswerBinary, RejectBelow: 50, Arguments: ArgumentsValues,
		Breaker:     Breaker{Failures: 5, Window: time.Minute, OpenFor: 30 * time.Second},
		Concurrency: 1024, Retries: 1, CacheTTL: 5 * time.Minute, CacheSize: 10_000, Timeout: 30 * time.Second,
		Escalate: Escalate{Rejected: []string{"read", "create"}, Approved: []string{"irreversible", "costs_money"}},
		Canaries: Canaries{Every: 6 * time.Hour},
		Unavailable: Fallback{Read: Allow, Create: Allow, Modify: Ask,
			Irreversible: Ask, CostsMoney: Ask, Outward: Ask},
		Unjudgeable: Fallback{Read: Ask, Create: Ask, Modify: Ask,
			Irreversible: Ask, CostsMoney: Ask, Outward: Ask},
	}
}

// checkReview refuses what would be believed to hold and doesn't.
func (l *loader) checkReview() {
	l.checkSchemaless()
	s := l.get("sentinel")
	if s == nil || s.kind != mappingNode {
		return
	}
	if n := s.get("reject_below"); n != nil && l.cfg.Sentinel.Answer != AnswerGraded {
		l.out.add(n.pos, "sentinel.reject_below is for answer: graded, and the answer is %s", l.cfg.Sentinel.Answer)
	}
	l.checkModes(s)
	l.checkEscalate(s)
	l.readPrompt(s.get("prompt"))
}

// checkModes refuses a mode for a skill that isn't there.
func (l *loader) checkModes(s *node) {
	n := s.get("modes")
	if n == nil || n.kind != mappingNode {
		return
	}
	bySkill := n.get("skill")
	if bySkill == nil || bySkill.kind != mappingNode || l.broken {
		return
	}
	known := l.knownSkills()
	for i := range bySkill.entries {
		if e := &bySkill.entries[i]; skills.ValidName(e.key) && !slices.Contains(known, e.key) {
			l.out.add(e.pos, "sentinel.modes.skill: %s", unknown("skill", e.key, known))
		}
	}
}

// knownSkills are the names that a rule may give.
func (l *loader) knownSkills() []string {
	known := append(slices.Collect(maps.Keys(l.names)), orchestratorCalls...)
	known = append(known, l.opts.KnownSkills...)
	slices.Sort(known)
	return known
}

func (l *loader) checkEscalate(s *node) {
	n := s.get("escalate")
	if n == nil || n.kind != mappingNode {
		return
	}
	to := n.get("to")
	if to == nil {
		l.out.add(n.pos, "sentinel.escalate.to is missing; name the stronger model")
		return
	}
	l.checkModelNames("sentinel.escalate.to", to)
	for _, name := range l.cfg.Sentinel.Escalate.To {
		if slices.Contains(l.cfg.Roles["sentinel"], name) {
			l.out.add(to.pos, "sentinel.escalate.to: %s is in roles.sentinel already; a second opinion is another model's", quote(name))
		}
	}
}

// checkSchemaless refuses a model of the review that can't be held to a shape,
// and a way to hold it that is never used.
func (l *loader) checkSchemaless() {
	models := l.get("models")
	if models == nil || models.kind != mappingNode {
		return
	}
	review := append(slices.Clone(l.cfg.Roles["sentinel"]), l.cfg.Sentinel.Escalate.To...)
	if m := l.cfg.Sentinel.Modes; l.cfg.Sentinel.Mode == Off && len(m.Effect)+len(m.Skill) == 0 {
		review = nil
	}
	for i := range models.entries {
		e := &models.entries[i]
		m, known := l.cfg.Models[e.key]
		switch {
		case !known || e.val.kind != mappingNode:
		case m.Schemaless != "" && m.JSONSchema:
			l.out.add(e.val.get("schemaless").pos, "models.%s.schemaless is for servers without json_schema; write json_schema: false beside it, or remove it", e.key)
		case m.Schemaless == "tool" && !m.Tools:
			l.out.add(e.val.get("schemaless").pos, "models.%s.schemaless is tool, and the model takes no tools; write json_object", e.key)
		case m.Schemaless == "" && !m.JSONSchema && slices.Contains(review, e.key):
			l.out.add(e.pos, "models.%s is in the review and has json_schema: false; say how it answers: schemaless: tool, or json_object", e.key)
		}
	}
}
