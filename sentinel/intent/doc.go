// Package intent holds what a user's text becomes: an Intent, which names one of an operator's actions with its
// typed parameters, and a Trusted intent, which is signed, expires and is good for one use.
//
//	voc, err := intent.NewVocabulary(intent.VocabularyOptions{
//		Actions: map[string]intent.Risk{"find_experts": intent.Low}, Expertise: []string{"security"},
//	})
//	draft, err := intent.ReadDraft(answer)           // what a parser says: texts
//	one, err := voc.Build(draft)                     // an Intent, or why it is none
//	token, err := signer.Seal(one, intent.Claims{User: "ann", Expires: in5Minutes})
//	trusted, err := verifier.Redeem(ctx, token, spent) // once
//
// # No text gets through
//
// Action, Expertise, Entity, Topic, Reference and Domain can't be made of a text outside of this package:
// actions, expertise and entities are names that the vocabulary has, a topic is what NewTopic leaves of a text
// (letters, digits and underscores), a reference is an id of letters, digits, "_" and "-". A Trusted has no
// constructor at all: Signer.Seal makes its bytes, Verifier.Open and Redeem read them. Code that is given a
// Trusted can therefore be given no words of a user.
//
// A topic and a reference are still chosen by the user: what they name is looked up with bound parameters, and
// whether the user may have it is for the one who looks it up.
//
// # Normal form
//
// Topics are in small letters, with an underscore for what is no letter or digit, at most 100 characters, and begin
// with a letter or an underscore. References are refused, not mended: at most 10 of at most 100 characters.
// Expertise that stands twice stands once. What is no field of an Intent is refused by ReadDraft.
//
// # Signatures
//
// The content hash is the SHA-256 of the canonical JSON (RFC 8785) of all fields but hash, key and signature. The
// signature is Ed25519 over a line that names its purpose and that JSON. Verifiers check hash, signature, key,
// audience and time, and hold names against their own vocabulary.
//
// What not to do: don't verify with a vocabulary that is wider than what you can do; don't act on a Trusted
// whose Redeem has failed; don't log a Trusted: its topic is the user's.
//
// The package isn't stable: docs/api.md lists those that are.
package intent
