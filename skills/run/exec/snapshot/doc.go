// Package snapshot is undo for files: a program writes into an overlay over its
// folders, and its changes are listed and then committed or thrown away.
//
//	layer, err := snapshot.Open(snapshot.Options{State: state, Roots: roots})
//	// The child mounts layer.Mounts() in its own mount namespace and runs.
//	changes, err := layer.Changes(ctx)      // what the program did, sorted, hashed
//	findings, err := layer.Findings(ctx, changes, snapshot.MaxDeleted{Files: 50, Percent: 20})
//	report, err := layer.Commit(ctx, changes.Digest, snapshot.CommitOptions{})
//	err = layer.Discard()                   // after a commit, or instead of one
//
// # Where it lives
//
// A layer is a folder of mode 0700 in the state folder. The state folder must be on
// a file system that can hold an upper layer; overlayfs itself, which most
// containers have as their root, can't: Open says so with a *StateError. A layer
// stays until Discard, over restarts too: Load opens it again.
//
// # What a commit promises
//
// Commit lists the changes once more and refuses where their digest isn't the one
// that was approved. It refuses where a change can't be committed (*RefusedError) or
// where others wrote to the same paths since the start (*ConflictError); then nothing
// was committed and the layer stays as it is. Otherwise it writes a journal and does
// each step by openat2 beneath the root, with no symbolic link and no mount crossed.
// A process that dies in a commit leaves the journal: Resume finishes it, or says
// which paths it can't account for (*UnfinishedError).
//
// Overlay attributes, file capabilities, setuid and setgid bits are never committed.
// Sockets, pipes, devices and links that leave their root refuse the commit.
//
// # What it isn't
//
// It isn't a true snapshot: what others write to a file that the program didn't
// change shows through while the program runs. Hard links break: a changed file
// becomes one of its own. Conflicts are found by times, so a folder in which others
// made or removed entries conflicts with what the program made there. Effects over
// the network aren't undone.
//
// The package isn't stable: docs/api.md lists those that are. Programs
// reach it through skills/run/exec.
package snapshot
