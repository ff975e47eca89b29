package api

import (
	"math"
	"time"

	"github.com/vedette-dev/vedette/skills"
)

// Card is a refusal as a person reads it: what was refused, why, what can be done, where to look.
type Card struct {
	What string `json:"what" doc:"What was refused."`
	Why  string `json:"why"`
	Do   string `json:"do" doc:"What can be done."`
	Link string `json:"link" doc:"Where a person looks or answers."`

	Kind       string `json:"kind" doc:"deny, ask_denied, ask_expired, ask, defer, budget, invalid or paused."`
	Gate       string `json:"gate,omitempty"`
	Code       string `json:"code,omitempty"`
	DecisionID string `json:"decision_id,omitempty"`
	Retryable  bool   `json:"retryable" doc:"Whether the very same call may come again."`
	RetryAfter int    `json:"retry_after,omitempty" doc:"After how many seconds."`
}

// newCard makes the card of a refused call. question is the id of the question to a person, empty
// where none is asked.
func (v view) newCard(r *skills.Refusal, skill, question string) *Card {
	if r == nil {
		return nil
	}
	c := &Card{
		What: "a call of " + skill, Why: r.Reason, Do: r.WhatYouCanDo, Kind: r.Kind, Gate: r.Gate, Code: r.Code, DecisionID: r.DecisionID,
		Retryable: r.Retryable, RetryAfter: wholeSeconds(r.RetryAfter),
	}
	if skill == "" {
		c.What = "a call of a skill that isn't known"
	}
	switch {
	case question != "":
		c.Link = v.link("/approvals/" + question)
	case r.DecisionID != "":
		c.Link = v.link("/v1/ledger/records/" + r.DecisionID)
	}
	return c
}

// view shows things as callers read them. url begins links.
type view struct{ url string }

// link is the address of a path of the public server.
func (v view) link(path string) string { return v.url + path }

// wholeSeconds rounds a time up to seconds.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
