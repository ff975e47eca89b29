//go:build unix

package credential

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/vedette-dev/vedette/skills"
)

const secret = "SECRET-of-alice"

func find(t *testing.T, b *Book, name, user string) (string, error) {
	t.Helper()
	return b.Credential(t.Context(), name, skills.Caller{User: user})
}

// A file is read for its user, for each call again, and for no other.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	b := New(Options{Sources: map[string]Source{"crm": {File: filepath.Join(dir, "{user}.token")}}})
	name := filepath.Join(dir, "alice@example.com.token")
	require.NoError(t, os.WriteFile(name, []byte(secret+"\n"), 0o600))
	got, err := find(t, b, "crm", "alice@example.com")
	require.NoError(t, err)
	require.Equal(t, secret, strings.TrimSpace(got))
	require.NoError(t, os.WriteFile(name, []byte("SECRET-changed"), 0o600))
	got, err = find(t, b, "crm", "alice@example.com")
	require.NoError(t, err)
	require.Equal(t, "SECRET-changed", got)
	for _, user := range []string{"", "Alice@example.com", "alice@example.com.", "alice", "../" + filepath.Base(dir) + "/alice@example.com",
		"./alice@example.com", "alice@example.com\x00"} {
		_, err := find(t, b, "crm", user)
		require.ErrorIs(t, err, errMissing, user)
	}
}

// A file that others can read, that is no regular file, or that is too large, is none.
func TestFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	b := New(Options{Sources: map[string]Source{"crm": {File: filepath.Join(dir, "{user}")}}})
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("open"), []byte(secret), 0o600))
	require.NoError(t, os.Chmod(at("open"), 0o640))
	require.NoError(t, os.WriteFile(at("good"), []byte(secret), 0o600))
	require.NoError(t, os.Symlink("good", at("link")))
	require.NoError(t, syscall.Mkfifo(at("pipe"), 0o600))
	require.NoError(t, os.Mkdir(at("folder"), 0o700))
	require.NoError(t, os.WriteFile(at("large"), make([]byte, skills.MaxCredential+1), 0o600))
	for _, user := range []string{"open", "link", "pipe", "folder", "large", "absent", strings.Repeat("x", 300)} {
		_, err := find(t, b, "crm", user)
		require.ErrorIs(t, err, errMissing, user)
	}
	_, err := find(t, b, "crm", "good")
	require.NoError(t, err)
}

// No id names another's file or variable, leaves the folder, or needs more than
// plain characters.
func TestNamesAreApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(`aA_.-%@/\0`)), 1, 6, -1))
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		require.Equal(t, a == b, strings.EqualFold(encodeFileName(a), encodeFileName(b)), "%q %q", encodeFileName(a), encodeFileName(b))
		require.Equal(t, a == b, encodeVariableName(a) == encodeVariableName(b), "%q %q", encodeVariableName(a), encodeVariableName(b))
		require.Empty(t, strings.Trim(encodeVariableName(a), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))
		require.Empty(t, strings.Trim(encodeFileName(a), "abcdefghijklmnopqrstuvwxyz0123456789-_@.%"))
		require.False(t, strings.HasPrefix(encodeFileName(a), ".") || strings.Contains(encodeFileName(a), ".."))
	})
	require.Equal(t, "alice_40example_2Ecom", encodeVariableName("alice@example.com"))
	require.Equal(t, "%41lice@example.com", encodeFileName("Alice@example.com"))
}

type program func(context.Context, string, skills.Caller) (string, error)

func (p program) Credential(ctx context.Context, name string, c skills.Caller) (string, error) {
	return p(ctx, name, c)
}

// Variables and the program are asked for one user; a program that isn't there has
// none.
func TestOtherPlaces(t *testing.T) {
	o := Options{Sources: map[string]Source{"gh": {Env: "GH_{user}"}, "pay": {Program: true}},
		Env: func(name string) (string, bool) { return secret, name == "GH_alice_2D1" }}
	b := New(o)
	require.Equal(t, []string{"gh", "pay"}, b.Names())
	got, err := find(t, b, "gh", "alice-1")
	require.NoError(t, err)
	require.Equal(t, secret, got)
	for _, row := range [][2]string{{"gh", "alice_2D1"}, {"gh", "alice"}, {"pay", "alice-1"}, {"no", "alice-1"}} {
		_, err = find(t, b, row[0], row[1])
		require.ErrorIs(t, err, errMissing)
	}
	refused := errors.New("no")
	o.Program = program(func(_ context.Context, name string, c skills.Caller) (string, error) {
		if c.User == "alice-1" && name == "pay" {
			return secret, nil
		}
		return "", refused
	})
	got, err = find(t, New(o), "pay", "alice-1")
	require.NoError(t, err)
	require.Equal(t, secret, got)
	_, err = find(t, New(o), "pay", "bob")
	require.ErrorIs(t, err, refused)
}
