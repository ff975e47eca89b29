package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// Options say what a Server serves.
type Options struct {
	// Policy lists the hosts. Required.
	Policy *Policy
	// Lookup resolves names. If nil, the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// Recorder is told of each connection. If nil, connections are only counted.
	Recorder Recorder
	// Limits bound a run. Zero values are the defaults.
	Limits Limits
}

// Limits bound what one run of a program may hold and do.
type Limits struct {
	// Conns are connections at a time; further ones wait. The default is 128.
	Conns int
	// Idle ends a connection on which neither side says anything. The default is
	// five minutes.
	Idle time.Duration
	// Bytes are what all connections together may carry, both ways. The default 0 is
	// no bound.
	Bytes int64
	// Records are connections and refusals that are recorded one by one; more are
	// counted alone. The default is 1000.
	Records int
}

func (l Limits) orDefaults() Limits {
	if l.Conns <= 0 {
		l.Conns = 128
	}
	if l.Idle <= 0 {
		l.Idle = 5 * time.Minute
	}
	if l.Records <= 0 {
		l.Records = 1000
	}
	return l
}

// Server serves the sockets of one run.
type Server struct {
	zone    zone
	dialer  dialer
	account *account
	limits  Limits
	left    *atomic.Int64
	chunks  *chunks
	seats   chan struct{} // one for each connection at a time

	ctx      context.Context // ends everything
	cancel   context.CancelFunc
	draining context.Context // ends each connection whose program has said all
	drain    context.CancelFunc
	wg       sync.WaitGroup

	listeners []net.Listener
	dns       *net.UDPConn
	watch     *os.File
}

// Serve takes over the files that listen.Open made for Policy.Plan and serves them
// until Stop is called or ctx ends. It closes the files in any case. An error means
// that nothing is served.
func Serve(ctx context.Context, files []*os.File, o Options) (*Server, error) {
	defer closeFiles(files)
	if o.Policy == nil {
		return nil, errors.New("egress: there is no list of hosts, so nothing is served; give Options.Policy")
	}
	if want := listen.Fixed + len(o.Policy.listPorts()); len(files) != want {
		return nil, fmt.Errorf("egress: the sandbox handed out %d sockets where %d belong to its list; nothing is served", len(files), want)
	}
	s := newServer(ctx, o)
	if err := s.makeListeners(files); err != nil {
		s.closeSockets()
		s.cancel()
		return nil, err
	}
	s.startLoops()
	return s, nil
}

func newServer(ctx context.Context, o Options) *Server {
	l := o.Limits.orDefaults()
	s := &Server{
		zone: zone{o.Policy, newNames()}, dialer: dialer{o.Policy, o.Lookup}, account: newAccount(o.Recorder, l.Records),
		limits: l, chunks: newChunks(), seats: make(chan struct{}, l.Conns),
	}
	if s.dialer.lookup == nil {
		s.dialer.lookup = lookupSystem
	}
	if l.Bytes > 0 {
		s.left = new(atomic.Int64)
		s.left.Store(l.Bytes)
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.draining, s.drain = context.WithCancel(s.ctx)
	return s
}

// makeListeners makes listeners of the files. Each has a copy of its own.
func (s *Server) makeListeners(files []*os.File) error {
	c, err := net.FilePacketConn(files[listen.DNS])
	if err != nil {
		return fmt.Errorf("egress: the sandbox's DNS socket can't be served: %w", err)
	}
	udp, ok := c.(*net.UDPConn)
	if !ok {
		_ = c.Close()
		return errors.New("egress: the sandbox's DNS socket isn't one of UDP")
	}
	s.dns = udp
	for _, f := range files[listen.DNSTCP:] {
		l, err := net.FileListener(f)
		if err != nil {
			return fmt.Errorf("egress: a socket of the sandbox can't be served: %w", err)
		}
		s.listeners = append(s.listeners, l)
	}
	if err := files[listen.Watch].SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("egress: the sandbox's packet socket can't be served: %w", err)
	}
	s.watch, files[listen.Watch] = files[listen.Watch], nil
	return nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (s *Server) startLoops() {
	s.spawnOwned(s.serveDNS)
	s.spawnOwned(s.serveWatch)
	for i, l := range s.listeners {
		on := s.onDirect
		switch i + listen.DNSTCP {
		case listen.DNSTCP:
			on = s.onDNSStream
		case listen.Proxy:
			on = s.onProxy
		}
		s.spawnOwned(func() { s.acceptConns(l, on) })
	}
	s.spawnOwned(func() {
		<-s.ctx.Done()
		s.closeSockets()
	})
}

// spawnOwned runs f in a goroutine that Stop waits for. A panic ends all serving: what is
// left of the program's network then fails.
func (s *Server) spawnOwned(f func()) {
	s.wg.Go(func() {
		defer func() {
			if recover() != nil {
				s.account.addConnection(Connection{Outcome: Broken})
				s.cancel()
			}
		}()
		f()
	})
}

// drainTime is how long Stop lets bytes go on that the program had said before it
// ended.
const drainTime = 100 * time.Millisecond

// Stop ends all connections and returns when every goroutine has ended. Bytes that
// the program said before it ended have a moment to leave.
func (s *Server) Stop() Totals {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.drain()
	late := time.AfterFunc(drainTime, s.cancel)
	defer late.Stop()
	s.awaitAllSeats()
	s.cancel()
	s.wg.Wait()
	return s.account.readTotals()
}

// awaitAllSeats waits until no connection has a seat, or ctx has ended.
func (s *Server) awaitAllSeats() {
	for range cap(s.seats) {
		select {
		case s.seats <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Server) closeSockets() {
	for _, l := range s.listeners {
		_ = l.Close()
	}
	if s.dns != nil {
		_ = s.dns.Close()
	}
	if s.watch != nil {
		_ = s.watch.Close()
	}
}

// acceptConns hands each connection to on, in a goroutine that closes it in the end.
func (s *Server) acceptConns(l net.Listener, on func(c *net.TCPConn)) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) || s.ctx.Err() != nil && err != nil {
			return
		}
		if err != nil { // no file descriptors, say: it may pass
			s.pauseAccepting()
			continue
		}
		select {
		case s.seats <- struct{}{}:
		case <-s.draining.Done():
			_ = c.Close()
			return
		}
		s.spawnOwned(func() {
			defer func() { <-s.seats }()
			defer func() { _ = c.Close() }()
			stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
			defer stop()
			on(c.(*net.TCPConn))
		})
	}
}

func (s *Server) pauseAccepting() {
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}
