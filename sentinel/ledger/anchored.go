package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/internal/ids"
	"github.com/vedette-dev/vedette/sentinel/store"
)

// KindRestored is the kind of the record that an operator put a backup in place of a ledger that had gone on.
// Ledger.AcceptRestored alone writes it.
const KindRestored = "restored"

// restoredRecord begins the id of such a record, so that the index on ids finds all of them.
const restoredRecord = "restored-"

// restoredBody is the body of a record of KindRestored. The first Agreed records are those of the kept heads.
// Heads of more, up to Newest, that were signed until Until are given up.
type restoredBody struct {
	V      int       `json:"v"`
	Agreed int64     `json:"agreed"`
	Newest int64     `json:"newest"`
	Until  time.Time `json:"until"`
	By     string    `json:"by,omitempty"`
}

// covers reports whether a head is given up. A head of a time to come never is: a forged one could give up all.
func (b restoredBody) covers(h Head) bool {
	return h.Size > b.Agreed && h.Size <= b.Newest && !h.Time.After(b.Until)
}

// AnchorError says that a ledger is not the one whose head was kept elsewhere.
type AnchorError struct {
	// Kind is Rollback, Fork or BadKey.
	Kind string
	// Head is what the kept head says, Signed the head itself, Records how many records there are.
	Head    Head
	Signed  []byte
	Records int64
}

// Error says how they differ.
func (e *AnchorError) Error() string {
	at := e.Head.Time.UTC().Format(time.RFC3339)
	switch e.Kind {
	case Rollback:
		return fmt.Sprintf("the ledger is behind its anchor: it has %d records, and a head of %d was kept on %s: "+
			"an older copy was put in place, or its end was cut off", e.Records, e.Head.Size, at)
	case BadKey:
		return fmt.Sprintf("the anchor holds a head of %d records of %s that the ledger's key does not lead to: it is signed by %s",
			e.Head.Size, at, strings.Join(SignedBy(e.Signed), ", "))
	}
	return fmt.Sprintf("the ledger contradicts its anchor: the first %d of its %d records are not those of the head that was kept on %s",
		e.Head.Size, e.Records, at)
}

// keptHead is a head from elsewhere, whose signature was not looked at yet.
type keptHead struct {
	Head
	signed []byte
}

// parseKept reads heads from elsewhere, the largest first. What is no head is left out.
func parseKept(heads [][]byte) []keptHead {
	var out []keptHead
	for _, signed := range heads {
		if h, err := PeekHead(signed); err == nil {
			out = append(out, keptHead{h, signed})
		}
	}
	slices.SortStableFunc(out, func(a, b keptHead) int { return cmp.Compare(b.Size, a.Size) })
	return out
}

// Comparison is what a ledger agrees with.
type Comparison struct {
	// Largest is the largest head that the ledger agrees with; nil where there is none.
	Largest *Head
	// GivenUp is how many larger heads are of records that an operator has given up.
	GivenUp int
}

// CompareHeads holds the ledger against heads that were kept elsewhere, in any order: against the largest of
// them that is not of records which an operator has given up (AcceptRestored). The error is an *AnchorError where
// the ledger is behind that head, has other records, or has a key that the head's key does not lead to.
func (l *Ledger) CompareHeads(ctx context.Context, heads [][]byte) (c Comparison, err error) {
	kept := parseKept(heads)
	if len(kept) == 0 {
		return c, nil
	}
	ring, err := l.Keyring(ctx, l.signer.Load().public)
	if err != nil {
		return c, err
	}
	given, err := l.readRestored(ctx)
	if err != nil {
		return c, err
	}
	for _, k := range kept {
		if c.Largest != nil && k.Size < c.Largest.Size {
			break
		}
		if slices.ContainsFunc(given, func(b restoredBody) bool { return b.covers(k.Head) }) {
			c.GivenUp++
			continue
		}
		if err := l.compareHead(ctx, ring, k); err != nil {
			return c, err
		}
		c.Largest = &k.Head
	}
	return c, nil
}

// compareHead holds the ledger against one head.
func (l *Ledger) compareHead(ctx context.Context, ring *Keyring, k keptHead) error {
	size, newest := int64(0), l.newest.Load()
	if newest != nil {
		h, err := ring.ParseHead(*newest)
		if err != nil {
			return fmt.Errorf("newest head: %w", err)
		}
		size = h.Size
	}
	differs := &AnchorError{Kind: BadKey, Head: k.Head, Signed: k.signed, Records: size}
	if _, err := ring.ParseHead(k.signed); err != nil {
		return differs
	}
	if k.Size > size {
		differs.Kind = Rollback
		return differs
	}
	if k.Size == 0 {
		return nil
	}
	public := l.signer.Load().public
	c, err := l.ProveConsistency(ctx, k.signed, *newest, public)
	if err == nil {
		_, _, err = CheckConsistency(c, public)
	}
	if errors.Is(err, ErrProof) || errors.Is(err, ErrTampered) {
		differs.Kind = Fork
		return differs
	}
	return err
}

// readRestored reads the records of KindRestored.
func (l *Ledger) readRestored(ctx context.Context) ([]restoredBody, error) {
	list, err := l.readRecords(ctx, " WHERE id >= ? AND id < ? ORDER BY idx LIMIT ?", restoredRecord, restoredRecord+"~", maxHandovers)
	if err != nil {
		return nil, err
	}
	var out []restoredBody
	for _, rec := range list {
		var b restoredBody
		if rec.Kind == KindRestored && json.Unmarshal(rec.Body, &b) == nil {
			out = append(out, b)
		}
	}
	return out, nil
}

// AcceptRestored writes down that this ledger, which lacks records that the heads cover, is the one to go on
// with: a backup was restored. by names who says so. CompareHeads leaves out the heads of what is lacking from
// then on. It returns up to how many records they are.
func (l *Ledger) AcceptRestored(ctx context.Context, heads [][]byte, by string) (newest int64, err error) {
	b := restoredBody{V: 1, Until: l.now().UTC(), By: by}
	ring, err := l.Keyring(ctx, l.signer.Load().public)
	if err != nil {
		return 0, err
	}
	kept := parseKept(heads)
	if len(kept) > 0 {
		b.Newest = kept[0].Size
	}
	// What agrees with a head agrees with all smaller ones.
	i := sort.Search(len(kept), func(i int) bool { return l.compareHead(ctx, ring, kept[i]) == nil })
	if i < len(kept) {
		b.Agreed = kept[i].Size
	}
	body, err := json.Marshal(b)
	if err != nil {
		return 0, fmt.Errorf("record of a restored backup: %w", err)
	}
	e := Entry{ID: restoredRecord + ids.New(), Time: b.Until, Kind: KindRestored, Body: body}
	if err := e.Validate(); err != nil {
		return 0, err
	}
	return b.Newest, l.store.Submit(ctx, func(tx *store.Tx) error {
		_, err := l.appendRecord(tx, e)
		return err
	})
}
