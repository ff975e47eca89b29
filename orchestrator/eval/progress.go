package eval

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/internal/terminal"
)

// progress is one line below what eval says on a terminal: how far it is. It
// is also where a log goes meanwhile, so that the two don't run into each other.
type progress struct {
	w     io.Writer
	shown bool // whether there is a line at all
	total int  // 0 where it isn't known

	mu          sync.Mutex
	start, last time.Time
	done, fresh int
	width       int // of the line that stands there
}

// progressEvery is how often the line changes.
const progressEvery = 200 * time.Millisecond

// newProgress counts the cases of the files where it will show them.
func newProgress(w io.Writer, quiet bool, files []string) *progress {
	p := &progress{w: w}
	file, ok := w.(*os.File)
	if !ok || quiet || os.Getenv("TERM") == "dumb" || !terminal.IsTerminal(file) {
		return p
	}
	p.shown, p.total = true, countAllLines(files)
	return p
}

// countAllLines counts the lines of files; 0 where one can be read only once.
func countAllLines(files []string) int {
	total := 0
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		n, err := countLines(name)
		if err != nil {
			return 0
		}
		total += n
	}
	return total
}

func countLines(name string) (n int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	buf, last := make([]byte, 64<<10), byte('\n')
	for {
		k, err := f.Read(buf)
		if n += bytes.Count(buf[:k], []byte{'\n'}); k > 0 {
			last = buf[k-1]
		}
		switch {
		case err == io.EOF && last != '\n':
			return n + 1, nil
		case err == io.EOF:
			return n, nil
		case err != nil:
			return 0, err
		}
	}
}

// addCase counts one case; resumed ones say nothing about the rate.
func (p *progress) addCase(now time.Time, resumed bool, cost func() float64) {
	if !p.shown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start.IsZero() {
		p.start = now
	}
	p.done++
	if !resumed {
		p.fresh++
	}
	if now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	p.drawProgress(p.formatProgress(now, cost()))
}

// showWaiting says below what is waited for, until the next case is decided.
func (p *progress) showWaiting(now time.Time, what string) {
	if !p.shown {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.start.IsZero() {
		p.start = now
	}
	p.drawProgress(p.formatProgress(now, 0) + ", " + what)
}

// formatProgress says how far it is.
func (p *progress) formatProgress(now time.Time, cost float64) string {
	s := fmt.Sprintf("%d cases", p.done)
	if p.total > 0 {
		s = fmt.Sprintf("%d of %d cases", p.done, p.total)
	}
	took := now.Sub(p.start)
	if took > 0 && p.fresh > 1 {
		rate := float64(p.fresh-1) / took.Seconds() // the first one began before the clock
		s += fmt.Sprintf(", %.1f/s", rate)
		if left := p.total - p.done; left > 0 {
			s += fmt.Sprintf(", %s left", time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second))
		}
	}
	if cost > 0 {
		s += fmt.Sprintf(", cost %.4f", cost)
	}
	return s
}

// drawProgress puts a line over the one that stands there.
func (p *progress) drawProgress(s string) {
	pad := max(p.width-len(s), 0)
	_, _ = io.WriteString(p.w, "\r"+s+strings.Repeat(" ", pad)) // a terminal that went away shows nothing
	p.width = len(s)
}

// Write lets a log have its line.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipeProgress()
	return p.w.Write(b)
}

func (p *progress) wipeProgress() {
	if p.width > 0 {
		p.drawProgress("")
		_, _ = io.WriteString(p.w, "\r")
	}
}

// endProgress takes the line away.
func (p *progress) endProgress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wipeProgress()
}
