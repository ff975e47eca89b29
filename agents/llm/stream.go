package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Piece is a part of an answer's text, as Request.Follow is told it.
type Piece struct {
	Text string
	// Withdrawn says that the text so far is not the answer: a call or a refusal followed
	// it, or the answer broke off. It has no Text.
	Withdrawn bool
}

// The bounds of a stream beside those of an answer.
const (
	maxStreamCalls = 256
	firstLine      = 4 << 10 // bytes of room for a line, before more have come
)

// endOfStream is the data of the last event.
const endOfStream = "[DONE]"

// errStreamEnd stops the reading of a stream at its end.
var errStreamEnd = errors.New("the stream has ended")

// streamedAnswer is an answer that comes in chunks. It ends with a finish reason and
// [DONE], or it is none: what came without them may be half of what the model meant.
type streamedAnswer struct {
	answer
	arguments []*strings.Builder // of its calls
	follow    func(Piece)
	text      string // that the chunk adds
	told      bool   // a piece of the text
	calls     bool   // a call or a refusal was begun
}

// delta is what a chunk adds to the first choice.
type delta struct {
	answer // content, refusal and finish reason
	index  string
	calls  []callDelta
}

// callDelta is what a chunk adds to a call.
type callDelta struct {
	ToolCall
	index string
}

// isEventStream reports whether a content type is that of events. A missing type is: the
// request asked for them.
func isEventStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "text/event-stream" || h.Get("Content-Type") == ""
}

// readStream reads a success that comes as events, within the limits of size and time.
func (x *exchange) readStream(ctx context.Context, res *http.Response) *Error {
	s := streamedAnswer{follow: x.follow}
	s.document = newDocument(nil, nil)
	err := readEvents(io.LimitReader(res.Body, x.limit+1), x.limit, func(data []byte) error {
		return s.addChunk(data, func() bool { return hasEnded(ctx) })
	})
	s.assemble()
	x.answer, x.told = s.Response, s.told && !s.calls
	switch {
	case errors.Is(err, errStreamEnd) && s.FinishReason == "":
		return &Error{Kind: KindBadResponse, Code: CodeShape, msg: "the stream ended without a finish reason"}
	case errors.Is(err, errStreamEnd):
		return s.checkAnswer()
	case errors.Is(err, errTooLong):
		return &Error{Kind: KindTooLarge, msg: "the answer is longer than the limit"}
	case errors.Is(err, errDocument), errors.Is(err, errBeyond), errors.Is(err, errEnded), s.failed, s.odd:
		return s.checkAnswer()
	}
	return &Error{Kind: KindConnect, msg: "the stream broke off within the answer"}
}

// errTooLong is a stream beyond its limit.
var errTooLong = errors.New("the stream is longer than the limit")

// errChunk is a chunk that makes the stream no answer; which way stands in the answer.
var errChunk = errors.New("the chunk is no part of an answer")

// readEvents gives the data of each event to take, until it returns an error. It returns
// that error, errTooLong, or nil at the end of the body.
func readEvents(body io.Reader, limit int64, take func(data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, firstLine), int(min(limit, 1<<30))+1)
	var data []byte
	var read int64
	some := false
	for lines.Scan() {
		line := lines.Bytes() // without \n or \r\n
		if read += int64(len(line)) + 1; read > limit {
			return errTooLong
		}
		if len(line) == 0 {
			if some {
				if err := take(data); err != nil {
					return err
				}
			}
			data, some = data[:0], false
			continue
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok { // a comment, an id, a name: the data says it all
			continue
		}
		if some {
			data = append(data, '\n')
		}
		data, some = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return errTooLong
	case err != nil:
		return err
	case some: // the last event lacks its empty line
		return take(data)
	}
	return nil
}

// addChunk adds one chunk to the answer.
func (s *streamedAnswer) addChunk(data []byte, ended func() bool) error {
	switch {
	case string(data) == endOfStream:
		return errStreamEnd
	case len(data) == 0: // it keeps the connection alive
		return nil
	}
	d := newDocument(data, ended)
	s.dec, s.ended, s.err = d.dec, ended, nil
	s.readObject(s.readChunkField)
	if s.checkEnd(); s.err != nil {
		return s.err
	}
	if s.failed || s.odd {
		return errChunk
	}
	s.tellPiece()
	return nil
}

// readChunkField reads one field of a chunk.
func (s *streamedAnswer) readChunkField(name string) {
	if name != "choices" {
		s.readTopField(name)
		return
	}
	s.readArray(func(int) {
		if s.peekKind() != '{' {
			s.skipOddValue()
			return
		}
		d := delta{answer: answer{document: s.document}}
		s.readObject(d.readField)
		s.addDelta(&d)
	})
}

// readField reads one field of a chunk's choice.
func (d *delta) readField(name string) {
	switch name {
	case "index":
		d.index, _ = d.readNumber()
	case "delta":
		d.readObject(func(name string) {
			switch name {
			case "role":
				if role, ok := d.readText(); ok && role != RoleAssistant && role != "" {
					d.odd = true
				}
			case "tool_calls":
				d.readArray(func(int) { d.readCallDelta() })
			default:
				d.readMessageField(name)
			}
		})
	case "message": // of an answer that is no stream
		d.skipOddValue()
	default:
		d.readChoiceField(name)
	}
}

// readCallDelta reads what a chunk adds to a call.
func (d *delta) readCallDelta() {
	if d.peekKind() != '{' {
		d.skipOddValue()
		return
	}
	var c callDelta
	d.readObject(func(name string) {
		switch name {
		case "index":
			c.index, _ = d.readNumber()
		case "id":
			c.ID, _ = d.readText()
		case "type":
			if t, ok := d.readText(); ok && t != "function" && t != "" {
				d.odd = true
			}
		case "function":
			d.readObject(func(name string) {
				switch name {
				case "name":
					c.Name, _ = d.readText()
				case "arguments":
					c.Arguments, _ = d.readText()
				default:
					d.skipValue()
				}
			})
		default:
			d.skipValue()
		}
	})
	d.calls = append(d.calls, c)
}

// addDelta adds what a chunk says of the first choice. Others are counted, and not read.
func (s *streamedAnswer) addDelta(d *delta) {
	n, err := strconv.Atoi(d.index)
	if d.index != "" && (err != nil || n < 0) {
		s.odd = true
		return
	}
	s.Choices = max(s.Choices, min(n, maxUsage)+1)
	if n > 0 {
		return
	}
	text, refusal := d.Content+d.said.String(), d.Refusal+d.refused.String()
	if s.FinishReason != "" { // it had ended
		s.odd = s.odd || text != "" || refusal != "" || len(d.calls) > 0 || d.FinishReason != "" && d.FinishReason != s.FinishReason
		return
	}
	s.failed = s.failed || d.failed
	if s.choiceCode == "" {
		s.choiceCode = d.choiceCode
	}
	s.FinishReason = d.FinishReason
	s.said.WriteString(text)
	s.refused.WriteString(refusal)
	for _, c := range d.calls {
		s.addCall(c)
	}
	s.text += text
	if (refusal != "" || len(d.calls) > 0) && !s.calls {
		s.calls = true
		if s.told {
			s.follow(Piece{Withdrawn: true})
		}
	}
}

// addCall begins a call, or adds to one. A call is begun by an index that is new, or, where a
// server sends none, by an id. Its name comes once.
func (s *streamedAnswer) addCall(c callDelta) {
	last := len(s.ToolCalls) - 1
	at := last
	if n, err := strconv.Atoi(c.index); c.index != "" && err == nil {
		at = n
	} else if last < 0 || c.ID != "" && c.ID != s.ToolCalls[last].ID {
		at = last + 1
	}
	switch {
	case at < 0 || at > last+1 || at >= maxStreamCalls:
		s.odd = true
	case at == last+1:
		s.odd = s.odd || c.Name == ""
		s.ToolCalls = append(s.ToolCalls, c.ToolCall)
		s.arguments = append(s.arguments, &strings.Builder{})
		s.arguments[at].WriteString(c.Arguments)
	default:
		k := &s.ToolCalls[at]
		s.odd = s.odd || c.Name != "" && c.Name != k.Name || c.ID != "" && k.ID != "" && c.ID != k.ID
		if k.ID == "" {
			k.ID = c.ID
		}
		s.arguments[at].WriteString(c.Arguments)
	}
}

// assemble puts together what came in pieces.
func (s *streamedAnswer) assemble() {
	s.Content, s.Refusal = s.said.String(), s.refused.String()
	for i, a := range s.arguments {
		s.ToolCalls[i].Arguments = a.String()
	}
}

// tellPiece tells the caller of the text of a chunk. Text beside calls is no answer.
func (s *streamedAnswer) tellPiece() {
	if s.text != "" && !s.calls {
		s.told = true
		s.follow(Piece{Text: s.text})
	}
	s.text = ""
}

// tellWhole tells the caller of an answer that came in one piece although a stream was asked
// for.
func (x *exchange) tellWhole() {
	if r := x.answer; r.Content != "" && r.Refusal == "" && len(r.ToolCalls) == 0 {
		x.told = true
		x.follow(Piece{Text: r.Content})
	}
}
