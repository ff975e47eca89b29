// Package intake takes a user's text through all stages until an action has ended: detector, parsers, vote, comparison,
// a person or the user where one is needed, the signed intent, and the typed action. Each step is on record in the
// ledger before anything follows from it.
//
//	p, err := intake.New(intake.Options{…})
//	a, err := p.Process(ctx, intake.Request{User: "ann", Session: "s1", Text: text})
//	switch a.Status {
//	case intake.Completed:           // a.Result
//	case intake.PendingConfirmation: // show a.Confirmation, then p.Confirm with its digest
//	case intake.PendingApproval:     // a person answers a.Approval in the inbox; p.Look tells what became of it
//	}
//
// # What acts
//
// An action is a Handler, a Go function that is given an intent.Trusted and nothing else, or a skill, whose call goes
// through the checkpoint like any other, with arguments that are made of the intent's fields alone. No word of the
// text reaches either, but for skills whose call is judged: there the text is what the user asked for.
//
// # What is kept
//
// The ledger has one chain of records for each request, with the request's id as their call: see the constants of this
// package. Intents, evidence and results are values: they are sealed in the journal. With TextsDigest the text itself is
// kept only while a request waits.
//
// # After a restart
//
// Resume goes on with what an earlier process left. A request that waits for an approver waits on, under the same
// question. One that waits for its user waits until its time is over. One that had been trusted and has no end runs no
// second time: it is unknown, unless its action is a skill, of which the checkpoint knows what became.
//
// What not to do: don't take Request.User or Request.By from what a caller sends. Don't show one user another's answer:
// Look and Confirm compare the user.
//
// The package isn't stable: docs/api.md lists those that are. Programs reach it through orchestrator/assembly.
package intake
