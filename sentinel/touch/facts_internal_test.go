package touch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is remembered of a program is what its tables say; a name that nobody
// listed counts as in all of them.
func TestAbout(t *testing.T) {
	s := newShell(&collector{}, "")
	for name, want := range facts {
		require.Equal(t, want.in, lookUp(name), name)
		require.Equal(t, want.in, s.about(name), name)
		use, known := useOf(name)
		gotUse, got := s.useOf(name)
		require.Equal(t, known, got, name)
		require.Equal(t, use, gotUse, name)
	}
	for _, name := range []string{"", "mkfs.ext4", "ld-linux-x86-64.so.2", "python3.11", "kafka-topics.sh", "nobody-knows-it"} {
		require.Equal(t, ^inUses, s.about(name), name)
		require.Equal(t, facts["echo"].in, s.about("echo"))
	}
}

// Room that commands share is theirs alone: appending to one piece never
// reaches the next.
func TestSpareRoom(t *testing.T) {
	c := &collector{}
	for n := range 40 {
		a, b := c.fields(n), c.fields(3)
		a = append(a[:n:n], field{text: "beyond"})
		require.Empty(t, b[:3][0].text)
		require.Len(t, a, n+1)
		w, x := c.words(n), c.words(2)
		w = append(w, "beyond")
		require.Equal(t, []string{"", ""}, x)
		require.Len(t, w, n+1)
	}
}
