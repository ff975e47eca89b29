package approval

import (
	"fmt"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// State is how far an approval is.
type State string

// The states of an approval. Pending and approved are open: the call has no decision yet.
const (
	StatePending    State = "pending"    // people are asked
	StateApproved   State = "approved"   // enough people said yes, and the call is not decided yet
	StateConsumed   State = "consumed"   // the call was allowed on the yes, once
	StateDenied     State = "denied"     // a person said no
	StateExpired    State = "expired"    // the time to answer is over
	StateCancelled  State = "cancelled"  // the call was withdrawn, or no person could be asked
	StateSuperseded State = "superseded" // something else decided the call: a rule, a change, another call
)

// States returns all states, in the order of an approval's life.
func States() []State {
	return []State{StatePending, StateApproved, StateConsumed, StateDenied, StateExpired, StateCancelled, StateSuperseded}
}

// Word is what a person says to a question.
type Word string

// The words.
const (
	Yes Word = "yes"
	No  Word = "no"
)

// Item is an approval as lists show it. It holds names, codes and times, and no value of the
// call.
type Item struct {
	// ID is the id of the call's decision. It stays the same over restarts.
	ID string `json:"id"`
	// Call is the id of the call; Conversation and Turn are those of the conversation at which
	// the question surfaces, also where a sub-agent asks.
	Call         string `json:"call"`
	Conversation string `json:"conversation"`
	Turn         string `json:"turn"`
	Agent        string `json:"agent"`
	// User is on whose behalf the call is made: the requester.
	User string `json:"user"`
	// Proposer is the name of who proposed the call, or sent its request, in the user's name: see
	// Rule.ExcludeRequester.
	Proposer string        `json:"proposer,omitempty"`
	Skill    string        `json:"skill"`
	Effect   skills.Effect `json:"effect"`
	Outward  bool          `json:"outward"`
	Tainted  bool          `json:"tainted"`
	// Commits is the skill whose changes the call would commit, and CommitsEffect its effect; both
	// are empty for a call that an agent proposed.
	Commits       string        `json:"commits,omitempty"`
	CommitsEffect skills.Effect `json:"commits_effect,omitempty"`
	// Digest names what a person is shown: see Answer.
	Digest  string    `json:"digest"`
	Asked   time.Time `json:"asked"`
	Expires time.Time `json:"expires"`
	State   State     `json:"state"`
	// Code is that of the decision which ended the approval; empty where it is open or was allowed.
	Code string `json:"code,omitempty"`
	// Needed is how many people must say yes, Yes how many did.
	Needed int `json:"needed"`
	Yes    int `json:"yes"`
	// Place and Of count the calls of one turn that wait at the same time: 1 of 3. Both are zero
	// where the approval is not pending.
	Place int `json:"place,omitempty"`
	Of    int `json:"of,omitempty"`
	// By, Via and At say who answered last and counted: the person who said no, or all who said yes.
	By  string    `json:"by,omitempty"`
	Via string    `json:"via,omitempty"`
	At  time.Time `json:"at,omitzero"`
}

// Given is an answer that a person gave.
type Given struct {
	Word Word      `json:"word"`
	By   string    `json:"by"`
	Via  string    `json:"via"`
	At   time.Time `json:"at"`
	// Feedback is what the person wrote, as they wrote it: clean it before it is shown.
	Feedback string `json:"feedback,omitempty"`
	// Edited is set where the person gave the call other arguments.
	Edited bool `json:"edited,omitempty"`
	// Void is set where the question has changed since: the answer does not count.
	Void bool `json:"void,omitempty"`
}

// Card is an approval with all that a person must see before they answer.
type Card struct {
	Item
	// Sheet is nil where it was erased: its retention is over, or it was purged.
	Sheet   *Sheet  `json:"sheet"`
	Answers []Given `json:"answers"`
}

// Filter chooses approvals; what is empty chooses all.
type Filter struct {
	Conversation, User, Skill string
	// OrConversations are alternatives to Conversation, where that is set. Empty ones choose nothing.
	OrConversations [2]string
	// State chooses one state. Empty, the list is of those that wait for an answer and have not expired.
	State State
	// All lists approvals of every state, in place of State.
	All bool
	// After is the id of the last approval of the page before.
	After string
	// Limit is how many are listed at most. If zero, 10,000.
	Limit int
}

// maxListed is how many approvals one list has at most.
const maxListed = 10_000

// requesters are those for and by whom the call was proposed.
func (i Item) requesters() requesters { return requesters{i.User, i.Proposer} }

// subjects are what the rules of who may answer look at.
func (i Item) subjects() []subject {
	out := []subject{{i.Skill, i.Effect}}
	if i.Commits != "" {
		out = append(out, subject{i.Commits, i.CommitsEffect})
	}
	return out
}

// isEdited reports whether a person gave the call other arguments. Its question has no end until
// the checkpoint has said so on record.
func (i Item) isEdited() bool { return i.State == StateSuperseded && i.Code == CodeEdited }

// isAnswered reports whether people have said what decides the question.
func (i Item) isAnswered() bool {
	return i.State == StateApproved || i.State == StateDenied || i.isEdited()
}

// describeDecided says who decided what, for errors.
func (i Item) describeDecided() string {
	switch i.State {
	case StateExpired:
		return "it expired at " + i.Expires.UTC().Format(time.RFC3339)
	case StateDenied:
		return fmt.Sprintf("%s said no at %s", i.nameDecider(), i.At.UTC().Format(time.RFC3339))
	case StateApproved, StateConsumed:
		return fmt.Sprintf("%s said yes at %s", i.nameDecider(), i.At.UTC().Format(time.RFC3339))
	case StateCancelled:
		return "the call was withdrawn"
	case StatePending:
		return fmt.Sprintf("%s said yes already, %d of the %d who are needed", i.nameDecider(), i.Yes, i.Needed)
	}
	switch {
	case i.Code == CodeEdited:
		return fmt.Sprintf("%s gave the call other arguments at %s", i.nameDecider(), i.At.UTC().Format(time.RFC3339))
	case i.By != "":
		return fmt.Sprintf("%s said yes at %s, and the call was decided otherwise (%s)",
			i.nameDecider(), i.At.UTC().Format(time.RFC3339), i.Code)
	}
	return strings.TrimSuffix("the call was decided without an answer ("+i.Code+")", " ()")
}

// nameDecider names who answered, with the way by which they did.
func (i Item) nameDecider() string {
	if i.Via == "" {
		return i.By
	}
	return i.By + " (" + i.Via + ")"
}
