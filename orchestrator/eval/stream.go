package eval

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
)

// errNotRegular means that a file is a pipe, a device, a socket or a folder.
var errNotRegular = errors.New("it is no regular file")

// openOutputStream opens a pipe or a terminal that eval writes to. It waits for no
// reader: a pipe that no program reads is refused, and so is what takes no lines.
func openOutputStream(flag, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err))
	}
	refuse := func(what, todo string) error {
		return &advice.Error{Err: fmt.Errorf("%s %s: it is %s", flag, name, what), Todo: todo}
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, refuse("a folder", "name a file in it")
	case mode&fs.ModeSocket != 0:
		return nil, refuse("a socket", "name a file or a pipe")
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return nil, refuse("a disk", "name a file or a pipe")
	}
	f, err := openUnblocked(name, os.O_WRONLY)
	if isUnread(err) {
		return nil, refuse("a pipe that no program reads", "start its reader first, or name a file")
	}
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err))
	}
	return f, nil
}

// openPrompts opens the file of --print-prompts: a regular one is emptied.
func openPrompts(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return openOutputStream("--print-prompts", name)
	}
	return openPrivate(name)
}

// readRegular reads a whole regular file. Anything else is errNotRegular, before a pipe
// without a writer could hold readRegular up.
func readRegular(name string) ([]byte, error) {
	f, err := openUnblocked(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(f)
}

// openPrivate empties a file, or makes it, for its owner alone: what eval writes may
// quote values.
func openPrivate(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, advice.CauseOf(err))
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is open to others: %w", name, advice.CauseOf(err)), f.Close())
		}
	}
	return f, nil
}
