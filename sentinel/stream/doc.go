// Package stream judges the tool calls in a model's answer while the answer flows.
//
// It is a pure state machine: bytes in, bytes out, no network, no goroutine, no clock. A proxy
// feeds a Relay with what the upstream sends, writes what comes back to the client, has each Call
// in Progress.Judge decided, and tells the Relay the Decision:
//
//	relay := stream.NewRelay(chat.New(), stream.Options{Check: checkArguments})
//	p := relay.Write(fromUpstream)        // also relay.Close at the end of the upstream's bytes
//	client.Write(p.Bytes)                 // good until the next call of the relay
//	for _, call := range p.Judge {        // decide these, in any order, also in parallel
//		p = relay.Decide(call.Number, stream.Decision{Allow: true})
//		client.Write(p.Bytes)
//	}
//
// The one promise: no call reaches the client that a Decision hasn't allowed, whole and with the
// very arguments that were judged. Whatever can't be understood as safe isn't forwarded as a call:
//
//   - Text before a call flows at once. What follows a call in the upstream's order waits for its
//     Decision, and Decisions are applied in that order.
//   - A blocked call becomes a notice in its place. Then the answer ends (Terminate), or the rest
//     goes on (Continue).
//   - A call without an end, without a name, or with arguments that Options.Check refuses is blocked
//     and never offered for a Decision. Without Check every call is.
//   - A shape that may hold a call and isn't known is blocked like a call.
//   - What breaks the format, a bound or an earlier Decision ends the stream with an error that the
//     client understands; what was held is dropped.
//
// Three rooms below know the wire formats: chat, messages and responses. A Codec turns frames into
// Events and Outputs into bytes; the Machine between them knows no format. A Body does the same for
// an answer that isn't streamed, with the same Machine.
//
// A Relay serves one answer and one goroutine at a time: its owner calls it under a lock where
// Decisions come from several. The zero Decision blocks.
//
// The package isn't stable: docs/api.md lists those that are.
package stream
