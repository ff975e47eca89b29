package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// RotatedKey is what a rotation of the ledger's key came to.
type RotatedKey struct {
	// Old and New are the public keys.
	Old string `json:"old"`
	New string `json:"new"`
	// Kept is the file of the old public key.
	Kept string `json:"kept"`
}

// RotateKey puts a new signing key in place of the ledger's. Both sign the head over the record that says so; the
// private half of the old one is gone then. A rotation that was broken off is finished. It needs the database for
// itself.
func RotateKey(ctx context.Context, s Source, by string) (out RotatedKey, err error) {
	st, err := openAlone(ctx, s)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	k, err := keys.LoadForRotation(s.Keys)
	if err != nil {
		return out, err
	}
	out.Old = k.LedgerPublic()
	if err := recordRotation(ctx, st, k, by); err != nil {
		return out, err
	}
	out.Kept, err = k.TakeNextLedger()
	out.New = k.LedgerPublic()
	return out, err
}

// recordRotation has the next key on record, once.
func recordRotation(ctx context.Context, st *store.Store, k *keys.Keys, by string) error {
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return err
	}
	if err := k.DropPendingLedger(l.PublicKey()); err != nil {
		return err
	}
	skey, err := k.NextLedger()
	if err != nil {
		return err
	}
	next, err := ledger.NewSigner(skey)
	if err != nil {
		return err
	}
	known, err := l.KnowsKey(ctx, next.PublicKey())
	if err != nil || known {
		return err
	}
	return l.RotateKey(ctx, next, by)
}

// openAlone opens the database for the one who rotates a key.
func openAlone(ctx context.Context, s Source) (*store.Store, error) {
	if err := s.CheckDatabase(); err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, store.Options{Path: s.Database, Driver: s.Driver})
	if errors.Is(err, store.ErrLocked) {
		return nil, &advice.Error{
			Err:  fmt.Errorf("%s is in use: another process writes to it", s.Database),
			Todo: "stop the server that uses it, and rotate the key again",
		}
	}
	if err != nil {
		return nil, s.AdviseOn(err)
	}
	return st, nil
}

// RotateAgentKey has another key sign the records of an agent from now on. It needs the database for itself.
func RotateAgentKey(ctx context.Context, s Source, agent, by string) (out ledger.RotatedAgent, err error) {
	st, err := openAlone(ctx, s)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	k, err := keys.LoadOrCreate(s.Keys)
	if err != nil {
		return out, err
	}
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return out, err
	}
	seen, err := l.List(ctx, ledger.Query{Agent: agent, Limit: 1})
	if err != nil {
		return out, err
	}
	if agent == "" || len(seen) == 0 {
		return out, &advice.Error{
			Err: fmt.Errorf("no record is of an agent %q", agent), Todo: "vedette ledger stats names the agents of records",
		}
	}
	secret, err := k.LoadAgents()
	if err != nil {
		return out, err
	}
	identities, err := ledger.NewIdentities(ctx, st, l, secret)
	if err != nil {
		return out, err
	}
	return identities.Rotate(ctx, agent, by)
}
