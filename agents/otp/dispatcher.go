package otp

// dispatcher runs mailboxes on goroutines and goes on with the mailbox when a
// callback ended its goroutine by Goexit.
type dispatcher struct{}

func (d dispatcher) Schedule(fn func()) {
	go func() {
		returned := false
		defer func() {
			if !returned {
				d.Schedule(fn)
			}
		}()
		fn()
		returned = true
	}()
}

func (dispatcher) Throughput() int { return 300 }
