package chat

import (
	"bufio"
	"io"
	"strings"
)

// line is what a person wrote.
type line struct {
	text string
	// question is the number of the question that was open when the line was begun; zero for none.
	question int
	end      bool // there are no more
}

// reader reads lines in a goroutine of its own.
type reader interface {
	// lines are read as they are taken.
	lines() <-chan line
	// openQuestion throws away what was typed so far, and returns the number of a question. Lines
	// that are typed from here on have it.
	openQuestion() int
	// closeQuestion ends it.
	closeQuestion()
	// close ends the goroutine where it can: one that waits for a pipe stays until the pipe ends.
	close()
}

// maxLine bounds a line, in bytes: a message has no more.
const maxLine = 64 << 10

// pipe reads lines of something that is no terminal. No question is asked there.
type pipe struct {
	out  chan line
	done chan struct{}
}

func openPipe(in io.Reader) *pipe {
	p := &pipe{make(chan line), make(chan struct{})}
	go p.readLines(in)
	return p
}

func (p *pipe) readLines(in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		if !p.hand(line{text: strings.TrimSuffix(lines.Text(), "\r")}) {
			return
		}
	}
	p.hand(line{end: true})
}

// hand gives a line to who waits for it.
func (p *pipe) hand(l line) bool {
	select {
	case p.out <- l:
		return true
	case <-p.done:
		return false
	}
}

func (p *pipe) lines() <-chan line { return p.out }
func (p *pipe) openQuestion() int  { return 0 }
func (p *pipe) closeQuestion()     {}
func (p *pipe) close()             { close(p.done) }
