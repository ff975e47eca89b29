// Package classify asks a model, or a server of an operator's own, how surely a text is an attack. What it says can only
// raise what the rules of package detect found.
//
//	c := classify.New(classify.Options{Name: "guard", Source: classify.FromModel(model), Timeout: 2 * time.Second})
//	score, err := c.Score(ctx, text)     // 0 to 100
//	report = detector.Raise(report, c.Name(), score)
//
// A classifier that fails again and again is not asked for a while, so that it costs no request its time. That it failed
// is for the caller to tell: nothing is made of it.
//
// What not to do: don't take a low score for a proof. Don't put a text into a log.
//
// The package isn't stable: docs/api.md lists those that are.
package classify

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/sony/gobreaker/v2"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/sentinel/intent/parse"
)

// Errors of Score. Their texts hold no word of the user's text and no address.
var (
	// ErrAnswer: what came back is no score from 0 to 1.
	ErrAnswer = errors.New("the classifier's answer is no score from 0 to 1")
	// ErrAway: it failed too often just now, so it isn't asked.
	ErrAway = errors.New("the classifier has failed too often; it is asked again soon")
	// ErrFailed: it can't be asked.
	ErrFailed = errors.New("the classifier could not be asked")
)

// Source is where scores come from: FromModel or FromServer.
type Source func(ctx context.Context, text string) (string, error)

// Options are the parts of a Classifier.
type Options struct {
	// Name stands in hits and records.
	Name   string
	Source Source
	// Timeout bounds one text. Zero is DefaultTimeout.
	Timeout time.Duration
	Log     *slog.Logger
}

// The defaults of a classifier: its time, how many failures in a row make it leave, and for how long.
const (
	DefaultTimeout = 2 * time.Second
	failures       = 5
	openFor        = 30 * time.Second
)

// Classifier scores texts. It is safe for concurrent use.
type Classifier struct {
	o       Options
	breaker *gobreaker.CircuitBreaker[int]
}

// New returns a Classifier.
func New(o Options) *Classifier {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Classifier{o, gobreaker.NewCircuitBreaker[int](gobreaker.Settings{
		Name: o.Name, MaxRequests: 1, Timeout: openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, from, to gobreaker.State) {
			o.Log.Warn("the classifier's breaker changed", "classifier", name, "from", from.String(), "to", to.String())
		},
	})}
}

// Name is the classifier's name.
func (c *Classifier) Name() string { return c.o.Name }

// Score returns how surely a text is an attack, from 0 to 100. The error is ErrAnswer, ErrAway, ErrFailed, or ctx's.
func (c *Classifier) Score(ctx context.Context, text string) (int, error) {
	score, err := c.breaker.Execute(func() (int, error) {
		asking, cancel := context.WithTimeout(ctx, c.o.Timeout)
		defer cancel()
		raw, err := c.o.Source(asking, text)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, ErrFailed
		}
		return readScore(raw)
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return 0, ErrAway
	}
	return score, err
}

// answer is what a classifier answers.
type answer struct {
	Score *float64 `json:"score"`
}

// readScore reads an answer strictly.
func readScore(raw string) (int, error) {
	var a answer
	err := jsonv2.Unmarshal([]byte(strings.TrimSpace(raw)), &a, jsonv2.RejectUnknownMembers(true))
	if err != nil || a.Score == nil || !(*a.Score >= 0 && *a.Score <= 1) {
		return 0, ErrAnswer
	}
	return int(math.Round(*a.Score * 100)), nil
}

// answerSchema is the schema of a model's answer.
const answerSchema = `{"type":"object","properties":{"score":{"type":"number","minimum":0,"maximum":1}},"required":["score"],` +
	`"additionalProperties":false}`

// scoreTokens bounds a model's answer.
const scoreTokens = 50

// FromModel asks a chat model. The text goes to it as data, within one JSON string.
func FromModel(m parse.Model) Source {
	return func(ctx context.Context, text string) (string, error) {
		user, err := plainjson.Marshal(map[string]string{"text": strings.ToValidUTF8(text, "\uFFFD")})
		if err != nil {
			return "", err
		}
		return parse.Ask(ctx, m, parse.Question{
			Name: "attack_score", System: prompt, User: string(user), Schema: []byte(answerSchema), Tokens: scoreTokens,
		})
	}
}
