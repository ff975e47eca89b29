// Package ids makes the ids of what is recorded: calls, decisions, grants, requests.
//
// An id is a UUID in its usual form of 36 characters. Names of temporary files, warrants,
// nonces and tokens aren't ids: their forms and lengths are their owners'.
package ids

import "github.com/google/uuid"

// New returns an id that no other has. Ids sort by the time at which they were made.
func New() string { return uuid.Must(uuid.NewV7()).String() }

// IsMade reports whether a text has the form of what New returns.
func IsMade(text string) bool {
	u, err := uuid.Parse(text)
	return err == nil && u.Version() == 7 && u.String() == text
}

// Space keeps ids that are derived from the same name for different purposes apart.
type Space = uuid.UUID

// Common is the space of ids whose names say what they are for.
var Common = uuid.NameSpaceOID

// Derive returns the id of a name in a space. It is the same each time, in each process.
func Derive(s Space, name string) string { return uuid.NewSHA1(s, []byte(name)).String() }
