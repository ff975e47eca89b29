package handover

import "sync"

// occurrences are the calls of each content of a conversation: which number comes next.
type occurrences struct {
	mu sync.Mutex
	of map[string]*occurrence
}

type occurrence struct {
	next  int          // all below it have ended
	ended map[int]bool // of those above
	busy  map[int]bool // that are being decided
}

// maxContents bounds the contents that a conversation keeps in memory; others are looked up again.
const maxContents = 4096

// take returns the first number, from one on, that has not ended and that no other caller decides; known is false
// where the content is new in this process.
func (o *occurrences) take(key string, from int) (n int, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.of[key]
	if at == nil {
		return 0, false
	}
	for n = max(at.next, from); at.ended[n] || at.busy[n]; {
		n++
	}
	at.busy[n] = true
	return n, true
}

// begin keeps from which number on a content goes on.
func (o *occurrences) begin(key string, next int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil || len(o.of) >= maxContents && !o.anyBusy() {
		o.of = map[string]*occurrence{}
	}
	if o.of[key] == nil {
		o.of[key] = &occurrence{next: next, ended: map[int]bool{}, busy: map[int]bool{}}
	}
}

func (o *occurrences) anyBusy() bool {
	for _, at := range o.of {
		if len(at.busy) > 0 {
			return true
		}
	}
	return false
}

// settle says that a number isn't being decided any more, and whether its call has ended.
func (o *occurrences) settle(key string, n int, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at := o.of[key]
	if at == nil {
		return
	}
	delete(at.busy, n)
	if ended {
		at.ended[n] = true
	}
	for at.ended[at.next] {
		delete(at.ended, at.next)
		at.next++
	}
}
