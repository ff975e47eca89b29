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
//	 "earlier_requests":["..."],
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
// What the user said before is in earlier_requests, the oldest first. The turn of a history
// entry is 0 or absent for this turn and -1 for the one before. Both are held to their form,
// and are part of the grant's id. The gates don't tell turns apart yet: an untrusted entry of
// any turn taints the grant, and earlier words ground nothing.
//
// The bytes of the arguments are handed to the checkpoint as they stand, never through
// a decoder that would repair them.
//
// # What not to do
//
// Don't decide on the copy of a case that some other decoder has read: two decoders
// may disagree on a duplicate key.
package cases
