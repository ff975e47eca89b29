package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/orchestrator/access"
	"github.com/vedette-dev/vedette/orchestrator/records/query"
	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/ledger"
)

// logs are the pages of the decision log, but for that of one decision.
type logs struct{ *Pages }

func (s logs) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /log", s.forScope(access.Review, s.onList))
	mux.HandleFunc("GET /log/events", s.forScope(access.Review, s.onEvents))
	mux.HandleFunc("GET /log/charts", s.forScope(access.Review, s.onCharts))
}

// logReads is how often the ledger is read for one page, 1,000 records each time: a page is short where few match.
const logReads = 3

// logView is the timeline.
type logView struct {
	// Query is the line that the reader wrote, with marks, and Problem what is wrong with it.
	Query, Problem string
	Rows           []logRow
	// Next is the next page, and Tail where new records come from; empty where there is none.
	Next, Tail string
}

// logRow is a record of the timeline.
type logRow struct {
	ID, Kind, Outcome, Gate, Code, Skill, Agent, User, Reason string
	At                                                        time.Time
	place                                                     int64
}

// newLogRow is a record as the page shows it.
func newLogRow(r *ledger.Record) logRow {
	var b struct {
		Reason string `json:"reason"`
	}
	if len(r.Body) > 0 {
		_ = json.Unmarshal(r.Body, &b) // a record that this version can't read has no reason
	}
	return logRow{r.ID, r.Kind, r.Outcome, r.Gate, r.Code, r.Skill, r.Agent, r.User, b.Reason, r.Time, r.Index}
}

// What heads a row: the skill, or the kind of what no skill was called for.
func (l logRow) Head() string {
	if l.Skill != "" {
		return l.Skill
	}
	return l.Kind
}

// IsDecision reports whether it is what its kind says by itself.
func (l logRow) IsDecision() bool { return l.Kind == sentinel.RecordDecision }

// reader is the ledger for reading.
func (s logs) reader() *ledger.Reader { return &s.o.Orchestrator.Parts().Ledger.Reader }

// readPlace reads a place in the ledger; nil where none is given. What is no place is the beginning.
func readPlace(text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// onList shows the timeline.
func (s logs) onList(w http.ResponseWriter, r *http.Request, v *visitor) {
	line, after := r.URL.Query().Get("q"), readPlace(r.URL.Query().Get("after"))
	out := logView{Query: markText(line)}
	q, err := query.Parse(line, s.o.Now())
	var mistake *query.Error
	if errors.As(err, &mistake) {
		out.Problem = mistake.Error()
		s.show(w, http.StatusUnprocessableEntity, "log", viewFor(v, "log", "Log", out))
		return
	}
	if err == nil {
		err = s.readTimeline(r.Context(), v, q, after, &out)
	}
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		s.showBroken(w, r, v, err)
	default:
		page := viewFor(v, "log", "Log", out)
		if after == nil {
			page.Refresh = 30
		}
		s.show(w, http.StatusOK, "log", page)
	}
}

// readTimeline reads one page of records that match, the newest first.
func (s logs) readTimeline(ctx context.Context, v *visitor, q query.Query, after *int64, out *logView) error {
	newest, err := s.reader().List(ctx, ledger.Query{Newest: true, Limit: 1})
	if err != nil {
		return err
	}
	address := url.Values{"q": {q.String()}}
	if after == nil {
		last := int64(-1)
		if len(newest) > 0 {
			last = newest[0].Index
			beyond := last + 1 // what comes meanwhile comes by the tail
			after = &beyond
		}
		address.Set("after", strconv.FormatInt(last, 10))
		out.Tail = "/log/events?" + address.Encode()
	}
	for range logReads {
		var page []ledger.Record
		if page, after, err = q.ReadPage(ctx, s.reader(), after, pageSize-len(out.Rows)); err != nil {
			return err
		}
		if page, err = s.conceal(ctx, v, page); err != nil {
			return err
		}
		for i := range page {
			out.Rows = append(out.Rows, newLogRow(&page[i]))
		}
		if after == nil || len(out.Rows) >= pageSize {
			break
		}
	}
	if after != nil {
		address.Set("after", strconv.FormatInt(*after, 10))
		out.Next = "/log?" + address.Encode()
	}
	return nil
}

// conceal leaves out what a reviewer must not see yet.
func (s logs) conceal(ctx context.Context, v *visitor, list []ledger.Record) ([]ledger.Record, error) {
	if !v.principal.May(access.Label) {
		return list, nil
	}
	return s.labels().Conceal(ctx, v.principal.Name, list)
}

// logEvent is a record as the page's script reads it. Its texts have marks in place of what no screen shows, and the
// script puts them down as text.
type logEvent struct {
	ID      string `json:"id"`
	Head    string `json:"head"`
	Kind    string `json:"kind,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	User    string `json:"user,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Gate    string `json:"gate,omitempty"`
	Code    string `json:"code,omitempty"`
	Reason  string `json:"reason,omitempty"`
	At      string `json:"at"`
}

// newLogEvent is a row for the script.
func newLogEvent(l logRow) logEvent {
	e := logEvent{l.ID, cutMarked(l.Head()), cutMarked(l.Kind), cutMarked(l.Outcome), cutMarked(l.User), cutMarked(l.Agent), cutMarked(l.Gate),
		cutMarked(l.Code), cutMarked(l.Reason), stampTime(l.At)}
	if l.IsDecision() {
		e.Kind = ""
	}
	return e
}

// cutMarked is a name as one text.
func cutMarked(s string) string {
	out := ""
	for _, p := range markName(s) {
		out += p.Text
	}
	return out
}

// onEvents streams records that match as they are written, until the browser leaves, the session ends or the pages
// close.
func (s logs) onEvents(w http.ResponseWriter, r *http.Request, v *visitor) {
	q, err := query.Parse(r.URL.Query().Get("q"), s.o.Now())
	if err != nil {
		http.Error(w, "The query can't be read.", http.StatusUnprocessableEntity)
		return
	}
	select {
	case s.followers <- struct{}{}:
		defer func() { <-s.followers }()
	default:
		w.Header().Set("Retry-After", "5")
		http.Error(w, "Too many pages follow.", http.StatusServiceUnavailable)
		return
	}
	last := readPlace(r.Header.Get("Last-Event-ID"))
	if last == nil {
		last = readPlace(r.URL.Query().Get("after"))
	}
	if last == nil {
		first := int64(-1)
		last = &first
	}
	out := newStream(w)
	if !out.write("retry: 3000\n\n") {
		return
	}
	s.tail(r.Context(), v, q, *last, out)
}

// tail writes records to a stream as they come.
func (s logs) tail(ctx context.Context, v *visitor, q query.Query, last int64, out stream) {
	look := time.NewTicker(tailBeat)
	defer look.Stop()
	for still := 0; ; still++ {
		page, now, err := q.ReadSince(ctx, s.reader(), last)
		if err == nil {
			page, err = s.conceal(ctx, v, page)
		}
		if err != nil || !s.isHere(v) {
			return // the browser comes back, and is told why it can't
		}
		for i := range page {
			data, err := json.Marshal(newLogEvent(newLogRow(&page[i])))
			if err != nil || !out.write(fmt.Sprintf("id: %d\ndata: %s\n\n", page[i].Index, data)) {
				return
			}
			still = 0
		}
		if more := now != last; more {
			last = now
			continue
		}
		if still%keepOpen == keepOpen-1 && !out.write(": open\n\n") {
			return
		}
		select {
		case <-look.C:
		case <-s.base.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// tailBeat is how often the ledger is looked at for a page that follows it.
const tailBeat = 500 * time.Millisecond

// stream is an answer of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// newStream begins such an answer.
func newStream(w http.ResponseWriter) stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return stream{w, http.NewResponseController(w)}
}

// write writes a part, and reports whether the browser takes it.
func (s stream) write(text string) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout)) // not every writer has one
	_, err := s.w.Write([]byte(text))
	return err == nil && s.control.Flush() == nil
}
