package snapshot

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomBytes are bytes that no words repeat in, the same for the same seed.
func randomBytes(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// An edit keeps most of a content, an encryption nothing; half is the border.
func TestKeepsLittle(t *testing.T) {
	text := []byte(strings.Repeat("one line of a text with some words\n", 3) + "func main() {\n\treturn\n}\n")
	big, small := randomBytes(1, 6<<20), randomBytes(2, 100_000)
	plain := bytes.ReplaceAll(bytes.ReplaceAll(randomBytes(3, 5<<20), []byte{' '}, []byte{'_'}), []byte{0}, []byte{'_'})
	for name, row := range map[string]struct {
		older, newer []byte
		want         bool
	}{
		"the same":              {text, text, false},
		"appended":              {text, append(bytes.Clone(text), "more\n"...), false},
		"prepended":             {text, append([]byte("more\n"), text...), false},
		"other blanks":          {text, bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n\t")), false},
		"another text":          {text, []byte(strings.Repeat("nothing in common here, or little\n", 4)), true},
		"as many random bytes":  {text, randomBytes(4, len(text)), true},
		"one word":              {[]byte("1.2.3\n"), []byte("1.2.4\n"), false},
		"another word":          {[]byte("one"), []byte("two"), true},
		"nothing before":        {nil, text, false},
		"blanks before":         {make([]byte, 5000), text, false},
		"zeros after":           {text, make([]byte, len(text)), true},
		"more than half":        {small, small[:60_000], false},
		"less than half":        {small, append(bytes.Clone(small[:40_000]), randomBytes(5, 60_000)...), true},
		"big, the same":         {big, big, false},
		"big, moved":            {big, append([]byte("x"), big...), false},
		"big, encrypted":        {big, randomBytes(6, len(big)), true},
		"big, most encrypted":   {big, append(randomBytes(6, 4<<20), big[4<<20:]...), true},
		"without blanks, moved": {plain, append([]byte("x"), plain...), false},
		"words repeated":        {text, bytes.Repeat([]byte("one line of a text\n"), 10), true},
	} {
		got, err := keepsLittle(t.Context(), bytes.NewReader(row.older), int64(len(row.older)), bytes.NewReader(row.newer), int64(len(row.newer)))
		require.NoError(t, err, name)
		require.Equal(t, row.want, got, name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := keepsLittle(ctx, bytes.NewReader(text), 10, bytes.NewReader(text), 10)
	require.ErrorIs(t, err, context.Canceled)
}

// What is written over counts together with what is removed, by number and by share; few
// files that are made again don't.
func TestOverwrittenFiles(t *testing.T) {
	limit := MaxDeleted{Files: 50, Percent: 20}
	for name, row := range map[string]struct {
		files  int
		script string
		want   int
		many   bool
	}{
		"three of ten":        {10, "for i in 1 2 3; do echo other >$i; done", 3, true},
		"two of ten":          {10, "for i in 1 2; do echo other >$i; done", 0, false},
		"two and one removed": {10, "for i in 1 2; do echo other >$i; done; rm 3", 2, true},
		"three of a hundred":  {100, "for i in 1 2 3; do echo other >$i; done", 0, false},
		"fifty-one of many":   {300, "for i in {1..51}; do echo other >$i; done", 51, true},
		"with the removed":    {300, "for i in {1..30}; do echo other >$i; done; rm {31..51}", 30, true},
		"edited":              {10, "for i in {1..10}; do echo x >>$i; done", 0, false},
	} {
		s := newSite(t, false)
		runDirectly(t, s.root, "for i in $(seq "+strconv.Itoa(row.files)+"); do echo first $i >$i; done")
		l := s.open(t)
		runIn(t, l, row.script)
		f, err := l.Findings(t.Context(), listChanges(t, l), limit)
		require.NoError(t, err)
		require.Len(t, f.Overwritten, row.want, name)
		require.Equal(t, row.many, f.TooMany, name)
	}
}
