package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
)

const (
	// maxSessions bounds the sessions of all, maxOfOne those of one principal. One more ends the one
	// that was used longest ago.
	maxSessions = 10_000
	maxOfOne    = 20
)

// session is a principal who has signed in.
type session struct {
	principal    access.Principal
	begun, used  time.Time
	sessionToken string // the CSRF token of its forms
	renewal      *renewal
	atIssuer     string // names its session there; empty where signing out here is all
}

// renewal is how the issuer is asked again about a principal; nil where it can't be.
type renewal struct {
	mu    sync.Mutex // held while it is asked: a renewal is used once
	token string
}

// sessions are those who have signed in, by the SHA-256 of the id in their cookie. They are in memory
// alone: the end of the process ends them.
type sessions struct {
	idle, longest time.Duration
	now           func() time.Time

	mu  sync.Mutex
	all map[[32]byte]*session
}

func newSessions(idle, longest time.Duration, now func() time.Time) *sessions {
	return &sessions{idle: idle, longest: longest, now: now, all: map[[32]byte]*session{}}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// begin makes a session and returns its id.
func (s *sessions) begin(came access.Arrival) string {
	id, now := newSecret(), s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.makeRoom(came.Principal.ID)
	one := &session{principal: came.Principal, begun: now, used: now, sessionToken: newSecret(), atIssuer: came.Session}
	if came.Renewal != "" {
		one.renewal = &renewal{token: came.Renewal}
	}
	s.all[sha256.Sum256([]byte(id))] = one
	return id
}

// makeRoom ends sessions whose time is over, and the oldest ones where there are too many.
func (s *sessions) makeRoom(principal string) {
	oldest, oldestOfOne, ofOne := [32]byte{}, [32]byte{}, 0
	for key, one := range s.all {
		if s.isOver(one) {
			delete(s.all, key)
			continue
		}
		if first := s.all[oldest]; first == nil || one.used.Before(first.used) {
			oldest = key
		}
		if one.principal.ID != principal {
			continue
		}
		ofOne++
		if first := s.all[oldestOfOne]; first == nil || one.used.Before(first.used) {
			oldestOfOne = key
		}
	}
	if ofOne >= maxOfOne {
		delete(s.all, oldestOfOne)
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
}

// isOver reports whether the time of a session has ended.
func (s *sessions) isOver(one *session) bool {
	now := s.now()
	return now.Sub(one.used) >= s.idle || now.Sub(one.begun) >= s.longest
}

// find returns the session of an id; ok is false where there is none, or its time is over. acts says
// that a person did something: what a page does by itself keeps no session alive.
func (s *sessions) find(id string, acts bool) (out session, ok bool) {
	key := sha256.Sum256([]byte(id))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		return session{}, false
	}
	if s.isOver(one) {
		delete(s.all, key)
		return session{}, false
	}
	if acts {
		one.used = s.now()
	}
	return *one, true
}

// replace gives a session the principal as the issuer has it now; ok is false where the session has ended.
func (s *sessions) replace(id string, p access.Principal) (out session, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[sha256.Sum256([]byte(id))]
	if one == nil {
		return session{}, false
	}
	one.principal = p
	return *one, true
}

// finish ends the session of an id.
func (s *sessions) finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, sha256.Sum256([]byte(id)))
}
