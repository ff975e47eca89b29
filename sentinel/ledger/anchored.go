package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
// Heads of more, up to Newest, that were signed until Until are given up. That is of heads of Origin, those of the file
// that the record is in; Others are origins of which all heads signed until then are given up: those of files that
// the backup knows nothing of.
type restoredBody struct {
	V      int       `json:"v"`
	Agreed int64     `json:"agreed"`
	Newest int64     `json:"newest"`
	Until  time.Time `json:"until"`
	By     string    `json:"by,omitempty"`
	Origin string    `json:"origin,omitempty"`
	Others []string  `json:"others,omitempty"`
}

// covers reports whether a head is given up. A head of a time to come never is: a forged one could give up all.
func (b restoredBody) covers(h Head) bool {
	if h.Time.After(b.Until) {
		return false
	}
	return slices.Contains(b.Others, h.Origin) || h.Origin == b.Origin && h.Size > b.Agreed && h.Size <= b.Newest
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
	rank   int // of its origin
}

// parseKept reads heads from elsewhere, the largest first: those of later files before those of earlier ones, and
// before all those of which no key is known. What is no head is left out.
func parseKept(heads [][]byte, ring *Keyring) []keptHead {
	var out []keptHead
	for _, signed := range heads {
		h, err := PeekHead(signed)
		if err != nil {
			continue
		}
		k := keptHead{h, signed, math.MaxInt}
		if rank := ring.rankOf(h.Origin); rank >= 0 {
			k.rank = rank
		}
		out = append(out, k)
	}
	slices.SortStableFunc(out, func(a, b keptHead) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.Size, a.Size)) })
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
	if len(heads) == 0 {
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
	for _, k := range parseKept(heads, ring) {
		if c.Largest != nil && (k.Size < c.Largest.Size || k.Origin != c.Largest.Origin) {
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
	newest := l.newest.Load()
	differs := &AnchorError{Kind: BadKey, Head: k.Head, Signed: k.signed}
	if newest != nil {
		h, err := ring.ParseHead(*newest)
		if err != nil {
			return fmt.Errorf("newest head: %w", err)
		}
		differs.Records = h.Size
		if h.Origin != k.Origin && ring.knows(k.Origin) {
			return l.compareOlder(ctx, ring, k)
		}
	}
	if _, err := ring.ParseHead(k.signed); err != nil {
		return differs
	}
	return l.compareWithin(ctx, k, differs.Records, newest)
}

// compareWithin holds a head against the newest one of the same file, of so many records.
func (l *Ledger) compareWithin(ctx context.Context, k keptHead, size int64, newest *[]byte) error {
	differs := &AnchorError{Kind: Rollback, Head: k.Head, Signed: k.signed, Records: size}
	if k.Size > size {
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

// compareOlder holds a head of an earlier file against what the newest file says of it, and against the earlier
// file where that is there.
func (l *Ledger) compareOlder(ctx context.Context, ring *Keyring, k keptHead) error {
	list, err := l.Archives(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(a Archive) bool { return a.Origin == k.Origin })
	if i < 0 {
		return &AnchorError{Kind: BadKey, Head: k.Head, Signed: k.signed}
	}
	end, _ := PeekHead([]byte(list[i].Head)) // Archives has read it
	differs := &AnchorError{Kind: BadKey, Head: k.Head, Signed: k.signed, Records: end.Size}
	if _, err := ring.ParseHead(k.signed); err != nil {
		return differs
	}
	if k.Size == end.Size && k.Root != end.Root {
		differs.Kind = Fork
		return differs
	}
	p, err := l.partSigned(ctx, k.Origin)
	if errors.Is(err, ErrNotFound) { // the file is kept elsewhere: how it ended is all that is known here
		return nil
	}
	if err != nil {
		return err
	}
	newest, err := p.newestHead(ctx)
	if err != nil {
		return err
	}
	h, err := ring.ParseHead(newest)
	if err != nil {
		return fmt.Errorf("newest head of an archive: %w", err)
	}
	return l.compareWithin(ctx, k, h.Size, &newest)
}

// readRestored reads the records of KindRestored.
func (l *Ledger) readRestored(ctx context.Context) ([]restoredBody, error) {
	parts, err := l.listParts(ctx)
	if err != nil {
		return nil, err
	}
	var out []restoredBody
	for _, p := range parts {
		list, err := p.readRecords(ctx, " WHERE id >= ? AND id < ? ORDER BY idx LIMIT ?", restoredRecord, restoredRecord+"~", maxHandovers)
		if err != nil {
			return nil, err
		}
		for _, rec := range list {
			var b restoredBody
			if rec.Kind != KindRestored || json.Unmarshal(rec.Body, &b) != nil {
				continue
			}
			if b.Origin == "" { // of a version that had one file
				signed, err := p.newestHead(ctx)
				if err != nil {
					return nil, err
				}
				h, _ := PeekHead(signed)
				b.Origin = h.Origin
			}
			out = append(out, b)
		}
	}
	return out, nil
}

// AcceptRestored writes down that this ledger, which lacks records that the heads cover, is the one to go on
// with: a backup was restored. by names who says so. CompareHeads leaves out the heads of what is lacking from
// then on. It returns up to how many records they are.
func (l *Ledger) AcceptRestored(ctx context.Context, heads [][]byte, by string) (newest int64, err error) {
	signer := l.signer.Load()
	b := restoredBody{V: 1, Until: l.now().UTC(), By: by, Origin: signer.signer.Name()}
	ring, err := l.Keyring(ctx, signer.public)
	if err != nil {
		return 0, err
	}
	kept := parseKept(heads, ring)
	// What agrees with a head agrees with all smaller ones.
	i := sort.Search(len(kept), func(i int) bool { return l.compareHead(ctx, ring, kept[i]) == nil })
	for _, k := range kept[:i] {
		newest = max(newest, k.Size)
		if k.Origin == b.Origin {
			b.Newest = max(b.Newest, k.Size)
		} else if !slices.Contains(b.Others, k.Origin) {
			b.Others = append(b.Others, k.Origin)
		}
	}
	if i < len(kept) && kept[i].Origin == b.Origin {
		b.Agreed = kept[i].Size
	}
	if i == 0 && len(kept) > 0 { // nothing is given up
		newest = kept[0].Size
	}
	body, err := json.Marshal(b)
	if err != nil {
		return 0, fmt.Errorf("record of a restored backup: %w", err)
	}
	e := Entry{ID: restoredRecord + ids.New(), Time: b.Until, Kind: KindRestored, Body: body}
	if err := e.Validate(); err != nil {
		return 0, err
	}
	return newest, l.store.Submit(ctx, func(tx *store.Tx) error {
		_, err := l.appendRecord(tx, e)
		return err
	})
}
