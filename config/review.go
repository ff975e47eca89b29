package config

import (
	"time"
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

// Strict is the profile that leaves no call out of the review.
const Strict = "strict"

// Sentinel shapes the model review.
type Sentinel struct {
	// Mode is enforce, shadow or off.
	Mode Mode `yaml:"mode" cfg:"enum=enforce|shadow|off"`
	// Modes are other modes for some effects and some skills.
	Modes Modes `yaml:"modes"`
	// Answer is binary, or graded: with how likely the call is right.
	Answer string `yaml:"answer" cfg:"enum=binary|graded"`
	// RejectBelow is the score below which a graded approval is none.
	RejectBelow Hundredths `yaml:"reject_below"`
	// Arguments is values, or keys: the model is shown names alone.
	Arguments string `yaml:"arguments" cfg:"enum=values|keys"`
	// Reasoning lets the model write a few words before it decides.
	Reasoning bool `yaml:"reasoning"`
	// Trace is how many of the agent's last steps the model is shown.
	Trace int `yaml:"trace" cfg:"min=1,max=20"`
	// Prompt is the absolute path of a text that replaces the review's criteria.
	// PromptText is that text; empty means Vedette's own.
	Prompt     string `yaml:"prompt" json:"-"`
	PromptText string `yaml:"-" json:",omitempty"`
	// Breaker stops asking a model that doesn't answer.
	Breaker Breaker `yaml:"breaker"`
	// Concurrency is how many questions are under way to one model.
	Concurrency int `yaml:"concurrency" cfg:"min=1,max=100000"`
	// Retries is how often a question is sent again to a model that failed.
	Retries int `yaml:"retries" cfg:"min=0,max=5"`
	// Escalate asks a stronger model for a second opinion.
	Escalate Escalate `yaml:"escalate"`
	// CacheTTL is how long an answer may be used again; 0 is never.
	CacheTTL time.Duration `yaml:"cache_ttl" cfg:"min=0s,max=24h"`
	// CacheSize is how many answers are kept.
	CacheSize int `yaml:"cache_size" cfg:"min=1,max=10000000"`
	// Timeout bounds one review, all its models together.
	Timeout time.Duration `yaml:"timeout" cfg:"min=100ms,max=10m"`
	// Budget is what the review may spend.
	Budget ReviewBudget `yaml:"budget"`
	// Canaries are questions with known answers.
	Canaries Canaries `yaml:"canaries"`
	// Doubts is review, or count: each doubt of the judge counts, whatever a model says.
	Doubts string `yaml:"doubts" cfg:"enum=review|count"`
	// Profile is strict, balanced or thrifty: which calls need no model.
	Profile string `yaml:"profile" cfg:"enum=strict|balanced|thrifty"`
	// Evidence is records, provenance, off or all: what the review is shown of where values were seen.
	Evidence string `yaml:"evidence" cfg:"enum=records|provenance|off|all"`
	// Unavailable is what happens while no model can be reached.
	Unavailable Fallback `yaml:"unavailable"`
	// Unjudgeable is what happens where a model is reachable and the call has no
	// judgement. The model that writes the call can bring this about.
	Unjudgeable Fallback `yaml:"unjudgeable"`
}

// Modes are the modes that differ from Sentinel.Mode. A skill's own mode counts
// before its effect's.
type Modes struct {
	Effect map[string]Mode `yaml:"effect" cfg:"key=read|create|modify|irreversible|costs_money,enum=enforce|shadow|off"`
	Skill  map[string]Mode `yaml:"skill" cfg:"key=skill,enum=enforce|shadow|off"`
}

// Escalate asks a second model. Without To nothing is escalated.
type Escalate struct {
	// To are the models, the first that answers.
	To []string `yaml:"to" cfg:"single"`
	// Rejected and Approved are the effects whose rejections and approvals are
	// looked at again.
	Rejected []string `yaml:"rejected" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money"`
	Approved []string `yaml:"approved" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money"`
}

// ReviewBudget is what the review may spend within 24 hours.
type ReviewBudget struct {
	Conversation ReviewShare `yaml:"conversation"`
	User         ReviewShare `yaml:"user"`
	Day          ReviewShare `yaml:"day"`
	// RulesFor are the effects whose calls the rules decide alone where the day's
	// budget is spent. Calls that reach others need outward beside their effect.
	RulesFor []string `yaml:"rules_for" cfg:"nonempty,enum=read|create|modify|irreversible|costs_money|outward"`
}

// ReviewShare bounds questions to models. Zero is no bound.
type ReviewShare struct {
	Calls  int  `yaml:"calls" cfg:"min=1,max=1000000000"`
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000"`
	Cost   Cost `yaml:"cost" cfg:"bound"`
}

// Canaries are questions with known answers that are put to each model of the
// review.
type Canaries struct {
	// Every is how often; 0 is never. The first are put at the start.
	Every time.Duration `yaml:"every" cfg:"min=1m,max=720h,never"`
}

// Breaker shapes a circuit breaker: Failures within Window open it for OpenFor.
type Breaker struct {
	Failures int           `yaml:"failures" cfg:"min=1,max=1000"`
	Window   time.Duration `yaml:"window" cfg:"min=100ms,max=24h"`
	OpenFor  time.Duration `yaml:"open_for" cfg:"min=100ms,max=24h"`
}

// Fallback says, by the effect of a call, what happens when the review can't judge
// it. Outward holds for a call that reaches others, whatever its effect. The most
// restrictive of Outward and the effect's own cell counts.
type Fallback struct {
	Read         Action `yaml:"read" cfg:"enum=allow|ask|defer|deny"`
	Create       Action `yaml:"create" cfg:"enum=allow|ask|defer|deny"`
	Modify       Action `yaml:"modify" cfg:"enum=allow|ask|defer|deny"`
	Irreversible Action `yaml:"irreversible" cfg:"enum=allow|ask|defer|deny"`
	CostsMoney   Action `yaml:"costs_money" cfg:"enum=allow|ask|defer|deny"`
	Outward      Action `yaml:"outward" cfg:"enum=allow|ask|defer|deny"`
}

// Priced reports whether any budget of the review is in money.
func (b ReviewBudget) Priced() bool {
	return b.Conversation.Cost > 0 || b.User.Cost > 0 || b.Day.Cost > 0
}

// sentinelDefaults returns the default of sentinel.
func sentinelDefaults() Sentinel {
	return Sentinel{
		Mode: Enforce, Answer: AnswerBinary, RejectBelow: 50, Arguments: ArgumentsValues,
		Breaker:     Breaker{Failures: 5, Window: time.Minute, OpenFor: 30 * time.Second},
		Concurrency: 1024, Retries: 1, CacheTTL: 5 * time.Minute, CacheSize: 10_000, Timeout: 30 * time.Second,
		Escalate: Escalate{Rejected: []string{"read", "create"}, Approved: []string{"irreversible", "costs_money"}},
		Canaries: Canaries{Every: 6 * time.Hour}, Doubts: "review", Profile: Strict, Evidence: "records",
		Unavailable: Fallback{Read: Allow, Create: Allow, Modify: Ask,
			Irreversible: Ask, CostsMoney: Ask, Outward: Ask},
		Unjudgeable: Fallback{Read: Ask, Create: Ask, Modify: Ask,
			Irreversible: Ask, CostsMoney: Ask, Outward: Ask},
	}
}
