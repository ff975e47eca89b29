package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// headTime is how long a program may take to say what it wants of the proxy or DNS.
const headTime = 30 * time.Second

// maxQuery is the greatest question: a name of 255 bytes fits many times.
const maxQuery = 4096

// serveDNS answers questions by UDP until the socket is closed. What the kernel says
// of a question's address goes back with the answer, which leaves from there.
func (s *Server) serveDNS() {
	b, about := make([]byte, maxQuery), make([]byte, 128)
	for {
		n, size, _, from, err := s.dns.ReadMsgUDPAddrPort(b, about)
		if errors.Is(err, net.ErrClosed) || err != nil && s.ctx.Err() != nil {
			return
		}
		if err != nil { // an earlier answer found no port: that is the program's affair
			continue
		}
		if reply := s.answerRecorded(b[:n]); reply != nil {
			_, _, _ = s.dns.WriteMsgUDPAddrPort(reply, about[:size], from)
		}
	}
}

func (s *Server) answerRecorded(msg []byte) []byte {
	reply, refused := s.zone.answerQuery(msg)
	if refused.Outcome != "" {
		s.account.addConnection(refused)
	}
	return reply
}

// onDNSStream answers questions by TCP, each with its length before it.
func (s *Server) onDNSStream(c *net.TCPConn) {
	var size [2]byte
	for {
		_ = c.SetDeadline(time.Now().Add(headTime))
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		msg := make([]byte, binary.BigEndian.Uint16(size[:]))
		if len(msg) > maxQuery {
			s.account.addConnection(Connection{Via: ViaDNS, Outcome: BadRequest})
			return
		}
		if _, err := io.ReadFull(c, msg); err != nil {
			return
		}
		reply := s.answerRecorded(msg)
		if reply == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

// maxWatched bounds the refused packets that are read in one run. A program can send them
// faster than they are worth.
const maxWatched = 1 << 14

// serveWatch records what the kernel refused, until the socket is closed.
func (s *Server) serveWatch() {
	b := make([]byte, listen.FrameSize)
	for range maxWatched {
		n, err := s.watch.Read(b)
		if err != nil {
			return
		}
		if c, ok := readHeaders(b[:n]); ok {
			s.account.addConnection(c)
		}
	}
}

// onDirect serves a connection to some address: the address tells the name.
func (s *Server) onDirect(c *net.TCPConn) {
	to, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	start := time.Now()
	a := to.AddrPort().Addr().Unmap()
	var host string
	if name, known := s.zone.names.nameOf(a); known {
		host = name
	} else {
		host = a.String()
	}
	done := Connection{Via: ViaDirect, Host: host, Port: to.AddrPort().Port()}
	t, o := s.zone.policy.findTarget(host, done.Port)
	var up net.Conn
	if o == Connected {
		up, done.Address, o = s.dialWhileRunning(t)
	}
	if done.Outcome = o; o != Connected {
		refuseConn(c)
		s.recordEnd(done, start)
		return
	}
	r := s.newRelay()
	s.carryBoth(&done, r.newSide(c), r.newSide(up), nil)
	s.recordEnd(done, start)
}

// dialWhileRunning is dialTarget while the program runs.
func (s *Server) dialWhileRunning(t target) (net.Conn, netip.AddrPort, Outcome) {
	c, to, o := s.dialer.dialTarget(s.draining, t)
	if o != Connected && s.draining.Err() != nil {
		o = Stopped
	}
	return c, to, o
}

func (s *Server) recordEnd(c Connection, start time.Time) {
	c.Took = time.Since(start)
	s.account.addConnection(c)
}

func (s *Server) newRelay() *relay {
	r := &relay{idle: s.limits.Idle, left: s.left}
	r.active.Store(time.Now().UnixNano())
	return r
}

// carryBoth carries bytes both ways until both halves have ended, and notes in done
// how. The first bytes to the host come from request, where there is one.
func (s *Server) carryBoth(done *Connection, program, host *side, request *http.Request) {
	stop := context.AfterFunc(s.ctx, func() { closeBothSides(program, host) })
	defer stop()
	defer closeBothSides(program, host)
	said, heard := make(chan struct{}), make(chan struct{})
	s.spawnOwned(func() {
		defer close(said)
		if request != nil {
			forwardRequest(program, host, request)
			return
		}
		s.chunks.carryStream(host, program)
	})
	s.spawnOwned(func() {
		defer close(heard)
		s.chunks.carryStream(program, host)
	})
	s.awaitHalves(said, heard)
	closeBothSides(program, host)
	<-said
	<-heard
	if s.ctx.Err() != nil {
		host.end(Stopped)
	}
	done.Out, done.In, done.Outcome = host.got.Load(), program.got.Load(), host.finalOutcome()
}

// awaitHalves returns when both halves have ended, or, where the program has ended,
// when all that it said has left.
func (s *Server) awaitHalves(said, heard <-chan struct{}) {
	select {
	case <-said:
		select {
		case <-heard:
		case <-s.draining.Done():
		}
	case <-heard:
		select {
		case <-said:
		case <-s.draining.Done():
			s.awaitSaid(said)
		}
	case <-s.draining.Done():
		s.awaitSaid(said)
	}
}

func (s *Server) awaitSaid(said <-chan struct{}) {
	select {
	case <-said:
	case <-s.ctx.Done():
	}
}

// forwardRequest sends one request to the host. Whatever the program says behind it
// would be meant for another host, perhaps: it ends the connection.
func forwardRequest(program, host *side, r *http.Request) {
	if r.Write(host) == nil {
		if _, err := io.ReadFull(program, make([]byte, 1)); err == io.EOF {
			return // it listens on
		}
	}
	closeBothSides(program, host)
}

// onProxy serves a connection to the proxy.
func (s *Server) onProxy(c *net.TCPConn) {
	start := time.Now()
	_ = c.SetDeadline(start.Add(headTime))
	done := Connection{Via: ViaProxy, Outcome: BadRequest}
	h, err := readRequestHead(c)
	if err == nil {
		done.Host, done.Port, err = h.readHostPort()
	}
	if err != nil {
		answerProgram(c, http.StatusBadRequest, answerBad)
		s.recordEnd(done, start)
		return
	}
	t, o := s.zone.policy.findTarget(done.Host, done.Port)
	if done.Outcome = o; o != Connected {
		answerProgram(c, http.StatusForbidden, answerRefused)
		s.recordEnd(done, start)
		return
	}
	up, to, o := s.dialWhileRunning(t)
	done.Address, done.Outcome = to, o
	if o != Connected {
		answerProgram(c, http.StatusBadGateway, answerFailed)
		s.recordEnd(done, start)
		return
	}
	_ = c.SetDeadline(time.Time{})
	s.serveProxied(&done, c, up, h)
	s.recordEnd(done, start)
}

// serveProxied carries a tunnel, or one request with its answer.
func (s *Server) serveProxied(done *Connection, c, up net.Conn, h head) {
	r := s.newRelay()
	program, host := r.newSide(c), r.newSide(up)
	h.continueFrom(r.newSide(c))
	program.from = h.ahead
	if !h.wantsTunnel() {
		s.carryBoth(done, program, host, h.makeForwardable())
		return
	}
	if _, err := io.WriteString(c, answerConnected); err != nil {
		closeBothSides(program, host)
		return
	}
	s.carryBoth(done, program, host, nil)
}

// answerProgram sends an answer and reads on for a moment. Closing a connection with bytes
// unread would take the answer back.
func answerProgram(c *net.TCPConn, status int, text string) {
	_ = c.SetDeadline(time.Now().Add(answerTime))
	_, _ = io.WriteString(c, formatAnswer(status, text))
	_ = c.CloseWrite()
	_, _ = io.CopyN(io.Discard, c, maxHead)
}

const answerTime = time.Second
