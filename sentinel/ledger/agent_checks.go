package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Bounds of what the check of agents keeps in memory.
const (
	maxAgentKeys = 100_000
	maxCertified = 10_000
)

// agentChecks checks the signatures of agents. It is safe for concurrent use.
type agentChecks struct {
	ring *Keyring
	// ended are the places of the records that put other keys in the place of these.
	ended map[string]int64

	mu    sync.Mutex
	known map[certifiedKey]int // the span that certifies it
}

// certifiedKey is an agent's key with its certificate.
type certifiedKey struct{ agent, key, cert string }

const sqlAgentKeys = "SELECT " + sqlColumns + " FROM ledger_records WHERE id >= '" + agentRecord + "' AND id < '" + agentRecord +
	"~' ORDER BY idx LIMIT ?"

// readAgentKeys adds the keys of agents that a file says are replaced.
func (a *agentChecks) readAgentKeys(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, sqlAgentKeys, maxAgentKeys+1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var rec Record
		var b agentBody
		if scanRecord(rows, &rec) != nil || rec.Kind != KindAgentKey || json.Unmarshal(rec.Body, &b) != nil {
			continue // what was changed is found by the tree
		}
		if a.ended[b.From] = rec.Index; len(a.ended) > maxAgentKeys {
			return fmt.Errorf("more than %d keys of agents were replaced: that can't be verified", maxAgentKeys)
		}
	}
	return rows.Err()
}

// checkRow checks the signature in a row of sqlColumns. problem is empty where it holds, or where there is none.
func (a *agentChecks) checkRow(row []driver.Value, index, base int64, origin string) (signed bool, problem string) {
	body, _ := row[len(row)-1].([]byte)
	s, signed := splitSigned(body)
	if !signed {
		return false, ""
	}
	rec, ok := readRow(row)
	if !ok {
		return true, "" // the tree tells
	}
	span := a.findSpan(rec.Agent, s)
	switch at, ended := a.ended[string(s.key)]; {
	case span < 0:
		return true, "no key of the ledger certifies the key that signed it for its agent"
	case !a.ring.inForce(span, origin, index-base):
		return true, "the key that certifies its agent's was not in force"
	case ended && index > at:
		return true, "its agent's key was replaced before"
	case !s.isBy(rec):
		return true, "it is not what its agent signed"
	}
	return true, ""
}

// inForce reports whether the key of a span may certify for a record at a place of the file of an origin. A call that
// was decided while another file went on may have the certificate of the file before.
func (k *Keyring) inForce(span int, origin string, place int64) bool {
	s := k.spans[span]
	if s.verifier.Name() == origin {
		return s.from <= place && place < s.to
	}
	return span < k.rankOf(origin)
}

// findSpan returns the number of the key that certifies an agent's, -1 where none does.
func (a *agentChecks) findSpan(agent string, s signedBody) int {
	k := certifiedKey{agent, string(s.key), string(s.cert)}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.known[k]
	if ok {
		return at
	}
	at = -1
	for i, span := range a.ring.spans {
		if span.certifies(agent, s) {
			at = i
			break
		}
	}
	if len(a.known) < maxCertified {
		a.known[k] = at
	}
	return at
}

// readRow reads a row of sqlColumns. ok is false where a column has another type than it was written with.
func readRow(row []driver.Value) (r Record, ok bool) {
	index, ok1 := row[0].(int64)
	ns, ok2 := row[2].(int64)
	if !ok1 || !ok2 {
		return r, false
	}
	r.Index, r.Time = index, timeOf(ns)
	at := 1
	for _, f := range r.listTextFields() {
		if *f.value, ok = row[at].(string); !ok {
			return r, false
		}
		if at++; at == 2 {
			at = 3 // past the time
		}
	}
	r.Body, ok = row[at].([]byte)
	return r, ok
}
