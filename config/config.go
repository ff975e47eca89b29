package config

import (
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Config is a whole configuration, checked and with its defaults filled in. Load,
// Parse and Default make it. Don't change it afterwards.
type Config struct {
	// Version is the version of the format: 1.
	Version int `yaml:"version" cfg:"required,min=1,max=1"`
	// Models are the chat models by name.
	Models map[string]Model `yaml:"models" cfg:"key=name"`
	// Roles say which model does what, the first that answers: "orchestrator",
	// "agent", "sentinel". A role that isn't named has no model.
	Roles map[string][]string `yaml:"roles" cfg:"single,key=orchestrator|agent|sentinel"`
	// SkillFiles says where skills are read from.
	SkillFiles SkillFiles `yaml:"skills"`
	// PermissionsDefault is what the rules say of a call that none matches.
	PermissionsDefault Action `yaml:"permissions_default" cfg:"enum=allow|deny"`
	// Permissions are the rules, in the order written; the most restrictive
	// match wins.
	Permissions []Rule `yaml:"permissions"`
	// Tests are what the rules are expected to say of calls.
	Tests []Test `yaml:"tests"`
	// Guard adds to the built-in guard.
	Guard Guard `yaml:"guard"`
	// Judge holds the thresholds of the graded judge.
	Judge Judge `yaml:"judge"`
	// Sentinel shapes the model review.
	Sentinel Sentinel `yaml:"sentinel"`
	// Orchestrator is how requests are split into missions.
	Orchestrator Orchestrator `yaml:"orchestrator"`
	// Intent is how texts of users become typed intents.
	Intent Intent `yaml:"intent" json:",omitzero"`
	// Assistants are what chat interfaces choose by the name of a model.
	Assistants map[string]Assistant `yaml:"assistants" json:",omitempty" cfg:"key=name"`
	// Agents are the times of agents.
	Agents Agents `yaml:"agents"`
	// Limits are the budgets and the breaker of skills.
	Limits Limits `yaml:"limits"`
	// Approvals says how people are asked.
	Approvals Approvals `yaml:"approvals"`
	// Alerts are rules over the decision log, of which channels under approvals.notify are told.
	Alerts []Alert `yaml:"alerts" json:",omitempty" cfg:"nonempty"`
	// Answers says what an answer may hold.
	Answers Answers `yaml:"answers"`
	// Ledger is the database of decisions.
	Ledger Ledger `yaml:"ledger"`
	// Journal is where values live.
	Journal Journal `yaml:"journal"`
	// Keys is where the keys live.
	Keys Keys `yaml:"keys"`
	// Credentials are what users' calls authenticate with, by name.
	Credentials map[string]Credential `yaml:"credentials" json:",omitempty" cfg:"key=name"`
	// Server is the HTTP server.
	Server Server `yaml:"server"`
	// Proxy is the streaming proxy.
	Proxy Proxy `yaml:"proxy"`
	// Telemetry is what the program tells about how it is doing.
	Telemetry Telemetry `yaml:"telemetry"`
	// Reload is what a running process does with a changed configuration.
	Reload Reload `yaml:"reload"`

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
	// Text is the body of a SKILL.md: words of its author, which are untrusted. A
	// skill from a SKILL.md has no way to run and is irreversible. Text is empty for
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
	Model string `yaml:"model" cfg:"required"`
	// BaseURL is the address before "/chat/completions".
	BaseURL string `yaml:"base_url" cfg:"required"`
	// APIKey is sent as a bearer token; empty sends none.
	APIKey Secret `yaml:"api_key" cfg:"empty"`
	// Timeout bounds one request, from the connection to the last byte.
	Timeout time.Duration `yaml:"timeout" cfg:"min=100ms,max=1h"`
	// Reasoning marks a model that reasons before it answers.
	Reasoning bool `yaml:"reasoning"`
	// Effort is the reasoning effort; empty is the lowest that the model
	// takes, "omit" sends none.
	Effort string `yaml:"effort" cfg:"enum=omit|none|minimal|low|medium|high|xhigh|max"`
	// Context is the size of the context window in tokens; 0 is not known.
	Context int `yaml:"context" cfg:"min=256,max=100000000"`
	// Tools says whether the model takes tools.
	Tools bool `yaml:"tools"`
	// JSONSchema says whether the server holds answers to a strict schema.
	JSONSchema bool `yaml:"json_schema"`
	// Schemaless is how a server that knows no json_schema is held to a shape.
	Schemaless string `yaml:"schemaless" cfg:"enum=tool|json_object"`
	// LegacyMaxTokens sends max_tokens to servers that know no
	// max_completion_tokens.
	LegacyMaxTokens bool `yaml:"legacy_max_tokens"`
	// MaxResponse bounds the answer's body in bytes.
	MaxResponse int `yaml:"max_response" cfg:"min=1024,max=1073741824"`
	// Concurrency is how many requests of agents and orchestrator are under way
	// at a time.
	Concurrency int `yaml:"concurrency" cfg:"min=1,max=10000"`
	// RequestsPerMinute is how fast the review may ask the model; 0 is no bound.
	RequestsPerMinute int `yaml:"requests_per_minute" cfg:"min=1,max=10000000"`
	// MaxTokens bounds an answer to agents and orchestrator; 0 sends no bound.
	MaxTokens int `yaml:"max_tokens" cfg:"min=16,max=10000000"`
	// Price is what budgets in money count with.
	Price Price `yaml:"price"`
	// Stream is "off" for a server that can't stream its answers; empty is on.
	Stream string `yaml:"stream" cfg:"enum=on|off"`
}

// Orchestrator says how the model works that splits requests into missions.
type Orchestrator struct {
	// Prompt takes the place of the built-in instructions. The list of skills follows it in
	// any case.
	Prompt string `yaml:"prompt" cfg:"empty"`
}

// SkillFiles says where skills are read from.
type SkillFiles struct {
	// Include are glob patterns relative to the configuration's folder; **
	// crosses folders.
	Include []string `yaml:"include"`
	// Known are skills that the program runs itself. They are in
	// Config.Skills, with Known set.
	Known programSkills `yaml:"known"`
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

// Guard adds to the built-in guard.
type Guard struct {
	// Roots are the absolute folders that path arguments must lie in; relative
	// paths in calls resolve against the first.
	Roots []string `yaml:"roots"`
	// ForbidPaths are glob patterns of paths that no call may touch, with "/" as
	// separator. A pattern is absolute, or starts with ** or ~.
	ForbidPaths []string `yaml:"forbid_paths"`
	// AllowHosts are private hosts, by name or address and without port, that
	// calls may reach. A metadata service can't be among them. The guard
	// checks what they look like.
	AllowHosts []string `yaml:"allow_hosts"`
}

// Hundredths is a number from 0 to 1, kept exactly: 0.30 is 30.
type Hundredths int

// Judge holds the thresholds of the graded judge.
type Judge struct {
	// Threshold is the score below which a call is denied.
	Threshold Hundredths `yaml:"threshold"`
	// AskBelow is the score below which a person is asked; where it is not
	// above Threshold the judge never asks.
	AskBelow Hundredths `yaml:"ask_below"`
	// OwnDomains are the mail domains of the user's own house, in small letters. One vouches
	// for an address whose owner the user named.
	OwnDomains []string `yaml:"own_domains"`
	// Habits is on or off: what a user had approved on three days is in doubt no more.
	Habits string `yaml:"habits" cfg:"enum=on|off"`
}

// KeepsHabits reports whether what people approve is remembered.
func (j Judge) KeepsHabits() bool { return j.Habits == "on" }

// Agents are the times of agents. None of them counts waits for a person.
type Agents struct {
	// Timeout is an agent's own time, waits for the orchestrator aside.
	Timeout time.Duration `yaml:"timeout" cfg:"min=1s,max=24h"`
	// HelpTimeout bounds one wait for the orchestrator's answer.
	HelpTimeout time.Duration `yaml:"help_timeout" cfg:"min=1s,max=24h"`
	// WaveTimeout is the time of agents that are started together: then they
	// are asked for what they have.
	WaveTimeout time.Duration `yaml:"wave_timeout" cfg:"min=1s,max=24h"`
}

// Approvals says how people are asked.
type Approvals struct {
	// Timeout is how long a held call waits for a person.
	Timeout time.Duration `yaml:"timeout" cfg:"min=1s,max=720h"`
	// Pending bounds the calls that wait for a person at a time.
	Pending Pending `yaml:"pending"`
	// Inbox keeps questions in the database, where people answer them, unless the program has
	// an approver of its own.
	Inbox bool `yaml:"inbox" json:",omitempty"`
	// Who says who may answer which questions in the inbox. All rules that match a call hold
	// together.
	Who []WhoRule `yaml:"who" json:",omitempty" cfg:"nonempty"`
	// Notify are the channels that are told of questions in the inbox.
	Notify []NotifyChannel `yaml:"notify" json:",omitempty" cfg:"nonempty"`
}

// WhoRule says who may answer questions about some calls. What it leaves out matches every call.
type WhoRule struct {
	// Skill is a skill's name, "domain.*" or "*".
	Skill string `yaml:"skill"`
	// Effect is one effect.
	Effect string `yaml:"effect" cfg:"enum=read|create|modify|irreversible|costs_money"`
	// Users are patterns of the requesters' ids, as in a permission rule.
	Users []string `yaml:"users" cfg:"nonempty"`
	// Approvers are the names of those who may answer; none is everybody who is authenticated.
	Approvers []string `yaml:"approvers" cfg:"nonempty"`
	// Min is how many different people must say yes; 0 is 1.
	Min int `yaml:"min" cfg:"min=1,max=100"`
	// ExcludeRequester keeps the user on whose behalf the call is made from answering.
	ExcludeRequester bool `yaml:"exclude_requester"`
}

// Pending is how many calls may wait for a person at a time.
type Pending struct {
	User         int `yaml:"user" cfg:"min=1,max=100000"`
	Conversation int `yaml:"conversation" cfg:"min=1,max=100000"`
	Process      int `yaml:"process" cfg:"min=1,max=1000000"`
}

// Answers says what an answer may hold that comes from a tainted branch.
type Answers struct {
	// Links are the links and images in it.
	Links Links `yaml:"links"`
}

// Links says where links and images of a tainted answer may lead. Hosts in the
// user's request are allowed as well.
type Links struct {
	// Allow are hosts; *.example.com is every host below example.com.
	Allow []string `yaml:"allow" cfg:"pattern=host"`
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
	Driver string `yaml:"driver" cfg:"enum=sqlite"`
	// Path is the absolute path of the database file.
	Path string `yaml:"path"`
	// Values says what is held of argument values.
	Values Values `yaml:"values" cfg:"enum=keys|hmac|full"`
	// Anchors keep the newest signed head where a writer of the database can't write.
	Anchors []LedgerAnchor `yaml:"anchors" json:",omitempty" cfg:"nonempty"`
	// Archive says when the database file is closed and another goes on.
	Archive LedgerArchive `yaml:"archive"`
	// Sink is the absolute folder that records are written to, a file a month; empty for none.
	Sink string `yaml:"sink"`
}

// LedgerArchive says when the ledger's database file is closed by itself and another goes on in its place.
type LedgerArchive struct {
	// MaxBytes is the size of the file; zero is none.
	MaxBytes int `yaml:"max_bytes" json:",omitempty" cfg:"min=1048576,max=1099511627776"`
	// MaxAge is the age of its first record; zero is none.
	MaxAge time.Duration `yaml:"max_age" json:",omitempty" cfg:"min=1h,max=87600h"`
}

// Journal is where arguments, results and messages live, sealed.
type Journal struct {
	// Retention is how long arguments and results are kept after the turn.
	Retention time.Duration `yaml:"retention" cfg:"min=1m,max=87600h"`
}

// Keys is where keys live: outside the database, or a copy of it opens all.
type Keys struct {
	// Dir is an absolute folder; by default vedette-keys beside the database.
	Dir string `yaml:"dir"`
}

// Credential says where the program finds what a user's calls authenticate with.
// It names one of three places and holds no secret itself.
type Credential struct {
	// Env is the name of a variable with {user} in it.
	Env string `yaml:"env" json:",omitempty"`
	// File is the absolute path of a file per user, with {user} in its last part.
	File string `yaml:"file" json:",omitempty"`
	// Program asks the resolver that the program gave.
	Program bool `yaml:"program" json:",omitempty"`
}
