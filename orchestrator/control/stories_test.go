//go:build unix

package control

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// teller is a process that tells one story.
type teller struct {
	process
	who []StoryReader
}

func (p *teller) ReadStory(_ context.Context, id string, who StoryReader) (Story, error) {
	switch id {
	case "0199":
		p.who = append(p.who, who)
		return Story{V: 1}, nil
	case "01":
		return Story{}, ledger.ErrAmbiguous
	}
	return Story{}, ledger.ErrNotFound
}

// A story is told over the socket in the name of the user at the other end; a process without any says so.
func TestStories(t *testing.T) {
	p := &teller{}
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := serveAt(t.Context(), path, p, Options{}, readPeer)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	c := Dial(path)
	told, err := c.ReadStory(t.Context(), "0199")
	require.NoError(t, err)
	require.Equal(t, 1, told.V)
	require.Equal(t, []StoryReader{{By: NameLocal(os.Getuid()), Via: ViaCommand}}, p.who)
	_, err = c.ReadStory(t.Context(), "01")
	require.ErrorIs(t, err, ErrRecordAmbiguous)
	_, err = c.ReadStory(t.Context(), "../v1/tokens")
	require.ErrorIs(t, err, ErrRecordUnknown)
	_, _, plain := serveFor(t, readPeer)
	_, err = plain.ReadStory(t.Context(), "0199")
	require.ErrorIs(t, err, ErrNoStories)
}
