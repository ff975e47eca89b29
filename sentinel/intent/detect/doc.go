// Package detect looks for attacks in a user's text before anything reads it as a request: shell
// commands, SQL, scripts for browsers, paths out of a folder, commands of cloud providers, and phrases
// that give orders to a model.
//
//	d, err := detect.New(detect.Options{})
//	r := d.Detect(text)
//	if r.Verdict == detect.Block { … }
//
// It reads the text as people see it (package fold) and what its encodings stand for: percent, HTML,
// backslashes and base64, one within the other, within a budget. Nothing is executed, no model is asked
// and no network is used.
//
// # Scores
//
// Every rule has an id ("sql.union_select"), a family and a score in hundredths, which says how surely a
// text with it is an attack: from 80 on people don't write it by accident. A family is in one mode:
//
//	block   a hit of Options.BlockAt or more blocks, one below it flags
//	flag    a hit flags, whatever its score
//	ignore  a hit is not looked for
//
// Blocking is for the sure; flagging for what a reader should look at. Hits below Options.FlagAt are
// reported and do neither.
//
// # Limits
//
// A detector of known words finds known words. What it lets through is still read by parsers that know
// closed lists alone, and compared with a policy. Evidence holds words of the text: it is a value, and
// belongs neither into a log nor into the ledger.
//
// What not to do: don't show a user which rule stopped them, word for word; don't run the detector on
// texts that a user only quotes, such as documents, and take the result for the user's doing.
//
// The package isn't stable: docs/api.md lists those that are.
package detect
