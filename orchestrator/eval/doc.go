// Package eval decides labelled cases and counts what became of them. It is what
// `vedette check` and `vedette eval` do, without a command line. Nothing runs, no person
// is asked, nothing is recorded and no limit is counted.
//
// The package isn't stable: docs/api.md lists those that are.
//
// # Deciding lines
//
// An Evaluator decides the lines that package cases reads, each for itself:
//
//	ev := eval.NewEvaluator(eval.Options{Decider: checkpoint})
//	err := ev.Each(ctx, input, 1, func(n int, r eval.Result) error {
//		_, err := out.Write(append(r.JSON(), '\n'))
//		return err
//	})
//
// One line comes out for every line, in their order. A line that is no case gives an
// error and is never decided. A case whose arguments can't become a call (duplicate
// keys, keys that differ in case alone, numbers that would be rounded, too deep, too
// large) is denied by parse.
//
// # A run
//
// A Run decides the cases of files with the gates of a configuration, writes a row for
// each and prints the counts:
//
//	run, err := eval.NewRun(eval.RunOptions{Cases: names, Grants: "least", Jobs: 4, Open: open, Messages: os.Stderr, Print: print})
//	...
//	err = run.Do(ctx, cfg)
//
// The review asks a model about each case: no answer is taken from the cache. A Run
// writes over no file that it reads, that the configuration is made of or that it
// didn't write itself. What it writes may quote values, so it is for its owner alone.
//
// # Going on with a run that was interrupted
//
// A row is in the file of results before the next one is begun. Which run the rows are
// of stands in FILE.manifest.json beside them: configuration, grants, answers, build.
// With ResultsOptions.Resume a run of the same manifest decides what the file lacks and
// counts all of it. A line is known by its digest (Earlier), so an edited case is
// decided again, and its old row goes once all cases are decided. The lock of the file
// keeps other runs out.
//
// # A model that is away
//
// A case is no evidence of a model that wasn't asked. A Retry puts the case again while
// the model can't be reached, is limited or has its breaker open, and lets others go
// first meanwhile. A case may make a model fail that judges all others: then a case that
// was judged before is put to the model once more, and a case that fails three times
// beside it has the failure for its result. When the models have judged nothing for
// Retry.For, when what was paid for is used up or the key is refused, the run ends with
// an *Away.
//
// # Answers given offline
//
// An Offline stands in for the servers of models. It writes each request that has no
// answer, byte for byte that of the wire, and reads answers from a file, so a model that
// can't be reached from here can be measured. A case whose request has no answer is
// Unanswered, and is in no other number.
//
// # Reports
//
// A Tally counts results, and its Report says what they were worth and cost: recall,
// precision and false alarms with Wilson's intervals, a Sweep over each gate's scores,
// and of each model calls, tokens and cost. A Comparer pairs the cases of two runs by
// their id and tests with McNemar whether they differ. ReadRows reads rows back.
//
// docs/eval.md shows all of this from the command line.
//
// # What not to do
//
// Don't take a decision for a permission to run: nothing was recorded, counted or
// asked. Don't read the rates of a run with unanswered or unjudged cases. Don't let two
// runs write one file of results; the lock refuses it where the system has one.
package eval
