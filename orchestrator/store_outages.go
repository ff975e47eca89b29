package orchestrator

import (
	"sync"
)

// outages counts, by conversation, how often in a row its turn broke off
// because the store was down.
type outages struct {
	mu   sync.Mutex
	list map[string]*outage
}

type outage struct {
	breaks  int
	excused bool // the next attempt: it was the store's fault
}

func (l *outages) broke(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]*outage{}
	}
	e := l.list[conversation]
	if e == nil {
		e = &outage{}
		l.list[conversation] = e
	}
	e.breaks, e.excused = e.breaks+1, true
}

func (l *outages) of(conversation string) (breaks int, excused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		return e.breaks, e.excused
	}
	return 0, false
}

func (l *outages) tried(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		e.excused = false
	}
}

// over forgets a conversation whose turn got further.
func (l *outages) over(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.list, conversation)
}
