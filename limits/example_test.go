package limits_test

import (
	"context"
	"fmt"

	"github.com/vedette-dev/vedette/limits"
)

func Example() {
	ctx := context.Background()
	l, err := limits.New(limits.Config{Agent: limits.AgentConfig{Calls: 2}}, limits.NewMemory(limits.MemoryOptions{}))
	if err != nil {
		panic(err)
	}
	p := limits.Proposal{User: "u1", Conversation: "c1", Turn: "t1", Agent: "email_agent", Skill: "email.search"}
	for _, id := range []string{"call-1", "call-2", "call-3"} {
		p.ID = id
		v, err := l.Reserve(ctx, p)
		switch {
		case err != nil:
			fmt.Println("refused, the store could not count")
		case !v.OK:
			fmt.Printf("%s refused: %s, %d of %d used\n", id, v.Code, v.Used, v.Limit)
		default:
			fmt.Printf("%s runs\n", id)
			if err := l.Report(ctx, p.Skill, p.ID, true); err != nil {
				panic(err)
			}
		}
	}
	// Output:
	// call-1 runs
	// call-2 runs
	// call-3 refused: limits.agent_calls, 2 of 2 used
}
