package proxy

import "time"

// Event is what an observer is told of one answer, when it is over.
type Event struct {
	// Format is chat, responses or messages; Request the id of the request.
	Format, Request string
	Stream, Shadow  bool
	// Failure is the code of why there was no whole answer; empty where there was.
	Failure string
	// Forwarded, Blocked and Incomplete count calls: those that left, those that were decided against, and those that
	// were blocked for what they are.
	Forwarded, Blocked, Refused int
	// Upstream is how long the upstream took to begin, Took how long all of it did, Held how long calls were held.
	Upstream, Took, Held time.Duration

	began time.Time
}
