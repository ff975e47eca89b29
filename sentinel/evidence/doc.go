// Package evidence tells where the values of a call were seen: in the user's words, in which
// earlier result, in whose writing, or nowhere. A reviewer needs that to judge what rules can't:
// which of two people of one name is meant, or whether an account is the one on the invoice.
//
//	r := evidence.Build(evidence.Input{
//		Skill: "email.send", Effect: skills.Irreversible, Request: "Tell Eva that I'm late",
//		Arguments: evidence.ArgumentsOf(skill, parsed), History: steps,
//	})
//	r.Question()    // one JSON object for the question to a reviewer
//	r.Findings()    // near misses: hard signals, without values
//	r.Digest()      // part of the key of a cached answer
//	r.JournalJSON() // what the journal keeps
//
// The package isn't stable: docs/api.md lists those that are. It does no I/O, knows no Call, and
// keeps nothing. Checkpoint, judge and review may all ask it.
//
// # What a report holds
//
// Each argument that names somebody or something is a Named: a recipient, host, account, id, path,
// amount, count or day, and any short string that a result has verbatim. Its kind follows from
// marks, shape and name, or is the caller's. Of each the report has
//
//	seen      the places, the best first: the user's words, then results
//	rivals    other records of the same kind that share a word with the request
//	near      values that it almost is
//	made_of   the two amounts that make it, or the list that it sums up
//	beside    words of the request that stand in its record, a stranger's too; of ids and paths alone
//
// Full adds for a reviewer alone
//
//	condition  a clause of the user's words that the call may hang on ("unless Ada objects"), and which
//	           results speak of it: of trusted ones the record, of strangers' the step
//	rivals     of values that strangers alone have, where another stranger's record shares as many
//	           words with the request: the step without the value, and no doubt
//
// and of the whole call what was seen nowhere (recipients, hosts and accounts alone), the switches
// and rights of which the request has no word, and what the caller found content to carry.
//
// # Trust
//
// A place is the user's, trusted, tainted or a stranger's, in this order. The first trusted result
// that has a value grounds it. One that only says again what a stranger or an argument of the
// agent had before is tainted. Fields that their subject writes (Step.StrangerFields) are a
// stranger's in any result. So is pasted text: see SplitOwnWords.
//
// # Quotes
//
// In mode Records, the default, a report quotes the records that hold a value, at most 160
// characters each, from trusted results alone. Of strangers' results it tells step and trust: their
// prose is the attacker's. A record is a JSON object without what is below it, or a part of a line.
// Marks of guests and outsiders stand first in it. Nothing is quoted that stands in an argument of a
// step or in a stranger's text as a whole. Secret and sensitive values are in no quote, nor is a
// record that holds one. Mode Provenance quotes nothing, All quotes strangers too, and Off only
// finds near misses. Input.Keys withholds every value and each name that no schema declares.
//
// Quote hides its text from fmt, slog and every marshaller. Question and JournalJSON are the only
// ways out, so no text gets into a record of the ledger by accident.
//
// # Near misses
//
// A call that isn't a read is held against near misses. The value is nowhere, or known from a
// stranger alone, and it is almost one that was seen:
//
//	account    fails its check digits; two edits or a swap; one group; the same first 8 and last 4
//	address    looks alike (1 and l, 0 and o, rn and m, other scripts); the name before the "@" has one edit, two from 8 letters
//	domain     another suffix; one edit, two from 9 letters; a word added; a known domain inside
//	id         a swap or one edit of one in the user's words, of the same shape
//	amount     times a power of ten; fifteen for fifty; beyond a limit that the user states
//	day        another year or month than in the user's words, or day and month swapped
//
// Strangers' texts are a reference only for values that were seen nowhere: a planted neighbour
// never gets a right value refused. An amount that is made of the user's and trusted amounts is no
// near miss. A clock's result is no reference.
//
// # Bounds
//
// 64 values are looked for, those that say who is reached first. A recipient, host or account
// beyond that, or without room in the question, makes a call ask: see Report.AsksFor. The first MB of
// a result is read and 8 MB of a history, the newest first. Time grows with the history and the
// number of values, never with their product of words: comparisons are counted and bounded.
//
// What not to do: don't put a Report into a record (use Findings, which hold no value); don't quote
// from Input yourself; don't pass a step as trusted because its skill is, where the turn that wrote
// into its store was tainted.
package evidence
