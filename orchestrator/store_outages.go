package orchestrator

import (
	"sync"
)

// storeOutages counts, by conversation, how often in a row its turn broke off
// because the store was down.
type storeOutages struct {
	mu   sync.Mutex
	list map[string]*storeOutage
}

type storeOutage struct {
	breaks  int
	excused bool // the next attempt: it was the store's fault
}

// noteBreak counts that a turn of the conversation broke off.
func (l *storeOutages) noteBreak(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]*storeOutage{}
	}
	e := l.list[conversation]
	if e == nil {
		e = &storeOutage{}
		l.list[conversation] = e
	}
	e.breaks, e.excused = e.breaks+1, true
}

// countBreaks is how often in a row turns broke off, and whether the next attempt is
// excused.
func (l *storeOutages) countBreaks(conversation string) (breaks int, excused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		return e.breaks, e.excused
	}
	return 0, false
}

// noteAttempt uses the excuse up.
func (l *storeOutages) noteAttempt(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		e.excused = false
	}
}

// forgetConversation forgets a conversation whose turn got further.
func (l *storeOutages) forgetConversation(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.list, conversation)
}
