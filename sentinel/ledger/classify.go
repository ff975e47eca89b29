package ledger

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// suspect is a record whose hash is not the one stored in its place.
type suspect struct {
	rec    Record
	stored tlog.Hash
}

// maxSuspects bounds what is kept to tell a swap from a change.
const maxSuspects = 256

// classifySuspects tells from the hashes that were stored what happened at the
// first suspect. They are no proof, but the head has told that something did.
func classifySuspects(s []suspect) (kind, detail string) {
	first := s[0]
	is := func(rec Record, at int64, stored tlog.Hash) bool {
		rec.Index = at
		return tlog.RecordHash(appendLeaf(nil, &rec)) == stored
	}
	for _, other := range s[1:] {
		there := is(first.rec, other.rec.Index, other.stored)
		here := is(other.rec, first.rec.Index, first.stored)
		switch {
		case there && here:
			return Swapped, fmt.Sprintf("stands in the place of record %d", other.rec.Index)
		case here && other.rec.Index == first.rec.Index+1:
			return Inserted, "was put in, and those behind it moved up"
		case there && other.rec.Index == first.rec.Index+1:
			return Removed, "is gone, and those behind it moved down"
		}
	}
	return Changed, "is not what was hashed"
}
