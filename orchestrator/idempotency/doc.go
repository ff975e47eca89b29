// Package idempotency keeps the answers of requests that name an Idempotency-Key, so that a
// request which is sent again is answered again and not worked on again.
//
//	keeper, err := idempotency.Open(ctx, idempotency.Options{Store: st, Journal: j, Key: key})
//	turn, err := keeper.Begin(ctx, idempotency.Request{Principal: p, Key: k, Method: "POST", Target: path, Body: body})
//	if turn.Kept != nil { … }             // write it, and say Idempotency-Replayed: true
//	defer turn.End()                      // the key is free again, or kept
//	err = turn.Keep(ctx, answer)
//
// A key is its principal's: the same text of two principals is two keys. It names the method,
// the target and the bytes of the body of the first request that used it. Another request
// under it is ErrOther. While the first request is at work the key is ErrInFlight. What is at
// work is known to this process alone, which suffices: a database has one writer. After a crash
// the key is free, so operations must bear that they run again; those of package api do.
//
// Answers hold values, so they are sealed in the journal under the user for whom the request
// was and the conversation that it was about, and a purge of either erases them. A key whose answer is gone is ErrGone until it
// expires. A row holds keyed digests of key and request, and times. The text of a key may be
// somebody's name, and is kept nowhere.
//
// What not to do: don't keep answers that hold a secret which is handed out once. Don't keep an
// answer that says "try again": the same key would be told so for a day.
//
// The package isn't stable: docs/api.md lists those that are.
package idempotency
