package unfinished

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// CodeInterrupted stands in the outcome of a call that was interrupted. A process allowed
// the call and ended before it could say what became of it.
const CodeInterrupted = sentinel.FailInterrupted

// interruptedStep bounds one transaction of SettleInterrupted.
const interruptedStep = 200

// settledSchema holds how far the ledger is known to have an outcome for every allowed
// call. So a start looks only at what the last run appended.
var settledSchema = []string{`CREATE TABLE assembly_settled (
	id  INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
	idx INTEGER NOT NULL
) STRICT`}

const (
	sqlReadSettled  = `SELECT idx FROM assembly_settled WHERE id = 1`
	sqlWriteSettled = `INSERT INTO assembly_settled (id, idx) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET idx = excluded.idx`
)

// interruptedBody is the body of an outcome that the ended process could not write.
// It has the fields of the checkpoint's own outcomes.
type interruptedBody struct {
	V          int    `json:"v"`
	DecisionID string `json:"decision"`
	CallID     string `json:"call"`
	Status     string `json:"status"`
	Code       string `json:"code"`
	Bytes      int    `json:"bytes"`
	ElapsedUS  int64  `json:"elapsed_us"`
}

// SettleInterrupted gives every allowed call without an outcome one: unknown. It must run
// before the first call of this process. Where it is interrupted itself, the next start
// goes on. The errors are the store's and the ledger's.
func (c *Calls) SettleInterrupted(ctx context.Context) error {
	if err := c.o.Store.Migrate(ctx, "assembly", settledSchema); err != nil {
		return err
	}
	after, last, err := c.readSettled(ctx)
	if err != nil {
		return err
	}
	total, mark := 0, last
	for {
		found, err := c.o.Ledger.List(ctx, ledger.Query{
			Kind: sentinel.RecordDecision, Outcome: sentinel.Allow.String(), Without: sentinel.RecordOutcome,
			AfterIndex: &after, Limit: interruptedStep,
		})
		if err != nil {
			return err
		}
		settled := last
		if len(found) == interruptedStep {
			settled = found[len(found)-1].Index
		}
		over := c.skipWaiting(found, &mark)
		if err := c.recordUnknown(ctx, over, min(settled, mark)); err != nil {
			return fmt.Errorf("record the outcome of interrupted calls: %w", err)
		}
		total += len(over)
		if len(found) < interruptedStep {
			break
		}
		after = settled
	}
	if total > 0 {
		c.o.Log.Warn("calls were under way when the last process ended; what became of them is unknown", "calls", total)
	}
	return nil
}

// skipWaiting returns the calls without those whose commit a person is asked about. These
// have an outcome when the person answers, and mark stays before the first of them.
func (c *Calls) skipWaiting(found []ledger.Record, mark *int64) (over []ledger.Record) {
	for _, d := range found {
		b := readOpen(d)
		if slices.Contains(c.waiting, b.Call) || c.o.Now().Before(b.ReportBy) {
			*mark = min(*mark, d.Index-1)
			continue
		}
		over = append(over, d)
	}
	return over
}

// openBody is what is read of the body of a call without an outcome.
type openBody struct {
	Call     string
	Remote   string    // the principal who runs it elsewhere
	ReportBy time.Time `json:"report_by"`
}

// readOpen reads the body. One that can't be read waits for nothing.
func readOpen(d ledger.Record) (b openBody) {
	_ = json.Unmarshal(d.Body, &b)
	return b
}

// codeOfEnd is why nothing is known of a call: its process ended, or the program that ran it elsewhere
// did not report it.
func codeOfEnd(d ledger.Record) string {
	if readOpen(d).Remote != "" {
		return sentinel.CodeUnreported
	}
	return CodeInterrupted
}

// readSettled returns the index up to which all calls have an outcome. last is the index of
// the last record. -1 is before the first.
func (c *Calls) readSettled(ctx context.Context) (after, last int64, err error) {
	after, last = -1, -1
	err = c.o.Store.Submit(ctx, func(tx *store.Tx) error {
		_, err := tx.QueryRow([]any{&after}, sqlReadSettled)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	newest, err := c.o.Ledger.List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil {
		return 0, 0, err
	}
	if len(newest) == 1 {
		last = newest[0].Index
	}
	return min(after, last), last, nil
}

// recordUnknown appends the outcomes and moves the mark, in one transaction.
func (c *Calls) recordUnknown(ctx context.Context, calls []ledger.Record, settled int64) error {
	entries := make([]ledger.Entry, 0, len(calls))
	for _, d := range calls {
		body, err := json.Marshal(interruptedBody{
			V: 1, DecisionID: d.Decision, CallID: d.Call, Status: sentinel.StatusUnknown, Code: codeOfEnd(d),
		})
		if err != nil {
			return err
		}
		entries = append(entries, ledger.Entry{
			// Made from the decision's id: a second one can't be appended.
			ID: ids.Derive(ids.Common, "vedette/interrupted/"+d.ID), Time: c.o.Now(),
			Kind: sentinel.RecordOutcome, Call: d.Call, Decision: d.Decision, Conversation: d.Conversation, User: d.User,
			Agent: d.Agent, Skill: d.Skill, Outcome: sentinel.StatusUnknown, Code: codeOfEnd(d), Body: body,
		})
	}
	return c.o.Store.Submit(ctx, func(tx *store.Tx) error {
		for _, e := range entries {
			if _, err := c.o.Ledger.AppendTx(tx, e); err != nil {
				return err
			}
		}
		_, err := tx.Exec(sqlWriteSettled, settled)
		return err
	})
}
