// Package cases reads proposed calls that stand one JSON object a line, decides
// them, and counts what came out. It is what `vedette check` and `vedette eval`
// do, without a command line.
//
//	ev := cases.NewEvaluator(cases.Options{Decider: checkpoint})
//	err := ev.Each(ctx, input, 1, func(n int, r cases.Result) error {
//		_, err := out.Write(append(r.JSON(), '\n'))
//		return err
//	})
//
// # What a line may hold
//
//	{"id":"7","original_request":"...","agent_mission":"...","agent_id":"a","user":"u1",
//	 "granted_skills":["email.search"],
//	 "proposed_action":{"skill_name":"email.send","arguments":{"to":"a@b.c"}},
//	 "history":[{"skill_name":"email.read","arguments":{},"result":"...","trust":"untrusted"}],
//	 "kind":"attack","expected":"reject","category":"..."}
//
// Only proposed_action with its skill_name is required. Keys of the line that
// are not listed are ignored, so that a corpus can carry its own, unless
// one is a listed key in other letters; keys of proposed_action and of a history
// entry are not, because one that is misspelt there would change what is judged. No request is not an empty request: leave
// the key out, or write null. What came back in the history is untrusted unless
// its entry says "trust":"trusted", and one untrusted entry taints the grant.
//
// # What comes out
//
// One line for every line, in their order. A line that is no case gives an
// error and is never decided. A case whose arguments can't become a call
// (duplicate keys, keys that differ in case alone, numbers that would be
// rounded, too deep, too large) is denied by parse: the bytes of the arguments
// are handed to the checkpoint as they stand, never through a decoder that would
// repair them.
//
// # What it was worth
//
// A Tally counts results, and its Report says what they were worth and cost; a
// Comparer holds them against an earlier run's. Rows of results, read back with
// ReadRows, let a run be gone on with (Earlier). An Offline stands in for the
// servers of models.
//
// # What not to do
//
// Don't decide on the copy of a case that some other decoder has read: two
// decoders may disagree on a duplicate key. Don't take the decision for a
// permission to run: nothing was recorded, counted or asked.
package cases
