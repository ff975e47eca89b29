// Package files is the built-in domain of text files below one folder:
// files.read, files.search, files.write, files.update and files.archive, run by
// `run: {builtin: {root: "./workspace"}}`.
//
// The package isn't stable: docs/api.md lists those that are.
//
// Every access goes through os.Root, so no name and no symbolic link leads out
// of the folder, whatever changes between a look and the use. Devices, FIFOs,
// sockets and folders are no files here; a link is never written through.
// Content is UTF-8 text within max_file bytes.
//
// A write is complete or absent: the text goes to a temporary file beside its
// target, reaches the disk and then takes its name. Writers of one root, in all
// processes, take turns by a lock on the folder, so no update is lost.
//
// Nothing is deleted. files.archive moves a file to .archive below the root,
// which these skills can neither see nor reach; only a person brings it back,
// so its effect counts as irreversible.
//
// Do not let other programs put devices or hard links to foreign files into the
// root: os.Root holds names, not what an inode is shared with.
package files
