// Package chat is a terminal interface to one conversation: the answer streams, agents' steps are
// lines, and approvals are asked in place.
//
//	err := chat.Run(ctx, chat.Options{Peer: peer, In: os.Stdin, Out: os.Stdout, AtTerminal: true, …})
//
// A Peer is the conversation: Here has it in an orchestrator of this process, Dial on a server,
// over its HTTP API. What is shown comes from models, users and tools: it is escaped, and a text
// stands in rows that begin with a mark of ours.
//
// One goroutine, Run's, prints and decides. Two others read: lines of the person, and events of
// the request that is under way.
//
// # Who answers
//
// A question is asked only where a person is at a terminal, and only on systems where what was
// typed before it can be thrown away. A line answers a question if it was typed after the
// question was shown. Anything but a clear yes approves nothing. Without a terminal questions stay
// open, and the chat says where they can be answered.
//
// # What not to do
//
// Don't read the standard input beside it. Don't take a line for an answer without its question's number.
package chat
