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

// away is limits.ErrAway with its cause, in our own words: what the library
// says may hold keys, which name users and conversations.
type away struct{ cause string }

func (e *away) Error() string { return limits.ErrAway.Error() + " (" + e.cause + ")" }

func (e *away) Unwrap() error { return limits.ErrAway }

// refusal is the answer of a server that is reachable and refuses to count.
type refusal struct{ word string }

func (e *refusal) Error() string {
	return "limits: the Redis server refused (" + e.word + "); check limits.store.url, the user's rights and the server's log"
}

// notReady are the words of a server that will answer again by itself.
var notReady = map[string]bool{
	"LOADING": true, "MASTERDOWN": true, "CLUSTERDOWN": true, "TRYAGAIN": true, "READONLY": true, "BUSY": true,
	"NOREPLICAS": true, "MISCONF": true, "UNBLOCKED": true,
}

// fault puts an error of the library into the house's words. ctx is the
// caller's, bound the one with the store's own time-out: what ended with the
// caller's says nothing about the server.
func fault(ctx, bound context.Context, err error) error {
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
		return &refusal{"TLS"}
	case errors.As(err, &answer) && !errors.Is(err, redis.ErrPoolTimeout):
		return answered(answer.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, redis.ErrPoolTimeout),
		errors.As(err, &network) && network.Timeout():
		return timeout(ctx, bound)
	}
	return &away{"connection"}
}

// timeout says whose time was up. A connection's own timer can be a moment
// ahead of the context that set it.
func timeout(ctx, bound context.Context) error {
	callers, ok := ctx.Deadline()
	if until, _ := bound.Deadline(); ok && !until.Before(callers) {
		return context.DeadlineExceeded
	}
	return &away{"timeout"}
}

// answered sorts the errors that a server sends. Their first word is a code;
// the rest may hold anything.
func answered(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case word == "OOM":
		return limits.ErrFull
	case notReady[word]:
		return &away{word}
	case word == "ERR" && strings.HasPrefix(rest, "max number of clients"):
		return &away{"MAXCLIENTS"}
	case word == "ERR" && strings.Contains(rest, "unauthenticated"): // a long question without a password
		word = "NOAUTH"
	}
	if word == "" || len(word) > 20 || strings.ToUpper(word) != word {
		word = "ERR"
	}
	return &refusal{word}
}
