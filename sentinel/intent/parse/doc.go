// Package parse has several parsers read one text at the same time, each apart from the others: one that goes by an
// operator's words (package grammar), and any number that ask a model. Each gives an intent or says why it has none.
//
//	e, err := parse.New(parse.Options{Vocabulary: voc, Parsers: []parse.Parser{
//		{ID: "grammar", Grammar: &words},
//		{ID: "local", Model: client, Trust: 75},
//	}, Isolation: parse.Goroutine})
//	defer e.Close()
//	for _, o := range e.Parse(ctx, parse.Input{Text: text, User: "ann"}) { … }
//
// What comes back is never a text: a parser that names an action, an expertise or another name which the vocabulary
// doesn't have has failed, and so has one that answers in another schema. A failure is told and keeps no other parser
// from its answer. Which of the intents counts is for package vote.
//
// # Isolation
//
// With OwnProcess each text is read in a process of its own, which was started ahead, sees that one text, and ends. Options.Start
// starts one; the program's main calls MaybeHelper before all else. The process of a model's parser reads the
// answer; the question is written and the call made here, so that no key is there. What a process writes is read as
// strictly as a model's answer. Nothing falls back to Goroutine: a parser without a process has failed.
//
// With Goroutine parsers run in this process, and a panic of one is its failure. One that hangs is left behind; where
// too many were, it fails at once.
//
// # Parsers that fail
//
// Each parser has a breaker. A parser that fails again and again leaves for Options.OpenFor and is tried once then. What
// a text can bring about (another schema, an unknown name, a timeout, a killed process) counts only where the failure
// before was another user's, so that one user can't take a parser away from all. That a text asks for nothing is no
// failure.
//
// What not to do: don't give a model's parser a trust of 100 or more; New refuses it. Don't show a user the code of a
// failure as if it were their fault.
//
// The package isn't stable: docs/api.md lists those that are.
package parse
