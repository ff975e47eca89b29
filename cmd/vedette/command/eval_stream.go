package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// errNotRegular means that a file is a pipe, a device, a socket or a folder.
var errNotRegular = errors.New("it is no regular file")

// streamOut opens a pipe or a terminal that eval writes to. It waits for no
// reader: a pipe that no program reads is refused, and so is what takes no lines.
func streamOut(flag, name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	refuse := func(what, hint string) error {
		return &failure{exitFailed, fmt.Errorf("%s %s: it is %s", flag, name, what), hint}
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
		return nil, fmt.Errorf("%s can't be written: %w", name, cause(err))
	}
	return f, nil
}

// promptsOut opens the file of --print-prompts: a regular one is emptied.
func promptsOut(name string) (*os.File, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return streamOut("--print-prompts", name)
	}
	return private(name)
}

// readRegular reads a whole file; errNotRegular says that it is none, before a
// pipe without a writer could hold it up.
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
