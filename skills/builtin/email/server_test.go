package email

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
)

// mailServer is a real SMTP server that records what arrives.
type mailServer struct {
	addr string
	pool *x509.CertPool

	mu       sync.Mutex
	got      []mailItem
	sessions int
	rcptErr  error
	dataErr  error
	hangUp   bool // drop the line after the whole message was read
	leave    bool // drop the line after the message was taken
}

type mailItem struct {
	from string
	to   []string
	data string
	user string
}

func (s *mailServer) arrived() []mailItem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func (s *mailServer) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions
}

// startMail serves on a free port: mode is a value of smtp.tls, as the server
// supports it.
func startMail(t *testing.T, mode string) *mailServer {
	t.Helper()
	// httptest brings a certificate for 127.0.0.1 along.
	https := httptest.NewTLSServer(nil)
	cert := https.TLS.Certificates[0]
	s := &mailServer{pool: x509.NewCertPool()}
	s.pool.AddCert(https.Certificate())
	https.Close()
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sessions++
		return &mailSession{s: s, c: c}, nil
	}))
	srv.Domain = "test.example"
	conf := &tls.Config{Certificates: []tls.Certificate{cert}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr = l.Addr().String()
	switch mode {
	case tlsStart:
		srv.TLSConfig = conf
	case tlsWhole:
		l = tls.NewListener(l, conf)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return s
}

type mailSession struct {
	s    *mailServer
	c    *smtp.Conn
	item mailItem
}

func (m *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (m *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != "me" || pass != "canary-password" {
			return errors.New("no")
		}
		m.item.user = user
		return nil
	}), nil
}

func (m *mailSession) Mail(from string, _ *smtp.MailOptions) error { m.item.from = from; return nil }

func (m *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if m.s.rcptErr != nil && len(m.item.to) > 0 {
		return m.s.rcptErr
	}
	m.item.to = append(m.item.to, to)
	return nil
}

func (m *mailSession) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if m.s.hangUp {
		_ = m.c.Conn().Close()
	}
	if m.s.dataErr != nil {
		return m.s.dataErr
	}
	m.item.data = string(b)
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.got = append(m.s.got, m.item)
	return nil
}

func (m *mailSession) Reset() {
	if m.s.leave && m.item.data != "" {
		_ = m.c.Conn().Close()
	}
	m.item = mailItem{user: m.item.user}
}

func (m *mailSession) Logout() error { return nil }
