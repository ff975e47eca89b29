// Package approval asks people about calls whose outcome is Ask. Inbox keeps the questions in
// the database until people answer them, from wherever the program lets them. Terminal asks at a
// terminal. Other ways implement sentinel.Approver too.
//
//	list, err := inbox.List(ctx, approval.Filter{Conversation: id})
//	card, err := inbox.Show(ctx, list[0].ID)
//	item, err := inbox.Answer(ctx, approval.Answer{
//		Approval: card.ID, Word: approval.Yes, Digest: card.Digest, By: "ann", Via: "web",
//	})
//
// Programs reach the inbox of a configuration as Parts().Inbox of their orchestrator.
//
// An approver sees the call as it will run: the canonical arguments, what they
// would touch, the user's request, and every reason for asking. x-secret values
// are hidden. A value too long for the screen is cut, and it says so: the size
// of the whole and the beginning of its SHA-256 stand beside it. What is shown
// comes from models and tools, so it is quoted, escaped, and broken into lines
// that are marked as its own: it can't move the cursor, forge a line, or answer
// the question.
//
// Who waits how long is the checkpoint's business (sentinel.Options.AskTimeout):
// an approver waits until its context ends. It returns an error where no person
// has answered, and the checkpoint decides by the context's cause whether the
// call has expired, was withdrawn, or stays held and is asked about again.
//
// What not to do: don't take Answer.By from what a caller sends. Don't answer Allow for a call without having shown it; don't
// take a timeout or a closed input for a yes; don't take the end of the context
// for a no.
package approval

import (
	"context"

	"github.com/vedette-dev/vedette/sentinel"
)

// The codes of an approval verdict.
const (
	CodeDenied  = "approval.denied"            // a person said no
	CodeExpired = sentinel.CodeApprovalExpired // no person answered in time
	CodeNobody  = sentinel.CodeApprovalNobody  // there is no person to ask
	CodeEdited  = sentinel.CodeApprovalEdited  // a person gave the call other arguments, which are another call
)

// Nobody is the approver of programs without people to ask: it refuses every call
// that needs a person's approval.
type Nobody struct{}

// Approve refuses the call: no person can approve it.
func (Nobody) Approve(context.Context, sentinel.Call, sentinel.Decision) (sentinel.Verdict, error) {
	v := sentinel.Refuse(CodeNobody, "the call needs a person's approval and nobody can give it")
	v.WhatYouCanDo = "Tell the user what needs their approval."
	return v, nil
}
