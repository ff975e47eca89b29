// Package sentinel is the checkpoint that every skill call passes before it
// may have an effect. It holds the words (Call, Grant, Trace, Verdict,
// Decision), the Checkpoint that runs the gates in their fixed order, and the
// Desk that an agent is handed instead of skills. It holds no gate.
//
//	cp, err := sentinel.New(sentinel.Options{…})        // assembly does this
//	desk := cp.Desk(grant)
//	res, err := desk.Invoke(ctx, "files.read", json.RawMessage(`{"path":"notes.md"}`))
//	var no *skills.Refusal
//	if errors.As(err, &no) { … }                         // typed, the model can read it
//
// Rules of the operator may rewrite a call before it is judged (Modifier): the
// result is another Call, with its own id and digest, that keeps its parent.
// What was judged is what runs: the warrant is for the rewritten call.
//
// A call runs only after a decision that allowed exactly its bytes is durable. Deny
// is the zero value: a gate that is missing, silent, panics or returns an error
// denies. A gate must heed its context: a gate that does not holds up its own call,
// and no other call. Outcomes are combined with min, so no gate lifts what another
// lowered; a person lifts only Ask.
//
// A person approves what they were shown: every path that the call declares is
// bound to the question (Bound), compared after the answer, in the transaction of
// the decision and after a wait in a queue. Only a person's answer, the expiry, a
// change and a withdrawal (skills.ErrWithdrawn) end a held call. Whatever else
// ends the wait returns ErrHeld and decides nothing; see Approver.
//
// Calls that must survive their process are made at a Numbered desk: its calls
// have ids that follow from grant and number, each id is allowed once, and a new
// desk under the same grant, put to its place by Resume, answers what had been
// decided from the History. What was interrupted is unknown, and only what is
// idempotent runs again.
//
// What not to do: don't run a skill any other way than through a Desk; don't
// put a value, a request or a mission into Verdict.Reason (that text is
// recorded), put it into Verdict.Detail (that is sealed); don't keep state of
// one call in a Gate.
package sentinel
