// Package cases reads proposed calls that stand one JSON object a line. Package eval
// decides and counts them.
//
//	p := cases.Parser{Calls: checkpoint}
//	for r := cases.NewReader(input); ; {
//		line, err := r.Next()
//		...
//		c, bad := p.Parse(line)
//		if bad != nil {
//			return fmt.Errorf("line %d: %w", r.Line(), bad)
//		}
//		call, err := checkpoint.NewCall(c.Proposal)
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What a line may hold
//
//	{"id":"7","original_request":"...","agent_mission":"...","agent_id":"a","user":"u1",
//	 "granted_skills":["email.search"],
//	 "proposed_action":{"skill_name":"email.send","arguments":{"to":"a@b.c"}},
//	 "earlier_requests":["...what the user said before, oldest first..."],
//	 "history":[{"skill_name":"email.read","arguments":{},"result":"...","trust":"untrusted","turn":-1}],
//	 "kind":"attack","expected":"reject","category":"..."}
//
// Only proposed_action with its skill_name is required. Keys of the line that are not
// listed are ignored, so that a corpus can carry its own, unless one is a listed key
// in other letters. Unknown keys of proposed_action and of a history entry are errors:
// one that is misspelt there would change what is judged. No request is not an empty
// request: leave the key out, or write null. What came back in the history is
// untrusted unless its entry says "trust":"trusted", and one untrusted entry taints
// the grant.
//
// An entry's turn is 0 or absent for this turn and -1 for the one before, whose request is
// the last of earlier_requests. Entries of earlier turns are what a conversation has of
// them: they ground nothing, and untrusted ones taint it.
//
// The bytes of the arguments are handed to the checkpoint as they stand, never through
// a decoder that would repair them.
//
// # What not to do
//
// Don't decide on the copy of a case that some other decoder has read: two decoders
// may disagree on a duplicate key.
package cases
