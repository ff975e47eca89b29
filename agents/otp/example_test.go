package otp_test

import (
	"context"
	"fmt"
	"time"

	"github.com/vedette-dev/vedette/agents/otp"
)

// counter adds numbers up; "fetch" adds one that takes a while to get.
type counter struct {
	sum     int
	waiting otp.From
}

func (s *counter) Init(*otp.Context) error { return nil }

func (s *counter) Handle(c *otp.Context, msg any) {
	switch m := msg.(type) {
	case int:
		s.sum += m
	case string:
		s.waiting = c.From() // answered when the task is back
		c.Async(time.Second, func(context.Context) (any, error) { return 40, nil })
	case otp.TaskResult:
		if m.Err == nil {
			s.sum += m.Value.(int)
		}
		s.waiting.Reply(s.sum, m.Err)
	}
}

func (s *counter) Terminate(*otp.Context, otp.Reason) {}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	sys := otp.NewSystem(otp.SystemOptions{})
	_, err := sys.Start(ctx, otp.SupervisorSpec("app", otp.SupervisorOptions{
		Strategy: otp.RestForOne,
		Children: []otp.ChildSpec{
			{ID: "counter", Name: "counter", Start: func() otp.Server { return &counter{} }},
			otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{MaxChildren: 100}),
		},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	pid, _ := sys.Whereis("counter")
	pid.Send(2)
	sum, err := otp.Call(ctx, pid, "fetch")
	fmt.Println(sum, err)
	fmt.Println(sys.Stop(ctx))
	// Output:
	// 42 <nil>
	// <nil>
}
