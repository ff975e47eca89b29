package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/vedette-dev/vedette/limits"
)

// awayError is limits.ErrAway with its cause, in our own words. The library's
// texts may hold keys, which name users and conversations.
type awayError struct{ cause string }

func (e *awayError) Error() string { return limits.ErrAway.Error() + " (" + e.cause + ")" }

func (e *awayError) Unwrap() error { return limits.ErrAway }

// refusalError is the answer of a server that is reachable and refuses to count.
type refusalError struct{ word string }

func (e *refusalError) Error() string {
	return "limits: the Redis server refused (" + e.word + "); check limits.store.url, the user's rights and the server's log"
}

// notReadyWords are the words of a server that will answer again by itself.
var notReadyWords = map[string]bool{
	"LOADING": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "TRYAGAIN": true, "READONLY": true, "BUSY": true,
	"NOREPLICAS": true, "MISCONF": true, "UNBLOCKED": true,
}

// translateError puts an error of the library into the house's words. ctx is the
// caller's, bound the one with the store's own time-out. A context that ended with
// the caller's says nothing about the server.
func translateError(ctx, bound context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var answer redis.Error
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var host x509.HostnameError
	var network net.Error
	switch {
	case errors.As(err, &cert), errors.As(err, &host), errors.As(err, &record):
		return &refusalError{"TLS"}
	case errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout):
		return translateAnswer(answer.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, redis.ErrPoolTimeout),
		errors.As(err, &network) && network.Timeout():
		return timeoutError(ctx, bound)
	}
	return &awayError{"connection"}
}

// timeoutError says whose time was up. A connection's own timer can be a moment
// ahead of the context that set it.
func timeoutError(ctx, bound context.Context) error {
	callers, ok := ctx.Deadline()
	if until, _ := bound.Deadline(); ok && !until.Before(callers) {
		return context.DeadlineExceeded
	}
	return &awayError{"timeout"}
}

// translateAnswer sorts the errors that a server sends. Their first word is a
// code; the rest may hold anything.
func translateAnswer(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case word == "OOM":
		return limits.ErrFull
	case notReadyWords[word]:
		return &awayError{word}
	case word == "ERR" && strings.HasPrefix(rest, "max number of clients"):
		return &awayError{"MAXCLIENTS"}
	case word == "ERR" && strings.Contains(rest, "unauthenticated"): // a long question without a password
		word = "NOAUTH"
	}
	if word == "" || len(word) > 20 || strings.ToUpper(word) != word {
		word = "ERR"
	}
	return &refusalError{word}
}
