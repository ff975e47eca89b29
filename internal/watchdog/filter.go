//go:build unix

package main

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// mark begins each line in which a program that runs with -test.v=test2json
// speaks of its tests.
const mark = 0x16

// maxKept bounds what is kept of one test's output until its end is known.
const maxKept = 1 << 20

// verbosity is how much of a program's output is passed on.
type verbosity int

const (
	quiet   verbosity = iota // what it prints without -test.v
	verbose                  // what it prints with -test.v
	raw                      // its bytes, for go test -json
)

// filter reads the output of a test program, tells the clocks what happens and
// passes on as much of it as is wanted.
type filter struct {
	mu     sync.Mutex
	out    io.Writer
	clocks *clocks
	how    verbosity
	line   []byte
	test   string // whose output comes now
	kept   map[string]*bytes.Buffer
}

// Write never fails: a program ends as it does, read or not.
func (f *filter) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		if p[0] == mark {
			f.flush()
		}
		i := bytes.IndexByte(p, '\n') + 1
		if m := bytes.IndexByte(p[1:], mark) + 1; m > 0 && (i == 0 || m < i) {
			i = m // text without an end of line, and then a line of the program's
		}
		if i == 0 {
			f.line = append(f.line, p...)
			break
		}
		f.line = append(f.line, p[:i]...)
		f.flush()
		p = p[i:]
	}
	if len(f.line) > maxKept && f.line[0] != mark {
		f.flush()
	}
	return n, nil
}

// flush hands on the line that is read.
func (f *filter) flush() {
	if len(f.line) == 0 {
		return
	}
	line := f.line
	f.line = nil
	text, framed := bytes.CutPrefix(line, []byte{mark})
	word, test := "", ""
	if framed {
		word, test = event(string(text))
	}
	if word != "" {
		f.clocks.onEvent(word, test)
		f.onTest(word, test)
	}
	switch {
	case f.how == raw:
		_, _ = f.out.Write(line)
	case f.how == verbose:
		_, _ = f.out.Write(text)
	case word == "FAIL" || word == "SKIP":
		f.keep(test, text)
		f.release(test)
	case word != "":
	case f.test != "" && logged(text):
		f.keep(f.test, text)
	default:
		_, _ = f.out.Write(text)
	}
}

// onTest follows whose output comes, and forgets what a test that passed said.
func (f *filter) onTest(word, test string) {
	switch word {
	case "RUN", "CONT", "NAME":
		f.test = test
	case "PASS":
		delete(f.kept, test)
		f.test = parent(test)
	case "FAIL", "SKIP":
		f.test = parent(test)
	}
}

// logged reports whether a test has logged the line, with t.Log or t.Error. Such
// lines are indented by four or eight blanks; what a program prints itself and the
// reports of the race detector are not, and they are never held back.
func logged(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("    "))
	return ok && (bytes.HasPrefix(rest, []byte("    ")) || !bytes.HasPrefix(rest, []byte(" ")))
}

// keep holds back what a test says until it is known how it ends.
func (f *filter) keep(test string, text []byte) {
	if f.kept == nil {
		f.kept = map[string]*bytes.Buffer{}
	}
	b := f.kept[test]
	if b == nil {
		b = &bytes.Buffer{}
		f.kept[test] = b
	}
	b.Write(text)
	if b.Len() > maxKept { // the end is what tells why
		b.Next(b.Len() - maxKept)
	}
}

func (f *filter) release(test string) {
	if b := f.kept[test]; b != nil {
		_, _ = f.out.Write(b.Bytes())
		delete(f.kept, test)
	}
}

// note passes on a line of the watchdog's own, and from then on everything.
func (f *filter) note(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
	_, _ = io.WriteString(f.out, text)
	f.test = ""
}

// Close passes on what was said by tests that did not end.
func (f *filter) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
	for test := range f.kept {
		f.release(test)
	}
}

// event reads a line such as "=== RUN   TestX" or "--- PASS: TestX (0.01s)".
func event(line string) (word, test string) {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(line, "=== "); ok {
		word, test, _ = strings.Cut(rest, " ")
		test = strings.TrimSpace(test)
		if word == "ATTR" || word == "ARTIFACTS" {
			return "", ""
		}
		return word, test
	}
	if rest, ok := strings.CutPrefix(line, "--- "); ok {
		word, test, _ = strings.Cut(rest, ": ")
		test, _, _ = strings.Cut(test, " (")
		return word, test
	}
	return "", ""
}
