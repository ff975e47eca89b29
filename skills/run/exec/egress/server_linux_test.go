package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/vedette-dev/vedette/skills/run/exec/egress"
	"github.com/vedette-dev/vedette/skills/run/exec/egress/listen"
)

// openLocalFiles are sockets of this process in place of a sandbox's, and the address of
// the proxy.
func openLocalFiles(t testing.TB, p *egress.Policy) (files []*os.File, proxy string) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Close(pair[1]))
	dns, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	f, err := dns.File()
	require.NoError(t, err)
	require.NoError(t, dns.Close())
	files = append(files, os.NewFile(uintptr(pair[0]), "watch"), f)
	for i := range 2 + len(p.Plan().Ports) {
		l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		require.NoError(t, err)
		f, err := l.File()
		require.NoError(t, err)
		if files = append(files, f); i+listen.DNSTCP == listen.Proxy {
			proxy = l.Addr().String()
		}
		require.NoError(t, l.Close())
	}
	return files, proxy
}

// startFar is a host that hands its connections to the test.
func startFar(t testing.TB) (port uint16, conns <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	out := make(chan net.Conn, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			out <- c
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
		for len(out) > 0 {
			_ = (<-out).Close()
		}
	})
	return portOf(t, l.Addr()), out
}

func serveLocally(ctx context.Context, t testing.TB, o egress.Options, port uint16) (*egress.Server, *book, string) {
	t.Helper()
	p, err := egress.Parse("egress", []string{joinPort("far.test", port)}, []string{"far.test"})
	require.NoError(t, err)
	files, proxy := openLocalFiles(t, p)
	b := &book{}
	o.Policy, o.Lookup = p, lookupLocal
	if o.Recorder == nil {
		o.Recorder = b
	}
	s, err := egress.Serve(ctx, files, o)
	require.NoError(t, err)
	return s, b, proxy
}

// openTunnel opens a connection to far.test through the proxy.
func openTunnel(t testing.TB, proxy string, port uint16) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", proxy)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", joinPort("far.test", port))
	require.NoError(t, err)
	return c
}

func readEstablished(t testing.TB, c net.Conn) {
	t.Helper()
	b := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	_, err := io.ReadFull(c, b)
	require.NoError(t, err)
	require.Contains(t, string(b), " 200 ")
}

// Connections beyond the bound wait for one that ends.
func TestConnsAtATime(t *testing.T) {
	port, conns := startFar(t)
	s, _, proxy := serveLocally(t.Context(), t, egress.Options{Limits: egress.Limits{Conns: 1}}, port)
	first := openTunnel(t, proxy, port)
	readEstablished(t, first)
	one := <-conns
	second := openTunnel(t, proxy, port)
	require.Empty(t, conns)
	require.NoError(t, first.Close())
	require.NoError(t, one.Close())
	readEstablished(t, second)
	_ = (<-conns).Close()
	require.Equal(t, int64(2), s.Stop().Connections)
}

// What was said before the program ended arrives; then all ends, whatever the host does.
func TestStopDrains(t *testing.T) {
	port, conns := startFar(t)
	s, b, proxy := serveLocally(t.Context(), t, egress.Options{}, port)
	c := openTunnel(t, proxy, port)
	readEstablished(t, c)
	_, err := io.WriteString(c, strings.Repeat("x", 100_000))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	up := <-conns
	got := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, up)
		got <- n
	}()
	totals := s.Stop()
	require.Equal(t, int64(100_000), <-got)
	require.Equal(t, egress.Totals{Connections: 1, Out: 100_000}, totals)
	require.Equal(t, egress.Connected, b.rows[0].Outcome)
	require.NoError(t, up.Close())
}

// A program that stays, a host that doesn't read, a context that ends: Stop returns.
func TestStopEnds(t *testing.T) {
	port, conns := startFar(t)
	for name, end := range map[string]func(cancel func()){"stop": func(func()) {}, "the context": func(cancel func()) { cancel() }} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s, b, proxy := serveLocally(ctx, t, egress.Options{}, port)
			c := openTunnel(t, proxy, port)
			readEstablished(t, c)
			up := <-conns
			end(cancel)
			require.Equal(t, int64(1), s.Stop().Connections)
			require.Equal(t, egress.Stopped, b.rows[0].Outcome)
			_, err := c.Read(make([]byte, 1))
			require.Error(t, err)
			_, err = up.Read(make([]byte, 1))
			require.Error(t, err)
			_, err = net.Dial("tcp", proxy)
			require.Error(t, err)
			require.NoError(t, up.Close())
		})
	}
}

type panicking struct{}

func (panicking) Record(egress.Connection) { panic("CANARY") }

// A Recorder that breaks loses its records, which are counted, and nothing else.
func TestRecorderPanics(t *testing.T) {
	port, conns := startFar(t)
	s, _, proxy := serveLocally(t.Context(), t, egress.Options{Recorder: panicking{}}, port)
	for range 2 {
		c := openTunnel(t, proxy, port)
		readEstablished(t, c)
		require.NoError(t, errors.Join((<-conns).Close(), c.Close()))
	}
	require.Equal(t, egress.Totals{Connections: 2, Unrecorded: 2}, s.Stop())
}

// A fault of our own ends the program's network, and not Vedette.
func TestPanicIsContained(t *testing.T) {
	p, err := egress.Parse("egress", []string{"far.test:443"}, nil)
	require.NoError(t, err)
	files, proxy := openLocalFiles(t, p)
	b := &book{}
	s, err := egress.Serve(t.Context(), files, egress.Options{Policy: p, Recorder: b,
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			panic("CANARY")
		}})
	require.NoError(t, err)
	c := openTunnel(t, proxy, 443)
	n, err := c.Read(make([]byte, 1))
	require.Zero(t, n)
	require.Error(t, err)
	require.Equal(t, egress.Totals{Refused: 1}, s.Stop())
	require.Equal(t, []egress.Connection{{Outcome: egress.Broken}}, b.rows)
}

// The bytes of a run are one number for all of its connections.
func TestBytesAreBounded(t *testing.T) {
	port, conns := startFar(t)
	s, b, proxy := serveLocally(t.Context(), t, egress.Options{Limits: egress.Limits{Bytes: 50_000}}, port)
	c := openTunnel(t, proxy, port)
	readEstablished(t, c)
	up := <-conns
	_, err := io.WriteString(c, strings.Repeat("x", 200_000))
	n, _ := io.Copy(io.Discard, up)
	require.LessOrEqual(t, n, int64(50_000))
	require.NoError(t, errors.Join(up.Close(), c.Close()))
	totals := s.Stop()
	require.LessOrEqual(t, totals.Out+totals.In, int64(50_000))
	require.Equal(t, egress.TooLong, b.rows[0].Outcome)
	_ = err // the write may have succeeded: it went into a buffer
}

// A request to the proxy is the last of its connection: what follows it would reach a
// host that it wasn't meant for.
func TestOneRequestAConnection(t *testing.T) {
	port, conns := startFar(t)
	s, _, proxy := serveLocally(t.Context(), t, egress.Options{}, port)
	c, err := net.Dial("tcp", proxy)
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "POST http://%s/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET http://other.test/secret "+
		"HTTP/1.1\r\n\r\n", joinPort("far.test", port))
	require.NoError(t, err)
	up := <-conns
	raw, _ := io.ReadAll(up)
	r := bufio.NewReader(strings.NewReader(string(raw)))
	req, err := http.ReadRequest(r)
	require.NoError(t, err)
	require.Equal(t, joinPort("far.test", port), req.Host)
	require.Equal(t, "close", req.Header.Get("Connection"))
	require.NotContains(t, string(raw), "secret")
	require.NoError(t, errors.Join(up.Close(), c.Close()))
	s.Stop()
}

// Sockets that don't belong to the list aren't served, and none stays open.
func TestServeRefuses(t *testing.T) {
	p, err := egress.Parse("egress", []string{"far.test:443"}, nil)
	require.NoError(t, err)
	for name, row := range map[string]struct {
		policy *egress.Policy
		change func(f []*os.File) []*os.File
		want   string
	}{
		"no list":   {nil, func(f []*os.File) []*os.File { return f }, "no list of hosts"},
		"one less":  {p, func(f []*os.File) []*os.File { return f[:4] }, "4 sockets where 5"},
		"no socket": {p, func(f []*os.File) []*os.File { _ = f[4].Close(); return f }, "can't be served"},
		"swapped":   {p, func(f []*os.File) []*os.File { f[1], f[0] = f[0], f[1]; return f }, "isn't one of UDP"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := openLocalFiles(t, p)
			s, err := egress.Serve(t.Context(), row.change(files), egress.Options{Policy: row.policy})
			require.Nil(t, s)
			require.ErrorContains(t, err, row.want)
			closed := 0
			for _, f := range files {
				if f.Close() != nil {
					closed++
				}
			}
			require.GreaterOrEqual(t, closed, 4)
		})
	}
}

// A program that tries a thousand things fills no record; everything is counted.
func TestRecordsAreBounded(t *testing.T) {
	s := newSandbox(t, nil, "example.com:443")
	s.options.Limits.Records = 50
	r := s.run(t, probeName, "many", "8.8.8.8")
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.rows, 50)
	require.GreaterOrEqual(t, r.totals.Refused, int64(400))
	require.Positive(t, r.totals.Unrecorded)
	require.LessOrEqual(t, r.totals.Unrecorded+50, r.totals.Refused)
}

// The program itself can't open what the child opened, nor change the routes.
func TestProgramHoldsNoPower(t *testing.T) {
	asEachUser(t, func(t *testing.T) {
		s := newSandbox(t, nil, "example.com:443")
		r := s.run(t, probeName, "open")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "route IPv4 to lo: operation not permitted")
	})
}

func BenchmarkSetUp(b *testing.B) {
	for name, list := range map[string][]string{"1 port": {"example.com:443"}, "8 ports": {
		"a.test:1", "a.test:2", "a.test:3", "a.test:4", "a.test:5", "a.test:6", "a.test:7", "a.test:8"}} {
		b.Run(name, func(b *testing.B) {
			s := newSandbox(b, nil, list...)
			for b.Loop() {
				require.Zero(b, s.run(b, "true").code)
			}
		})
	}
}

// BenchmarkServe is the parent's part of a set-up alone.
func BenchmarkServe(b *testing.B) {
	p, err := egress.Parse("egress", []string{"far.test:443"}, nil)
	require.NoError(b, err)
	for b.Loop() {
		b.StopTimer()
		files, _ := openLocalFiles(b, p)
		b.StartTimer()
		s, err := egress.Serve(b.Context(), files, egress.Options{Policy: p})
		require.NoError(b, err)
		s.Stop()
	}
}

func BenchmarkThroughput(b *testing.B) {
	port, conns := startFar(b)
	s, _, proxy := serveLocally(b.Context(), b, egress.Options{}, port)
	c := openTunnel(b, proxy, port)
	readEstablished(b, c)
	up := <-conns
	const size = 1 << 20
	b.SetBytes(size)
	block := make([]byte, size)
	for b.Loop() {
		done := make(chan error, 1)
		go func() {
			_, err := up.Write(block)
			done <- err
		}()
		_, err := io.CopyN(io.Discard, c, size)
		require.NoError(b, errors.Join(err, <-done))
	}
	require.NoError(b, errors.Join(up.Close(), c.Close()))
	s.Stop()
}

// BenchmarkConnection is one short connection through the proxy.
func BenchmarkConnection(b *testing.B) {
	port, conns := startFar(b)
	s, _, proxy := serveLocally(b.Context(), b, egress.Options{Limits: egress.Limits{Idle: time.Minute}}, port)
	for b.Loop() {
		c := openTunnel(b, proxy, port)
		readEstablished(b, c)
		require.NoError(b, errors.Join((<-conns).Close(), c.Close()))
	}
	s.Stop()
}
