package query

import (
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

// Kinds are the kinds of records that a ledger holds.
func Kinds() []string {
	return []string{
		sentinel.RecordDecision, sentinel.RecordHeld, sentinel.RecordRefused, sentinel.RecordOutcome,
		pause.RecordPaused, pause.RecordLifted, sentinel.RecordPurge, habit.RecordRevoked, approval.RecordAnswered,
		approval.RecordStanding,
		tokenCreated, tokenRevoked, sentinel.RecordReloaded, sentinel.RecordReloadRefused, sentinel.RecordValuesRead,
		label.RecordLabelled, label.RecordExported,
		ledger.KindKeyRotated, ledger.KindRestored, ledger.KindContinued, ledger.KindClosed,
	}
}

// Outcomes are the outcomes of decisions and of what ran.
func Outcomes() []string {
	return []string{"allow", "ask", "defer", "deny", sentinel.StatusOK, sentinel.StatusFailed, sentinel.StatusUnknown}
}

// Gates are the names of the gates that may have decided.
func Gates() []string { return append([]string{sentinel.GateParse}, sentinel.GateNames()...) }

// Effects are the effects that a call's skill may have.
func Effects() []string {
	out := []string{}
	for _, e := range skills.Effects() {
		out = append(out, string(e))
	}
	return out
}
