package orchestrator

import (
	"maps"
	"slices"
	"sync"
)

// A caller of Send wants its request stopped when it leaves. The process that
// works on the request may just then be on its way up again, and knows nothing
// of its forerunner's callers. So who left is written here, which outlives the
// processes, before the conversation is told; and a conversation that has come
// up looks here before it goes on with what was under way. It is forgotten when
// the request has ended. Callers of SendRequest want it finished and are not
// written here; nor is, after a start of the program, anybody of before it: what
// was accepted is gone on with.
type abandonedRequests struct {
	mu   sync.Mutex
	list map[string]map[string]struct{} // conversation -> ids of requests
}

// addRequest notes that the caller of a request has left.
func (l *abandonedRequests) addRequest(conversation, request string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]map[string]struct{}{}
	}
	if l.list[conversation] == nil {
		l.list[conversation] = map[string]struct{}{}
	}
	l.list[conversation][request] = struct{}{}
}

// hasRequest reports whether the caller of a request has left.
func (l *abandonedRequests) hasRequest(conversation, request string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.list[conversation][request]
	return ok
}

// dropRequest forgets a request that has ended.
func (l *abandonedRequests) dropRequest(conversation, request string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.list[conversation], request); len(l.list[conversation]) == 0 {
		delete(l.list, conversation)
	}
}

// listRequests returns the requests of a conversation whose callers have left.
func (l *abandonedRequests) listRequests(conversation string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.list[conversation]))
}
