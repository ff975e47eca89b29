package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/vedette-dev/vedette/internal/plainjson"
	"github.com/vedette-dev/vedette/orchestrator"
	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/problem"
	"github.com/vedette-dev/vedette/sentinel/approval"
)

// comeBack is when a reader whose stream ended comes back, in milliseconds.
const comeBack = "retry: 3000\n\n"

// sent is one event of a stream.
type sent struct {
	id   string // a reader names it when it comes back; empty keeps the one before
	kind string // a word of ours
	data any
}

// streams are the streams that are open.
type streams struct{ *API }

// openStream takes a place for a stream of a principal. done gives it back. One principal has half of all places
// at most, so that there are some for the others.
func (a streams) openStream(principal string) (done func(), err error) {
	a.streamLock.Lock()
	defer a.streamLock.Unlock()
	switch {
	case a.streamsOpen >= a.o.Streams:
		return nil, problem.New(problem.Overloaded, "too many streams are open").Later(crowdedFor)
	case a.streamsOf[principal] >= max(1, a.o.Streams/2):
		return nil, problem.New(problem.Overloaded, "the token has too many streams open").Later(crowdedFor)
	}
	a.streamsOpen++
	a.streamsOf[principal]++
	return func() { a.closeStream(principal) }, nil
}

// closeStream gives a place back.
func (a streams) closeStream(principal string) {
	a.streamLock.Lock()
	defer a.streamLock.Unlock()
	a.streamsOpen--
	if a.streamsOf[principal]--; a.streamsOf[principal] == 0 {
		delete(a.streamsOf, principal)
	}
}

// serveStream answers a request with the events of a source, until the source ends, the reader leaves
// or the API closes. The source ends with its context.
func serveStream(a *API, operation string, c huma.Context, open func(context.Context) (<-chan sent, error)) {
	r, w := humago.Unwrap(c)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	p, _ := access.FromContext(ctx) // admit has looked
	done, err := streams{a}.openStream(p.ID)
	if err != nil {
		problem.Write(w, r, nameMistake(a.explainFailure(ctx, operation, err)))
		return
	}
	defer done()
	source, err := open(ctx)
	if err != nil {
		problem.Write(w, r, nameMistake(a.explainFailure(ctx, operation, err)))
		return
	}
	streams{a}.writeEvents(ctx, w, source)
	cancel()
	for range source { // what feeds it has ended when this has
	}
}

// relay feeds a source from a goroutine of its own, which ends when produce does: tell reports
// false once the context has ended.
func relay(ctx context.Context, a *API, produce func(tell func(sent) bool)) <-chan sent {
	source := make(chan sent)
	go func() {
		defer close(source)
		defer func() {
			if recover() != nil {
				a.o.Log.Error("a stream broke; please report it",
					"request_id", problem.RequestID(ctx), "stack", string(debug.Stack()))
			}
		}()
		produce(func(e sent) bool {
			select {
			case source <- e:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return source
}

// writeEvents writes events as they come, and comments where none do.
func (a streams) writeEvents(ctx context.Context, w http.ResponseWriter, source <-chan sent) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := streamWriter{w: w, control: http.NewResponseController(w)}
	if out.write([]byte(comeBack)) != nil {
		return
	}
	beat := time.NewTicker(a.o.Beat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-a.base.Done():
			return
		case <-beat.C:
			err = out.write([]byte(": open\n\n"))
		case e, more := <-source:
			if !more {
				return
			}
			err = out.writeEvent(e)
		}
		if err != nil { // the reader left or doesn't read
			return
		}
	}
}

// streamWriter writes to one reader.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

// writeEvent writes one event. JSON has no line ends outside of its strings' escapes, so its text
// can't begin a field.
func (s *streamWriter) writeEvent(e sent) error {
	data, err := plainjson.Marshal(e.data)
	if err != nil {
		return err
	}
	b := s.buf[:0]
	if e.id != "" {
		b = append(append(append(b, "id: "...), e.id...), '\n')
	}
	b = append(append(append(b, "event: "...), e.kind...), "\ndata: "...)
	b = append(append(b, data...), "\n\n"...)
	if cap(b) <= maxBuffered {
		s.buf = b
	}
	return s.write(b)
}

// maxBuffered is how much room a stream keeps for its next event, in bytes.
const maxBuffered = 4 << 10

// write sends bytes. How long it waits for the reader to make room, the server in front says.
func (s *streamWriter) write(b []byte) error {
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.control.Flush()
}

var (
	problemType = reflect.TypeFor[problem.Problem]()
	changeType  = reflect.TypeFor[approval.Change]()
)

// describeStream is the response of an operation that streams events of the kinds.
func describeStream(schema *huma.Schema, description string) *huma.Response {
	return &huma.Response{
		Description: description,
		Content:     map[string]*huma.MediaType{formEvents: {Schema: schema}},
	}
}

// readEventID reads the id after which a reader goes on: of the header where the reader came
// back, otherwise of the query.
func readEventID(header, query string) (int64, error) {
	text := cmp.Or(header, query, "0")
	if text == "now" {
		return orchestrator.EventsFromNow, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, problem.New(problem.BadRequest, "the id of the last event is a number that a stream gave")
	}
	return n, nil
}
