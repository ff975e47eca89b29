package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/intent"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/skills"
)

// ElevateSkill is the call by which an approver is asked whether an intent may be trusted.
const ElevateSkill = "agent.elevate"

// elevateSchema is the schema of its arguments. All but the request's id is content: it is shown and decides nothing. The id
// keeps a standing approval of one request from being one of others.
const elevateSchema = `{"type":"object","additionalProperties":false,
	"required":["request","reason","why","intent","digest","differences","candidates"],"properties":{
	"request":{"type":"string","maxLength":64},
	"reason":{"type":"string","maxLength":64,"x-content":true},
	"why":{"type":"array","maxItems":16,"items":{"type":"string","maxLength":4000},"x-content":true},
	"intent":{"type":"array","maxItems":32,"items":{"type":"string","maxLength":8000},"x-content":true},
	"digest":{"type":"string","maxLength":64,"x-content":true},
	"differences":{"type":"array","maxItems":256,"items":{"type":"string","maxLength":16000},"x-content":true},
	"candidates":{"type":"array","maxItems":64,"items":{"type":"string","maxLength":256},"x-content":true}}}`

// ElevateSpec is the skill of the question to an approver. Its calls always ask a person and do nothing: the yes is what
// counts.
func ElevateSpec() skills.Spec {
	return skills.Spec{
		Name: ElevateSkill, Description: "Trust an intent that the rules alone don't let through.", Effect: skills.Create, Reaches: skills.Self,
		Output: skills.Trusted, Approval: skills.ApproveAlways, Parameters: json.RawMessage(elevateSchema), Run: skills.Run{Kind: "native"},
		Idempotent: true,
	}
}

// RunElevate runs an allowed call of ElevateSkill: it returns the digest that was approved.
func RunElevate(_ context.Context, o skills.Order) (skills.Result, error) {
	var a elevateArguments
	if err := json.Unmarshal([]byte(o.Args), &a); err != nil {
		return skills.Result{}, fmt.Errorf("read the arguments: %w", err)
	}
	return skills.Result{Content: a.Digest}, nil
}

// elevateArguments are what an approver is shown.
type elevateArguments struct {
	Request string   `json:"request"`
	Reason  string   `json:"reason"`
	Why     []string `json:"why"`
	// Intent are the fields of the intent that would be trusted, Digest names it.
	Intent []string `json:"intent"`
	Digest string   `json:"digest"`
	// Differences are what each parser said otherwise. Candidates are the parsers with the digests of their intents: an
	// approver who edits Digest to one of them chooses that one.
	Differences []string `json:"differences"`
	Candidates  []string `json:"candidates"`
}

// candidate is one parser's intent that an approver can choose.
type candidate struct {
	parser string
	intent intent.Intent
}

// asked is whose a request is, and what was asked.
type asked struct {
	owner owner
	// by is who sent it in the user's name, principal the id of who sent it at the program's doors.
	by, principal string
	text          string
	hasText       bool
	// turn is set where the intent is the ceiling of a turn, and nothing here acts.
	turn bool
}

// askedOf is what a request asks; text is the journal's id of its text, where that is kept.
func askedOf(r Request, text int64) asked {
	a := asked{ownerOf(r), r.By, r.Principal, r.Text, true, r.turn}
	a.owner.text = text
	return a
}

// grantOf is what a grant of the request is made of.
func (a *asked) grantOf(id string, s skills.Scope, intentID string) sentinel.GrantOptions {
	o := sentinel.GrantOptions{
		ID: id, User: a.owner.user, Conversation: a.owner.session, Turn: a.owner.request, Agent: agentName, Proposer: a.by,
		Principal: a.principal, Intent: intentID, Scope: s,
	}
	if a.hasText {
		o.Request = &a.text
	}
	return o
}

// waiting is a request that goes on with an approver's word, from this process or an earlier one.
type waiting struct {
	asked
	reason     string
	why        []string
	canonical  candidate
	candidates []candidate
	// resumed is set where the question may have been put before, and approved where its yes is on record.
	resumed, approved bool
}

// arguments are what the approver is shown.
func (w *waiting) arguments() (json.RawMessage, error) {
	a := elevateArguments{Request: w.owner.request, Reason: w.reason, Why: w.why, Digest: w.canonical.intent.Digest(), Intent: []string{},
		Differences: []string{}, Candidates: []string{}}
	for _, f := range setFields(w.canonical.intent) {
		a.Intent = append(a.Intent, f.Name+": "+f.Value)
	}
	for _, c := range w.candidates {
		a.Candidates = append(a.Candidates, c.parser+" "+c.intent.Digest())
		for _, d := range c.intent.Diff(w.canonical.intent) {
			a.Differences = append(a.Differences, fmt.Sprintf("%s: %s is %s, and not %s", c.parser, d.Name, orNothing(d.One), orNothing(d.Other)))
		}
	}
	return plainjson.Marshal(a)
}

func orNothing(s string) string {
	if s == "" {
		return "not said"
	}
	return s
}

// elevationGrant is the id of the grant under which a request's approver is asked.
func elevationGrant(request string) string { return "intent-elevation/" + request }

// elevationCall is the id of the call by which a request's approver is asked.
func elevationCall(request string) string { return sentinel.CallID(elevationGrant(request), 0) }

// choose returns the intent that a digest names.
func (w *waiting) choose(digest string) (candidate, bool) {
	for _, c := range append([]candidate{w.canonical}, w.candidates...) {
		if c.intent.Digest() == digest {
			return c, true
		}
	}
	return candidate{}, false
}

// asker asks approvers.
type asker struct{ o *Options }

// ask asks an approver and returns the digest of what was approved. Where an earlier process has the answer on record, it
// is taken from there. The error is a *skills.Refusal, or one after which the request waits on.
func (q *asker) ask(ctx context.Context, w *waiting) (digest string, err error) {
	args, err := w.arguments()
	if err != nil {
		return "", err
	}
	scope, err := skills.NewScope(ElevateSkill)
	if err != nil {
		return "", err
	}
	g, err := sentinel.NewGrant(w.grantOf(elevationGrant(w.owner.request), scope, ""))
	if err != nil {
		return "", err
	}
	desk := q.o.Checkpoint.Numbered(g)
	if w.resumed {
		if _, err := desk.Resume(ctx, 0, 1); err != nil {
			return "", err
		}
	}
	res, err := desk.Invoke(ctx, ElevateSkill, args)
	if err != nil {
		return "", err
	}
	return res.Content, nil
}

// elevation is an approver's word.
type elevation struct {
	decision, by, via string
	at                time.Time
}

// readElevation reads who decided, from the record of the call's decision.
func (q *asker) readElevation(ctx context.Context, request string) elevation {
	list, err := q.o.Ledger.List(context.WithoutCancel(ctx), ledger.Query{
		Call: elevationCall(request), Kind: sentinel.RecordDecision, Newest: true, Limit: 1,
	})
	if err != nil || len(list) == 0 {
		return elevation{}
	}
	var b struct {
		Approver   string    `json:"approver"`
		Via        string    `json:"via"`
		AnsweredAt time.Time `json:"answered_at"`
	}
	_ = json.Unmarshal(list[0].Body, &b) // what can't be read is left out
	return elevation{list[0].Decision, b.Approver, b.Via, b.AnsweredAt}
}
