// Package llm talks to chat models over HTTP in the OpenAI chat-completions
// format and keeps the roster of the models a configuration names.
//
// A [Client] is one configured model: [New] checks its [Config], [Client.Chat]
// sends one [Request] and returns one [Response] or one typed [*Error]. It is
// safe for concurrent use, holds no conversation and starts no goroutine of its
// own. A [Roster] holds all clients on one shared connection pool and knows
// which chain of models plays which role.
//
// What goes over the wire is decided here and nowhere else:
//
//   - A temperature is sent exactly as given, zero included. A model marked
//     Reasoning gets none, and gets reasoning_effort instead.
//   - The limit on the answer is max_completion_tokens, unless the
//     configuration asks for the older max_tokens.
//   - A Schema becomes response_format json_schema with strict true. A server
//     that doesn't know it must be declared so (Config.Schemaless): then the
//     Schema becomes one forced tool call, or json_object, which promises JSON
//     and not the shape. Nothing falls back to either by itself.
//   - Empty contents and empty tool-call arguments are sent as empty strings,
//     never left out.
//   - Arguments of tool calls are strings to this package. They are not parsed,
//     repaired or compacted, and calls with the same id stay separate.
//
// What comes back is hostile until proven otherwise. A body is read up to a
// limit (after decompression), must be one JSON document in valid UTF-8, and must
// hold a choice that says something before its time is over. It is decoded here
// and not by the library: a name is the API's in its exact letters alone, an
// object that is read has no name twice, and whatever else servers add is passed
// over, folded names included. An error beside choices, another index than 0,
// another role than assistant, a part of content that is neither text nor
// refusal nor reasoning, and a legacy function_call make it no answer. Of several
// choices the first is taken: who must know compares Response.Choices with 1.
// Redirects are not followed: a request carries a credential and a conversation,
// and both go to the configured address or nowhere.
//
// # Streams
//
// With Request.Follow the answer is asked for as a stream, and its text told piece by piece.
// Chat still returns the whole, under the same limits of size and time, and with the same
// usage. A stream is an answer if it has a finish reason and [DONE]; one that was cut is
// none, also between the two. Calls are put together by their index, or by their id where a
// server sends no index; a call whose name or id changes makes the stream no answer.
//
// Follow is told text of answers without calls alone. Nothing can be told back, so what a
// call or a refusal follows, and what breaks off, is withdrawn by a Piece that says so. A
// caller that asks again may then tell the text from its beginning, and no text stands twice.
// A server that answers in one piece all the same is understood.
//
// What not to do. Do not retry here: a caller knows its budget and owns the
// breaker. Do not treat a [KindCanceled] error as the model's failure. Do not
// print what a model said because an error occurred: errors carry kinds, status
// numbers and codes from a closed list, never a piece of a request or answer.
// Do not put a key into BaseURL: it is refused.
package llm
