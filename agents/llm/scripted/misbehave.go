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

// resetConnection is the fault Reset.
func (t *turn) resetConnection() int { t.closeConnection(true); return 0 }

// cutConnection is the fault Cut.
func (t *turn) cutConnection() int { t.closeConnection(false); return 0 }

// hangUntilGone is the fault Hang.
func (t *turn) hangUntilGone() int { awaitDelay(t.r, 0, true); t.closeConnection(false); return 0 }

// sendRedirect is the fault Redirect.
func (t *turn) sendRedirect() int {
	t.w.Header().Set("Location", t.s.url+redirected)
	t.w.WriteHeader(http.StatusTemporaryRedirect)
	return http.StatusTemporaryRedirect
}

// sendRateLimit is the fault RateLimited.
func sendRateLimit(t *turn) int {
	seconds := int(math.Ceil(t.s.opts.RetryAfter.Seconds()))
	return sendTooManyRequests(t, strconv.Itoa(seconds))
}

// sendRateLimitDate is the fault RateLimitedDate.
func sendRateLimitDate(t *turn) int {
	return sendTooManyRequests(t, t.s.opts.Now().Add(t.s.opts.RetryAfter).UTC().Format(http.TimeFormat))
}

// sendTooManyRequests sends status 429 with a Retry-After.
func sendTooManyRequests(t *turn, after string) int {
	t.w.Header().Set("Retry-After", after)
	return sendError(t.w, http.StatusTooManyRequests,
		apiError{Type: "requests", Code: "rate_limit_exceeded", Message: "rate limit reached; try again later"})
}

// failWith returns what sends an error in the services' form.
func failWith(status int, kind, code, msg string) func(*turn) int {
	return func(t *turn) int { return sendError(t.w, status, apiError{Type: kind, Code: code, Message: msg}) }
}

// sendPageWith returns what sends a web page.
func sendPageWith(status int) func(*turn) int {
	return func(t *turn) int {
		t.w.Header().Set("Content-Type", "text/html")
		t.w.WriteHeader(status)
		t.writeAndFlush([]byte("<html><head><title>" + http.StatusText(status) +
			"</title></head><body>{\"decision\":\"approve\"}</body></html>\n"))
		return status
	}
}

// echoRequest is the fault Echo.
func (t *turn) echoRequest() int {
	return sendError(t.w, http.StatusBadRequest,
		apiError{Type: typeRequest, Code: "invalid_value", Message: "this was not understood: " + string(t.body)})
}

// sendOtherBody is the fault OtherBody.
func (t *turn) sendOtherBody() int {
	return sendJSON(t.w, http.StatusOK, map[string]any{"object": "list", "choices": map[string]any{"decision": "approve"}})
}

// changeContent returns what changes the content of every choice; without any it is "".
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

// refuseToAnswer puts a refusal in place of every message.
func refuseToAnswer(c *completion) {
	words := "I can't help with that."
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant", Refusal: &words}
		c.Choices[i].FinishReason = "stop"
	}
}

// removeContent puts an empty message in place of every message.
func removeContent(c *completion) {
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant"}
	}
}

// halveContent returns what cuts every content in half, for a finish reason.
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

// firstText finds the first member whose value is a string.
var firstText = regexp.MustCompile(`:\s*"(\\.|[^"\\])*"`)

// dripBody is the fault Drip.
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

// sendFirstHalf sends the first half of the body, with the length of the whole.
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

// hangMidBody is the fault HangMidBody.
func (t *turn) hangMidBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	awaitDelay(t.r, 0, true)
	panic(http.ErrAbortHandler)
}

// resetMidBody is the fault ResetMidBody.
func (t *turn) resetMidBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	t.closeConnection(true)
	return http.StatusOK
}

// shortenBody is the fault ShortBody.
func (t *turn) shortenBody(a wireAnswer) int {
	t.sendFirstHalf(a)
	t.closeConnection(false)
	return http.StatusOK
}

// truncateJSON is the fault TruncatedJSON.
func (t *turn) truncateJSON(a wireAnswer) int {
	all := a.joinParts()
	return t.sendAnswer(wireAnswer{a.kind, [][]byte{all[:len(all)/2]}})
}

// sendWrongType is the fault WrongType.
func (t *turn) sendWrongType(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{"text/html; charset=utf-8", a.parts})
}

// sendInvalidUTF8 is the fault InvalidUTF8. The byte goes into the model's name, where no
// escape is needed.
func (t *turn) sendInvalidUTF8(a wireAnswer) int {
	all := bytes.Replace(a.joinParts(), []byte(`"model":"`), []byte("\"model\":\"\xff"), 1)
	return t.sendAnswer(wireAnswer{a.kind, [][]byte{all}})
}

// sendOversized is the fault Oversized.
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

// sendGzipBomb sends gzip whether or not the client asked for it. The client's transport
// may unpack it, and a limit has to hold after that. A file of gzip may have many
// members, so one MiB is packed once.
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

// compressGzip returns the bytes as one member of gzip.
func compressGzip(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// sendHugeHeaders is the fault HugeHeaders.
func (t *turn) sendHugeHeaders(a wireAnswer) int {
	for i := range 16 {
		t.w.Header().Set(fmt.Sprintf("X-Padding-%d", i), strings.Repeat("x", hugeHeader/16))
	}
	return t.sendAnswer(a)
}

// sendStreamError is the fault StreamError. The last event of a whole stream is [DONE].
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

// sendEndlessStream is the fault StreamEndless.
func (t *turn) sendEndlessStream(a wireAnswer) int {
	t.sendAnswer(wireAnswer{a.kind, a.parts[:1]})
	for !t.isGoneAfter(t.s.opts.Pace) {
		t.writeAndFlush(a.parts[min(1, len(a.parts)-1)])
	}
	return http.StatusOK
}

// sendMalformedStream is the fault StreamMalformed.
func (t *turn) sendMalformedStream(a wireAnswer) int {
	mid := len(a.parts) / 2
	parts := append(append([][]byte(nil), a.parts[:mid]...), []byte("data: {\"choices\":[{\"delta\":{\"content\":\n\n"))
	return t.sendAnswer(wireAnswer{a.kind, append(parts, a.parts[mid:]...)})
}

// sendUnfinishedStream is the fault StreamNoFinish. It ends after an event that carries
// something to say.
func (t *turn) sendUnfinishedStream(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{a.kind, a.parts[:len(a.parts)/2]})
}

// sendStreamWithoutDone is the fault StreamNoDone.
func (t *turn) sendStreamWithoutDone(a wireAnswer) int {
	return t.sendAnswer(wireAnswer{a.kind, a.parts[:len(a.parts)-1]})
}
