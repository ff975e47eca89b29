package problem

import (
	"net/http"
	"slices"
)

// Code says what went wrong, for programs. The list is closed, and codes don't change.
type Code string

// The codes.
const (
	BadRequest       Code = "bad_request"
	TokenInURL       Code = "token_in_url"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	ScopeMissing     Code = "scope_missing"
	ForeignHost      Code = "foreign_host"
	ForeignOrigin    Code = "foreign_origin"
	Denied           Code = "denied"
	Blocked          Code = "blocked"
	NotAllowed       Code = "not_allowed"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	NotAcceptable    Code = "not_acceptable"
	RequestTimeout   Code = "request_timeout"
	Conflict         Code = "conflict"
	DigestMismatch   Code = "digest_mismatch"
	InFlight         Code = "in_flight"
	AlreadyDecided   Code = "already_decided"
	Stale            Code = "stale"
	Gone             Code = "gone"
	TooLarge         Code = "too_large"
	MediaType        Code = "unsupported_media_type"
	Invalid          Code = "invalid"
	KeyReused        Code = "idempotency_key_reused"
	RateLimited      Code = "rate_limited"
	HeadersTooLarge  Code = "headers_too_large"
	Internal         Code = "internal"
	NotKept          Code = "not_kept"
	Overloaded       Code = "overloaded"
	Paused           Code = "paused"
	Draining         Code = "draining"
	Unavailable      Code = "unavailable"
	ModelFailed      Code = "model_failed"
)

// meaning is what a code says to people.
type meaning struct {
	status int
	title  string
	// remedy is what the caller can do.
	remedy string
}

var meanings = map[Code]meaning{
	BadRequest: {
		http.StatusBadRequest, "The request can't be read",
		"Correct what errors names, and send it again.",
	},
	TokenInURL: {
		http.StatusBadRequest, "A token stands in the URL",
		"Revoke the token: proxies have logged it. Send the next one in the Authorization header.",
	},
	Unauthenticated: {
		http.StatusUnauthorized, "The request has no valid token",
		"Send Authorization: Bearer with a token that has not expired and was not revoked.",
	},
	Forbidden: {
		http.StatusForbidden, "The caller may not do this",
		"Ask the operator who may.",
	},
	ScopeMissing: {
		http.StatusForbidden, "The token lacks a scope",
		"Use a token that has the scope: vedette token create --scope.",
	},
	ForeignHost: {
		http.StatusForbidden, "The server isn't called that",
		"Use the address in server.public_url, or add the name to server.hosts.",
	},
	ForeignOrigin: {
		http.StatusForbidden, "Another site's page may not call this",
		"Call the API from a server, or from the server's own pages.",
	},
	Denied: {
		http.StatusForbidden, "The call was denied",
		"The detail says why, and what can be done.",
	},
	Blocked: {
		http.StatusForbidden, "The text was blocked",
		"The detail says why. The same text is blocked again.",
	},
	NotAllowed: {
		http.StatusForbidden, "The caller may not answer this approval",
		"One of those whom approvals.who names has to answer.",
	},
	NotFound: {
		http.StatusNotFound, "There is no such thing",
		"Look at the address and the id.",
	},
	MethodNotAllowed: {
		http.StatusMethodNotAllowed, "The path has no such method",
		"The Allow header lists the methods.",
	},
	NotAcceptable: {
		http.StatusNotAcceptable, "The answer has no such form",
		"Accept application/json, or text/event-stream for events.",
	},
	RequestTimeout: {
		http.StatusRequestTimeout, "The request did not arrive in time",
		"Send it again, whole.",
	},
	Conflict: {
		http.StatusConflict, "The request doesn't fit the present state",
		"Read the state, and decide again.",
	},
	DigestMismatch: {
		http.StatusConflict, "The id was used for another call",
		"Use an id of its own for each call.",
	},
	InFlight: {
		http.StatusConflict, "The same request is being worked on",
		"Wait, then send it again.",
	},
	AlreadyDecided: {
		http.StatusConflict, "The approval was decided already",
		"The state says how, and by whom.",
	},
	Stale: {
		http.StatusConflict, "The call has changed since it was shown",
		"Look at the approval again, and answer what it shows now.",
	},
	Gone: {
		http.StatusGone, "It was erased",
		"There is nothing to send again.",
	},
	TooLarge: {
		http.StatusRequestEntityTooLarge, "The request is too large",
		"Send less: detail says how much may be sent here. server.limits.body bounds each body, and some operations take less.",
	},
	MediaType: {
		http.StatusUnsupportedMediaType, "The body has another type",
		"Send application/json.",
	},
	Invalid: {
		http.StatusUnprocessableEntity, "A field is not what it must be",
		"Correct what errors names, and send it again.",
	},
	KeyReused: {
		http.StatusUnprocessableEntity, "The idempotency key was used for another request",
		"Use a key of its own for each request.",
	},
	RateLimited: {
		http.StatusTooManyRequests, "The token's rate is spent",
		"Wait as long as Retry-After says.",
	},
	HeadersTooLarge: {
		http.StatusRequestHeaderFieldsTooLarge, "The headers are too large",
		"Send fewer.",
	},
	Internal: {
		http.StatusInternalServerError, "The server failed",
		"Tell the operator the request_id: the log has the cause.",
	},
	NotKept: {
		http.StatusServiceUnavailable, "The record can't be written, so nothing was run",
		"Send it again once the operator has mended the database.",
	},
	Overloaded: {
		http.StatusServiceUnavailable, "The server has too much work",
		"Wait as long as Retry-After says.",
	},
	Paused: {
		http.StatusServiceUnavailable, "An operator has paused this work",
		"Send it again after the pause.",
	},
	Draining: {
		http.StatusServiceUnavailable, "The server is about to end",
		"Send it to another process, or again in a while.",
	},
	Unavailable: {
		http.StatusServiceUnavailable, "A part of the server is away",
		"Wait as long as Retry-After says.",
	},
	ModelFailed: {
		http.StatusBadGateway, "The model can't be asked",
		"Send it as a new request, without its request_id and Idempotency-Key; the operator's log says what the model answered.",
	},
}

// Codes lists all codes in the order of their names.
func Codes() []Code {
	out := make([]Code, 0, len(meanings))
	for c := range meanings {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

// meaningOf returns what a code says; one that isn't on the list is internal.
func meaningOf(c Code) (Code, meaning) {
	if m, ok := meanings[c]; ok {
		return c, m
	}
	return Internal, meanings[Internal]
}

// Status returns the HTTP status of a code: 500 for one that isn't on the list.
func (c Code) Status() int {
	_, m := meaningOf(c)
	return m.status
}
