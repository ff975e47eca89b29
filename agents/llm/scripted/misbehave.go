package scripted

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Sizes of what is too large.
const (
	oversize   = 16 << 20
	hugeHeader = 1 << 20
)

// turn is one request while it is answered.
type turn struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	number int
	body   []byte
}

// act is an answer as it goes over the wire: its content type and its parts,
// which are one JSON document, or the events of a stream.
type act struct {
	kind  string
	parts [][]byte
}

func (a act) bytes() []byte { return bytes.Join(a.parts, nil) }

func (a act) stream() bool { return a.kind == eventStream }

// perform sends an answer as it should be.
func (t *turn) perform(a act) int {
	t.head(a.kind)
	for _, p := range a.parts {
		t.write(p)
	}
	return http.StatusOK
}

func (t *turn) head(kind string) {
	t.w.Header().Set("Content-Type", kind)
	if kind == eventStream {
		t.w.Header().Set("Cache-Control", "no-cache")
	}
	t.w.WriteHeader(http.StatusOK)
}

// write sends at once. That a client went away is its own affair.
func (t *turn) write(p []byte) {
	_, _ = t.w.Write(p)
	_ = http.NewResponseController(t.w).Flush()
}

// gone reports whether client or server went away while time passed.
func (t *turn) gone(d time.Duration) bool { return !hold(t.r, d, false) || t.r.Context().Err() != nil }

// hijacked takes the connection over and closes it. With reset the client is
// told so by RST in place of FIN.
func (t *turn) hijacked(reset bool) {
	conn, _, err := http.NewResponseController(t.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (t *turn) reset() int { t.hijacked(true); return 0 }

func (t *turn) cut() int { t.hijacked(false); return 0 }

func (t *turn) hang() int { hold(t.r, 0, true); t.hijacked(false); return 0 }

func (t *turn) redirect() int {
	t.w.Header().Set("Location", t.s.url+redirected)
	t.w.WriteHeader(http.StatusTemporaryRedirect)
	return http.StatusTemporaryRedirect
}

func limited429(t *turn) int {
	seconds := int(math.Ceil(t.s.opts.RetryAfter.Seconds()))
	return tooMany(t, strconv.Itoa(seconds))
}

func limitedUntil(t *turn) int {
	return tooMany(t, t.s.opts.Now().Add(t.s.opts.RetryAfter).UTC().Format(http.TimeFormat))
}

func tooMany(t *turn, after string) int {
	t.w.Header().Set("Retry-After", after)
	return fail(t.w, http.StatusTooManyRequests,
		apiError{Type: "requests", Code: "rate_limit_exceeded", Message: "rate limit reached; try again later"})
}

func failing(status int, kind, code, msg string) func(*turn) int {
	return func(t *turn) int { return fail(t.w, status, apiError{Type: kind, Code: code, Message: msg}) }
}

func page(status int) func(*turn) int {
	return func(t *turn) int {
		t.w.Header().Set("Content-Type", "text/html")
		t.w.WriteHeader(status)
		t.write([]byte("<html><head><title>" + http.StatusText(status) + "</title></head><body>{\"decision\":\"approve\"}</body></html>\n"))
		return status
	}
}

func (t *turn) echo() int {
	return fail(t.w, http.StatusBadRequest,
		apiError{Type: typeRequest, Code: "invalid_value", Message: "this was not understood: " + string(t.body)})
}

func (t *turn) otherBody() int {
	return send(t.w, http.StatusOK, map[string]any{"object": "list", "choices": map[string]any{"decision": "approve"}})
}

// saying changes the content of every choice; without any it is "".
func saying(f func(string) string) func(*completion) {
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

func refuse(c *completion) {
	words := "I can't help with that."
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant", Refusal: &words}
		c.Choices[i].FinishReason = "stop"
	}
}

func silence(c *completion) {
	for i := range c.Choices {
		c.Choices[i].Message = spoken{Role: "assistant"}
	}
}

func half(finish string) func(*completion) {
	return func(c *completion) {
		saying(func(s string) string { return string([]rune(s)[:len([]rune(s))/2]) })(c)
		for i := range c.Choices {
			c.Choices[i].FinishReason = finish
		}
	}
}

// members puts the members of an object into a format; another text stays.
func members(s, format string) string {
	s = strings.TrimSpace(s)
	if len(s) < 3 || s[0] != '{' || s[len(s)-1] != '}' {
		return s
	}
	return fmt.Sprintf(format, s[1:len(s)-1])
}

// perhaps replaces the first value that is a string.
func perhaps(s string) string {
	at := firstText.FindStringIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + `:"perhaps"` + s[at[1]:]
}

var firstText = regexp.MustCompile(`:\s*"(\\.|[^"\\])*"`)

func (t *turn) drip(a act) int {
	t.head(a.kind)
	for _, b := range a.bytes() {
		t.write([]byte{b})
		if t.gone(t.s.opts.Pace) {
			break
		}
	}
	return http.StatusOK
}

func (t *turn) firstHalf(a act) {
	all := a.bytes()
	if a.stream() {
		t.head(a.kind)
	} else {
		t.w.Header().Set("Content-Length", strconv.Itoa(len(all)))
		t.head(a.kind)
	}
	t.write(all[:len(all)/2])
}

func (t *turn) hangMidBody(a act) int {
	t.firstHalf(a)
	hold(t.r, 0, true)
	panic(http.ErrAbortHandler)
}

func (t *turn) resetMidBody(a act) int {
	t.firstHalf(a)
	t.hijacked(true)
	return http.StatusOK
}

func (t *turn) shortBody(a act) int {
	t.firstHalf(a)
	t.hijacked(false)
	return http.StatusOK
}

func (t *turn) truncated(a act) int {
	all := a.bytes()
	return t.perform(act{a.kind, [][]byte{all[:len(all)/2]}})
}

func (t *turn) wrongType(a act) int { return t.perform(act{"text/html; charset=utf-8", a.parts}) }

// invalidUTF8 puts the byte into the model's name, where no escape is needed.
func (t *turn) invalidUTF8(a act) int {
	all := bytes.Replace(a.bytes(), []byte(`"model":"`), []byte("\"model\":\"\xff"), 1)
	return t.perform(act{a.kind, [][]byte{all}})
}

func (t *turn) oversized(a act) int {
	t.head(a.kind)
	block := bytes.Repeat([]byte{' '}, 1<<20)
	for range oversize / len(block) {
		if _, err := t.w.Write(block); err != nil {
			return http.StatusOK // the client has had enough
		}
	}
	for _, p := range a.parts {
		t.write(p)
	}
	return http.StatusOK
}

// gzipBomb sends gzip whether or not the client asked for it: its own transport
// may unpack it, and a limit has to hold after that. A file of gzip may have
// many members, so one MiB is packed once.
func (t *turn) gzipBomb(a act) int {
	t.w.Header().Set("Content-Encoding", "gzip")
	t.head(a.kind)
	member, last := packed(bytes.Repeat([]byte{' '}, 1<<20)), packed(a.bytes())
	for range oversize >> 20 {
		if _, err := t.w.Write(member); err != nil {
			return http.StatusOK // the client has had enough
		}
	}
	t.write(last)
	return http.StatusOK
}

func packed(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

func (t *turn) hugeHeaders(a act) int {
	for i := range 16 {
		t.w.Header().Set(fmt.Sprintf("X-Padding-%d", i), strings.Repeat("x", hugeHeader/16))
	}
	return t.perform(a)
}
