// Package alerts watches the decision log by rules and tells the channels of package notify what they find.
//
//	w, err := alerts.Open(ctx, alerts.Options{Store: db, Ledger: led, Channels: names}, rules...)
//	c, err := notify.Open(ctx, notify.Options{Store: db, Alerts: w.Outbox()}, channel)
//	err = w.Run(ctx) // until ctx ends, for a supervisor
//
// The package isn't stable: docs/api.md lists those that are.
//
// Records are read from the ledger after they are durable, so no decision waits for a rule. An alert and the place
// up to which the log was read become durable together, in rows for each channel: a restart loses no alert and
// repeats none. A rate counts the records by their own times, also those that were written while no process
// watched.
//
// A rule raises at most one alert within its throttle. A skill's first irreversible call is the exception: it is
// told for each skill, once.
//
// What not to do: don't take silence for proof. A channel may be down, and a person who can stop the process stops
// its alerts. Don't put a value of a call into an alert: channels are read by more people than may see it.
package alerts
