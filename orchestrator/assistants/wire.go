package assistants

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/sentinel"
)

// usage is what an answer came to. Servers of models tell the sum of a turn with all its agents. So
// completion_tokens is an estimate of the answer's own, and prompt_tokens the rest.
type usage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
}

// countUsage returns the usage of an answer.
func countUsage(s orchestrator.Spent, text string) usage {
	own := min(int64(utf8.RuneCountInString(text)+3)/4, s.Tokens)
	return usage{s.Tokens - own, own, s.Tokens}
}

// writer takes an answer as it comes.
type writer interface {
	// live reports whether what is written is read at once.
	live() bool
	// say adds text. The error is that of a reader who left or doesn't read.
	say(text string) error
	// beat keeps the answer open.
	beat() error
	// end ends the answer.
	end(s orchestrator.Spent)
	// fail ends it with an error.
	fail(f failure)
	// said is all the text so far.
	said() string
}

// head is what all answers of a request have in common.
type head struct {
	id      string
	created int64
	model   string
}

func newHead(model string, now time.Time) head {
	return head{"chatcmpl-" + sentinel.NewID(), now.Unix(), model}
}

// whole answers with one object.
type whole struct {
	head
	w    http.ResponseWriter
	text strings.Builder
}

func (o *whole) live() bool { return false }

func (o *whole) say(text string) error { o.text.WriteString(text); return nil }

func (o *whole) beat() error { return nil }

func (o *whole) said() string { return o.text.String() }

func (o *whole) fail(f failure) { writeFailure(o.w, f) }

func (o *whole) end(s orchestrator.Spent) {
	text := strings.TrimSpace(o.said())
	writeJSON(o.w, http.StatusOK, map[string]any{
		"id": o.id, "object": "chat.completion", "created": o.created, "model": o.model, "usage": countUsage(s, text),
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "logprobs": nil,
			"message": map[string]any{"role": "assistant", "content": text, "refusal": nil},
		}},
	})
}

// stream answers with server-sent events: the role first, one delta for each piece, the reason in a chunk of its own,
// the usage if asked for, and [DONE]. A chunk with an empty delta keeps it open: clients
// differ in what they make of comments.
type stream struct {
	head
	w       http.ResponseWriter
	control *http.ResponseController
	usage   bool
	begun   bool
	text    strings.Builder
}

// chunk is one event.
type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index  int     `json:"index"`
	Delta  delta   `json:"delta"`
	Finish *string `json:"finish_reason"`
}

type delta struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
}

func (o *stream) live() bool { return true }

func (o *stream) said() string { return o.text.String() }

func (o *stream) say(text string) error {
	if text == "" {
		return nil
	}
	o.text.WriteString(text)
	return o.send(choice{Delta: delta{Content: &text}})
}

func (o *stream) beat() error { return o.send(choice{}) }

// begin writes the header and the role.
func (o *stream) begin() error {
	if o.begun {
		return nil
	}
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	empty := ""
	return o.write(o.newChunk(choice{Delta: delta{Role: "assistant", Content: &empty}}))
}

// newChunk is an event of the answer.
func (o *stream) newChunk(list ...choice) chunk {
	if list == nil {
		list = []choice{}
	}
	return chunk{o.id, "chat.completion.chunk", o.created, o.model, list, nil}
}

// send writes one choice, after the role.
func (o *stream) send(c choice) error {
	if err := o.begin(); err != nil {
		return err
	}
	return o.write(o.newChunk(c))
}

func (o *stream) end(s orchestrator.Spent) {
	stop := "stop"
	if o.send(choice{Finish: &stop}) != nil {
		return
	}
	if o.usage {
		last, u := o.newChunk(), countUsage(s, o.said())
		last.Usage = &u
		if o.write(last) != nil {
			return
		}
	}
	_ = o.writeData([]byte("[DONE]")) // a client that left needs no end
}

// fail ends the stream with an error, or answers with it where nothing was sent.
func (o *stream) fail(f failure) {
	if !o.begun {
		writeFailure(o.w, f)
		return
	}
	_ = o.write(f)
}

// write writes an event.
func (o *stream) write(v any) error {
	b, err := plainjson.Marshal(v)
	if err != nil {
		return err
	}
	return o.writeData(b)
}

// writeData writes the data of an event. How long it waits for the client to take it, the server in front says.
func (o *stream) writeData(b []byte) error {
	if _, err := o.w.Write(append(append([]byte("data: "), b...), "\n\n"...)); err != nil {
		return err
	}
	return o.control.Flush()
}
