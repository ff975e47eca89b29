package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/sentinel/store"
)

// RotateKey puts another signing key in place of the one in force. A record says so, and both keys sign the head
// over it, so an auditor who holds the old public key learns of the new one. by names who did it. ErrDuplicate:
// the key was in force before.
func (l *Ledger) RotateKey(ctx context.Context, next *Signer, by string) error {
	old := l.signer.Load()
	if next == nil || next.signer.Name() != old.signer.Name() || next.public == old.public {
		return errors.New("the next ledger key must be another key with the same name")
	}
	body, err := json.Marshal(keyBody{V: 1, From: old.public, To: next.public, By: by})
	if err != nil {
		return fmt.Errorf("record of a key's rotation: %w", err)
	}
	_, hash, _ := strings.Cut(NameKey(next.public), "+")
	e := Entry{ID: keyRecord + hash, Time: l.now(), Kind: KindKeyRotated, Body: body}
	if err := e.Validate(); err != nil {
		return err
	}
	return l.store.Submit(ctx, func(tx *store.Tx) error {
		if l.successor != nil || l.signer.Load() != old {
			return errors.New("another key is being put in place: try again")
		}
		if _, err := l.appendRecord(tx, e); err != nil {
			return err
		}
		tx.OnUndo(func() { l.successor = nil })
		l.successor = next
		return nil
	})
}

// KnowsKey reports whether a key is linked to the one in force by the ledger's records.
func (l *Ledger) KnowsKey(ctx context.Context, publicKey string) (bool, error) {
	ring, err := l.Keyring(ctx, l.signer.Load().public)
	if err != nil {
		return false, err
	}
	return slices.Contains(ring.Keys(), strings.TrimSpace(publicKey)), nil
}

// RotateAgentKeyTx records that another key of the same agent signs its records from then on. by names who did it.
// ErrDuplicate: the key was rotated in before.
func (l *Ledger) RotateAgentKeyTx(tx *store.Tx, from, to *AgentKey, by string) error {
	if from.agent != to.agent || from.public == to.public {
		return errors.New("the next key must be another one of the same agent")
	}
	body, err := json.Marshal(agentBody{V: 1, From: from.public, To: to.public, By: by})
	if err != nil {
		return fmt.Errorf("record of an agent's key: %w", err)
	}
	_, err = l.appendRecord(tx, Entry{ID: agentRecord + to.public, Time: l.now(), Kind: KindAgentKey, Agent: to.agent, Body: body})
	return err
}
