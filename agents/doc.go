// Package agents runs one sub-agent: a model that works on a mission by
// proposing skill calls, one at a time, and reading what comes of them.
//
// The package isn't stable: docs/api.md lists those that are.
//
// An agent is a process under agents/otp. It holds Specs of skills and an
// Invoker; it holds no executor and can't make one, so nothing it or its model
// does can run a skill except by proposing it. Its restart kind is Temporary:
// restarting an agent would repeat its effects, so a crash is a result, failed.
//
//	a, err := agents.New(agents.Options{ID: "mail", Mission: "…", Model: m, Invoker: desk, Skills: list, Parent: me})
//	pid, err := otp.StartChild(ctx, supervisor, a.Spec())
//	…                                   // the parent receives agents.Finished, or by its monitor an otp.Down
//	snap := a.Snapshot()                // at any time, without disturbing it
//
// Where an agent ends is bounded: by its clock, which stands still while it
// waits for people; by the number of its proposals, of its rounds with the
// model and of its requests for help; and by the life of its parent.
//
// The agent's talk with its model is a loop.Loop, as a turn's is: package loop bounds what
// one answer adds, and says in which order calls are made and written down.
//
// With a Journal an agent writes down each Round, an answer of its model with
// calls in it, before the first of them is proposed, and its end before anybody
// is told. An agent that is made with the Rounds of another goes on as that one:
// it proposes the calls of the last round, again if need be, so its Invoker must
// know what it answered before.
//
// Values that a skill's schema marks as x-secret go to its Invoker and, as its
// own words, back to the model that wrote them. Transcript and rounds hold them
// hidden. So a call with one in it can't be proposed by another process: that
// asks its Invoker what became of it, see Recaller, and where nothing did the
// model is told to propose it again. What a model repeats of them in its own
// words, or a skill in a result, is text like any other.
//
// What not to do: don't hand an agent an Invoker whose grant is wider than its
// mission needs; don't put text that the user did not write into the mission
// without telling the desk (Taint); don't trust an agent's answer more than
// the results it has read.
package agents
