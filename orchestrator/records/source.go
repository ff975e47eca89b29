package records

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel/ledger"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// ErrInUse is wrapped by the error of an answer where another process has the database open.
var ErrInUse = store.ErrLocked

// Source says where the ledger, the key that verifies it and the keys that open the
// journal are.
type Source struct {
	// Database is the database file, PublicKey the file of the ledger's public key,
	// Keys the key folder.
	Database, PublicKey, Keys string
	// Driver is the database's, empty for the default of package store.
	Driver string
}

// IntegrityError says that the ledger doesn't hold what was signed.
type IntegrityError struct {
	Err error
	// Todo is what the operator can do.
	Todo string
}

// Error returns the message without the remedy.
func (e *IntegrityError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *IntegrityError) Unwrap() error { return e.Err }

// Advice returns the remedy.
func (e *IntegrityError) Advice() string { return e.Todo }

// pageSize is how many records are handed out at a time.
const pageSize = 1000

// ListOptions choose records.
type ListOptions struct {
	// Query chooses the records; the zero Query takes all.
	Query query.Query
	// Limit is how many records are listed at most.
	Limit int
}

// Record is one record of the ledger.
type Record = ledger.Record

// Page is a part of a list of records.
type Page []Record

// List hands out the records that match, the newest first, a page at a time; pages may be empty. It
// returns how many there were, and whether there may be more beyond the limit. An
// error of show ends the list and is returned.
func (s Source) List(ctx context.Context, o ListOptions, show func(Page) error) (shown int, more bool, err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var place *int64
	for more = true; shown < o.Limit && more; {
		page, next, err := o.Query.ReadPage(ctx, r, place, min(pageSize, o.Limit-shown))
		if err != nil {
			return shown, more, s.AdviseOn(err)
		}
		if err := show(page); err != nil {
			return shown, more, err
		}
		shown += len(page)
		more, place = next != nil, next
	}
	return shown, more, nil
}

// Found is one record, and the others of its call.
type Found struct {
	Record  ledger.Record   `json:"record"`
	Related []ledger.Record `json:"related"`
}

// Find reads a record by its id or the start of it. It also takes the whole id of a
// decision or a call.
func (s Source) Find(ctx context.Context, id string) (f Found, err error) {
	r, err := s.openReader(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if f.Record, err = findRecord(ctx, r, id); err != nil {
		return f, s.AdviseOn(AdviseOnID(id, err))
	}
	f.Related = []ledger.Record{}
	if f.Record.Call == "" {
		return f, nil
	}
	all, err := r.List(ctx, ledger.Query{Call: f.Record.Call})
	for _, rec := range all {
		if rec.ID != f.Record.ID {
			f.Related = append(f.Related, rec)
		}
	}
	return f, s.AdviseOn(err)
}

// findRecord finds a record by its own id, else the first of a decision or a call. The
// id that a refusal names to the agent is a decision's.
func findRecord(ctx context.Context, r *ledger.Reader, id string) (ledger.Record, error) {
	rec, err := r.Get(ctx, id)
	if !errors.Is(err, ledger.ErrNotFound) {
		return rec, err
	}
	for _, q := range []ledger.Query{{Call: id, Limit: 1}, {Decision: id, Limit: 1}} {
		found, lerr := r.List(ctx, q)
		if lerr != nil || len(found) > 0 {
			return append(found, rec)[0], lerr
		}
	}
	return rec, err
}

// AdviseOnID adds what to do about an id that names no record, or several. Other errors stay.
func AdviseOnID(id string, err error) error {
	const todo = "vedette ledger list shows the ids"
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return &advice.Error{Err: fmt.Errorf("no record, decision or call has the id %q", id), Todo: todo}
	case errors.Is(err, ledger.ErrAmbiguous):
		return &advice.Error{Err: fmt.Errorf("several records start with %q", id), Todo: "give more of the id; " + todo}
	}
	return err
}

// Verification is what verifying a ledger came to.
type Verification struct {
	OK bool `json:"ok"`
	ledger.Report

	tampered error
}

// Err is an *IntegrityError where the ledger doesn't hold what was signed.
func (v Verification) Err() error {
	if v.tampered == nil {
		return nil
	}
	return &IntegrityError{
		fmt.Errorf("the ledger does not hold what was signed: %w", v.tampered),
		"keep the file as it is; a backup that verifies with the newest head shows what was changed",
	}
}

// VerifyOptions say what to verify, and how closely.
type VerifyOptions struct {
	// Heads are files with heads that were kept elsewhere; each may hold several, as an anchor's file does.
	Heads []string
	// Witnesses are the public keys of those who must have cosigned every one of them.
	Witnesses []string
	// Fast checks some of the signatures and no index. Deep compares columns with the bodies of their records.
	// Agents checks the signatures of agents.
	Fast, Deep, Agents bool
}

// fastSignatures is that Fast checks the signature of one head in so many, and of the newest.
const fastSignatures = 1024

// Verify computes every record's hash again and compares the tree with every signed
// head, and with those in files. What it finds is in the Verification; the error is of
// what can't be read.
func (s Source) Verify(ctx context.Context, vo VerifyOptions) (Verification, error) {
	key, err := s.readPublicKey()
	if err != nil {
		return Verification{}, err
	}
	o := ledger.VerifyOptions{PublicKey: key}
	var files []string // of each head
	for _, vkey := range vo.Witnesses {
		w, err := ledger.ParseWitness(vkey)
		if err != nil {
			return Verification{}, &advice.Error{Err: fmt.Errorf("--witness: %w", err), Todo: "its form is name+hash+base64"}
		}
		o.Witnesses = append(o.Witnesses, w)
	}
	for _, name := range vo.Heads {
		heads, err := readKeptHeads(name)
		if err != nil {
			return Verification{}, err
		}
		o.Heads = append(o.Heads, heads...)
		files = append(files, slices.Repeat([]string{name}, len(heads))...)
	}
	if vo.Fast {
		o.SignatureEvery, o.SkipIndexes = fastSignatures, true
	}
	if vo.Deep {
		o.Derive = query.DeriveColumns
	}
	o.Agents = vo.Agents
	report, err := ledger.Verify(ctx, s.Database, o)
	var foreign *ledger.HeadError
	if errors.As(err, &foreign) {
		err = fmt.Errorf("%s: %w", files[foreign.Index], foreign.Err)
		return Verification{}, &advice.Error{
			Err: err, Todo: "give what vedette ledger head printed, or an anchor's file, and the ledger's own key",
		}
	}
	tampered := errors.Is(err, ledger.ErrTampered)
	if err != nil && !tampered {
		return Verification{}, s.AdviseOn(err)
	}
	if report.Problems == nil {
		report.Problems = []ledger.Problem{}
	}
	return Verification{!tampered, report, err}, nil
}

// maxHeads bounds a file of heads, in bytes.
const maxHeads = 64 << 20

// readKeptHeads reads the heads in a file.
func readKeptHeads(name string) (_ [][]byte, err error) {
	const todo = "give what vedette ledger head printed"
	if err := advice.CheckReadable(name, todo); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxHeads))
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	heads := ledger.SplitHeads(b)
	if len(heads) == 0 {
		return nil, &advice.Error{Err: fmt.Errorf("%s: %w", name, ledger.ErrHead), Todo: todo}
	}
	return heads, nil
}

// NewestHead reads the newest signed head. One that the key doesn't verify is an
// *IntegrityError.
func (s Source) NewestHead(ctx context.Context) ([]byte, error) {
	key, err := s.readPublicKey()
	if err != nil {
		return nil, err
	}
	head, err := s.queryNewestHead(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.checkHead(ctx, head, key); err != nil {
		return nil, &IntegrityError{fmt.Errorf("the newest head: %w", err), "vedette ledger verify says more"}
	}
	return head, nil
}

// checkHead checks that a head is signed by the key, or by one that is linked to it.
func (s Source) checkHead(ctx context.Context, head []byte, key string) error {
	r, err := s.openReader(ctx)
	if err != nil {
		return err
	}
	ring, err := r.Keyring(ctx, key)
	if err == nil {
		_, err = ring.ParseHead(head)
	}
	return errors.Join(err, r.Close())
}

func (s Source) queryNewestHead(ctx context.Context) (head []byte, err error) {
	r, err := store.OpenReader(ctx, s.Database)
	if err != nil {
		return nil, s.AdviseOn(err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	err = r.QueryRow(ctx, `SELECT note FROM ledger_heads ORDER BY size DESC LIMIT 1`).Scan(&head)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("the ledger in %s is empty: there is no head yet", s.Database)
	}
	return head, s.AdviseOn(err)
}

// readPublicKey reads the key that verifies the ledger.
func (s Source) readPublicKey() (string, error) {
	todo := "name the ledger's public key with --key FILE; it is ledger.pub in the key folder"
	if err := advice.CheckReadable(s.PublicKey, todo); err != nil {
		return "", err
	}
	b, err := os.ReadFile(s.PublicKey)
	if err != nil {
		return "", fmt.Errorf("%s can't be read: %w", s.PublicKey, advice.CauseOf(err))
	}
	return string(b), nil
}

func (s Source) openReader(ctx context.Context) (*ledger.Reader, error) {
	r, err := ledger.OpenReader(ctx, s.Database)
	return r, s.AdviseOn(err)
}

// AdviseOn adds what to do about a database that can't be read.
func (s Source) AdviseOn(err error) error {
	const name = "name Vedette's database with --config FILE or --db FILE"
	switch {
	case err == nil, errors.As(err, new(*advice.Error)):
		return err
	case errors.Is(err, store.ErrNoFile):
		return &advice.Error{
			Err:  fmt.Errorf("%s: no such database", s.Database),
			Todo: "it is made when Vedette first decides a call; name another with --config FILE or --db FILE",
		}
	case errors.Is(err, ledger.ErrNoLedger):
		return &advice.Error{Err: fmt.Errorf("%s holds no ledger", s.Database), Todo: name}
	}
	return &advice.Error{Err: err, Todo: name}
}
