package config

import (
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Config is a whole configuration, checked and with its defaults filled in. It
// is made by Load, Parse or Default and must not be changed afterwards.
type Config struct {
	// Version is the version of the format: 1.
	Version int `yaml:"version" cfg:"required,min=1,max=1" jsonschema_description:"Version of the format: 1."`
	// Models are the chat models by name.
	Models map[string]Model `yaml:"models" cfg:"key=name" jsonschema_description:"Chat models by name."`
	// Roles say which model does what, the first that answers: "orchestrator",
	// "agent", "sentinel". A role that isn't named has no model.
	Roles map[string][]string `yaml:"roles" cfg:"single,key=orchestrator|agent|sentinel" jsonschema_description:"Which model does what; a list is a fallback chain."`
	// SkillFiles says where skills are read from.
	SkillFiles SkillFiles `yaml:"skills" jsonschema_description:"Where skills are read from."`
	// PermissionsDefault is what the rules say of a call that none matches.
	PermissionsDefault Action `yaml:"permissions_default" cfg:"enum=allow|deny" jsonschema_description:"What the rules say of a call that none of them matches (default allow: scope stays deny-by-default)."`
	// Permissions are the rules, in the order written; the most restrictive
	// match wins.
	Permissions []Rule `yaml:"permissions" jsonschema_description:"Rules that lower what a call may do. The most restrictive match wins."`
	// Tests are what the rules are expected to say of calls.
	Tests []Test `yaml:"tests" jsonschema_description:"What the rules are expected to say of calls; vedette test runs them."`
	// Guard adds to the built-in guard.
	Guard Guard `yaml:"guard" jsonschema_description:"Adds to the built-in guard, never removes."`
	// Judge holds the thresholds of the graded judge.
	Judge Judge `yaml:"judge" jsonschema_description:"Thresholds of the graded judge."`
	// Sentinel shapes the model review.
	Sentinel Sentinel `yaml:"sentinel" jsonschema_description:"The model review."`
	// Agents are the times of agents.
	Agents Agents `yaml:"agents" jsonschema_description:"The times of agents; waits for people are not counted."`
	// Limits are the budgets and the breaker of skills.
	Limits Limits `yaml:"limits" jsonschema_description:"Budgets, and the breaker that every skill has."`
	// Approvals says how people are asked.
	Approvals Approvals `yaml:"approvals" jsonschema_description:"How people are asked."`
	// Answers says what an answer may hold.
	Answers Answers `yaml:"answers" jsonschema_description:"What answers may hold that come from what others could have written."`
	// Ledger is the database of decisions.
	Ledger Ledger `yaml:"ledger" jsonschema_description:"The database of decisions."`
	// Journal is where values live.
	Journal Journal `yaml:"journal" jsonschema_description:"Where arguments, results and messages live, sealed."`
	// Keys is where the keys live.
	Keys Keys `yaml:"keys" jsonschema_description:"Where keys live."`
	// Credentials are what users' calls authenticate with, by name.
	Credentials map[string]Credential `yaml:"credentials" json:",omitempty" cfg:"key=name" jsonschema_description:"What a user's calls authenticate with, by name: skills name them in their run block, models never see them. One of fewer than 8 bytes counts as missing."`
	// Server is the HTTP server.
	Server Server `yaml:"server" jsonschema_description:"The HTTP server."`
	// Telemetry is what the program tells about how it is doing.
	Telemetry Telemetry `yaml:"telemetry" jsonschema_description:"Metrics and traces, both off by default. No value of a call is in them."`

	// Skills are the skills of all included files, in the order of the files.
	Skills []LoadedSkill `yaml:"-" json:"-"`
	// File is the name of the configuration as it was given; empty for Default.
	File string `yaml:"-" json:"-"`
	// Files are the absolute paths of every file that was read from disk, the
	// configuration first. The guard protects them.
	Files []string `yaml:"-" json:"-"`

	where *index
}

// Position is a place in a file. Lines and columns count from 1, columns in
// characters. The zero Position is nowhere: the value is a default.
type Position struct {
	File   string
	Line   int
	Column int
}

// LoadedSkill is a skill and the place of its declaration.
type LoadedSkill struct {
	Skill *skills.Skill
	Pos   Position
	// Text is the body of a SKILL.md: untrusted words of whoever wrote it. A
	// skill from a SKILL.md has no way to run and is irreversible. Empty for
	// skills declared in YAML.
	Text string
	// Known marks a skill that the program runs: it stands under skills.known,
	// or in Options.Program. It has no executor of its own.
	Known bool
}

// Model is a chat model and how it is reached. Printing or logging a Model
// shows neither its key nor a password in its address.
type Model struct {
	// Name is the key under models.
	Name string `yaml:"-" json:"-"`
	// Model is what the server calls it.
	Model string `yaml:"model" cfg:"required" jsonschema_description:"What the server calls the model."`
	// BaseURL is the address before "/chat/completions".
	BaseURL string `yaml:"base_url" cfg:"required" jsonschema_description:"The address before /chat/completions."`
	// APIKey is sent as a bearer token; empty sends none.
	APIKey Secret `yaml:"api_key" cfg:"empty" jsonschema_description:"Sent as a bearer token. Take it from the environment: ${NAME:-}."`
	// Timeout bounds one request, from the connection to the last byte.
	Timeout time.Duration `yaml:"timeout" cfg:"min=100ms,max=1h" jsonschema_description:"Bounds one request (default 60s)."`
	// Reasoning marks a model that reasons before it answers.
	Reasoning bool `yaml:"reasoning" jsonschema_description:"The model reasons before it answers: effort is sent to it, temperature isn't."`
	// Effort is the reasoning effort; empty is the lowest that the model
	// takes, "omit" sends none.
	Effort string `yaml:"effort" cfg:"enum=omit|none|minimal|low|medium|high|xhigh|max" jsonschema_description:"Reasoning effort (default: the lowest that keeps reasoning on)."`
	// Context is the size of the context window in tokens; 0 is not known.
	Context int `yaml:"context" cfg:"min=256,max=100000000" jsonschema_description:"Size of the context window in tokens."`
	// Tools says whether the model takes tools.
	Tools bool `yaml:"tools" jsonschema_description:"Whether the model takes tools (default true)."`
	// JSONSchema says whether the server holds answers to a strict schema.
	JSONSchema bool `yaml:"json_schema" jsonschema_description:"Whether the server can hold an answer to a strict JSON Schema (default true)."`
	// Schemaless is how a server that knows no json_schema is held to a shape.
	Schemaless string `yaml:"schemaless" cfg:"enum=tool|json_object" jsonschema_description:"With json_schema: false, how the review gets its answer: tool, a forced tool call, or json_object, which promises JSON and no shape. Every record of the review says so."`
	// LegacyMaxTokens sends max_tokens to servers that know no
	// max_completion_tokens.
	LegacyMaxTokens bool `yaml:"legacy_max_tokens" jsonschema_description:"Send max_tokens in place of max_completion_tokens (default false)."`
	// MaxResponse bounds the answer's body in bytes.
	MaxResponse int `yaml:"max_response" cfg:"min=1024,max=1073741824" jsonschema_description:"Bounds the answer's body in bytes (default 8 MiB)."`
	// Concurrency is how many requests of agents and orchestrator are under way
	// at a time.
	Concurrency int `yaml:"concurrency" cfg:"min=1,max=10000" jsonschema_description:"Requests to the model at a time, from agents and orchestrator in this process; others wait, the users in turn (default 64)."`
	// RequestsPerMinute is how fast the review may ask the model; 0 is no bound.
	RequestsPerMinute int `yaml:"requests_per_minute" cfg:"min=1,max=10000000" jsonschema_description:"How many requests a minute the review may send to the model from this process (default no bound)."`
	// MaxTokens bounds an answer to agents and orchestrator; 0 sends no bound.
	MaxTokens int `yaml:"max_tokens" cfg:"min=16,max=10000000" jsonschema_description:"Bounds an answer to agents and orchestrator in tokens, reasoning included (default: the server's own bound)."`
	// Price is what budgets in money count with.
	Price Price `yaml:"price" jsonschema_description:"What a million tokens cost, for budgets in money."`
}

// SkillFiles says where skills are read from.
type SkillFiles struct {
	// Include are glob patterns relative to the configuration's folder; **
	// crosses folders.
	Include []string `yaml:"include" jsonschema_description:"Glob patterns relative to this file's folder; ** crosses folders. Each must match a file."`
	// Known are skills that the program runs itself. They are in
	// Config.Skills, with Known set.
	Known programSkills `yaml:"known" jsonschema_description:"Skills that the program registers itself, in Go: the same keys as in a skill file, without run. Rules and tests may be about them, and check, eval and test judge their calls. What the program registers must agree."`
}

// Action is what a rule or a table cell says. Its zero value is none of them
// and must be read as a denial.
type Action string

// The actions, from the most to the least restrictive. Modify rewrites a call
// and says nothing of what becomes of it.
const (
	Deny   Action = "deny"
	Defer  Action = "defer"
	Ask    Action = "ask"
	Allow  Action = "allow"
	Modify Action = "modify"
)

// Rule is one permission rule. It matches a call when its skill, one of its
// users and its condition do.
type Rule struct {
	// ID names the rule in records; "rule-N", counted from 1, where none is given.
	ID string `yaml:"id" cfg:"pattern=id" jsonschema_description:"Names the rule in records (default rule-N)."`
	// Skill is a skill's name, "domain.*" or "*".
	Skill string `yaml:"skill" cfg:"required" jsonschema_description:"A skill's name, domain.* or *."`
	// Users are patterns of user ids; none means every user. What makes a
	// good one is the rule's to say: see package permission.
	Users []string `yaml:"users" cfg:"nonempty" jsonschema_description:"Patterns of user ids: * any characters, / too; ? one; [a-z] one of a class (default: every user)."`
	// When is a CEL condition; empty is always true. It isn't compiled here.
	When string `yaml:"when" jsonschema_description:"CEL condition over the call; an error in it denies."`
	// Then is deny, ask, allow or modify.
	Then Action `yaml:"then" cfg:"required,enum=allow|ask|deny|modify" jsonschema_description:"What a match makes of the call."`
	// Modify are the rewrites of a rule that says modify. What they mean is
	// checked by the package that applies them.
	Modify []Rewrite `yaml:"modify" json:",omitempty" cfg:"nonempty" jsonschema_description:"With then: modify, the rewrites, applied in order before the gates judge."`
	// Reason is shown to people.
	Reason string `yaml:"reason" jsonschema_description:"Shown to approvers and reviewers."`
	// Pos is where the rule stands.
	Pos Position `yaml:"-" json:"-"`
}

// Guard adds to the built-in guard.
type Guard struct {
	// Roots are the absolute folders that path arguments must lie in; relative
	// paths in calls resolve against the first.
	Roots []string `yaml:"roots" jsonschema_description:"Folders that path arguments must lie in."`
	// ForbidPaths are glob patterns of paths that no call may touch, with "/"
	// as separator: absolute, or starting with ** or ~.
	ForbidPaths []string `yaml:"forbid_paths" jsonschema_description:"Glob patterns of paths that no call may touch; one without / matches in every folder."`
	// AllowHosts are private hosts, by name or address and without port, that
	// calls may reach. A metadata service can't be among them. The guard
	// checks what they look like.
	AllowHosts []string `yaml:"allow_hosts" jsonschema_description:"Private hosts that calls may reach, by name or address, without port; never a metadata service."`
}

// Hundredths is a number from 0 to 1, kept exactly: 0.30 is 30.
type Hundredths int

// Judge holds the thresholds of the graded judge.
type Judge struct {
	// Threshold is the score below which a call is denied.
	Threshold Hundredths `yaml:"threshold" jsonschema_description:"Calls that score below are denied (default 0.30)."`
	// AskBelow is the score below which a person is asked; where it is not
	// above Threshold the judge never asks.
	AskBelow Hundredths `yaml:"ask_below" jsonschema_description:"Calls that score below are asked about (default 0.50)."`
}

// Limits are the budgets of all levels, and the breaker that every skill has.
type Limits struct {
	Agent        AgentLimits        `yaml:"agent" jsonschema_description:"One agent over its life."`
	Turn         TurnLimits         `yaml:"turn" jsonschema_description:"One turn of the conversation, all its agents together."`
	Conversation ConversationLimits `yaml:"conversation" jsonschema_description:"A conversation over a sliding window."`
	// User is each user's share, and Process what there is to share.
	User    UserLimits    `yaml:"user" jsonschema_description:"What one user may have at a time in this process, and spend on models in a day."`
	Process ProcessLimits `yaml:"process" jsonschema_description:"What there may be at a time in this process. What finds no room waits, the users in turn, or is told when to come again."`
	Skill   SkillLimits   `yaml:"skill" jsonschema_description:"The breaker that every skill has, and how often it runs at a time."`
	// Store is where all of these are counted.
	Store LimitStore `yaml:"store" jsonschema_description:"Where all of these are counted."`
}

// AgentLimits bound one agent over its life.
type AgentLimits struct {
	// Calls is what an agent may propose when its dispatch names no number.
	Calls int `yaml:"calls" cfg:"min=1,max=10000" jsonschema_description:"Calls an agent may propose when its dispatch names no number (default 5)."`
	// Tokens and Cost are what its questions to models may take; zero is no bound.
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000" jsonschema_description:"Tokens that an agent's model calls may take (default no bound)."`
	Cost   Cost `yaml:"cost" cfg:"bound" jsonschema_description:"What an agent's model calls may cost, in the currency of the models' prices (default no bound)."`
}

// Agents are the times of agents. None of them counts waits for a person.
type Agents struct {
	// Timeout is an agent's own time, waits for the orchestrator aside.
	Timeout time.Duration `yaml:"timeout" cfg:"min=1s,max=24h" jsonschema_description:"An agent's time, waits for people and the orchestrator aside (default 60s)."`
	// HelpTimeout bounds one wait for the orchestrator's answer.
	HelpTimeout time.Duration `yaml:"help_timeout" cfg:"min=1s,max=24h" jsonschema_description:"How long an agent waits when it has asked the orchestrator for help (default 5m)."`
	// WaveTimeout is the time of agents that are started together: then they
	// are asked for what they have.
	WaveTimeout time.Duration `yaml:"wave_timeout" cfg:"min=1s,max=24h" jsonschema_description:"The time of agents that are started together; waits for people and the orchestrator aside; then they report what they have (default 120s)."`
}

// TurnLimits bound one turn of the conversation.
type TurnLimits struct {
	Agents int `yaml:"agents" cfg:"min=1,max=10000" jsonschema_description:"Agents a turn may dispatch (default 8)."`
	Calls  int `yaml:"calls" cfg:"min=1,max=10000" jsonschema_description:"Calls all agents of a turn may propose (default 30)."`
	// Tokens and Cost are for the orchestrator's model and all agents.
	Tokens int  `yaml:"tokens" cfg:"min=1,max=1000000000000" jsonschema_description:"Tokens that the model calls of a turn and its agents may take (default no bound)."`
	Cost   Cost `yaml:"cost" cfg:"bound" jsonschema_description:"What the model calls of a turn and its agents may cost (default no bound)."`
}

// ConversationLimits bound a conversation over a sliding window.
type ConversationLimits struct {
	Calls  int           `yaml:"calls" cfg:"min=1,max=10000" jsonschema_description:"Calls that may be proposed within the window (default 50)."`
	Window time.Duration `yaml:"window" cfg:"min=100ms,max=24h" jsonschema_description:"How long a call, a token and its cost count (default 5m)."`
	Tokens int           `yaml:"tokens" cfg:"min=1,max=1000000000000" jsonschema_description:"Tokens that a conversation's model calls may take within the window (default no bound). In memory a restart begins at zero; with limits.store on Redis it does not."`
	Cost   Cost          `yaml:"cost" cfg:"bound" jsonschema_description:"What a conversation's model calls may cost within the window (default no bound). In memory a restart begins at zero; with limits.store on Redis it does not."`
}

// Approvals says how people are asked.
type Approvals struct {
	// Timeout is how long a held call waits for a person.
	Timeout time.Duration `yaml:"timeout" cfg:"min=1s,max=720h" jsonschema_description:"How long a held call waits for a person (default 5m)."`
	// Pending bounds the calls that wait for a person at a time.
	Pending Pending `yaml:"pending" jsonschema_description:"How many calls may wait for a person at a time; a call beyond that is denied and no question is asked."`
}

// Pending is how many calls may wait for a person at a time.
type Pending struct {
	User         int `yaml:"user" cfg:"min=1,max=100000" jsonschema_description:"A user's calls that may wait for a person (default 20)."`
	Conversation int `yaml:"conversation" cfg:"min=1,max=100000" jsonschema_description:"A conversation's calls that may wait for a person (default 5)."`
	Process      int `yaml:"process" cfg:"min=1,max=1000000" jsonschema_description:"Calls of this process that may wait for a person (default 10000)."`
}

// Answers says what an answer may hold that comes from a tainted branch.
type Answers struct {
	// Links are the links and images in it.
	Links Links `yaml:"links" jsonschema_description:"Links and images; those that lead elsewhere become text."`
}

// Links says where links and images of a tainted answer may lead. Hosts in the
// user's request are allowed as well.
type Links struct {
	// Allow are hosts; *.example.com is every host below example.com.
	Allow []string `yaml:"allow" cfg:"pattern=host" jsonschema_description:"Hosts such as example.com, or *.example.com for every host below it; hosts in the user's request are allowed as well (default none)."`
}

// Values says what the ledger holds of argument values.
type Values string

// The choices of Values.
const (
	ValuesKeys Values = "keys" // names that the schema declares, and salted digests
	ValuesHMAC Values = "hmac" // keyed digests of values as well
	ValuesFull Values = "full" // the values themselves
)

// Ledger is the database of decisions.
type Ledger struct {
	// Driver is sqlite.
	Driver string `yaml:"driver" cfg:"enum=sqlite" jsonschema_description:"The database (default sqlite)."`
	// Path is the absolute path of the database file.
	Path string `yaml:"path" jsonschema_description:"The database file (default vedette.db in this file's folder)."`
	// Values says what is held of argument values.
	Values Values `yaml:"values" cfg:"enum=keys|hmac|full" jsonschema_description:"What is held of argument values (default keys: none)."`
}

// Journal is where arguments, results and messages live, sealed.
type Journal struct {
	// Retention is how long arguments and results are kept after the turn.
	Retention time.Duration `yaml:"retention" cfg:"min=1m,max=87600h" jsonschema_description:"How long arguments and results are kept after the turn (default 168h)."`
}

// Keys is where keys live: outside the database, or a copy of it opens all.
type Keys struct {
	// Dir is an absolute folder; by default vedette-keys beside the database.
	Dir string `yaml:"dir" jsonschema_description:"Folder of the keys (default vedette-keys beside the database)."`
}

// Server is the HTTP server.
type Server struct {
	// Listen is host:port. The default is reached from this machine alone.
	Listen string `yaml:"listen" jsonschema_description:"host:port to listen on (default 127.0.0.1:8420)."`
}
