// Package label keeps what reviewers say of decisions: that one was right, that it was wrong and what it should
// have been, or that they can't tell.
//
//	all, err := label.Open(ctx, label.Options{Store: st, Ledger: lg, Journal: jr})
//	said, err := all.Put(ctx, label.Said{Of: recordID, Word: label.Wrong, Should: "allow", Note: "her own boss", By: "bob", Via: "web"})
//	page, err := all.Queue(ctx, label.QueueFilter{Reviewer: "bob", Limit: 1})
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What is kept
//
// A label is a row and, in the same transaction, a record of the ledger. The record has codes and names. A note is
// sealed in the journal, under the user and the conversation of the call: their purge erases it, and so does the
// journal's retention.
//
// Nothing is changed. A reviewer who says something else adds another label, and their newest one stands.
//
// # Blind reviewers
//
// A reviewer sees what others said of a decision once they have said something of it themselves: Filter.Viewer,
// Disputes and Conceal hold to that. It keeps opinions apart. It is no secret: the file's owner can read every row.
//
// # What stands in the queue
//
// All denials, all calls about which a person was asked, the first 20 calls of a skill, and one in a hundred of the
// other allowed ones, chosen by a hash of the decision's id. Fill looks through the ledger, a part each time, and
// remembers how far it came.
//
// # What not to do
//
// Don't decide anything by a label: it is an opinion about the past, and its author approves nothing.
package label
