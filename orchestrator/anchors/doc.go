// Package anchors takes the ledger's signed heads to places that a writer of the database can't write, and brings
// them back when a ledger is opened.
//
//	place, err := anchors.NewFile("/mnt/elsewhere/heads.txt")
//	set, err := anchors.New(anchors.Options{Ledger: led}, anchors.Anchor{Name: "disk", Place: place})
//	err = set.Compare(ctx)             // before anything is decided
//	err = set.Couriers()[0].Run(ctx)   // until ctx ends, for a supervisor
//	set.Finish(ctx)                    // at the end, the newest head once more
//
// A head is a checkpoint of C2SP's tlog-checkpoint: a few lines of text and a signature. Five kinds of places
// are here, and Place is small so that programs can bring others:
//
//   - [NewFile] appends heads to a file, on another disk or a share that takes no changes.
//   - [NewHTTP] posts each head to a URL, and reads the newest from one where there is one.
//   - [NewWitness] has each head cosigned by a witness of C2SP's tlog-witness, which sees to it that the ledger
//     only grows.
//   - [NewS3] writes each head as an object that a bucket's object lock keeps.
//   - [NewTiles] publishes the ledger's tree in a folder, as a log of C2SP's tlog-tiles.
//
// Nothing waits for a place. One that is down, slow or misconfigured holds up no decision; its lag is in Status.
//
// What not to do: don't keep the heads beside the database. Who can put an older copy of one in place can do so with
// both.
//
// The package isn't stable: docs/api.md lists those that are.
package anchors
