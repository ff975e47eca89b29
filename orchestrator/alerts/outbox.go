package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/notify"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// schema holds what channels are to be told, and how far the log was read.
var schema = []string{`CREATE TABLE alerts (
	channel TEXT NOT NULL,
	id      TEXT NOT NULL,
	raised  INTEGER NOT NULL,
	alert   BLOB NOT NULL,
	PRIMARY KEY (channel, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE alert_state (
	name  TEXT NOT NULL PRIMARY KEY,
	value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;`}

const (
	sqlDue    = `SELECT alert FROM alerts WHERE channel = ? ORDER BY raised, id LIMIT ?`
	sqlRaise  = `INSERT INTO alerts (channel, id, raised, alert) VALUES (?, ?, ?, ?) ON CONFLICT (channel, id) DO NOTHING`
	sqlForget = `DELETE FROM alerts WHERE channel = ? AND id = ?`
	sqlExpire = `DELETE FROM alerts WHERE raised < ?`
	sqlState  = `SELECT name, value FROM alert_state`
	sqlSet    = `INSERT INTO alert_state (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

const (
	// keptFor is how long an alert waits for a channel that takes none.
	keptFor = 7 * 24 * time.Hour
	// mostDue bounds what a channel is told at once.
	mostDue = 500
)

// The names in alert_state. Those of rules begin with raised.
const (
	statePlace    = "place"    // the record up to which the log was read
	stateVerified = "verified" // when the ledger was verified last, in milliseconds
	stateRaised   = "raised:"  // when a rule raised an alert last, in milliseconds
)

// Outbox has what channels are to be told. It implements notify.Outbox.
type Outbox struct{ db *store.Store }

// Due implements notify.Outbox.
func (o *Outbox) Due(ctx context.Context, channel string) (out []notify.Alert, err error) {
	rows, err := o.db.Reader().Query(ctx, sqlDue, channel, mostDue)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text []byte
		var a notify.Alert
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// Forget implements notify.Outbox.
func (o *Outbox) Forget(ctx context.Context, channel string, list []notify.Alert) error {
	return o.db.Submit(ctx, func(tx *store.Tx) error {
		for _, a := range list {
			if _, err := tx.Exec(sqlForget, channel, a.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// raised is an alert with the channels that are told.
type raised struct {
	notify.Alert
	channels []string
}

// write makes alerts and the state durable, together.
func (o *Outbox) write(ctx context.Context, list []raised, state map[string]int64, now time.Time) error {
	return o.db.Submit(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(sqlExpire, now.Add(-keptFor).UnixMilli()); err != nil {
			return err
		}
		for _, a := range list {
			text, err := json.Marshal(a.Alert)
			if err != nil {
				return err
			}
			for _, c := range a.channels {
				if _, err := tx.Exec(sqlRaise, c, a.ID, a.At.UnixMilli(), text); err != nil {
					return err
				}
			}
		}
		for name, value := range state {
			if _, err := tx.Exec(sqlSet, name, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// readState returns the state that is kept.
func (o *Outbox) readState(ctx context.Context) (_ map[string]int64, err error) {
	rows, err := o.db.Reader().Query(ctx, sqlState)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := map[string]int64{}
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, rows.Err()
}

// nameAlert names an alert by the rule, what it is about and when, so that it is one however often it is written.
func nameAlert(rule, about string, at time.Time) string {
	return rule + "/" + about + "/" + strconv.FormatInt(at.UnixMilli(), 36)
}
