// Package assistants answers chat interfaces that speak the chat completions API of OpenAI: each answer
// is an orchestrated turn. An interface works by changing its base URL to SERVER/assistants/v1.
//
//	door, err := assistants.New(ctx, assistants.Options{Orchestrator: o, Assistants: cfg.ListAssistants(), PublicURL: url})
//	mux.Handle("/assistants/v1/", guard.Wrap(door))
//
// The package isn't stable: docs/api.md lists those that are.
//
// # Conversations
//
// The protocol has none: a client sends all that was said with each request. Here a request belongs to
// the conversation that the header X-Vedette-Conversation names, which is the token's own name for
// it. Without the header it belongs to the token's own conversation, until the token was idle for
// Options.Idle. So taint, limits and approvals outlive the request.
//
// The last message is the request, and the user's own words. So the token must say user_turns: human. Of
// the messages before it, those that were said in the conversation are recognised by keyed digests.
// All others, and system and tool messages, are what the client says: they are read once, they
// taint the conversation, and they ground nothing.
//
// # Answers
//
// What was streamed can't be taken back: text that turns out not to be the answer ends its paragraph. A
// call that waits for a person appears as text with a link, made of Options.PublicURL and an id of ours.
// The answer is held open for Options.Hold. Then it ends, the turn goes on, and the
// next message is answered with the turn's answer first.
//
// # What not to do
//
// Don't mount it without a guard. Don't give one token to several people: they would share a
// conversation. Don't retry for a client: a request with an Idempotency-Key is worked on once, others each time.
package assistants
