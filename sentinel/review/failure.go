package review

import (
	"errors"
	"time"

	"net/http"
	"slices"

	"github.com/vedette-dev/vedette/agents/llm"
)

// Failure says why there is no judgement. The set is closed: these words stand
// in Verdict.Meta under "failure", in logs and in counters.
type Failure string

// The failures of a model that is unavailable.
// All but a refused
// connection and an open breaker are such where a canary or another user's call
// has met the same.
const (
	Connect     Failure = "connect"      // no connection, or it broke
	Timeout     Failure = "timeout"      // no answer in time
	RateLimited Failure = "rate_limited" // status 429
	Quota       Failure = "quota"        // status 429 that no pause ends: what was paid for is used up
	Server      Failure = "server"       // status 500 and above
	BreakerOpen Failure = "breaker_open" // not asked: it failed too often just now
)

// The failures of a call that is unjudgeable.
const (
	Refusal       Failure = "refusal"        // the model declined to answer
	ContentFilter Failure = "content_filter" // the server's filter stopped question or answer
	Length        Failure = "length"         // the answer was cut at its limit
	Empty         Failure = "empty"          // an answer without content
	NotJSON       Failure = "not_json"       // the body or the answer is not JSON
	BadShape      Failure = "bad_shape"      // JSON that is no object, or another kind of answer
	Fields        Failure = "fields"         // an object with a field that is missing, unknown or there twice
	Value         Failure = "value"          // a field of another type or with another value than it may have
	Contradiction Failure = "contradiction"  // a graded answer whose number speaks against its decision
	TwoObjects    Failure = "two_objects"    // more than one object
	Prose         Failure = "prose"          // an object with other text around it
	Fenced        Failure = "fenced"         // an object in a code fence
	Auth          Failure = "auth"           // status 401 or 403
	BadRequest    Failure = "request"        // any other refusal of the request
	TooLong       Failure = "too_long"       // the call does not fit into a question
	Busy          Failure = "busy"           // not asked: this process's own limits left no room in time
	Budget        Failure = "budget"         // not asked: what the review may spend is spent
)

// These failures a call may have brought about itself: no canary and no call of another user
// has met the same.
const (
	LoneConnect     Failure = "lone_connect" // the connection broke over the question
	LoneTimeout     Failure = "lone_timeout"
	LoneRateLimited Failure = "lone_rate_limited"
	LoneQuota       Failure = "lone_quota"
	LoneServer      Failure = "lone_server"
)

// Failures returns every failure, the unavailable ones first.
func Failures() []Failure {
	return []Failure{
		Connect, Timeout, RateLimited, Quota, Server, BreakerOpen,
		Refusal, ContentFilter, Length, Empty, NotJSON, BadShape, Fields, Value, TwoObjects, Prose, Fenced, Auth,
		BadRequest, TooLong, LoneTimeout,
		Busy, Budget, LoneConnect, LoneRateLimited, LoneQuota, LoneServer, Contradiction,
	}
}

// Unavailable reports whether the model could not be reached. Every other failure,
// an unknown one too, makes the call unjudgeable: the writer of the arguments may
// have caused it.
func (f Failure) Unavailable() bool {
	switch f {
	case Connect, Timeout, RateLimited, Quota, Server, BreakerOpen:
		return true
	}
	return false
}

// isRepairable reports whether asking again in other words may help.
func (f Failure) isRepairable() bool {
	switch f {
	case NotJSON, BadShape, Fields, Value, Contradiction, TwoObjects, Prose, Fenced:
		return true
	}
	return false
}

// Error returns the failure's name.
func (f *fault) Error() string { return "review: " + string(f.kind) }

// errCanceled is the caller's own context ending. It says nothing about a model.
var errCanceled = errors.New("the caller gave up")

// failureOf names the failure behind an error of the model client. Whether it is
// the call's own, the model says, which knows of the others.
func failureOf(e *llm.Error) Failure {
	switch e.Kind {
	case llm.KindConnect:
		return Connect
	case llm.KindTimeout, llm.KindCanceled:
		return Timeout
	case llm.KindRateLimited:
		if e.Code == "insufficient_quota" || e.Code == "billing_hard_limit_reached" {
			return Quota
		}
		return RateLimited
	case llm.KindServer:
		return Server
	case llm.KindNotJSON:
		return NotJSON
	case llm.KindAuth:
		return Auth
	case llm.KindRequest:
		return failureOfCode(e.Code, BadRequest)
	}
	return failureOfCode(e.Code, BadShape)
}

func failureOfCode(code string, def Failure) Failure {
	switch code {
	case llm.CodeEmpty:
		return Empty
	case llm.CodeLength:
		return Length
	case llm.CodeContentFilter, "content_policy_violation":
		return ContentFilter
	case "context_length_exceeded", "string_above_max_length":
		return TooLong
	}
	return def
}

// worstFault is the fault that is told of: one that makes the call unjudgeable
// before one of a model that is down.
func worstFault(faults []*fault) *fault {
	i := slices.IndexFunc(faults, func(f *fault) bool { return !f.kind.Unavailable() })
	return faults[max(i, 0)]
}

// loneKind is what a failure is called that a call may have brought about. It is empty for
// those that no call can, and for those that are the call's anyway.
func (f Failure) loneKind() Failure {
	switch f {
	case Connect:
		return LoneConnect
	case Timeout:
		return LoneTimeout
	case RateLimited:
		return LoneRateLimited
	case Quota:
		return LoneQuota
	case Server:
		return LoneServer
	}
	return ""
}

// kindAlike is the failure that stands for those which bear witness to each other.
func (f Failure) kindAlike() Failure {
	if f == Quota {
		return RateLimited
	}
	return f
}

// isLimited reports whether a server has counted requests and found too many.
func (f Failure) isLimited() bool { return f.kindAlike() == RateLimited }

// isAnswer reports whether a model without a judgement was there and said something:
// then it may judge the next call.
func (f Failure) isAnswer() bool {
	switch f {
	case Refusal, ContentFilter, Length, Empty:
		return true
	}
	return f.isRepairable()
}

// mayRepeat reports whether sending the same request again may help, and whether
// the server's wish for a pause counts.
func (f *fault) mayRepeat() bool {
	switch f.kind {
	case Connect, LoneConnect, Server, LoneServer, RateLimited, LoneRateLimited:
		return true
	case BadRequest:
		return f.status == http.StatusRequestTimeout || f.status == http.StatusConflict
	}
	return false
}

// graverFault is the fault that stands for both. One that makes the call unjudgeable
// is not undone by the model being down a moment later, unless somebody else has
// met the very same by then; and a request that was not sent says less than one
// that was.
func graverFault(first, second *fault) *fault {
	if first == nil || first.kind == second.kind.loneKind() ||
		second.kind != BreakerOpen && (first.kind.Unavailable() || !second.kind.Unavailable()) {
		return second
	}
	return first
}

// fault is a failure on its way through a breaker.
type fault struct {
	kind   Failure
	retry  time.Duration // what the server asked for, or until there is room
	model  string
	status int    // of the answer, 0 without one
	budget string // that is spent, where one is
}
