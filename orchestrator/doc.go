// Package orchestrator runs conversations: a model that reads the user's
// request, dispatches sub-agents with a mission and a scope of skills each,
// waits for what they bring, and answers.
//
//	o, err := orchestrator.New(ctx, cfg, orchestrator.Options{Approver: approver})
//	defer o.Close(context.Background())
//	conv, err := o.Open(ctx, orchestrator.ConversationOptions{ID: "c1", User: "ann"})
//	reply, err := conv.Send(ctx, "Summarise what Sarah wrote about the budget")
//
// The orchestrator's model has no skill of its own. What it can do to an agent
// that changes what the agent may do or read (dispatch, update, extend) is a
// skill call itself and passes the same checkpoint, because the model that
// proposes it has read what agents brought back.
//
// Supervision, in OTP's words: the app is one_for_one over the router
// (permanent) and the conversations (dynamic). A conversation is a supervisor,
// rest_for_one, of its server (transient) and its agents (dynamic, each
// temporary). A server that crashes takes its turn, its agents and what was
// said before with it; the caller is told ErrInterrupted and other
// conversations notice nothing. One that has been idle for a day is forgotten.
//
// A turn writes the user's request into the journal before anything is done
// about it, and each mission with what came of it, and the answer, before the
// answer is given: what can't be kept is ErrNotKept. Once the orchestrator's
// model has read what others could have written, the conversation is tainted
// for as long as it lives: agents get skills that were not granted before only
// with a person's approval, and in answers links and images become text unless
// they lead to a host under answers.links or in the request.
//
// What not to do: don't put text that others wrote into a user's Send; don't
// open two users' work in one conversation; don't wait for a reply while
// holding what an approver needs; don't take ErrInterrupted or ErrNotKept for
// "nothing was done", the ledger knows.
package orchestrator
