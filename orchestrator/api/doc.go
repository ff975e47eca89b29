// Package api is Vedette over HTTP: conversations, decisions, calls that other programs run,
// approvals, texts as intents, the ledger and pauses, below /v1. It is described in OpenAPI 3.1 at /openapi.json, which is
// made of the same types that the handlers take (docs/decisions/0027), and on a page at /docs.
//
//	a, err := api.New(ctx, api.Options{Orchestrator: o, Guard: guard, PublicURL: "https://vedette.example.com"})
//	defer a.Close()
//	http.Handle("/v1/", a)
//
// # Who calls
//
// A request's Principal comes from its context, where access.Guard puts it; without one it is
// refused. Each operation names the scopes of which the principal needs one. User, skills and limits are the
// principal's: a body may only narrow them, and names another user only with the scope act_as.
// What belongs to another user is 404, as if there were no such thing. Who answers an approval or
// begins a pause is the principal, never a body.
//
// # Answers
//
// Everything that goes wrong is application/problem+json with a code of package problem. What
// the gates refused is no problem of the request: the answer is 200 with a Card, which says what
// was refused, why, what can be done, and where to look. Lists are {data, has_more, next_cursor}. A cursor
// is good for the same list of the same principal alone.
//
// A text that becomes an intent is answered with the status of its request: 200 completed, 202 where a person is asked,
// 403 blocked or denied, 429 too many of its risk, 502 failed. These operations have the paths of the seed document too,
// below /api. There a body may name the approver, with the scope act_as.
//
// A POST may name an Idempotency-Key, see package idempotency. The operations on calls don't need
// it: they are idempotent by the call's id, and a warrant is never given twice.
//
// Streams are server-sent events with ids. A client that comes back with Last-Event-ID goes on
// where it was; what is gone is told as an event gap. A reader that doesn't read holds
// nothing up, and the server in front cuts it off: package serve after 30 seconds.
//
// # Bounds
//
// The guard bounds bodies: server.limits.body. Those of messages have 128 KiB. A body arrives within
// 10 seconds. Lists have at most 1,000 entries, approvals 10,000. There are at most 4,096 streams.
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What not to do
//
// Don't mount it without a Guard, and don't put a Principal into the context that a header names.
// Don't return a Go error's text to a caller: an error that failure.go doesn't know is internal.
package api
