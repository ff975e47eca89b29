package orchestrator

import (
	"sync"
)

// databaseOutages counts, by conversation, how often in a row its turn broke off
// because the store was down.
type databaseOutages struct {
	mu   sync.Mutex
	list map[string]*databaseOutage
}

type databaseOutage struct {
	breaks  int
	excused bool // the next attempt: it was the store's fault
}

// noteBreak counts that a turn of the conversation broke off.
func (l *databaseOutages) noteBreak(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]*databaseOutage{}
	}
	e := l.list[conversation]
	if e == nil {
		e = &databaseOutage{}
		l.list[conversation] = e
	}
	e.breaks, e.excused = e.breaks+1, true
}

// countBreaks is how often in a row turns broke off, and whether the next attempt is
// excused.
func (l *databaseOutages) countBreaks(conversation string) (breaks int, excused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		return e.breaks, e.excused
	}
	return 0, false
}

// noteAttempt uses the excuse up.
func (l *databaseOutages) noteAttempt(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.list[conversation]; e != nil {
		e.excused = false
	}
}

// forgetConversation forgets a conversation whose turn got further.
func (l *databaseOutages) forgetConversation(conversation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.list, conversation)
}
