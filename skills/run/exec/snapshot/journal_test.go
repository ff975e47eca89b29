package snapshot

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawChange draws any change that a listing could make.
func drawChange(t *rapid.T) Change {
	types := []Type{None, File, Folder, Link, Socket, Pipe, Device}
	word := rapid.SampledFrom([]string{"", strings.Repeat("0a", 32)})
	part := rapid.Custom(func(t *rapid.T) string {
		raw := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "name")
		name := strings.NewReplacer("/", "_", "\x00", "_").Replace(string(raw))
		if name == "." || name == ".." {
			return "dots"
		}
		return name
	})
	return Change{
		Root: rapid.IntRange(0, 3).Draw(t, "root"), Path: strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "path"), "/"),
		Kind: rapid.SampledFrom([]Kind{Created, Changed, Deleted, Replaced, Attributes, Touched, kept}).Draw(t, "kind"),
		Type: rapid.SampledFrom(types).Draw(t, "type"), Was: rapid.SampledFrom(types).Draw(t, "was"),
		Mode: rapid.Uint32Range(0, 0o7777).Draw(t, "mode"), WasMode: rapid.Uint32Range(0, 0o7777).Draw(t, "wasmode"),
		Size: rapid.Int64Range(0, 1<<62).Draw(t, "size"), WasSize: rapid.Int64Range(0, 1<<62).Draw(t, "wassize"),
		Lost: rapid.IntRange(0, 1<<40).Draw(t, "lost"), SHA256: word.Draw(t, "sum"), Listing: word.Draw(t, "listing"),
		Attrs:  word.Draw(t, "attrs"),
		Target: string(rapid.SliceOfN(rapid.Byte(), 0, 30).Draw(t, "target")), HardLinked: rapid.Bool().Draw(t, "linked"),
		Stripped: rapid.SampledFrom([]string{"", "setuid", "setuid,setgid"}).Draw(t, "stripped"),
	}
}

// A journal reads back as it was written, whatever the names are.
func TestJournal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := journal{digest: "sha256:" + strings.Repeat("0", 64), left: rapid.IntRange(0, 9).Draw(t, "left")}
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			j.steps = append(j.steps, step{Change: drawChange(t), upper: rapid.Uint64().Draw(t, "upper"),
				was: seen{rapid.Uint64().Draw(t, "ino"), rapid.Int64().Draw(t, "ctime")}})
		}
		got, err := decodeJournal(encodeJournal(j), 4)
		require.NoError(t, err)
		require.Equal(t, j, got)
		_, err = decodeJournal(encodeJournal(j), 0)
		require.Equal(t, len(j.steps) > 0, err != nil)
	})
}

// A journal of which one byte is other, or which was cut, isn't followed.
func TestDamagedJournal(t *testing.T) {
	raw := encodeJournal(journal{digest: "sha256:00", steps: []step{
		{Change: Change{Path: "a b/\"c", Kind: Created, Type: File, Mode: 0o644, Size: 3}, upper: 7},
		{Change: Change{Path: "d", Kind: Deleted, Was: Folder, Lost: 4}, was: seen{8, 9}},
	}})
	_, err := decodeJournal(raw, 1)
	require.NoError(t, err)
	for i := range raw {
		_, err := decodeJournal(raw[:i], 1)
		require.ErrorIs(t, err, ErrJournal)
		for _, b := range []byte{0, ' ', '\n', raw[i] ^ 1, raw[i] ^ 0x20} {
			if b == raw[i] {
				continue
			}
			other := append([]byte(nil), raw...)
			other[i] = b
			_, err := decodeJournal(other, 1)
			require.ErrorIs(t, err, ErrJournal)
		}
	}
}

// FuzzJournal: whatever is read is what would have been written, and stays in its root.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("created file - 0644 0000 3 0 0 - - - - - false \"a\" \"\""), uint64(1))
	f.Add([]byte("deleted - folder 0000 0755 0 9 2 - aa - - - true \"a/\\x1b\" \"../x\""), uint64(0))
	f.Add([]byte("kept folder folder 0555 0555 0 0 0 - - - - - false \"../etc\" \"\""), uint64(2))
	f.Fuzz(func(t *testing.T, line []byte, ino uint64) {
		if c, err := decodeChange(string(line)); err == nil {
			require.Equal(t, string(line), encodeChange(c))
			require.NotContains(t, strings.Split(c.Path, "/"), "..")
			require.False(t, strings.HasPrefix(c.Path, "/"))
			j := journal{digest: "d", steps: []step{{Change: c, upper: ino}}}
			back, err := decodeJournal(encodeJournal(j), c.Root+1)
			require.Equal(t, c.Refused == "", err == nil)
			if err == nil {
				require.Equal(t, j, back)
			}
		}
		_, err := decodeJournal(line, 1)
		require.ErrorIs(t, err, ErrJournal)
	})
}
