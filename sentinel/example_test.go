package sentinel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// question is what the example's approver shows to a person.
type question struct{ skill, args, why string }

// pager is an approver of one's own: it puts questions on a channel, where a person
// finds them, and takes the answers from another. A server would use a page or a
// chat in their place.
type pager struct {
	questions chan question
	answers   chan bool
}

// Approve shows the call as it will run and waits for the person. The end of ctx is
// no answer: the error leaves the call held.
func (p pager) Approve(ctx context.Context, c sentinel.Call, d sentinel.Decision) (sentinel.Verdict, error) {
	select {
	case p.questions <- question{c.Name(), c.Args(), d.Reason}:
	case <-ctx.Done():
		return sentinel.Verdict{}, ctx.Err()
	}
	v := sentinel.Verdict{
		Gate: sentinel.GateApproval, State: sentinel.Judged, Outcome: sentinel.Allow,
		Meta: map[string]string{"by": "ann", "via": "pager"}, // on record: who answered, and how
	}
	select {
	case yes := <-p.answers:
		if !yes {
			v.Outcome, v.Code, v.Reason = sentinel.Deny, "approval.denied", "ann said no"
		}
		return v, nil
	case <-ctx.Done():
		return sentinel.Verdict{}, ctx.Err()
	}
}

// A program that embeds Vedette gives an approver to orchestrator.Options.Approver;
// here a checkpoint of its own has it. The person says yes to one call and no to
// the next.
func ExampleApprover() {
	p := pager{questions: make(chan question), answers: make(chan bool)}
	desk := exampleDesk(p)
	go func() {
		for _, answer := range []bool{true, false} {
			q := <-p.questions
			fmt.Printf("%s %s? %s\n", q.skill, q.args, q.why)
			p.answers <- answer
		}
	}()
	for range 2 {
		result, err := desk.Invoke(context.Background(), "mail.send", json.RawMessage(`{"to":"bob"}`))
		fmt.Println(result.Content, err)
	}
	// Output:
	// mail.send {"to":"bob"}? a person reads each mail first
	// sent <nil>
	// mail.send {"to":"bob"}? a person reads each mail first
	//  refused by approval (approval.denied): ann said no
}

// Decide judges a call and runs nothing. It counts no limit, asks no person and leaves
// no record; ask stays ask.
func ExampleCheckpoint_Decide() {
	s, err := skills.Compile(skills.Spec{Name: "mail.send", Effect: skills.Irreversible})
	exitOn(err)
	reg, err := skills.NewRegistry(s)
	exitOn(err)
	asks := says(sentinel.GatePermission, sentinel.Hold("permission.rule", "a person reads each mail first"))
	p, err := sentinel.New(sentinel.Options{Registry: reg, Gates: passing(asks)})
	exitOn(err)
	call, err := p.NewCall(sentinel.Proposal{Skill: "mail.send", Args: []byte(`{}`)})
	exitOn(err)
	d, err := p.Decide(context.Background(), call)
	exitOn(err)
	fmt.Println(d.Outcome, d.BlockedBy, d.Code)
	_, err = p.NewCall(sentinel.Proposal{Skill: "mail.send", Args: []byte(`{"to":"ann","to":"eve"}`)})
	fmt.Println(err)
	// Output:
	// ask permission permission.rule
	// an object in the arguments has the same key twice
}

// A child's grant is never wider than its parent's.
func ExampleDesk_Child() {
	desk := exampleDesk(nil)
	files, err := skills.NewScope("files.*")
	exitOn(err)
	_, err = desk.Child(sentinel.Child{ID: "g2", Agent: "a2", Mission: "read the files", Scope: files})
	fmt.Println(errors.Is(err, sentinel.ErrWider))
	// Output: true
}

// exampleDesk is a desk whose permission gate asks about every call.
func exampleDesk(a sentinel.Approver) *sentinel.Desk {
	s, err := skills.Compile(skills.Spec{
		Name: "mail.send", Effect: skills.Irreversible, Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`),
	})
	exitOn(err)
	reg, err := skills.NewRegistry(s)
	exitOn(err)
	sign, verify, err := warrant.NewPair(warrant.Options{})
	exitOn(err)
	send := skills.NewExecutor(verify, s, func(context.Context, skills.Order) (skills.Result, error) {
		return skills.Result{Content: "sent"}, nil
	})
	asks := says(sentinel.GatePermission, sentinel.Hold("permission.rule", "a person reads each mail first"))
	p, err := sentinel.New(sentinel.Options{
		Registry: reg, Gates: passing(asks), Limiter: &limiter{verdict: sentinel.Pass()}, Recorder: &recorder{}, Issuer: sign,
		Executors: map[string]skills.Executor{"mail.send": send}, DigestKey: [32]byte{1}, Approver: a,
	})
	exitOn(err)
	scope, err := skills.NewScope("mail.*")
	exitOn(err)
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Turn: "t1", Agent: "a1", Mission: "mail bob", MissionBy: sentinel.ByUser, Scope: scope,
	})
	exitOn(err)
	return p.Desk(g)
}

func exitOn(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
