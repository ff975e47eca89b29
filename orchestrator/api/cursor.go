package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/vedette-dev/vedette/orchestrator/problem"
)

// cursors makes and reads cursors. A cursor is a place in a list under a keyed digest, which
// binds it to the list, its filters and the principal: a forged one, or one of another list, is a
// bad request.
type cursors struct{ key [32]byte }

const (
	cursorSum = 16
	maxPlace  = 256
	maxCursor = (cursorSum + maxPlace + 2) / 3 * 4
)

// seal makes the cursor of a place. list names the list with all that chooses its entries.
func (c cursors) seal(place string, list ...string) string {
	return base64.RawURLEncoding.EncodeToString(append(c.sum(place, list), place...))
}

// open returns the place of a cursor. An empty one is the beginning.
func (c cursors) open(cursor string, list ...string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if len(cursor) > maxCursor || err != nil || len(b) < cursorSum || !hmac.Equal(b[:cursorSum], c.sum(string(b[cursorSum:]), list)) {
		return "", problem.New(problem.BadRequest, "the cursor is not one of this list; begin without one")
	}
	return string(b[cursorSum:]), nil
}

// sum is the keyed digest of a place in a list. Each part has its length before it.
func (c cursors) sum(place string, list []string) []byte {
	m := hmac.New(sha256.New, c.key[:])
	for _, part := range append([]string{"vedette/api/cursor", place}, list...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		m.Write(n[:])
		m.Write([]byte(part))
	}
	return m.Sum(nil)[:cursorSum]
}

// page is one page of a list.
type page[T any] struct {
	Body pageBody[T]
}

type pageBody[T any] struct {
	Data    []T  `json:"data" nullable:"false"`
	HasMore bool `json:"has_more" doc:"Whether there are more entries after these."`
	// Next is empty on the last page.
	Next string `json:"next_cursor,omitempty" doc:"Give it as after, with the same filters, to get the next page."`
}

// appendJSON writes a page whose entries write themselves; nil where they don't.
func (p pageBody[T]) appendJSON() []byte {
	b := []byte(`{"data":[`)
	for i := range p.Data {
		entry, ok := any(&p.Data[i]).(interface{ AppendJSON(b []byte) []byte })
		if !ok {
			return nil
		}
		if i == 0 {
			b = slices.Grow(b, entryRoom*len(p.Data))
		} else {
			b = append(b, ',')
		}
		b = entry.AppendJSON(b)
	}
	b = strconv.AppendBool(append(b, `],"has_more":`...), p.HasMore)
	if p.Next != "" { // letters, digits, - and _
		b = strconv.AppendQuote(append(b, `,"next_cursor":`...), p.Next)
	}
	return append(b, '}')
}

// entryRoom is about how long an entry of a list is.
const entryRoom = 640

// newPage cuts a list that was read one entry longer than asked for. place names an entry.
func newPage[T any](list []T, limit int, next func(last T) string) *page[T] {
	out := &page[T]{}
	if out.Body.HasMore = len(list) > limit; out.Body.HasMore {
		list = list[:limit]
		out.Body.Next = next(list[limit-1])
	}
	if out.Body.Data = list; list == nil {
		out.Body.Data = []T{}
	}
	return out
}
