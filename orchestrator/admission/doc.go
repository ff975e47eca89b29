// Package admission says who may begin: credits for what there can only be so
// much of at a time (turns, agents, calls of a skill), for the process as a
// whole and for each user.
//
//	p := admission.New(admission.Options{What: "turns", Process: 256, User: 32, Waiting: 1024, UserWaiting: 128, Wait: 30 * time.Second})
//	credit, err := p.Acquire(ctx, admission.Ask{User: "ann"})
//	if err != nil {        // *OverloadedError: errors.Is(err, ErrOverloaded), RetryAfter says when
//		return err
//	}
//	defer credit.Release()
//
// The package isn't stable: docs/api.md lists those that are.
//
// A credit is given at once where there is one, or after a wait in a queue with
// an end: Waiting and UserWaiting bound its length, Wait the time in it. Credits
// that come back go to the users in turn, so one user's thousand requests delay
// another's one by the end of one of them, not of a thousand.
//
// A credit is returned by Release, which may be called any number of times, or
// by the end of Ask.Life, which is the context of the process that owns the
// work: one that crashes releases nothing itself. Lend gives its place to others
// for as long as its holder waits for a person; Reclaim takes it back.
//
// What NOT to do: don't wait for a credit in an actor's own goroutine; don't
// wait for a credit of one pool while holding one that those who hold the
// first wait for; don't hold one while a person is asked; don't take Try's
// refusal for anything but "not now".
package admission
