package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// relay is what the two halves of a connection share.
type relay struct {
	idle   time.Duration
	left   *atomic.Int64 // bytes that the run may still carry; nil: no bound
	active atomic.Int64  // when a byte last went either way
	ended  atomic.Value  // the Outcome that ended it before its time
}

// chunks are the buffers of all relays: most connections rest most of the time.
type chunks struct{ pool sync.Pool }

const chunkSize = 32 << 10

func newChunks() *chunks {
	return &chunks{sync.Pool{New: func() any { return new([chunkSize]byte) }}}
}

// side is one end of a relay: the program's, or the host's.
type side struct {
	*relay
	conn net.Conn
	from io.Reader    // conn, or what was read ahead of it
	got  atomic.Int64 // bytes written to conn
}

func (r *relay) newSide(c net.Conn) *side { return &side{relay: r, conn: c, from: c} }

// Read waits while the other half is at work, and for the idle time otherwise.
func (s *side) Read(b []byte) (int, error) {
	for {
		_ = s.conn.SetReadDeadline(time.Now().Add(s.idle))
		n, err := s.from.Read(b)
		if n > 0 {
			s.active.Store(time.Now().UnixNano())
		}
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		if time.Since(time.Unix(0, s.active.Load())) >= s.idle {
			s.end(Idle)
			return 0, err
		}
	}
}

// Write sends b if the run may still carry it.
func (s *side) Write(b []byte) (int, error) {
	if s.left != nil && s.left.Add(int64(-len(b))) < 0 {
		s.end(TooLong)
		return 0, errSpent
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(s.idle))
	n, err := s.conn.Write(b)
	s.got.Add(int64(n))
	s.active.Store(time.Now().UnixNano())
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.end(Idle)
	}
	return n, err
}

// errSpent ends a relay; its Outcome says why.
var errSpent = errors.New("the bytes of the run are used up")

// end notes why the relay ended; the first reason holds.
func (r *relay) end(o Outcome) { r.ended.CompareAndSwap(nil, o) }

// finalOutcome is Connected, or why the relay ended before its time.
func (r *relay) finalOutcome() Outcome {
	if o, ok := r.ended.Load().(Outcome); ok {
		return o
	}
	return Connected
}

// carryStream copies from src to dst until src ends, and ends that half of dst then.
// Where it breaks off it closes both.
func (c *chunks) carryStream(dst, src *side) {
	b := c.pool.Get().(*[chunkSize]byte)
	defer c.pool.Put(b)
	_, err := io.CopyBuffer(onlyWriter{dst}, onlyReader{src}, b[:])
	if err != nil || !closeWriteHalf(dst.conn) {
		closeBothSides(dst, src)
	}
}

// onlyReader and onlyWriter hide all but one method, so that io.CopyBuffer uses its
// buffer and each byte is counted.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

func closeBothSides(a, b *side) {
	_ = a.conn.Close()
	_ = b.conn.Close()
}

// closeWriteHalf tells c's other side that nothing more comes.
func closeWriteHalf(c net.Conn) bool {
	h, ok := c.(interface{ CloseWrite() error })
	return ok && h.CloseWrite() == nil
}

// refuseConn closes a connection so that the program learns of it at once.
func refuseConn(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
