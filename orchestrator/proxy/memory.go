package proxy

import (
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// memory keeps of each conversation what the next request is read by: which calls wait for their results, and what
// models wrote into arguments. A process that starts finds calls on record by what they do.
type memory struct {
	mu    sync.Mutex
	of    map[string]*recollection
	clock int64
}

// recollection is what is kept of one conversation.
type recollection struct {
	waiting map[string]string // ids of forwarded calls by the provider's
	order   []string          // of waiting
	written []string          // texts in arguments of forwarded calls
	size    int               // of written
	used    int64
}

// Bounds of what is kept.
const (
	mostThreads  = 1024
	mostWaiting  = 256
	mostWritten  = 128 << 10
	leastWritten = 24 // shorter texts are parts of many
)

func newMemory() *memory { return &memory{of: map[string]*recollection{}} }

// open returns what is kept of a conversation. The lock is held.
func (m *memory) open(thread string) *recollection {
	m.clock++
	r := m.of[thread]
	if r == nil {
		m.evict()
		r = &recollection{waiting: map[string]string{}}
		m.of[thread] = r
	}
	r.used = m.clock
	return r
}

// evict makes room for one more.
func (m *memory) evict() {
	if len(m.of) < mostThreads {
		return
	}
	oldest, at := "", int64(0)
	for name, r := range m.of {
		if oldest == "" || r.used < at {
			oldest, at = name, r.used
		}
	}
	delete(m.of, oldest)
}

// keepCall notes a call that leaves.
func (m *memory) keepCall(thread, wireID, id string, args []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.open(thread)
	if wireID != "" {
		if _, twice := r.waiting[wireID]; !twice {
			r.order = append(r.order, wireID)
		}
		r.waiting[wireID] = id
		if len(r.order) > mostWaiting {
			delete(r.waiting, r.order[0])
			r.order = r.order[1:]
		}
	}
	for _, text := range longTexts(args) {
		r.written = append(r.written, text)
		r.size += len(text)
	}
	for r.size > mostWritten && len(r.written) > 0 {
		r.size -= len(r.written[0])
		r.written = r.written[1:]
	}
}

// takeCall returns the call that waits for the result of a provider's id, and forgets it.
func (m *memory) takeCall(thread, wireID string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of[thread]
	if r == nil {
		return ""
	}
	id := r.waiting[wireID]
	delete(r.waiting, wireID)
	return id
}

// wrote reports whether a text stands in an argument that a model wrote in the conversation.
func (m *memory) wrote(thread, text string) bool {
	text = plainText(text)
	if text == "" {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of[thread]
	if r == nil {
		return false
	}
	for _, w := range r.written {
		if strings.Contains(w, text) {
			return true
		}
	}
	return false
}

// plainText is a text with its blanks made alike.
func plainText(text string) string { return strings.Join(strings.Fields(text), " ") }

// longTexts returns the longer texts in arguments, each cut to what is kept.
func longTexts(args []byte) (out []string) {
	d := jsontext.NewDecoder(strings.NewReader(string(args)))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return out
		}
		if tok.Kind() != '"' {
			continue
		}
		if text := plainText(tok.String()); len(text) >= leastWritten {
			out = append(out, text[:min(len(text), mostWritten/4)])
		}
	}
}

// loads count the answers of each key that are under way, and the streams that are held.
type loads struct {
	mu      sync.Mutex
	streams map[string]int
	held    map[string]int
}

func newLoads() *loads { return &loads{streams: map[string]int{}, held: map[string]int{}} }

// beginStream counts an answer of a key until end is called; ok is false where there are as many as there may be.
func (l *loads) beginStream(key string, most int) (end func(), ok bool) {
	return l.begin(l.streams, key, most)
}

// beginHeld counts a held stream of a key until end is called; ok is false where there are as many as there may be.
func (l *loads) beginHeld(key string, most int) (end func(), ok bool) {
	return l.begin(l.held, key, most)
}

// count returns how many streams are held.
func (l *loads) countHeld() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.held {
		n += of
	}
	return n
}

func (l *loads) begin(of map[string]int, key string, most int) (end func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of[key] >= most {
		return nil, false
	}
	of[key]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if of[key]--; of[key] == 0 {
			delete(of, key)
		}
	}, true
}
