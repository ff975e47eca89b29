// Package proxy carries models' answers to clients that changed only their base URL, and lets a tool call in an
// answer through once the checkpoint allowed it.
//
//	door, err := proxy.New(ctx, proxy.Options{Handover: h, Registry: registry, Keys: keys, Running: running, PublicURL: url})
//	mux.Handle("/proxy/", door.Guarded(guard))
//
// The package isn't stable: docs/api.md lists those that are.
//
// # The way of a call
//
// A request names a key: a token of Vedette, whose row says for whom it acts and what it may do. The request's
// conversation is context of a client: what tools returned and what models wrote grounds nothing, and the user's turns
// are the user's words where the key says user_turns: human. Calls in the answer are held by sentinel/stream, and
// each is a forwarded call of package handover: the same gates, the same record. Its outcome is forwarded, until the
// tool's result in a later request says ok or failed.
//
// # Conversations
//
// The header X-Vedette-Conversation names one, bound to the key. Without it a key has one, until it was idle for
// Proxy.Idle. Taint belongs to the conversation, so a new request sheds none.
//
// # What not to do
//
// Don't take it for more than it is: no call leaves that wasn't allowed, but the client runs what it gets, and what it
// runs besides. Don't give one key to several people: they would share a conversation.
package proxy
