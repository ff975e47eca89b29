package query

import (
	"slices"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/approval"
	"github.com/vedette-dev/vedette/sentinel/habit"
	"github.com/vedette-dev/vedette/sentinel/label"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/pause"
	"github.com/vedette-dev/vedette/skills"
)

// The kinds of record that tokens of the HTTP API leave: package access writes them.
const (
	tokenCreated = "token_created"
	tokenRevoked = "token_revoked"
)

// The words of records of intents: package intake writes them.
var (
	intentKinds    = []string{"intent_request", "intent_elevation", "intent_confirmation", "intent_trusted", "intent_end"}
	intentOutcomes = []string{
		"accepted", "pending_confirmation", "pending_approval", "blocked", "denied", "completed", "expired", "approved", "confirmed", "declined",
		"trusted",
	}
	intentGates = []string{"detector", "parsers", "vote", "comparison", "confirmation", "action", "rate"}
)

// Kinds are the kinds of records that a ledger holds.
func Kinds() []string {
	return append([]string{
		sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordOutcome,
		sentinel.RecordShadow,
		pause.RecordPaused, pause.RecordLifted, sentinel.RecordPurge, habit.RecordRevoked, approval.RecordAnswered,
		approval.RecordStanding,
		tokenCreated, tokenRevoked, sentinel.RecordReloaded, sentinel.RecordReloadRefused, sentinel.RecordValuesRead,
		label.RecordLabelled, label.RecordExported,
		ledger.KindKeyRotated, ledger.KindRestored, ledger.KindContinued, ledger.KindClosed, ledger.KindAgentKey,
	}, intentKinds...)
}

// Outcomes are the outcomes of decisions, of what ran, and of requests for intents.
func Outcomes() []string {
	return append([]string{"allow", "ask", "defer", "deny", sentinel.StatusOK, sentinel.StatusFailed, sentinel.StatusUnknown,
		sentinel.StatusForwarded}, intentOutcomes...)
}

// Gates are the names of the gates that may have decided, and of the stages of intents.
func Gates() []string {
	return slices.Concat([]string{sentinel.GateParse}, sentinel.GateNames(), intentGates)
}

// Effects are the effects that a call's skill may have.
func Effects() []string {
	out := []string{}
	for _, e := range skills.Effects() {
		out = append(out, string(e))
	}
	return out
}
