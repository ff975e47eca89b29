package chat

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// keyboard reads lines of a terminal.
//
// It waits without the lock until the terminal has a line, and takes it with the lock. A question
// is opened with the lock too, after what was typed has been thrown away, begun lines included: so
// a line that has the question's number was typed after the question was shown.
type keyboard struct {
	in   *os.File
	out  chan line
	done chan struct{}
	gone chan struct{} // closed once the terminal is read no more
	wake [2]*os.File   // a pipe that ends the wait

	mu       sync.Mutex
	count    int // questions so far
	question int // the one that is open, zero for none
}

// openKeyboard returns the reader of a terminal, nil where in is none.
func openKeyboard(in io.Reader) (reader, error) {
	f, ok := in.(*os.File)
	if !ok || !terminal.IsTerminal(f) {
		return nil, nil //nolint:nilnil // there is no person to ask
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	k := &keyboard{in: f, out: make(chan line), done: make(chan struct{}), gone: make(chan struct{}), wake: [2]*os.File{r, w}}
	go k.readLines()
	return k, nil
}

func (k *keyboard) lines() <-chan line { return k.out }

func (k *keyboard) openQuestion() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	terminal.DiscardTyped(k.in)
	k.count++
	k.question = k.count
	return k.question
}

func (k *keyboard) closeQuestion() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.question = 0
}

// close ends the reading. The terminal is not touched afterwards.
func (k *keyboard) close() {
	close(k.done)
	_ = k.wake[1].Close()
	<-k.gone
}

// readLines reads until the terminal ends or the keyboard is closed.
func (k *keyboard) readLines() {
	defer close(k.gone)
	defer k.wake[0].Close() //nolint:errcheck // it was read
	for k.waitReadable() {
		l, ok := k.takeLine()
		if !ok {
			continue
		}
		select {
		case k.out <- l:
		case <-k.done:
			return
		}
		if l.end {
			return
		}
	}
}

// waitReadable waits until the terminal has a line or an end, and reports false once the keyboard is closed.
func (k *keyboard) waitReadable() bool {
	for {
		fds := []unix.PollFd{
			{Fd: int32(k.in.Fd()), Events: unix.POLLIN},      //nolint:gosec // a descriptor fits
			{Fd: int32(k.wake[0].Fd()), Events: unix.POLLIN}, //nolint:gosec // likewise
		}
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || fds[1].Revents != 0:
			return false
		case fds[0].Revents != 0:
			return true
		}
	}
}

// takeLine takes what the terminal has: one line, and outside of a question the lines that came with it,
// which are one text that was pasted. It reports false where the line was thrown away meanwhile.
func (k *keyboard) takeLine() (line, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := line{question: k.question}
	var text strings.Builder
	for first := true; ; first = false {
		part, ok, end := k.readPart()
		if first && !ok {
			l.end = end
			return l, end
		}
		text.WriteString(part)
		whole := strings.HasSuffix(part, "\n")
		if !ok || whole && (k.question != 0 || strings.HasPrefix(text.String(), "/")) || text.Len() > maxLine {
			break
		}
	}
	l.text = strings.TrimSuffix(text.String(), "\n")
	return l, true
}

// readPart reads one line, or what there is of it, where there is something to read.
func (k *keyboard) readPart() (part string, ok, end bool) {
	fds := []unix.PollFd{{Fd: int32(k.in.Fd()), Events: unix.POLLIN}} //nolint:gosec // a descriptor fits
	if n, err := unix.Poll(fds, 0); err != nil || n == 0 {
		return "", false, false
	}
	buf := make([]byte, 4096) // a terminal gives one line, of at most so many
	n, err := unix.Read(int(k.in.Fd()), buf)
	if n <= 0 {
		return "", false, !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN)
	}
	return string(buf[:n]), true, false
}
