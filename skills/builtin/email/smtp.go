package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"sync"
	"syscall"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// server is where mail is handed in.
type server struct {
	smtpConfig
	host  string
	port  int
	roots *x509.CertPool
}

const stepTimeout = 60 * time.Second

// sendMessage hands the message in. The error says, by what it wraps or is, whether
// the server may have taken it; the server's words in it hold no password.
func (s *server) sendMessage(ctx context.Context, m *gomail.Msg) error {
	err := s.handInMessage(ctx, m)
	clean := scrub.New(s.Password, "\x00"+s.Username+"\x00"+s.Password)
	var f *skills.Failure
	if errors.As(err, &f) {
		return &skills.Failure{Code: f.Code, Unknown: f.Unknown, Err: clean.Error(f.Err)}
	}
	return clean.Error(err)
}

func (s *server) handInMessage(ctx context.Context, m *gomail.Msg) error {
	var line wire
	defer line.close()
	stop := context.AfterFunc(ctx, line.close)
	defer stop()
	c, err := s.newClient(&line)
	if err != nil {
		return decode.Refuse("the mail client can't be set up: %w", err)
	}
	conn, err := c.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return decode.Refuse("no session with the mail server: %w", err)
	}
	err = c.SendWithSMTPClient(conn, m)
	if m.IsDelivered() {
		// What follows the server's yes, a reset or a goodbye, changes nothing.
		_ = c.CloseWithSMTPClient(conn)
		return nil
	}
	// No goodbye here: it would end a message that was cut off half-way with
	// the very dot that makes it whole. The line is just dropped.
	return classifyRefusal(err)
}

// classifyRefusal tells an error after which the server has nothing from one after
// which it may have the message.
func classifyRefusal(err error) error {
	var e *gomail.SendError
	if !errors.As(err, &e) {
		return &skills.Failure{Code: skills.FailFailed, Unknown: true, Err: fmt.Errorf("the mail server's answer is missing: %w", err)}
	}
	switch e.Reason {
	case gomail.ErrConnCheck, gomail.ErrGetSender, gomail.ErrGetRcpts, gomail.ErrNoUnencoded,
		gomail.ErrSMTPMailFrom, gomail.ErrSMTPRcptTo, gomail.ErrSMTPData:
		return decode.Refuse("the mail server did not take the message: %w", err)
	case gomail.ErrSMTPDataClose:
		// An answer with a code is a no; without one the line broke.
		var said *textproto.Error
		if errors.As(err, &said) || e.ErrorCode() >= 400 {
			return decode.Refuse("the mail server refused the message: %w", err)
		}
	}
	return &skills.Failure{Code: skills.FailFailed, Unknown: true, Err: fmt.Errorf("the line broke while the message was handed in: %w", err)}
}

func (s *server) newClient(line *wire) (*gomail.Client, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host, RootCAs: s.roots}
	options := []gomail.Option{gomail.WithPort(s.port), gomail.WithTimeout(stepTimeout), gomail.WithTLSConfig(conf), gomail.WithoutNoop(),
		gomail.WithTLSPolicy(gomail.NoTLS),
		gomail.WithDialContextFunc(func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.dialServer(ctx, network, addr, conf, line)
		})}
	if s.TLS == tlsStart {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.Username != "" {
		// New refuses a password without TLS. The client doesn't know of TLS
		// from the first byte, which is ours, so it must be told that PLAIN is fine.
		auth := gomail.SMTPAuthAutoDiscover
		if s.TLS == tlsWhole {
			auth = gomail.SMTPAuthPlainNoEnc
		}
		options = append(options, gomail.WithUsername(s.Username), gomail.WithPassword(s.Password), gomail.WithSMTPAuth(auth))
	}
	return gomail.NewClient(s.host, options...)
}

func (s *server) dialServer(ctx context.Context, network, addr string, conf *tls.Config, line *wire) (net.Conn, error) {
	d := &net.Dialer{}
	if s.TLS == tlsNone {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(address)
			if err != nil || !a.Addr().Unmap().IsLoopback() {
				return errors.New("a server without tls must be on this machine")
			}
			return nil
		}
	}
	c, err := d.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if !line.keep(c) {
		return nil, net.ErrClosed
	}
	if s.TLS != tlsWhole {
		return c, nil
	}
	t := tls.Client(c, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// wire is the connection of one send, which ends with it however it ends.
type wire struct {
	mu     sync.Mutex
	conn   net.Conn
	closed bool
}

func (w *wire) keep(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = c.Close()
		return false
	}
	w.conn = c
	return true
}

func (w *wire) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.conn != nil {
		_ = w.conn.Close()
	}
}
