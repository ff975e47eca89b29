package control

import (
	"context"
	"errors"
	"net/http"

	"github.com/vedette-dev/vedette/orchestrator/records/story"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

type (
	// Story is all that is kept of one call.
	Story = story.Story
	// StoryReader is who is shown values.
	StoryReader = story.Reader
)

// Errors of ReadStory.
var (
	// ErrNoStories is returned by a process that tells no stories.
	ErrNoStories = errors.New("the process shows no values")
	// ErrRecordUnknown is about an id that names no record.
	ErrRecordUnknown = ledger.ErrNotFound
	// ErrRecordAmbiguous is about the beginning of several ids.
	ErrRecordAmbiguous = ledger.ErrAmbiguous
)

// StoryBackend is a Backend whose process has a ledger and a journal. ReadStory puts the reading on
// record before it opens a value. Its errors are those of story.Teller.TellWithValues.
type StoryBackend interface {
	ReadStory(ctx context.Context, id string, who StoryReader) (Story, error)
}

// serveStories adds the path of stories.
func serveStories(s *Server, mux *http.ServeMux) {
	mux.HandleFunc("POST /v1/stories/{id}", s.newHandler(func(r *http.Request) (any, error) {
		b, ok := s.b.(StoryBackend)
		if !ok {
			return nil, ErrNoStories
		}
		return b.ReadStory(r.Context(), r.PathValue("id"), StoryReader{By: localName(r), Via: ViaCommand})
	}))
}

// The codes of errors about stories on the wire.
const (
	codeNoStories       = "no_stories"
	codeRecordUnknown   = "record_unknown"
	codeRecordAmbiguous = "record_ambiguous"
)

// storyErrors are the errors about stories that a code says all of.
var storyErrors = []plainError{
	{codeNoStories, http.StatusNotFound, ErrNoStories}, {codeRecordUnknown, http.StatusNotFound, ledger.ErrNotFound},
	{codeRecordAmbiguous, http.StatusConflict, ledger.ErrAmbiguous},
}

// encodeStoryError is an error about stories as it goes over the wire; ok is false for others.
func encodeStoryError(err error) (status int, f failed, ok bool) {
	for _, p := range storyErrors {
		if errors.Is(err, p.err) {
			return p.status, failed{Error: err.Error(), Code: p.code}, true
		}
	}
	return 0, failed{}, false
}
