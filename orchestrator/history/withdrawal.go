package history

import (
	"context"
	"encoding/json"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// The words of the checkpoint's records, which this package writes one of. That record ends
// a call that waited for a person and whose values are purged.
const (
	recordHeld     = "held"
	recordDecision = "decision"
	outcomeDeny    = "deny"
	gateApproval   = "approval"
	codeCanceled   = "approval.canceled"
)

// withdrawnBody is the body of a decision that a purge makes. It has the fields of
// the checkpoint's own.
type withdrawnBody struct {
	V          int        `json:"v"`
	DecisionID string     `json:"decision"`
	CallID     string     `json:"call"`
	Turn       string     `json:"turn,omitempty"`
	Outcome    string     `json:"outcome"`
	BlockedBy  string     `json:"blocked_by"`
	Code       string     `json:"code"`
	Reason     string     `json:"reason"`
	Gates      []struct{} `json:"gates"`
}

// withdrawHeld records that the calls were withdrawn which wait for a person still. After
// the purge no desk can ask about them. It is done before anything is erased, and again
// where it was interrupted.
func (h *History) withdrawHeld(ctx context.Context, w Who) error {
	for {
		list, err := h.ledger.List(ctx, ledger.Query{
			User: w.User, Conversation: w.Conversation, Kind: recordHeld, Without: recordDecision, Limit: forgetStep,
		})
		if err != nil || len(list) == 0 {
			return err
		}
		err = h.st.Submit(ctx, func(tx *store.Tx) error {
			ended := map[string]bool{}
			for _, r := range list {
				if ended[r.Decision] {
					continue
				}
				ended[r.Decision] = true
				if err := h.recordWithdrawal(tx, r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// recordWithdrawal appends the decision that ends a question.
func (h *History) recordWithdrawal(tx *store.Tx, held ledger.Record) error {
	var of struct{ Turn string }
	_ = json.Unmarshal(held.Body, &of) // a body that can't be read names no turn
	body, err := json.Marshal(withdrawnBody{
		V: 1, DecisionID: held.Decision, CallID: held.Call, Turn: of.Turn, Outcome: outcomeDeny, BlockedBy: gateApproval,
		Code: codeCanceled, Reason: "what was kept of the call was purged while a person was asked", Gates: []struct{}{},
	})
	if err != nil {
		return err
	}
	_, err = h.ledger.AppendTx(tx, ledger.Entry{
		ID: ids.New(), Time: h.now(), Kind: recordDecision, Call: held.Call, Decision: held.Decision,
		Conversation: held.Conversation, User: held.User, Agent: held.Agent, Skill: held.Skill, Outcome: outcomeDeny,
		Gate: gateApproval, Code: codeCanceled, Body: body,
	})
	return err
}
