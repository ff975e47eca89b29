package scripted

import (
	"bytes"
	"net"
	"net/http"
	"time"
)

// turn is one request while it is answered.
type turn struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	number int
	body   []byte
}

// wireAnswer is an answer as it goes over the wire. Its parts are one JSON document, or
// the events of a stream.
type wireAnswer struct {
	kind  string
	parts [][]byte
}

// joinParts returns the whole body.
func (a wireAnswer) joinParts() []byte { return bytes.Join(a.parts, nil) }

// isStream reports whether the answer goes out as events.
func (a wireAnswer) isStream() bool { return a.kind == eventStream }

// sendAnswer sends an answer as it should be.
func (t *turn) sendAnswer(a wireAnswer) int {
	t.writeHead(a.kind)
	for _, p := range a.parts {
		t.writeAndFlush(p)
	}
	return http.StatusOK
}

// writeHead writes the head of a success.
func (t *turn) writeHead(kind string) {
	t.w.Header().Set("Content-Type", kind)
	if kind == eventStream {
		t.w.Header().Set("Cache-Control", "no-cache")
	}
	t.w.WriteHeader(http.StatusOK)
}

// writeAndFlush sends bytes at once. That a client went away is its own affair.
func (t *turn) writeAndFlush(p []byte) {
	_, _ = t.w.Write(p)
	_ = http.NewResponseController(t.w).Flush()
}

// isGoneAfter reports whether client or server went away while time passed.
func (t *turn) isGoneAfter(d time.Duration) bool {
	return !awaitDelay(t.r, d, false) || t.r.Context().Err() != nil
}

// closeConnection takes the connection over and closes it. With reset the client is told
// so by RST in place of FIN.
func (t *turn) closeConnection(reset bool) {
	conn, _, err := http.NewResponseController(t.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
