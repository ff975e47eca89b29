// Package story tells all that is kept of one call: what the user asked for, what the agent was told,
// what had come back before, every gate's verdict, who was asked, and what became of it.
//
//	t := story.New(story.Options{Store: st, Ledger: lg, Journal: jr})
//	s, err := t.Tell(ctx, id)                                              // no values
//	s, err = t.TellWithValues(ctx, id, story.Reader{By: "ann", Via: "web"}) // on record first
//	err = s.WriteText(os.Stdout, 100, false)
//
// The package isn't stable: docs/api.md lists those that are.
//
// What the ledger holds is told to those who may read it. Values are in the journal alone, as long as it
// keeps them; of each that isn't there a story says whether it was erased, is kept no longer, or never
// was. Who is shown values is on record in the ledger before the journal is opened, so no value is shown
// that no record tells of.
//
// What not to do: don't log a Story with values, and don't ask for values on behalf of a caller who has
// no right to them: this package knows no rights. What is in a story was written by users, models and
// tools: what shows it escapes it, as WriteText does.
package story
