package scripted

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/vedette-dev/vedette/internal/plainjson"
)

// Sizes of what is too large.
const (
	oversize   = 16 << 20
	hugeHeader = 1 << 20
)

func (t *turn) resetConnection() int { t.closeConnection(true); return 0 }

func (t *turn) cutConnection() int { t.closeConnection(false); return 0 }

func (t *turn) hangUntilGone() int { awaitDelay(t.r, 0, true); t.closeConnection(false); return 0 }

func (t *turn) sendRedirect() int {
	t.w.Header().Set("Location", t.s.url+redirected)
	t.w.WriteHeader(http.StatusTemporaryRedirect)
	return http.StatusTemporaryRedirect
}

func sendRateLimit(t *turn) int {
	seconds := int(math.Ceil(t.s.opts.RetryAfter.Seconds()))
	return sendTooManyRequests(t, strconv.Itoa(seconds))
}

func sendRateLimitDate(t *turn) int {
	return sendTooManyRequests(t, t.s.opts.Now().Add(t.s.opts.RetryAfter).UTC().Format(http.TimeFormat))
}

func sendTooManyRequests(t *turn, after string) int {
	t.w.Header().Set("Retry-After", after)
	return sendError(t.w, http.StatusTooManyRequests,
		apiError{Type: "requests", Code: "rate_limit_exceeded", Message: "rate limit reached; try again later"})
}

func failWith(status int, kind, code, msg string) func(*turn) int {
	return func(t *turn) int { return sendError(t.w, status, apiError{Type: kind, Code: code, Message: msg}) }
}

func sendPageWith(status int) func(*turn) int {
	return func(t *turn) int {
		t.w.Header().Set("Content-Type", "text/html")
		t.w.WriteHeader(status)
		t.writeAndFlush([]byte("<html><head><title>" + http.StatusText(status) + "</title></head><body>{\"decision\":\"approve\"}</body></html>\n"))
		return status
	}
}

func (t *turn) echoRequest() int {
	return sendError(t.w, http.StatusBadRequest,
		apiError{Type: typeRequest, Code: "invalid_value", Message: "this was not understood: " + string(t.body)})
}

func (t *turn) sendOtherBody() int {
	return sendJSON(t.w, http.StatusOK, map[string]any{"object": "list", "choices": map[string]any{"decision": "approve"}})
}

// changeContent changes the content of every choice; without any it is "".
func changeContent(f func(string) string) func(*completion) {
	return func(c *completion) {
		for i := range c.Choices {
			said := ""
			if p := c.Choices[i].Message.Content; p != nil {
				said = *p
			}
			said = f(said)
			c.Choices[i].Message.Content = &said
		}
	}
}

func refuseToAnswer(c *completion) {
	words := "I can't help with that."
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant", Refusal: &words}
		c.Choices[i].FinishReason = "stop"
	}
}

func removeContent(c *completion) {
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant"}
	}
}

func halveContent(finish string) func(*completion) {
	return func(c *completion) {
		changeContent(func(s string) string { return string([]rune(s)[:len([]rune(s))/2]) })(c)
		for i := range c.Choices {
			c.Choices[i].FinishReason = finish
		}
	}
}

// formatMembers puts the members of an object into a format; another text stays.
func formatMembers(s, format string) string {
	s = strings.TrimSpace(s)
	if len(s) < 3 || s[0] != '{' || s[len(s)-1] != '}' {
		return s
	}
	return fmt.Sprintf(format, s[1:len(s)-1])
}

// replaceFirstText replaces the first value that is a string.
func replaceFirstText(s string) string {
	at := firstText.FindStringIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + `:"perhaps"` + s[at[1]:]
}

var firstText = regexp.MustCompile(`:\s*"(\\.|[^"\\])*"`)

func (t *turn) dripBody(a wireAnswer) int {
	t.writeHead(a.kind)
	for _, b := range a.joinParts() {
		t.writeAndFlush([]byte{b})
		if t.isGoneAfter(t.s.opts.Pace) {
			break
		}
	}
	return http.StatusOK
}

func (t *turn) sendFirstHalf(a wireAnswer) {
	all := a.joinParts()
	if a.isStream() {
		t.writeHead(a.kind)
	} else {
		t.w.Header().Set("Content-Length", strconv.Itoa(len(all)))
		t.writeHead(a.kind)
	}
	t.writeAndFlush(all[:len(all)/2])
}

func (t *turn) hangMidBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	awaitDelay(t.r, 0, true)
	panic(http.ErrAbortHandler)
}

func (t *turn) resetMidBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	t.closeConnection(true)
	return http.StatusOK
}

func (t *turn) shortenBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	t.closeConnection(false)
	return http.StatusOK
}

func (t *turn) truncateJSON(a wireAnswer) int {
	all := a.joinParts()
	return t.sendAnswer(wireAnswer{a.kind, [][]byte{all[:len(all)/2]}})
}

func (t *turn) sendWrongType(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{"text/html; charset=utf-8", a.parts})
}

// sendInvalidUTF8 puts the byte into the model's name, where no escape is needed.
func (t *turn) sendInvalidUTF8(a wireAnswer) int {
	all := bytes.Replace(a.joinParts(), []byte(`"model":"`), []byte("\"model\":\"\xff"), 1)
	return t.sendAnswer(wireAnswer{a.kind, [][]byte{all}})
}

func (t *turn) sendOversized(a wireAnswer) int {
	t.writeHead(a.kind)
	block := bytes.Repeat([]byte{' '}, 1<<20)
	for range oversize / len(block) {
		if _, err := t.w.Write(block); err != nil {
			return http.StatusOK // the client has had enough
		}
	}
	for _, p := range a.parts {
		t.writeAndFlush(p)
	}
	return http.StatusOK
}

// sendGzipBomb sends gzip whether or not the client asked for it: its own transport
// may unpack it, and a limit has to hold after that. A file of gzip may have
// many members, so one MiB is packed once.
func (t *turn) sendGzipBomb(a wireAnswer) int {
	t.w.Header().Set("Content-Encoding", "gzip")
	t.writeHead(a.kind)
	member, last := compressGzip(bytes.Repeat([]byte{' '}, 1<<20)), compressGzip(a.joinParts())
	for range oversize >> 20 {
		if _, err := t.w.Write(member); err != nil {
			return http.StatusOK // the client has had enough
		}
	}
	t.writeAndFlush(last)
	return http.StatusOK
}

func compressGzip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

func (t *turn) sendHugeHeaders(a wireAnswer) int {
	for i := range 16 {
		t.w.Header().Set(fmt.Sprintf("X-Padding-%d", i), strings.Repeat("x", hugeHeader/16))
	}
	return t.sendAnswer(a)
}

func (t *turn) sendStreamError(a wireAnswer) int {
	t.sendAnswer(wireAnswer{a.kind, a.parts[:len(a.parts)/2]})
	b, err := plainjson.Marshal(map[string]any{
		"error": apiError{Type: "server_error", Message: "the server had an error while processing the request"},
	})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	t.writeAndFlush(frameEvent(b))
	return http.StatusOK
}

func (t *turn) sendEndlessStream(a wireAnswer) int {
	t.sendAnswer(wireAnswer{a.kind, a.parts[:1]})
	for !t.isGoneAfter(t.s.opts.Pace) {
		t.writeAndFlush(a.parts[min(1, len(a.parts)-1)])
	}
	return http.StatusOK
}

func (t *turn) sendMalformedStream(a wireAnswer) int {
	mid := len(a.parts) / 2
	parts := append(append([][]byte(nil), a.parts[:mid]...), []byte("data: {\"choices\":[{\"delta\":{\"content\":\n\n"))
	return t.sendAnswer(wireAnswer{a.kind, append(parts, a.parts[mid:]...)})
}

// sendUnfinishedStream ends with the events that carry something to say.
func (t *turn) sendUnfinishedStream(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{a.kind, a.parts[:len(a.parts)/2]})
}

func (t *turn) sendStreamWithoutDone(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{a.kind, a.parts[:len(a.parts)-1]})
}
