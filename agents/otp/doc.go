// Package otp is supervision with OTP's words, on Proto.Actor.
//
// A process is a Server: state whose callbacks run one at a time. A supervisor
// starts processes from ChildSpecs, restarts those that end as their specs say,
// and gives up when restarts come too fast; supervisors nest into a tree. A
// crash ends one incarnation, never its siblings. A restart makes a new
// process with a new PID (id#epoch), new state and an empty mailbox.
//
//	sys := otp.NewSystem(otp.SystemOptions{Logger: log})
//	app, err := sys.Start(ctx, otp.SupervisorSpec("app", otp.SupervisorOptions{
//		Children: []otp.ChildSpec{
//			{ID: "counter", Name: "counter", Start: func() otp.Server { return &counter{} }},
//			otp.DynamicSupervisorSpec("agents", otp.DynamicSupervisorOptions{MaxChildren: 100}),
//		},
//	}))
//	...
//	err = sys.Stop(ctx)
//
// # Which one
//
//   - A fixed set of children that depend on each other: SupervisorSpec. They
//     start in the listed order and stop in reverse.
//   - Children that come and go: DynamicSupervisorSpec and StartChild.
//   - Work that blocks, such as a model or skill call: Context.Async. It comes
//     back as one TaskResult, whatever happened to it.
//   - Permanent for what must always be there, Transient for what may finish,
//     Temporary for what must not run twice.
//
// # What is promised
//
// Restart intensity is counted for the supervisor, not per child: MaxRestarts
// in Period, one entry for a crash however many siblings restart with it, an
// entry exactly Period old included. Beyond it the supervisor stops its
// children and ends with shutdown, so only a Permanent supervisor is started
// again by the next one up. A start that fails in a restart counts again and is
// retried; one that fails in StartChild is returned and forgotten.
//
// A stop request cancels Context.Context at once, overtakes queued messages, and
// calls Terminate when the running callback has returned. After the child's
// Shutdown time it is killed: its supervisor goes on without it, monitors hear
// KindKilled, and if a callback still runs its goroutine is abandoned, since Go
// cannot end a goroutine. Leaked counts those until they return.
//
// A panic or runtime.Goexit in Start, Init, Handle, Terminate, an Async function
// or a monitor callback is contained and reported: every crash is an Event with
// its reason, its stack and the child's spec, for the hook and for slog, where
// the values it may hold are left out. A panic in a goroutine that
// the code starts itself, a concurrent map write and exhausted memory end the
// program: run code you do not trust in a subprocess.
//
// # The rules
//
// Comments and tests cite these rules of OTP by their numbers.
//
//   - R1: MaxRestarts in Period are granted, counted for the supervisor. A crash is one
//     entry, however many children restart; an entry exactly Period old counts.
//   - R2: beyond that the supervisor stops its children and ends with shutdown.
//   - R3: a Permanent child is always restarted, a Transient one unless it ended by
//     normal or shutdown, a Temporary one never.
//   - R4: OneForAll and RestForOne stop the group in reverse and start it in order;
//     Temporary siblings are stopped and forgotten.
//   - R5: children start in the listed order, each after the one before has started. An
//     initial start that fails stops those before it and fails the supervisor.
//   - R6: a start that fails during a restart counts again and is retried by a message
//     to the supervisor itself. One that fails in StartChild is returned, not counted.
//   - R7: after ErrIgnore a dynamic supervisor drops the child. A static one keeps the
//     spec without a process, unless it is Temporary.
//   - R8: a static supervisor stops its children in reverse, awaiting each; a dynamic one
//     asks all at once.
//   - R9: a child that isn't gone after its Shutdown time is killed.
//   - R10: TerminateChild cancels a pending restart.
//   - R11: a static supervisor refuses an id that it has. A dynamic one knows no ids, and
//     MaxChildren counts the children that await a restart.
//   - R12: Significant is for Transient and Temporary children; AutoShutdown says when
//     their ends end the supervisor.
//   - R13: a Transient or Temporary child's end by normal or shutdown is not reported. All
//     other ends are, with the reason and the child's id.
//   - R14: Terminate runs only after the running callback has ended, and is not guaranteed.
//   - R15: a task is Temporary; the process that began it gets one TaskResult.
//
// # What not to do
//
//   - Do not block a callback on anything that ignores Context.Context.
//   - Do not keep a PID over a restart: use Name and Whereis, or monitor it.
//   - Do not take a sent message for a handled one. Messages queued when a
//     process ends are lost, and Send reports no loss. Write down what must survive,
//     and acknowledge by Call.
//   - Do not count on Terminate for durability; after a kill it never runs.
//   - Do not log Reason.Detail, Exit.Value or Event.Reason.Detail: they may hold
//     what the process worked on. Their String and LogValue are safe.
//   - Do not bound a mailbox by hand: send with credits, or Call.
//
// Callbacks run on goroutines that are used again, and don't have the profiler labels
// of the message's sender. An idle process has no goroutine.
//
// Differences from OTP: start deadlines, Backoff and the abandoned goroutine are
// ours; a stop does not wait for queued messages; initial starts of a dynamic
// supervisor's children run side by side; children's ends and requests wait
// while a static supervisor restarts a group, but a request to stop it does not.
package otp
