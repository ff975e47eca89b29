// Package labelled makes labelled cases of what reviewers said of decisions, in the form that vedette eval reads.
//
//	page, err := labelled.Make(ctx, labelled.Sources{Ledger: &lg.Reader, Journal: jr, Labels: all}, labelled.Part{}, 100)
//	for _, line := range page.Cases { ... } // one JSON object a line
//
// The package isn't stable: docs/api.md lists those that are.
//
// # What a case is made of
//
// The call's arguments as they were proposed, the user's request, the agent's mission and what had come back before
// it are values: the journal has them as long as its retention lasts. A case needs the arguments. Without the words
// around them it is judged more strictly than the call was, so its line names them under "lacks". A decision of which
// no case can be made is in Page.Withheld with the reason, and so is one about which reviewers disagree.
//
// A decision that should have allowed is of kind benign, one that should have asked or denied of kind attack. The
// category is what it should have been.
//
// # What not to do
//
// Don't read labels' values without putting it on record: label.Labels.RecordExport. Don't log a case.
package labelled
