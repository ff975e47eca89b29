// Package loop is a model with tools: it asks, makes the calls of the answer one after
// the other, gives their results back and asks again. A sub-agent is one, and so is the
// turn of an orchestrator.
//
//	Ask ──► answer with calls ──► the round is written down ──► Next ──► RunCall ─┐
//	 ▲  ╲                                                       ▲ │               │
//	 │   ╲► answer without ──► Conclude, a nudge, or Fail       │ │            Answer
//	 │                                                          └─┼───────────────┘
//	 └────────────────── no call is left ─────────────────────────┘
//
// The package isn't stable: docs/api.md lists those that are.
//
// A Loop belongs to an Owner, a process under agents/otp. The owner supplies the tools:
// what the model is shown, how a call is run and how its result reads. And it supplies
// the endings: what an answer without calls means, and what a failure does. The loop has
// the rest once:
//
//   - Dialogue: the messages, how much room they leave (Room), the form that servers take.
//   - HearCalls: at most MaxParallel calls of an answer count, each with an id of its own.
//   - Queue: calls are made one at a time, in order, and answered under their ids.
//   - Rounds: an answer with calls is durable before the first of them is made.
//   - The nudge: a model that answers with nothing is told so, once.
//   - Prejudging: the desk is told of the calls of an answer before the first is made.
//   - Secrets: Redact and HideCalls take them out of what is written down.
//   - DescribeRefusal: a refusal in words for a model.
//
// Exactly one task is under way while the owner works: a question, a call or a record.
// An owner that waits for somebody else, a person or another process, has none. Prejudging
// runs beside it, and ends with the answer whose calls it is about.
//
// Where agents and turns differ on purpose Rules say so, each by what it means. Decision
// 0018 lists what they share and what they don't.
//
// What not to do: don't run a call from here, since a loop holds no desk; don't add a
// message but by Say, which counts its room; don't keep a Loop after its process has
// ended. The package isn't stable: agents and turns are its only users.
package loop
