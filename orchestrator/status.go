package orchestrator

import (
	"context"
	"os"
	"runtime/debug"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/control"
	"github.com/vedette-dev/vedette/sentinel"
)

// Status is how a process is: for `vedette status`. It holds no value of a call.
type Status struct {
	PID      int             `json:"pid"`
	Version  string          `json:"version"`
	Now      time.Time       `json:"now"`
	Started  time.Time       `json:"started"`
	Draining bool            `json:"draining"`
	Policy   PolicyStatus    `json:"policy"`
	Reload   *ReloadStatus   `json:"reload,omitempty"` // the last one; absent where none was
	Pauses   []control.Pause `json:"pauses"`
	// Conversations are those with a process of their own.
	Conversations ConversationCounts `json:"conversations"`
	// Calls are the calls in flight by their phases; see sentinel.InFlight.
	Calls CallCounts `json:"calls"`
	// Approvals is how many questions of the inbox have no end yet; absent without an inbox.
	Approvals *int `json:"approvals,omitempty"`
	// Anchors are how the ledger's anchors do; absent where none is configured.
	Anchors []AnchorStatus `json:"anchors,omitempty"`
	Review  []ModelStatus  `json:"review"`
	Health  []Check        `json:"health"`
}

// PolicyStatus is the policy that is in force.
type PolicyStatus struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"`
	// File is the configuration as it was named at the start; empty where it was in no file.
	File string `json:"file,omitempty"`
}

// ConversationCounts counts conversations; AtWork are those with a request under way.
type ConversationCounts struct {
	Open   int `json:"open"`
	AtWork int `json:"at_work"`
}

// CallCounts counts calls in flight.
type CallCounts struct {
	InFlight       int `json:"in_flight"`
	Held           int `json:"held"`
	AwaitingPlaces int `json:"awaiting_places"`
	Queued         int `json:"queued"`
	Running        int `json:"running"`
}

// ModelStatus is one model of the review.
type ModelStatus struct {
	Model string `json:"model"`
	// Breaker is closed, open or half-open.
	Breaker     string `json:"breaker"`
	LastFailure string `json:"last_failure,omitempty"`
	Canary      string `json:"canary,omitempty"`
}

// AnchorStatus is one anchor of the ledger.
type AnchorStatus struct {
	Anchor string `json:"anchor"`
	Kind   string `json:"kind"`
	// Origin names the file of the ledger. Kept is how many of its records the newest head covers that the anchor has;
	// Behind is how many it lacks.
	Origin string `json:"origin,omitempty"`
	Kept   int64  `json:"kept"`
	Behind int64  `json:"behind"`
	// Failures is how many tries failed since the last that did not; Problem is why.
	Failures int       `json:"failures"`
	Problem  string    `json:"problem,omitempty"`
	Sent     time.Time `json:"sent,omitzero"`
}

// readStatus reads how the process is. It waits for the store alone, and for no actor.
func readStatus(ctx context.Context, o *Orchestrator) Status {
	last, from := o.reloads.newest()
	s := Status{
		PID: os.Getpid(), Version: moduleVersion(debug.ReadBuildInfo()), Now: time.Now().UTC(), Started: o.started.UTC(),
		Draining: o.ending.draining.Load(), Pauses: o.parts.Pauses.List(), Review: []ModelStatus{}, Health: o.health.look(ctx, o),
		Policy: PolicyStatus{Digest: o.parts.Checkpoint.PolicyDigest(), Since: from, File: o.parts.Config.File},
		Calls:  countCalls(o.parts.Checkpoint.InFlight()),
	}
	if last.Outcome != "" {
		s.Reload = &last
	}
	for _, c := range o.statuses.listStatuses(o.sys) {
		s.Conversations.Open++
		if c.turn != "" {
			s.Conversations.AtWork++
		}
	}
	if o.parts.Inbox != nil {
		n := o.parts.Inbox.CountOpen()
		s.Approvals = &n
	}
	for _, a := range o.parts.Anchors() {
		s.Anchors = append(s.Anchors, AnchorStatus(a))
	}
	if o.parts.Review != nil {
		for _, m := range o.parts.Review.State().Models {
			s.Review = append(s.Review, ModelStatus{m.Model, m.Breaker, string(m.LastFailure), string(m.Canary)})
		}
	}
	return s
}

// countCalls counts calls by their phases.
func countCalls(list []sentinel.InFlight) CallCounts {
	n := CallCounts{InFlight: len(list)}
	for _, c := range list {
		switch c.Phase {
		case sentinel.PhaseApproval:
			n.Held++
		case sentinel.PhasePlaces:
			n.AwaitingPlaces++
		case sentinel.PhaseQueued:
			n.Queued++
		case sentinel.PhaseRunning:
			n.Running++
		}
	}
	return n
}

// modulePath is where Vedette is found among the modules of a program.
const modulePath = "github.com/vedette-dev/vedette"

// moduleVersion is the version of Vedette that the program was built with.
func moduleVersion(info *debug.BuildInfo, ok bool) string {
	version := "(devel)"
	if !ok {
		return version
	}
	if info.Main.Path == modulePath && info.Main.Version != "" {
		version = info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == modulePath && d.Version != "" {
			version = d.Version
		}
	}
	return version
}
