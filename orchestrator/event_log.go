package orchestrator

import (
	"slices"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/sentinel"
)

// The bounds of the events that are kept for readers.
const (
	maxEvents     = 2048      // of one conversation, while it is read
	maxEventBytes = 512 << 10 // of their texts
	restingEvents = 128       // that are left where no reader is
	maxReaders    = 64        // of one conversation
	readAtOnce    = 64        // events
)

// eventLog is the newest events of one conversation. A reader has a place in it and nothing
// else, so what a reader costs a turn is one closed channel. All its methods take a nil log,
// which keeps nothing.
type eventLog struct {
	conversation, user string
	now                func() time.Time

	mu      sync.Mutex
	events  []Event
	bytes   int
	last    int64 // id of the newest event
	lost    int64 // id of the newest event that a reader would miss
	changed chan struct{}
	readers int
	process bool // the conversation's is running
	turn    string
	request string
}

// eventID names an event log: ids of conversations may be used again by other users.
type eventKey struct{ user, conversation string }

// eventTable holds the logs of conversations that run or are read.
type eventTable struct {
	mu   sync.Mutex
	logs map[eventKey]*eventLog
}

// openLog returns the log of a conversation whose process runs.
func (t *eventTable) openLog(user, conversation string) *eventLog {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.findOrMake(user, conversation)
	l.mu.Lock()
	l.process = true
	l.mu.Unlock()
	return l
}

// findOrMake returns the log of a conversation. The ids of a new one are above those of every
// earlier one, unless the clock was set back.
func (t *eventTable) findOrMake(user, conversation string) *eventLog {
	k := eventKey{user, conversation}
	if l := t.logs[k]; l != nil {
		return l
	}
	if t.logs == nil {
		t.logs = map[eventKey]*eventLog{}
	}
	base := time.Now().UnixMicro()
	l := &eventLog{conversation: conversation, user: user, now: time.Now, last: base, lost: base}
	t.logs[k] = l
	return l
}

// findLog returns the log of a conversation, nil where there is none.
func (t *eventTable) findLog(user, conversation string) *eventLog {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.logs[eventKey{user, conversation}]
}

// closeLog notes that the conversation's process is gone.
func (t *eventTable) closeLog(l *eventLog) {
	if l != nil {
		t.releaseLog(l, func() { l.process = false })
	}
}

// attachReader returns the log of a conversation for one more reader, false where it has too
// many.
func (t *eventTable) attachReader(user, conversation string) (*eventLog, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.findOrMake(user, conversation)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.readers >= maxReaders {
		return nil, false
	}
	l.readers++
	return l, true
}

// detachReader takes a reader off.
func (t *eventTable) detachReader(l *eventLog) {
	t.releaseLog(l, func() { l.readers-- })
}

// releaseLog drops a log that is neither written nor read any more.
func (t *eventTable) releaseLog(l *eventLog, change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	if l.readers == 0 {
		l.shrink()
	}
	if k := (eventKey{l.user, l.conversation}); l.readers == 0 && !l.process && t.logs[k] == l {
		delete(t.logs, k)
	}
}

// beginTurn notes which turn events belong to from here on.
func (l *eventLog) beginTurn(turn, request string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn, l.request = turn, request
}

// forgetEvents drops all events: what they told is purged.
func (l *eventLog) forgetEvents() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.bytes, l.lost, l.turn, l.request = nil, 0, l.last, "", ""
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// isRead reports whether there is a reader.
func (l *eventLog) isRead() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.readers > 0
}

// addEvent adds an event and wakes the readers. It never waits for one.
func (l *eventLog) addEvent(e Event) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.ID, e.At, e.Conversation = l.last, l.now().UTC(), l.conversation
	if e.Turn == "" {
		e.Turn = l.turn
	}
	if e.Turn == l.turn {
		e.Request = l.request
	}
	l.events, l.bytes = append(l.events, e), l.bytes+e.countBytes()
	if len(l.events) > maxEvents || l.bytes > maxEventBytes {
		l.dropOldest(maxEvents*3/4, maxEventBytes*3/4)
	}
	if l.readers == 0 && (e.Kind == EventReply || e.Kind == EventFailure) {
		l.shrink()
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// countBytes is how long the texts of an event are.
func (e Event) countBytes() int {
	n := len(e.Text)
	if e.Reply != nil {
		n += len(e.Reply.Text)
		for _, a := range e.Reply.Agents {
			n += len(a.Answer)
		}
	}
	return n
}

// dropOldest drops the oldest events until there are no more than so many, with no more than
// so many bytes. The newest event stays.
func (l *eventLog) dropOldest(events, bytes int) {
	n := 0
	for n < len(l.events)-1 && (len(l.events)-n > events || l.bytes > bytes) {
		l.bytes -= l.events[n].countBytes()
		n++
	}
	if n > 0 {
		l.lost = l.events[n-1].ID
		l.events = append(make([]Event, 0, len(l.events)-n), l.events[n:]...)
	}
}

// shrink leaves what a later reader needs. The pieces of a text whose turn is over are in
// its reply.
func (l *eventLog) shrink() {
	over := map[string]bool{}
	for _, e := range l.events {
		over[e.Turn] = over[e.Turn] || e.Kind == EventReply || e.Kind == EventFailure
	}
	kept := make([]Event, 0, min(len(l.events), restingEvents))
	for _, e := range l.events {
		if e.Kind != EventText && e.Kind != EventWithdrawn || !over[e.Turn] {
			kept = append(kept, e)
			continue
		}
		l.bytes -= len(e.Text)
	}
	l.events = kept
	l.dropOldest(restingEvents, maxEventBytes/4)
}

// place is where a reader is. Zero is the oldest event that is kept.
type eventPlace int64

// readEvents returns what follows a place, and the place behind it. Where there is nothing,
// more is closed when there is.
func (l *eventLog) readEvents(at eventPlace) (out []Event, next eventPlace, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at == 0 {
		at = eventPlace(l.lost)
	}
	if at < eventPlace(l.lost) || at > eventPlace(l.last) {
		gap := l.lost
		if at > eventPlace(l.last) {
			gap = l.last
		}
		out = append(out, Event{ID: gap, Kind: EventGap, At: l.now().UTC(), Conversation: l.conversation})
		at = eventPlace(gap)
	}
	from := l.findAfter(int64(at))
	out = append(out, l.events[from:min(from+readAtOnce, len(l.events))]...)
	if len(out) > 0 {
		return out, eventPlace(out[len(out)-1].ID), nil
	}
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return nil, at, l.changed
}

// findAfter returns the index of the first event behind an id.
func (l *eventLog) findAfter(id int64) int {
	low, high := 0, len(l.events)
	for low < high {
		if mid := (low + high) / 2; l.events[mid].ID <= id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// findOpenQuestions returns the questions of a request that wait for a person, and the place behind all
// events.
func (l *eventLog) findOpenQuestions(request string) (open []Event, behind eventPlace) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		switch {
		case e.Request != request || e.Step == nil:
		case e.Kind == EventApproval && e.Step.Outcome == sentinel.Ask.String():
			open = append(open, e)
		case e.Kind == EventApproval, e.Kind == EventCall:
			open = slices.DeleteFunc(open, func(q Event) bool { return q.Step.Decision == e.Step.Decision })
		}
	}
	return open, eventPlace(l.last)
}

// newestPlace is the place behind all events.
func (l *eventLog) newestPlace() eventPlace {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventPlace(l.last)
}
