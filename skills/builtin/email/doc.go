// Package email is the built-in domain of a user's mailbox: email.list,
// email.search, email.read, email.draft and email.send, over a Maildir and an
// SMTP server.
//
//	run:
//	  builtin:
//	    maildir: ./mail
//	    smtp: {addr: "mail.example:587", from: "me@example.com", username: me, password: "${SMTP_PASSWORD}", tls: starttls}
//
// The package isn't stable: docs/api.md lists those that are.
//
// The Maildir is the usual one: cur, new and tmp for the inbox, other folders
// beside them as .Name (.Drafts and .Sent are made when needed). All access goes
// through os.Root. Reading a message changes no flag. Messages are named to
// models by opaque ids that stay the same when a message is marked or moved
// between new and cur, and say nothing of paths.
//
// Messages are hostile input: sizes, parts, nesting and headers are bounded before
// anything parses them, and a call whose time is up ends within a message. HTML becomes
// text, and the result stays untrusted. What is hidden in HTML by styles is not
// told from what is shown.
//
// A message is sent once, to all of its recipients or to none. tls is starttls
// (the default; refuses a server that doesn't offer it), tls (from the first
// byte) or none, which is for a server on a loopback address alone and without
// a password. An error before the server had the whole message wraps
// skills.ErrNoEffect; where the connection broke at the very end, the outcome is
// unknown and said to be. A copy goes to Sent after the server took the message;
// that the copy failed is told in the result and is no failure of the send.
//
// Addresses and subject with line breaks or other control characters are
// refused rather than repaired.
package email
