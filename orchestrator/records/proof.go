package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vedette-dev/vedette/internal/advice"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// Proof is what vedette ledger prove writes: a record's place in the ledger, or that the ledger has only
// grown since an older head. Who holds the public key checks it without the database.
type Proof struct {
	Record      *ledger.Proof       `json:"record,omitempty"`
	Consistency *ledger.Consistency `json:"consistency,omitempty"`
}

// Proved is what a proof shows.
type Proved struct {
	// Record is the record that is in the ledger, as it was signed.
	Record *Record `json:"record,omitempty"`
	// Older is the head that the ledger has only grown since.
	Older *ledger.Head `json:"older,omitempty"`
	// Head is the head that all of it stands under.
	Head ledger.Head `json:"head"`
}

// Prove returns a proof that a record is in the ledger, under its newest head. The id is one of Find.
func Prove(ctx context.Context, s Source, id string) (Proof, error) {
	found, err := s.Find(ctx, id)
	if err != nil {
		return Proof{}, err
	}
	return makeProof(ctx, s, func(r *ledger.Reader, head []byte, key string) (out Proof, err error) {
		p, err := r.ProveRecord(ctx, key, found.Record.Index)
		return Proof{Record: &p}, err
	})
}

// ProveSince returns a proof that the ledger has only grown since the head in a file.
func ProveSince(ctx context.Context, s Source, file string) (Proof, error) {
	key, err := s.readPublicKey()
	if err != nil {
		return Proof{}, err
	}
	heads, err := readKeptHeads(file)
	if err != nil {
		return Proof{}, err
	}
	older := heads[len(heads)-1]
	if err := s.checkHead(ctx, older, key); err != nil {
		return Proof{}, &advice.Error{Err: fmt.Errorf("%s: %w", file, err), Todo: "give what vedette ledger head printed"}
	}
	return makeProof(ctx, s, func(r *ledger.Reader, head []byte, key string) (Proof, error) {
		c, err := r.ProveConsistency(ctx, older, head, key)
		if errors.Is(err, ledger.ErrNotFound) {
			err = &IntegrityError{
				fmt.Errorf("the ledger is behind the head in %s: records are missing", file),
				"this is an older copy, or its end was cut off; look for the newest one",
			}
		}
		return Proof{Consistency: &c}, err
	})
}

// makeProof opens what a proof is made of, and makes sure that the proof holds before it is given away.
func makeProof(ctx context.Context, s Source, run func(r *ledger.Reader, head []byte, key string) (Proof, error)) (_ Proof, err error) {
	key, err := s.readPublicKey()
	if err != nil {
		return Proof{}, err
	}
	r, err := s.openReader(ctx)
	if err != nil {
		return Proof{}, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	head, err := r.NewestHead(ctx)
	if err != nil {
		return Proof{}, s.AdviseOn(err)
	}
	p, err := run(r, head, key)
	if err == nil {
		_, err = p.Check(key)
	}
	if errors.Is(err, ledger.ErrProof) || errors.Is(err, ledger.ErrTampered) || errors.Is(err, ledger.ErrHead) {
		return Proof{}, &IntegrityError{errors.New("the ledger does not hold what was signed"), "vedette ledger verify says what was changed"}
	}
	return p, err
}

// Check checks the proof with the ledger's public key. The error wraps ledger.ErrHead or
// ledger.ErrProof.
func (p Proof) Check(publicKey string) (out Proved, err error) {
	switch {
	case (p.Record == nil) == (p.Consistency == nil):
		return Proved{}, ledger.ErrProof
	case p.Consistency != nil:
		out.Older = &ledger.Head{}
		*out.Older, out.Head, err = ledger.CheckConsistency(*p.Consistency, publicKey)
		return out, err
	}
	if out.Head, err = ledger.CheckProof(*p.Record, publicKey); err != nil {
		return Proved{}, err
	}
	rec, err := ledger.ParseLeaf(p.Record.Leaf)
	out.Record = &rec
	return out, err
}

// maxProofFile is more than any proof has, in bytes.
const maxProofFile = 1 << 20

// ReadProof reads a proof from a file and checks it with the key of s. What doesn't hold is an
// *IntegrityError.
func ReadProof(s Source, name string) (Proved, error) {
	const todo = "give what vedette ledger prove printed"
	key, err := s.readPublicKey()
	if err != nil {
		return Proved{}, err
	}
	if err := advice.CheckReadable(name, todo); err != nil {
		return Proved{}, err
	}
	f, err := os.Open(name)
	if err != nil {
		return Proved{}, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxProofFile+1))
	if err != nil {
		return Proved{}, fmt.Errorf("%s can't be read: %w", name, advice.CauseOf(err))
	}
	var p Proof
	if len(b) > maxProofFile || json.Unmarshal(b, &p) != nil || p.Record == nil && p.Consistency == nil {
		return Proved{}, &advice.Error{Err: fmt.Errorf("%s holds no proof", name), Todo: todo}
	}
	out, err := p.Check(key)
	if err != nil {
		return Proved{}, &IntegrityError{
			fmt.Errorf("%s does not hold: %w", name, err), "it was changed, or is of another ledger; ask for it again",
		}
	}
	return out, nil
}
