// Package handover decides calls that another program runs: "decide, I run it, then report".
//
// An agent loop of one's own, in any language, proposes each call before it runs it. The
// checkpoint takes the call through all gates, as it does for agents of this program. Where it
// allows the call, the decision is on record before the answer is given, and the answer has a
// warrant instead of a result. The loop runs the call and reports what became of it.
//
//	a, err := h.Propose(ctx, handover.Proposal{Principal: p.ID, User: p.User, Conversation: "c1",
//		CallID: "call_1", Skill: "crm.update", Arguments: args})
//	switch a.State {
//	case handover.Allowed: // a.Warrant is there once: run exactly a.Arguments, then
//		a, err = h.Report(ctx, handover.Report{Principal: p.ID, ID: a.ID, Outcome: handover.OK, Result: text})
//	case handover.Pending: // a person is asked: propose the same call under the same id later
//	}
//
// A call is known by its principal, its conversation and its call id. A repeat of the same call is
// answered from the record: a pending one goes on, an ended one keeps its end. A repeat gets no
// second warrant. Another call under the same id is ErrDigest.
//
// What is reported has the trust of its skill. It taints the conversation and is in the trace of
// the conversation's later calls, also after a restart. A call that isn't reported before its
// warrant expires is unknown.
//
// # What not to do
//
// Don't fill Principal, User, Scope and RequestHuman from a body: they are what the server knows of
// its caller. Don't run a call of an answer without a warrant, and run what Arguments says, not what
// was proposed: rules may have rewritten it.
//
// The package isn't stable: docs/api.md lists those that are.
package handover
