package sentinel

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/skills"
)

// Author says who wrote a mission.
type Author string

// The authors of a mission.
const (
	ByUser         Author = "user"
	ByOperator     Author = "operator"
	ByOrchestrator Author = "orchestrator"
)

// GrantOptions are the parts of a Grant.
type GrantOptions struct {
	// ID names the grant; it is part of every call's digest.
	ID           string
	User         string
	Conversation string
	Turn         string
	Agent        string
	// Remote is the principal who runs the calls elsewhere. Empty, they run in this program.
	Remote string
	// Proposer is the name of who proposes calls, or sends requests, in the user's name, as approvers are named: a
	// person, or a token that is no person's. It says who may not approve; the digest doesn't cover it.
	Proposer string
	// Principal is the id of who began this at the program's doors, where that can be taken from them: see
	// Options.Ended. Empty, it is Remote. The digest doesn't cover it.
	Principal string
	// Intent is the id of the trusted intent under whose authority calls are made; empty for none. Records name it; the
	// digest doesn't cover it.
	Intent string
	// IntentAction is what that intent asks for: a configured name. It is shown to reviewers.
	IntentAction string
	// Mission is what the agent was told to do, and MissionBy who wrote it.
	Mission   string
	MissionBy Author
	// Request is the user's own words of this turn; nil where there are none.
	Request *string
	Scope   skills.Scope
	// Calls is how many skill calls the agent may propose; zero means the
	// configured default.
	Calls int
	// Deadline ends the authority; zero means none.
	Deadline time.Time
	// Tainted is set once an untrusted result was read in this branch.
	Tainted bool
	// TaintedBefore says that the taint is of earlier turns alone: this turn has read
	// nothing yet that others could have written. It means nothing without Tainted.
	TaintedBefore bool
	// MissionTainted is set where the mission was written after that.
	MissionTainted bool
	// Earlier are the user's turns before this one, oldest first. NewGrant keeps the
	// newest: see KeepNewestTurns.
	Earlier []EarlierTurn
}

// Grant is the authority that a sub-agent holds. It is immutable; its zero
// value allows nothing. Narrow is the only way to make one from another, and
// never widens.
type Grant struct {
	o     GrantOptions
	words *userWords // of the request and of earlier turns; nil where there are none
}

// MaxID is the greatest length in bytes of the ids in a grant.
const MaxID = 256

// NewGrant returns a root grant. It fails where an id is missing, longer than
// MaxID, or no text of one line: a call that can't be attributed, or whose
// record could not be written, can't be made.
func NewGrant(o GrantOptions) (Grant, error) {
	var errs []error
	for _, f := range []struct {
		name, v string
		needed  bool
	}{{"id", o.ID, true}, {"conversation", o.Conversation, true}, {"agent", o.Agent, true}, {"user", o.User, false}, {"turn", o.Turn, false},
		{"remote", o.Remote, false}, {"proposer", o.Proposer, false}, {"intent", o.Intent, false},
		{"action of the intent", o.IntentAction, false}, {"principal", o.Principal, false}} {
		switch {
		case f.v == "" && f.needed:
			errs = append(errs, fmt.Errorf("grant: %s is missing", f.name))
		case len(f.v) > MaxID:
			errs = append(errs, fmt.Errorf("grant: %s is longer than %d bytes", f.name, MaxID))
		case !utf8.ValidString(f.v) || strings.ContainsFunc(f.v, unicode.IsControl):
			errs = append(errs, fmt.Errorf("grant: %s must be one line of text", f.name))
		}
	}
	if o.Calls < 0 {
		errs = append(errs, errors.New("grant: calls is negative"))
	}
	if err := errors.Join(errs...); err != nil {
		return Grant{}, err
	}
	if o.Request != nil {
		r := *o.Request
		o.Request = &r
	}
	o.Earlier = KeepNewestTurns(o.Earlier)
	return Grant{o, readUserWords(o.Request, o.Earlier)}, nil
}

// ErrWider is returned by Narrow for a child that would hold more than its
// parent.
var ErrWider = errors.New("a sub-agent's grant can't be wider than its parent's")

// Child is what a sub-agent is to hold. What it leaves empty comes from the
// parent.
type Child struct {
	ID        string
	Agent     string
	Mission   string
	MissionBy Author
	Scope     skills.Scope
	Calls     int
	Deadline  time.Time
}

// Narrow returns the grant of a sub-agent. User, conversation, turn, request,
// earlier turns and taint are the parent's; a scope, a number of calls or a deadline beyond
// the parent's is ErrWider. A mission written in a tainted branch is marked.
func (g Grant) Narrow(c Child) (Grant, error) {
	if ok, wider := c.Scope.Within(g.o.Scope); !ok {
		return Grant{}, fmt.Errorf("%w: %d of the skills asked for are not the parent's", ErrWider, len(wider))
	}
	if g.o.Calls > 0 && (c.Calls > g.o.Calls || c.Calls == 0) {
		return Grant{}, fmt.Errorf("%w: %d calls, the parent has %d", ErrWider, c.Calls, g.o.Calls)
	}
	if !g.o.Deadline.IsZero() && c.Deadline.After(g.o.Deadline) {
		return Grant{}, fmt.Errorf("%w: its deadline is later", ErrWider)
	}
	o := g.o
	o.ID, o.Agent, o.Mission, o.MissionBy = c.ID, c.Agent, c.Mission, c.MissionBy
	o.Scope, o.Calls = c.Scope, c.Calls
	if !c.Deadline.IsZero() {
		o.Deadline = c.Deadline
	}
	o.MissionTainted = g.o.MissionTainted || g.o.Tainted
	return NewGrant(o)
}

// Taint returns the grant as it is after an untrusted result was read in this turn.
func (g Grant) Taint() Grant {
	g.o.Tainted, g.o.TaintedBefore = true, false
	return g
}

// TaintBefore returns the grant as it is where an earlier turn read an untrusted result.
func (g Grant) TaintBefore() Grant {
	if !g.o.Tainted {
		g.o.Tainted, g.o.TaintedBefore = true, true
	}
	return g
}

// TaintAs returns the grant with the taint of another added: that of this turn, that of
// earlier turns alone, or none.
func (g Grant) TaintAs(other Grant) Grant {
	switch {
	case other.TaintedThisTurn():
		return g.Taint()
	case other.Tainted():
		return g.TaintBefore()
	}
	return g
}

// ID names the grant.
func (g Grant) ID() string { return g.o.ID }

// User is on whose behalf the agent works.
func (g Grant) User() string { return g.o.User }

// Conversation is the conversation's id.
func (g Grant) Conversation() string { return g.o.Conversation }

// Turn is the id of the turn.
func (g Grant) Turn() string { return g.o.Turn }

// Remote is the principal who runs the calls elsewhere; empty where they run in this program.
func (g Grant) Remote() string { return g.o.Remote }

// Proposer is the name of who acts in the user's name, as approvers are named; empty where the user does.
func (g Grant) Proposer() string { return g.o.Proposer }

// Principal is the id of who began this at the program's doors; empty for none.
func (g Grant) Principal() string { return cmp.Or(g.o.Principal, g.o.Remote) }

// Intent is the id of the trusted intent under whose authority calls are made; empty for none.
func (g Grant) Intent() string { return g.o.Intent }

// IntentAction is what that intent asks for: a configured name.
func (g Grant) IntentAction() string { return g.o.IntentAction }

// AsRemote returns the grant for calls that the principal runs elsewhere.
func (g Grant) AsRemote(principal string) Grant {
	g.o.Remote = principal
	return g
}

// Agent is the agent's id.
func (g Grant) Agent() string { return g.o.Agent }

// Mission is what the agent was told to do.
func (g Grant) Mission() string { return g.o.Mission }

// MissionBy says who wrote the mission.
func (g Grant) MissionBy() Author { return g.o.MissionBy }

// MissionTainted reports whether the mission was written after an untrusted
// result had been read: then it grounds nothing.
func (g Grant) MissionTainted() bool { return g.o.MissionTainted }

// Request returns the user's own words; ok is false where there are none.
func (g Grant) Request() (text string, ok bool) {
	if g.o.Request == nil {
		return "", false
	}
	return *g.o.Request, true
}

// OwnRequest returns what of the request the user typed: see OwnWords.
func (g Grant) OwnRequest() string {
	if g.words == nil {
		return ""
	}
	return g.words.own
}

// Scope is the set of skills the agent may call.
func (g Grant) Scope() skills.Scope { return g.o.Scope }

// Calls is the agent's own budget of calls; zero means the default.
func (g Grant) Calls() int { return g.o.Calls }

// Deadline is when the authority ends; zero means never.
func (g Grant) Deadline() time.Time { return g.o.Deadline }

// Tainted reports whether an untrusted result was read in this branch, in this turn or in
// one before it.
func (g Grant) Tainted() bool { return g.o.Tainted }

// TaintedThisTurn reports whether an untrusted result was read in this branch in this turn.
func (g Grant) TaintedThisTurn() bool { return g.o.Tainted && !g.o.TaintedBefore }
