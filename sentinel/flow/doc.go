// Package flow finds private data that a call would carry out of the process: what a skill
// marked sensitive returned, what came from another user's store, and what is shaped like a
// secret in any result. It compares texts, keeps nothing and asks no model.
//
//	report := flow.Of(call)
//	for _, f := range report.Found {
//		fmt.Println(f.Arg, "carries what", f.Skill, "returned")
//	}
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What counts
//
//	secret    a token of a known service, a private key, a payment card, or what a label
//	          names ("password: x7"), whatever its length
//	value     an id, an account, a phone's number, a number of five digits that count
//	figures   three smaller numbers, ids or addresses of one result
//	words     a passage of thirty letters, of which words that say something have most
//
// Dates, times, years, round numbers, file names, and names of people are shared by chance:
// they never count. Nor does what the user wrote, or what a result that isn't private had
// before. A reference that goes back to the domain that gave it ("bank.pay" with an account
// of "bank.list") carries nothing out, and neither does the address that a call goes to.
//
// # How it may be written
//
// With other letter case, blanks and signs; escaped for JSON, URLs or HTML; in base64 or
// hex, base32 or codes of characters with any signs between them; backwards; in ROT13; spelled
// letter by letter, with fillers or in the alphabet of pilots. Numbers are the same with any separators,
// within one call. A value may come in pieces of four characters, and a
// passage in pieces of ten, over several calls to one destination: the domain of a
// host or a mailbox, or the same skill. Results and calls of earlier turns count as well.
//
// # Bounds
//
// Of one result maxBody bytes are read, of all private ones maxBodies, and maxSecrets secrets of
// each. What goes out has maxOut bytes in all ways to read it. Where one of them is met and
// something that counts was read, Report.Unread is set: what wasn't compared may be carried. The
// time is linear in the results and in what goes out: each byte is looked up a few times, and
// the steps of one comparison are counted.
//
// What not to do: don't take an empty report for proof. A model can say a secret in other
// words. That is why Report.Private and Report.Strange tell what the agent has read.
package flow
