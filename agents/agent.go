package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/agents/llm"
	"github.com/vedette-dev/vedette/agents/otp"
	"github.com/vedette-dev/vedette/skills"
)

// The defaults of Options.
const (
	DefaultTimeout     = 60 * time.Second
	DefaultHelpTimeout = 5 * time.Minute
	DefaultCalls       = 5
	MaxCalls           = 20
)

// Invoker runs skill calls on the agent's behalf: its desk. Invoke returns a
// *skills.Refusal for a call that did not run.
type Invoker interface {
	Invoke(ctx context.Context, skill string, args json.RawMessage) (skills.Result, error)
}

// Model answers a chat. *llm.Client is one, and so is Chain.
type Model interface {
	Chat(ctx context.Context, r llm.Request) (llm.Response, error)
}

// State is where an agent is in its life.
type State string

// The states of an agent.
const (
	Pending              State = "pending" // waits for agents it depends on
	Running              State = "running"
	AwaitingOrchestrator State = "awaiting_orchestrator"
	AwaitingApproval     State = "awaiting_approval"
	Completed            State = "completed"
	Failed               State = "failed"
	TimedOut             State = "timeout"
	Cancelled            State = "cancelled"
	Skipped              State = "skipped" // an agent it depends on did not complete
)

// Done reports whether the state is final.
func (s State) Done() bool {
	switch s {
	case Completed, Failed, TimedOut, Cancelled, Skipped:
		return true
	}
	return false
}

// Options are what an agent is made of.
type Options struct {
	// ID names the agent in its conversation; it is shown to models.
	ID string
	// Mission is what it is to do; Context what the orchestrator adds.
	Mission string
	Context string
	// Inputs are the answers of agents it depends on.
	Inputs []Input
	// Skills are the skills of its scope. An agent without any can only think.
	Skills []*skills.Skill
	// Lookup, if set, knows skills outside the scope as well, so that what is
	// secret in a call of one is hidden too.
	Lookup  func(name string) (*skills.Skill, bool)
	Model   Model
	Invoker Invoker
	// Calls is how many skill calls it may propose; zero means DefaultCalls.
	// The desk's grant is what limits: one proposal beyond Calls still goes
	// there, so that its refusal is on record, and the agent's last turn follows.
	Calls int
	// Timeout is its time in all, waiting for people and the orchestrator not
	// counted. Zero means DefaultTimeout.
	Timeout time.Duration
	// HelpTimeout bounds one wait for the orchestrator. Zero means
	// DefaultHelpTimeout.
	HelpTimeout time.Duration
	// Parent is sent Finished, and HelpWanted and HelpOver around a wait for help.
	// The agent is cancelled when its parent ends: no process would read the answer.
	// Without a parent, the agent answers a request for help at once, without advice.
	Parent otp.PID
	// Journal, if set, is told of every round and of the end.
	Journal Journal
	// Rounds are those of an agent of an earlier process, which this one goes
	// on as: it proposes the calls of the last of them, again if need be, which
	// the Invoker must know. Mission and Inputs are in the first of them.
	Rounds []Round
	// Answers and Updates are what an agent with Rounds was told before; it
	// knows what of that it has read.
	Answers []Answer
	Updates []Update
	// Heard are the ids of updates that are part of Context.
	Heard []string
}

// Input is the answer of another agent.
type Input struct {
	Agent  string `json:"agent"`
	Answer string `json:"answer"`
}

// Result is how an agent ended.
type Result struct {
	Agent  string `json:"agent_id"`
	State  State  `json:"state"`
	Answer string `json:"answer,omitempty"`
	// Reason says why, where the state is not completed, or what is wrong with
	// the answer of a completed one: interrupted, cut off. It holds no text of
	// a model or a skill.
	Reason string `json:"reason,omitempty"`
	// Calls is how many skill calls were proposed, refused ones included.
	Calls int `json:"calls"`
	// Omitted is how many calls of the model were not proposed: those left when
	// the budget was spent, and those beyond what one answer may hold.
	Omitted int `json:"omitted,omitempty"`
	// Took is the time from the start to the end, or to the latest change.
	Took time.Duration `json:"took"`
}

// Snapshot is a view of an agent at one moment.
type Snapshot struct {
	Result
	// Current is what the model named in the call that is under way, or was
	// when the agent was ended; empty if none is. It is a model's word.
	Current string `json:"current,omitempty"`
	// Help is what the agent asked its orchestrator for.
	Help       string  `json:"help,omitempty"`
	Transcript []Entry `json:"transcript,omitempty"`
}

// Finished is sent to the parent once, as the agent's last message. An agent
// that is stopped by its supervisor, or whose own process crashes, sends none:
// monitor its PID as well.
type Finished struct{ Result Result }

// HelpWanted is sent to the parent when the agent waits for its orchestrator.
type HelpWanted struct {
	Agent  string
	Reason string
	Skills []string // what the model named; no grant covers them yet
}

// HelpOver is sent to the parent when that wait is over, answered or not.
type HelpOver struct{ Agent string }

type (
	// Update is text from the orchestrator, read before the next model call. An
	// agent that answers meanwhile is asked once more, unless that was its last
	// turn.
	// It is ignored if one with its ID was read before; an empty ID is new.
	Update struct{ ID, Text string }
	// Answer ends a wait for help. Skills are added to the agent's list; the
	// grant of its desk must have been extended before. To an agent that does
	// not wait it is an Update. Of one whose ID it has read before it takes
	// only the skills.
	Answer struct {
		ID     string
		Text   string
		Skills []*skills.Skill
	}
	// Cancel ends the agent at once; the call under way loses its context.
	Cancel struct{ Reason string }
	// Interrupt lets the call that is under way finish, also where it waits for
	// a person, proposes no further one and ends the agent with the report of
	// one last turn.
	Interrupt struct{ Reason string }
	// Held begins a person's wait within a call: the clock stands still until
	// Released, at the latest until the call ends.
	Held struct{}
	// Released ends it.
	Released struct{}
)

// Agent is one agent, started or not. Its methods are safe for concurrent use.
type Agent struct {
	o       Options
	started atomic.Bool
	snap    atomic.Pointer[Snapshot]
}

// New checks the options and returns an agent that hasn't started. Its errors are for
// the developer who wrote the options; they are joined, so that one try corrects all.
func New(o Options) (*Agent, error) {
	var errs []error
	if o.ID == "" || o.Mission == "" {
		errs = append(errs, errors.New("an agent needs an id and a mission"))
	}
	if o.Model == nil || o.Invoker == nil {
		errs = append(errs, errors.New("an agent needs a model and an invoker"))
	}
	if o.Calls < 0 || o.Calls > MaxCalls {
		errs = append(errs, fmt.Errorf("an agent may have 1 to %d calls, not %d", MaxCalls, o.Calls))
	}
	if o.Timeout < 0 || o.HelpTimeout < 0 {
		errs = append(errs, errors.New("an agent's timeouts must not be negative"))
	}
	if slices.Contains(o.Skills, nil) {
		errs = append(errs, errors.New("an agent's skills must not hold a nil"))
	}
	if err := checkRounds(o.Rounds); err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if o.Calls == 0 {
		o.Calls = DefaultCalls
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.HelpTimeout == 0 {
		o.HelpTimeout = DefaultHelpTimeout
	}
	a := &Agent{o: o}
	a.snap.Store(&Snapshot{Result: Result{Agent: o.ID, State: Pending}})
	return a, nil
}

// ID returns the agent's id.
func (a *Agent) ID() string { return a.o.ID }

// Snapshot returns the agent's latest state, the caller's to keep and change.
// It reads; the agent is not disturbed.
func (a *Agent) Snapshot() Snapshot {
	s := *a.snap.Load()
	s.Transcript = slices.Clone(s.Transcript)
	return s
}

// State returns the agent's latest state, for less than a Snapshot.
func (a *Agent) State() State { return a.snap.Load().State }

// Result returns the agent's latest result, for less than a Snapshot.
func (a *Agent) Result() Result { return a.snap.Load().Result }

// Spec returns the child spec that starts the agent. It is Temporary, and an
// agent starts once: another run would repeat its effects.
func (a *Agent) Spec() otp.ChildSpec {
	return otp.ChildSpec{
		ID: "agent-" + a.o.ID, Restart: otp.Temporary, Shutdown: time.Second,
		Start: func() otp.Server { return &worker{a: a} },
	}
}
