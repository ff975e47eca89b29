package parse

import (
	"bufio"
	"io"
	"os"
	"slices"
	"syscall"
)

// HelperKind is the kind of helper that a parser's process is: see exec.StartHelper.
const HelperKind = "intent-parser"

// MaybeHelper makes this process a parser where it was started as one, and then doesn't return. Otherwise it returns at
// once. isHelper says whether it was: exec.IsHelper(parse.HelperKind). Call it first in main, behind exec.MaybeChild, and
// in TestMain of tests that isolate parsers.
func MaybeHelper(isHelper bool) {
	if !isHelper {
		return
	}
	code := 0
	if serveParser(os.Stdin, os.Stdout) != nil {
		code = 1
	}
	syscall.Exit(code)
}

// serveParser is the life of a parser's process: a setup, one text, one answer. A panic ends the process, and nothing is
// told of it.
func serveParser(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	m, err := readMessage(r)
	if err != nil || m.Setup == nil {
		return errFrame
	}
	j, err := newJob(*m.Setup)
	if err != nil {
		return err
	}
	if err := writeMessage(out, message{Ready: true}); err != nil {
		return err
	}
	m, err = readMessage(r)
	if err != nil || m.Task == nil {
		return errFrame
	}
	draft, err := j.read(*m.Task, func() (string, error) { return askParent(r, out) })
	if err != nil {
		return writeMessage(out, message{Code: codeOfReading(err)})
	}
	return writeMessage(out, message{Draft: draft})
}

// askParent has the parent ask a model. Where it can't, the parent ends this process.
func askParent(r io.Reader, out io.Writer) (string, error) {
	if err := writeMessage(out, message{Ask: true}); err != nil {
		return "", err
	}
	m, err := readMessage(r)
	if err != nil || m.Content == nil {
		return "", errFrame
	}
	return *m.Content, nil
}

// readCode takes a code of a process for what it may say: of the text, or that it gave no draft.
func readCode(c Code) Code {
	if c.isOfText() || slices.Contains([]Code{Schema, Unknown}, c) {
		return c
	}
	return Schema
}
