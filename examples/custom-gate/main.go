// Custom-gate is a checkpoint with a gate of one's own. It decides one call and runs nothing:
//
//	go run . 250
//	deny judge shop.budget: 250 is more than the 100 that one order may cost
//
// The gate stands in the place of the judge, which a checkpoint may do without. Schema, scope, permission and
// guard can't be left out. What a rule in CEL can say needs no gate: see docs/rules.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/guard"
	"github.com/vedette-dev/vedette/sentinel/permission"
	"github.com/vedette-dev/vedette/sentinel/schema"
	"github.com/vedette-dev/vedette/sentinel/scope"
	"github.com/vedette-dev/vedette/skills"
)

// budget is a gate that refuses orders that cost too much. An error of a gate denies.
type budget struct{ most int }

func (budget) Name() string { return sentinel.GateJudge }

func (b budget) Check(_ context.Context, c sentinel.Call) (sentinel.Verdict, error) {
	var in struct{ Cost int }
	if err := json.Unmarshal([]byte(c.Args()), &in); err != nil {
		return sentinel.Verdict{}, err
	}
	if in.Cost > b.most {
		return sentinel.Refuse("shop.budget", fmt.Sprintf("%d is more than the %d that one order may cost", in.Cost, b.most)), nil
	}
	return sentinel.Pass(), nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: custom-gate COST")
	}
	d, err := decide(context.Background(), json.RawMessage(`{"cost":`+os.Args[1]+`}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Outcome, d.BlockedBy, d.Code+":", d.Reason)
}

// decide takes an order of an agent through the gates.
func decide(ctx context.Context, args json.RawMessage) (sentinel.Decision, error) {
	p, err := newCheckpoint()
	if err != nil {
		return sentinel.Decision{}, err
	}
	may, err := skills.NewScope("shop.order")
	if err != nil {
		return sentinel.Decision{}, err
	}
	g, err := sentinel.NewGrant(sentinel.GrantOptions{
		ID: "g1", User: "ann", Conversation: "c1", Turn: "t1", Agent: "buyer", Mission: "order paper", MissionBy: sentinel.ByUser, Scope: may,
	})
	if err != nil {
		return sentinel.Decision{}, err
	}
	call, err := p.NewCall(sentinel.Proposal{Skill: "shop.order", Args: args, Grant: g})
	if err != nil {
		return sentinel.Decision{}, err
	}
	return p.Decide(ctx, call)
}

func newCheckpoint() (*sentinel.Checkpoint, error) {
	order, err := skills.Compile(skills.Spec{
		Name: "shop.order", Effect: skills.CostsMoney,
		Parameters: json.RawMessage(`{
			"type": "object", "required": ["cost"], "additionalProperties": false, "properties": {"cost": {"type": "integer"}}
		}`),
	})
	if err != nil {
		return nil, err
	}
	reg, err := skills.NewRegistry(order)
	if err != nil {
		return nil, err
	}
	sc, err1 := scope.New(scope.Options{Registry: reg})
	perm, err2 := permission.New(permission.Options{Rules: []permission.Rule{}, Default: permission.DefaultAllow, Registry: reg})
	g, err3 := guard.New(guard.Options{})
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	return sentinel.New(sentinel.Options{Registry: reg, Gates: []sentinel.Gate{
		schema.New(), sc, perm, g, budget{most: 100}, sentinel.Skip(sentinel.GateReview, "this program has no model"),
	}})
}
