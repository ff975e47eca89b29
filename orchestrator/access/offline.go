package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
	"github.com/vedette-dev/vedette/sentinel/store/keys"
)

// Offline reaches the tokens of a database that no process has open.
type Offline struct {
	// Database is its file, Driver as the configuration says it, Keys the key folder.
	Database, Driver, Keys string
}

// List returns the tokens, also while a process writes to the database. It needs no key, so it
// can't tell a row that somebody changed. A database that isn't there has none.
func (o Offline) List(ctx context.Context) (_ []Token, err error) {
	r, err := store.OpenReader(ctx, o.Database)
	switch {
	case errors.Is(err, store.ErrNoFile):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return ListStored(ctx, r)
}

// Create makes a token. A database that isn't there yet is made, so that there can be a token
// before the first start. The error is store.ErrLocked where a process has it open, or one of
// Tokens.Create.
func (o Offline) Create(ctx context.Context, w Wanted, by string) (m Made, err error) {
	err = o.useTokens(ctx, func(t *Tokens) error {
		m, err = t.Create(ctx, w, by)
		return err
	})
	return m, err
}

// Revoke ends a token. The error is store.ErrLocked where a process has the database open, or one
// of Tokens.Revoke.
func (o Offline) Revoke(ctx context.Context, begin, by string) (t Token, err error) {
	if _, err := store.FindNewest(o.Database); errors.Is(err, store.ErrNoFile) {
		return t, fmt.Errorf("%w: there is no database %s", ErrNotFound, o.Database)
	}
	err = o.useTokens(ctx, func(all *Tokens) error {
		t, err = all.Revoke(ctx, begin, by)
		return err
	})
	return t, err
}

// useTokens opens the tokens for as long as use runs.
func (o Offline) useTokens(ctx context.Context, use func(*Tokens) error) (err error) {
	if err := store.CheckFolder(o.Database); err != nil {
		return err
	}
	k, err := keys.LoadOrCreate(o.Keys)
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, store.Options{Path: o.Database, Driver: o.Driver})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	l, err := ledger.OpenWith(ctx, st, k, ledger.Options{})
	if err != nil {
		return err
	}
	t, err := OpenTokens(ctx, TokenOptions{Store: st, Ledger: l, Key: k.Digest()})
	if err != nil {
		return err
	}
	return use(t)
}
