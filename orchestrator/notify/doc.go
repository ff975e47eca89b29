// Package notify tells people, outside of Vedette, that calls wait for their answer.
//
//	n, err := notify.NewSlack(notify.Slack{URL: url})
//	c, err := notify.Open(ctx, notify.Options{Store: db, Source: inbox}, notify.Channel{Name: "ops", Notifier: n})
//	err = c.Run(ctx) // until ctx ends, for a supervisor
//
// A Courier serves one channel: it looks which approvals are pending, subtracts those that the
// channel was told of, gathers what is new for Batch, and sends one message for all of it. What
// was sent is a row of the database, so a restart repeats nothing that was delivered. A message
// whose delivery can't be told, such as one that was cut by a kill, is sent again with the
// same id. What fails is tried again, each time later, as long as its approval is pending.
//
// Alerts of the decision log (package alerts) go the same way, in messages of their own.
//
// Nothing waits for a channel. A notifier that is down, slow or misconfigured holds no call, no
// answer and no other channel; Status says that it fails, and so does the log.
//
// A message holds names, codes and times: which skill, for whom, until when, and where to
// answer. It holds no argument, no request and no text of a model, because channels are read by
// more people than may answer. Its link opens a page, on which a person signs in. No link
// decides anything: many mail and chat servers follow links before a person does.
//
// Four kinds of notifiers are here, and Notifier is small so that programs can bring others:
//
//   - [SMTP] sends mail, as plain text.
//   - [Slack] posts to an incoming webhook of Slack.
//   - [Teams] posts an adaptive card to a workflow of Microsoft Teams.
//   - [Webhook] posts JSON, signed as Standard Webhooks says
//     (github.com/standard-webhooks/standard-webhooks, spec 1.0.0), to any receiver.
//
// What not to do: don't put a value of a call into a Message, and don't log a notifier's
// address, since it is all that posting there takes. Don't take a message for proof: a person who
// can post to the channel can write one like it.
//
// The package isn't stable: docs/api.md lists those that are.
package notify
