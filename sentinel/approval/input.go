package approval

import (
	"io"
	"sync"
)

// maxAnswer is how many bytes an answer may have. A longer line is none: cut,
// it could turn into one.
const maxAnswer = 64

// maxEmptyReads is how often in a row a reader may return nothing before it is taken for
// broken.
const maxEmptyReads = 100

// question is one that is being asked.
type question struct {
	answer chan string   // the line that answers it
	stale  chan struct{} // a line came that was begun before it was printed
}

// input reads lines for questions. It reads single bytes, so that it takes no
// more from the reader than the line that was asked for.
//
// A line belongs to the question that was open when the Read that returned its
// first byte was called. The time when that Read returned would not do: a byte
// may have been on its way when the next question was printed.
type input struct {
	from  io.Reader
	ended chan struct{} // closed at the end of from

	mu      sync.Mutex
	current *question // the open question, set once it is printed
	reading bool      // the goroutine runs
	over    bool      // ended is closed
	drain   bool      // read on without a question: the last one expired

	// Only the goroutine uses these; mu orders one after the other.
	line  []byte
	begun bool      // something of the line was read
	began *question // what was open then; nil for none
}

// openQuestion makes a question the current one. It must have been printed.
func (in *input) openQuestion() *question {
	q := &question{answer: make(chan string, 1), stale: make(chan struct{}, 1)}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.current = q
	if !in.reading && !in.over {
		in.reading = true
		go in.readLines()
	}
	return q
}

// expireQuestion closes a question that no person answered.
func (in *input) expireQuestion(q *question) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == q {
		in.current, in.drain = nil, true
	}
}

// readLines runs while lines are wanted.
func (in *input) readLines() {
	done := false
	defer func() {
		if recover() != nil || done { // a reader that panics has ended
			in.endInput()
		}
	}()
	empty := 0
	for b := make([]byte, 1); empty < maxEmptyReads; {
		q, wanted := in.nextQuestion()
		if !wanted {
			return
		}
		n, err := in.from.Read(b)
		if empty++; n > 0 {
			empty = 0
			in.takeByte(b[0], q)
		}
		if err != nil {
			break
		}
	}
	if in.begun {
		in.deliverLine()
	}
	done = true
}

// nextQuestion returns the question that is open as a Read is called, and whether there
// is to be one.
func (in *input) nextQuestion() (q *question, wanted bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == nil && !in.drain {
		in.reading = false
		return nil, false
	}
	return in.current, true
}

func (in *input) takeByte(c byte, q *question) {
	if !in.begun {
		in.begun, in.began = true, q
	}
	if c == '\n' {
		in.deliverLine()
		return
	}
	if len(in.line) <= maxAnswer {
		in.line = append(in.line, c)
	}
}

// deliverLine hands the line to the question that it was begun for, if that is
// still open. The question closes in the same step: what follows the line is
// not read for it.
func (in *input) deliverLine() {
	in.mu.Lock()
	defer in.mu.Unlock()
	line, q := string(in.line), in.began
	if len(line) > maxAnswer {
		line = ""
	}
	in.line, in.begun, in.began = in.line[:0], false, nil
	switch in.current {
	case nil: // no question is open
	case q:
		in.current, in.drain = nil, false
		q.answer <- line
	default:
		select {
		case in.current.stale <- struct{}{}:
		default: // said already
		}
	}
}

func (in *input) endInput() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reading, in.over = false, true
	close(in.ended)
}
