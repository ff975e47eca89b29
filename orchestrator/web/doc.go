// Package web is the pages on which people answer approvals and try a conversation, in a browser.
//
//	pages, err := web.New(web.Options{Orchestrator: o, Guard: guard, PublicURL: "https://vedette.example.com"})
//	mux.Handle("/", pages) // at the root of its host: cookies and links are made for that
//	defer pages.Close()
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What it shows
//
//	/login                  sign in with a token of vedette token create, or one of the configured issuer
//	/approvals              the calls that wait for a person, live; scope approve
//	/approvals/{id}         one call with all that a person must see; yes, no, an edit, a standing approval
//	/standing               standing approvals, and their end
//	/chat, /chat/{id}       conversations of the token's user, as they go on; scope chat
//	/log, /log/charts       records of the ledger by a query, live, and drawn over time; scope review
//	/review, /review/{id}   decisions that wait for a reviewer's word; scope label
//
// The pages decide without JavaScript too. With it, lists follow the inbox by long polls (htmx), a
// conversation and the log by server-sent events, and keys work: ? lists them.
//
// # Who answers
//
// A session belongs to the principal that signed in. Its id has 256 bits, is made at sign-in, is kept
// as its SHA-256, in memory, and ends with its token, by time, by sign-out and with the process. Who
// answers an approval is the principal's name, never a field of a form.
//
// A page that is opened decides nothing: every change is a POST with the session's CSRF token, from our
// own origin. A form carries the digest of what was shown, so an answer to something else is refused.
//
// # What is foreign
//
// Requests, missions, arguments, names and answers come from models, users and tools. html/template
// escapes them, and package web shows what no screen shows as marks, as the terminal does. The pages run
// two scripts, both served from here, and the Content-Security-Policy lets nothing else in.
//
// # What not to do
//
// Don't mark a text as template.HTML. Don't show a sheet to a person who may not answer. Don't add a
// handler that changes something by GET.
package web
