package scripted

import (
	"net/http"
	"slices"
)

// Received is one chat request. What stands below Body is empty where the
// request could not be read.
type Received struct {
	// Number counts chat requests from 1.
	Number int
	// Header is the request's, credentials included, and Body what came, byte for
	// byte. Neither must be written to.
	Header http.Header
	Body   []byte
	Model  string
	Stream bool
	// Format is text, json_object or json_schema; Schema the schema's name.
	Format, Schema string
	// Tools are the names of the tools on offer. Choice is auto, none, required,
	// the name of the tool that is forced, or empty.
	Tools  []string
	Choice string
}

// Requests returns copies of the bodies of the newest chat requests as they were
// received, oldest first, refused ones included.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([][]byte, 0, len(s.kept))
	for _, r := range s.kept {
		all = append(all, slices.Clone(r.Body))
	}
	return all
}

// Received returns the newest chat requests with what was read of them, oldest
// first, refused ones included.
func (s *Server) Received() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Received, 0, len(s.kept))
	for _, r := range s.kept {
		all = append(all, *r)
	}
	return all
}

// keepRequest stores a request, drops the oldest beyond the limits, and numbers the
// request.
func (s *Server) keepRequest(r *http.Request, body []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	s.kept, s.size = append(s.kept, &Received{Number: s.number, Header: r.Header.Clone(), Body: body}), s.size+len(body)
	for len(s.kept) > s.opts.Keep || s.size > maxKeptBytes {
		s.size -= len(s.kept[0].Body)
		s.kept[0] = nil
		s.kept = s.kept[1:]
	}
	return s.number
}

// noteRequest notes what a kept request asks for, and returns it.
func (s *Server) noteRequest(t *turn, r *chatRequest) Received {
	got := Received{
		Number: t.number, Header: t.r.Header, Body: t.body,
		Model: r.Model, Stream: r.Stream, Format: r.answerFormat(), Choice: r.toolChoiceWord(),
	}
	if f := r.ResponseFormat; f != nil && f.JSONSchema != nil {
		got.Schema = f.JSONSchema.Name
	}
	for _, tool := range r.Tools {
		got.Tools = append(got.Tools, tool.Function.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// The numbers of what is kept follow each other.
	if i := len(s.kept) - 1 - (s.number - t.number); i >= 0 {
		*s.kept[i] = got
	}
	return got
}
