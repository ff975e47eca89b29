package limits

import (
	"cmp"
	"fmt"
	"time"
)

// Defaults for fields of Config that are zero.
const (
	DefaultAgentCalls         = 5
	DefaultMaxAgentCalls      = 20
	DefaultTurnAgents         = 8
	DefaultTurnCalls          = 30
	DefaultConversationCalls  = 50
	DefaultConversationWindow = 5 * time.Minute
	DefaultSkillFailures      = 3
	DefaultSkillWindow        = time.Minute
	DefaultSkillOpenFor       = 30 * time.Second
)

// Bounds beyond which a number is taken for a slip of the pen. Counts are also
// what one bucket holds in memory, so they bound that too.
const (
	maxCount    = 10_000
	maxFailures = 1_000
	minSpan     = 100 * time.Millisecond
	maxSpan     = 24 * time.Hour
)

// Config holds the numbers of all levels. A zero field means its default, so
// Config{} is the documented behaviour; there is no way to write "unlimited".
type Config struct {
	Agent        AgentConfig
	Turn         TurnConfig
	Conversation ConversationConfig
	Skill        SkillConfig
	// Budgets are in tokens and money; without any, models are not bounded.
	Budgets Budgets
}

// AgentConfig bounds one agent over its life.
type AgentConfig struct {
	// Calls is what an agent may propose when its dispatch names no number. If zero, 5.
	Calls int
	// Max is the most a dispatch may ask for; a larger wish is cut to it. If
	// zero, Calls where that is set, else 20: a number that is set binds every agent.
	Max int
}

// TurnConfig bounds one turn of the conversation, all its agents together.
type TurnConfig struct {
	// Agents is how many agents a turn may dispatch. If zero, 8.
	Agents int
	// Calls is how many calls all agents of a turn may propose. If zero, 30.
	Calls int
}

// ConversationConfig bounds a conversation over a sliding window.
type ConversationConfig struct {
	// Calls is how many calls may be proposed within Window. If zero, 50.
	Calls int
	// Window is how long a call counts. If zero, 5 minutes.
	Window time.Duration
}

// SkillConfig shapes the breaker that every skill has.
type SkillConfig struct {
	// Failures within Window open the breaker. If zero, 3.
	Failures int
	// Window is how long a failure counts. If zero, 60 s.
	Window time.Duration
	// OpenFor is how long an open breaker refuses before it lets one probe
	// through. A half-open breaker waits as long for that probe's outcome. If
	// zero, 30 s.
	OpenFor time.Duration
}

// PathError is one fault in a Config: where it stands in the configuration
// file, and what is wrong with it.
type PathError struct {
	Path string // for example "limits.agent.calls"
	Msg  string
}

// Error returns path and message as one line.
func (e PathError) Error() string { return e.Path + ": " + e.Msg }

// ConfigPath returns the path, for a caller that knows the path's place in a file.
func (e PathError) ConfigPath() string { return e.Path }

// ConfigMessage returns the message without the path.
func (e PathError) ConfigMessage() string { return e.Msg }

// Effective returns c with every zero field replaced by its default: the
// numbers that a Limiter made from c enforces.
func (c Config) Effective() Config {
	orInt := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	orSpan := func(p *time.Duration, d time.Duration) {
		if *p == 0 {
			*p = d
		}
	}
	orInt(&c.Agent.Max, cmp.Or(c.Agent.Calls, DefaultMaxAgentCalls))
	orInt(&c.Agent.Calls, min(DefaultAgentCalls, c.Agent.Max))
	orInt(&c.Turn.Agents, DefaultTurnAgents)
	orInt(&c.Turn.Calls, DefaultTurnCalls)
	orInt(&c.Conversation.Calls, DefaultConversationCalls)
	orSpan(&c.Conversation.Window, DefaultConversationWindow)
	orInt(&c.Skill.Failures, DefaultSkillFailures)
	orSpan(&c.Skill.Window, DefaultSkillWindow)
	orSpan(&c.Skill.OpenFor, DefaultSkillOpenFor)
	return c
}

// Validate returns every fault in c, in the order of the fields, or nil. Zero
// fields are valid: they mean their defaults.
func (c Config) Validate() []PathError {
	var faults []PathError
	add := func(path, format string, args ...any) {
		faults = append(faults, PathError{Path: "limits." + path, Msg: fmt.Sprintf(format, args...)})
	}
	count := func(path string, n, most int) {
		if n < 0 || n > most {
			add(path, "must be between 1 and %d, or left out for the default; got %d", most, n)
		}
	}
	span := func(path string, d time.Duration) {
		if d != 0 && (d < minSpan || d > maxSpan) {
			add(path, "must be between %v and %v, or left out for the default; got %v", minSpan, maxSpan, d)
		}
	}
	count("agent.calls", c.Agent.Calls, maxCount)
	count("agent.max", c.Agent.Max, maxCount)
	if e := c.Effective(); e.Agent.Max > 0 && e.Agent.Calls > e.Agent.Max {
		add("agent.max", "must not be smaller than agent.calls (%d); got %d", e.Agent.Calls, e.Agent.Max)
	}
	count("turn.agents", c.Turn.Agents, maxCount)
	count("turn.calls", c.Turn.Calls, maxCount)
	count("conversation.calls", c.Conversation.Calls, maxCount)
	span("conversation.window", c.Conversation.Window)
	count("skill.failures", c.Skill.Failures, maxFailures)
	span("skill.window", c.Skill.Window)
	span("skill.open_for", c.Skill.OpenFor)
	b := c.Budgets
	for _, l := range []struct {
		path string
		b    Budget
	}{{"agent", b.Agent}, {"turn", b.Turn}, {"conversation", b.Conversation}, {"user", b.User}} {
		if l.b.Tokens < 0 || l.b.Tokens > maxAmount {
			add(l.path+".tokens", "must be between 1 and %d, or left out for no bound; got %d", int64(maxAmount), l.b.Tokens)
		}
		if l.b.Cost < 0 || l.b.Cost > maxAmount {
			add(l.path+".cost", "must be more than nothing, or left out for no bound")
		}
	}
	return faults
}
