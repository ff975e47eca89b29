// Package replay decides recorded calls again, under another configuration. It runs nothing, asks no
// person, counts no limit and writes nothing.
//
//	report, err := replay.Run(ctx, replay.Options{Source: src, Query: q, Config: next})
//	err = report.WriteText(os.Stdout, false)
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What is decided
//
// A call is put together as it was proposed: its arguments from the journal, its grant and its trace
// from the premises that are kept beside them. The digest on record says whether these are the bytes.
// All gates but limits and approval are asked; the record's verdicts of the same gates are what their
// answer is compared with. A person's answer changes nothing: a call that was asked about and approved
// counts as asked.
//
// The review's judgement is the recorded one, where the models, the prompt and the question are the same
// as then. Where they aren't, and Options.Review is set, the models are asked.
//
// # What is indeterminate
//
// A call is indeterminate, with a Reason, where the journal doesn't hold enough of it any more, or where
// the answer hangs on what the world was like then.
//
// What not to do: don't take a report for a proof. What agents do next depends on the answers that they
// were given then.
package replay
