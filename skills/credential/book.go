// Package credential finds what a user's calls authenticate with: in a variable of
// the environment, in a file per user, or by the program's own resolver.
//
//	credentials:
//	  github:  {env: "GITHUB_TOKEN_{user}"}
//	  crm:     {file: "./credentials/crm/{user}"}
//	  payroll: {program: true}
//
// The package isn't stable: docs/api.md lists those that are.
//
// A user's id is hostile text. In a file's name lower-case letters, digits, "-",
// "_", "@" and inner dots stand for themselves, and every other byte is written
// %XX. In a variable's name letters and digits stand for themselves, and every
// other byte, "_" too, is written _XX: alice@example.com is
// alice_40example_2Ecom. So no two users share a name, whatever the file system
// folds, and no id leaves the folder.
//
// A file must be a regular one, of this process's user or of root, and open to
// no other account (0600). It is read for each call: a change holds at once. Links are
// not followed in its last part.
//
// Don't put the folder into a guard root: that is a configuration error.
package credential

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/skills"
)

// Place stands for the user in the pattern of a Source.
const Place = "{user}"

// Source says where one credential is. Exactly one field is set.
type Source struct {
	// Env is the name of a variable with Place in it.
	Env string
	// File is an absolute path with Place in its last part.
	File string
	// Program asks Options.Program.
	Program bool
}

// Options configures New.
type Options struct {
	// Sources are the credentials by name.
	Sources map[string]Source
	// Program is asked for sources that say so. If nil, those are missing.
	Program skills.CredentialResolver
	// Env looks a variable up. If nil, os.LookupEnv.
	Env func(name string) (string, bool)
}

// Book finds credentials. It keeps none, and is safe for concurrent use.
type Book struct{ o Options }

// New returns a Book.
func New(o Options) *Book {
	if o.Env == nil {
		o.Env = os.LookupEnv
	}
	return &Book{o}
}

// Names implements skills.Credentials.
func (b *Book) Names() []string { return slices.Sorted(maps.Keys(b.o.Sources)) }

// errMissing is all that is said of what isn't there.
var errMissing = errors.New("there is no such credential")

// Credential implements skills.CredentialResolver. Its error holds no id and no
// value.
func (b *Book) Credential(ctx context.Context, name string, c skills.Caller) (string, error) {
	s, known := b.o.Sources[name]
	switch {
	case !known || c.User == "":
		return "", errMissing
	case s.Program && b.o.Program != nil:
		return b.o.Program.Credential(ctx, name, c)
	case s.Env != "":
		if v, ok := b.o.Env(strings.ReplaceAll(s.Env, Place, encodeVariableName(c.User))); ok {
			return v, nil
		}
	case s.File != "":
		return readOwnFile(filepath.Dir(s.File), strings.ReplaceAll(filepath.Base(s.File), Place, encodeFileName(c.User)))
	}
	return "", errMissing
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// encodeVariableName writes an id as a part of a variable's name. No two ids have one
// name.
func encodeVariableName(user string) string {
	return encodeUserID(user, "_%02X", func(i int) bool { c := user[i]; return isDigit(c) || isLower(c|0x20) && c < 0x80 })
}

// encodeFileName writes an id as a part of a file's name. No two ids have one name, on
// file systems that fold case too.
func encodeFileName(user string) string {
	return encodeUserID(user, "%%%02x", func(i int) bool {
		c := user[i]
		inner := i > 0 && i < len(user)-1
		return isDigit(c) || isLower(c) || c == '-' || c == '_' || c == '@' || c == '.' && inner && user[i-1] != '.'
	})
}

func encodeUserID(user, escape string, plain func(int) bool) string {
	var b strings.Builder
	for i := range len(user) {
		if plain(i) {
			b.WriteByte(user[i])
			continue
		}
		fmt.Fprintf(&b, escape, user[i])
	}
	return b.String()
}
