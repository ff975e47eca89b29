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
// Supervision, in OTP's words: the app is one_for_one over the store, the
// review, the owner's door, the conversations (dynamic), the process that opens
// them and the one that wakes them (docs/architecture.md draws it). A
// conversation is a supervisor, rest_for_one, of its server (transient) and its
// agents (dynamic, each temporary). Other conversations notice nothing of one
// that crashes.
//
// # Layers
//
// From below: agentRun (one agent), turn (one request), conversation (a process with
// its callers and its line of requests), recovery with restorer (what a restart
// finds), Orchestrator. Each calls only those below it: needs.go, and a test holds it.
//
// # Nothing is lost
//
// A turn writes the user's request into the journal before anything is done
// about it, every answer of its model before the calls in it are made, and its
// end before anybody is told; its agents do the same. What can't be kept is
// ErrNotKept. A conversation whose process crashed, or went to rest after
// fifteen idle minutes, or ended with kill -9, comes back with what was said,
// whose it is and whether it is tainted, and goes on with the request that was
// under way, asked or not:
//
//	reply, err := conv.SendRequest(ctx, orchestrator.Request{ID: "r1", Text: "…"})
//	…                                   // the process is killed and started again
//	reply, err = conv.Reply(ctx, "r1")  // or SendRequest with the same id and text
//
// A question to a model that had not been answered is asked again. A call that
// had ended is not made again, its recorded result is what the agent reads. One
// that was interrupted is unknown, and is made again only where its skill is
// idempotent, through all gates and with the same Idempotency-Key. A request
// that was resumed without getting any further, three times after crashes of
// its process or ten times by programs that started, is given up:
// ErrInterrupted. So is one of which the journal's values are gone. Before it is
// given up it waits, longer each time, so that a program which something else
// ends every moment gives nothing up. A request that still waits in line behind
// another, or for room, is not begun and not written down.
//
// Texts of models are kept, and shown, up to 256 KiB each; what is longer is cut and
// says so. If the database can't take an answer at all, the journal holds only that
// the request has ended. The request is ErrNotKept from then on: no request that is
// under way begins a second time.
//
// A request is stopped when the caller of Send leaves, also while its process
// restarts. One that a killed program left behind is finished.
//
// While the store is down every call is refused and requests are ErrNotKept; an
// agent that has something to write down waits for as long as it has time. What
// had been accepted is gone on with when it is back, without a restart and
// without being asked; but not what came by Send, whose caller was told that it
// failed and could not ask again.
//
// Once the orchestrator's model has read what others could have written, the
// conversation is tainted for good: in answers links and images become
// text unless they lead to a host under answers.links or in the request. In the turn
// that read it agents get skills that were not granted before only with a person's
// approval. A later turn begins with what its own words ask for, and an assent goes on
// with the turn before it (docs/decisions/0020-later-turns.md).
//
// # While a person is asked
//
// A turn that waits for people gives its places back, and takes them again in
// line with the others when it is answered, so open approvals lock no user out.
// approvals.pending bounds how many calls may wait
// (docs/decisions/0009-held-work.md).
//
// # Following a request
//
// Conversation.Stream and StreamRequest tell what happens on the way to the answer, Events
// what happens in the conversation, also to a reader that comes back:
//
//	for e, err := range conv.Stream(ctx, "Summarise what Sarah wrote") {
//		switch {
//		case err != nil:
//			return err
//		case e.Kind == orchestrator.EventText:
//			fmt.Print(e.Text)
//		}
//	}
//
// The newest events of each conversation are kept in memory, under ids that grow, over
// restarts too. A reader has a place among them and nothing else: one that is slow or
// vanishes costs the turn nothing, and one that finds its place gone is told so (EventGap).
//
// Text comes while the orchestrator's model writes it, where a reader was there when the
// model was asked. Whether an answer is the last is known at its end only, since a model
// may write a remark and then call a tool, or break off and be asked again. Then
// EventWithdrawn takes the text back: a window clears it, and a wire that can't take back
// ends the paragraph. The pieces since the last withdrawal are Reply.Text, byte for byte, with
// links made plain as they flow where the answer is tainted. Text is told before it is
// durable: it is an answer once EventReply is there.
//
// # Budgets after a restart
//
// What a turn under way had spent is counted again by the process that goes on
// with it. What turns that had ended spent is known only to who counted it: with
// limits.store on Redis that is the server, and nothing is forgotten; in memory a
// restart of the program forgets it, so a conversation's and a user's tokens and
// money within their windows begin at zero. The journal holds what each answered
// turn came to, but sealed within its end, by conversation, without its time,
// and not for turns that failed: to count it again, every end of a day would have
// to be opened before the first request. Where budgets must outlive restarts, use
// Redis.
//
// # Ending
//
// Close cuts off what is under way. Drain lets it end first, for as long as it is
// given, refuses what is new with ErrDraining, and returns what it had to cut off:
//
//	<-ctx.Done() // SIGTERM; or o.Done()
//	d, err := o.Drain(deadline)
//	log.Print(d)
//
// What breaks without an end uses up the restarts of the app: then Done is closed,
// Err says why, everything is refused with ErrEnded, and what was accepted waits
// in the journal for the next start.
//
// What not to do: don't put text that others wrote into a user's Send, or into
// ConversationOptions.Context; don't take streamed text for an answer before its reply; don't
// open two users' work in one conversation; don't wait for a reply while
// holding what an approver needs; don't take ErrInterrupted or ErrNotKept for
// "nothing was done", the ledger knows; don't call a skill idempotent that
// isn't, it may run twice.
package orchestrator
