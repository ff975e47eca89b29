package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/vedette-dev/vedette/internal/outbound"
)

// The ways to a mail server.
const (
	SMTPStartTLS = "starttls" // TLS after a greeting, or no mail: the default, port 587
	SMTPImplicit = "tls"      // TLS from the first byte, port 465
	SMTPPlain    = "none"     // no TLS: for a server on this machine alone, port 25
)

// SMTP sends messages as mail, in plain text.
type SMTP struct {
	Host string
	// Port is the server's; zero is the usual one of Encryption.
	Port int
	// Encryption is one of the ways above; empty is SMTPStartTLS.
	Encryption string
	// Username and Password are optional.
	Username, Password string
	From               string
	To                 []string
	// TLS is nil, or how the server's certificate is checked.
	TLS *tls.Config
}

type smtp struct {
	SMTP
	client []gomail.Option
}

// NewSMTP checks the settings. The errors hold no password.
func NewSMTP(s SMTP) (Notifier, error) {
	if s.Host == "" || strings.ContainsAny(s.Host, "/@ \r\n") {
		return nil, errors.New("the mail server's host is missing or no host name")
	}
	if len(s.To) == 0 {
		return nil, errors.New("a mail needs someone to go to; write addresses under to")
	}
	out := &smtp{SMTP: s}
	if _, err := out.newMail(Message{ID: "check"}); err != nil {
		return nil, err
	}
	if err := out.chooseOptions(); err != nil {
		return nil, err
	}
	if _, err := gomail.NewClient(s.Host, out.client...); err != nil {
		return nil, errors.New("the mail server's settings don't fit together; look at host, port and tls")
	}
	return out, nil
}

// chooseOptions turns the settings into the client's.
func (s *smtp) chooseOptions() error {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.TLS != nil {
		conf = s.TLS.Clone()
	}
	conf.ServerName = s.Host
	s.client = []gomail.Option{gomail.WithTimeout(sendTime), gomail.WithTLSConfig(conf), gomail.WithoutNoop()}
	port := s.Port
	switch s.Encryption {
	case "", SMTPStartTLS:
		s.client = append(s.client, gomail.WithTLSPolicy(gomail.TLSMandatory))
		if port == 0 {
			port = 587
		}
	case SMTPImplicit:
		s.client = append(s.client, gomail.WithSSL())
		if port == 0 {
			port = 465
		}
	case SMTPPlain:
		if !outbound.IsLoopback(s.Host) {
			return errors.New("a mail server without TLS must be on this machine; use starttls or tls")
		}
		s.client = append(s.client, gomail.WithTLSPolicy(gomail.NoTLS))
		if port == 0 {
			port = 25
		}
	default:
		return fmt.Errorf("%q is no way to a mail server; use %s, %s or %s", s.Encryption, SMTPStartTLS, SMTPImplicit, SMTPPlain)
	}
	s.client = append(s.client, gomail.WithPort(port))
	if s.Username != "" {
		s.client = append(s.client, gomail.WithUsername(s.Username), gomail.WithPassword(s.Password),
			gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover))
	}
	return nil
}

// Send implements Notifier.
func (s *smtp) Send(ctx context.Context, m Message) error {
	mail, err := s.newMail(m)
	if err != nil {
		return &SendError{Reason: err.Error(), Refused: true}
	}
	c, err := gomail.NewClient(s.Host, s.client...)
	if err != nil {
		return &SendError{Reason: "the mail server's settings don't fit together", Refused: true}
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	err = c.DialAndSendWithContext(ctx, mail)
	if err == nil || mail.IsDelivered() {
		return nil
	}
	return describeMailFailure(err)
}

// describeMailFailure leaves out the server's words: they may repeat what was sent.
func describeMailFailure(err error) error {
	var e *gomail.SendError
	if errors.As(err, &e) {
		out := &SendError{Reason: "the mail server did not take the message", Refused: !e.IsTemp()}
		if code := e.ErrorCode(); code > 0 {
			out.Reason = fmt.Sprintf("the mail server answered %d", code)
		}
		return out
	}
	var line *net.OpError
	if errors.As(err, &line) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return &SendError{Reason: outbound.DescribeFailure(err)}
	}
	return &SendError{Reason: "no session with the mail server; look at TLS, user and password"}
}

// newMail writes a message as mail. A repeated message has the same Message-ID.
func (s *smtp) newMail(m Message) (*gomail.Msg, error) {
	mail := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := mail.From(s.From); err != nil {
		return nil, fmt.Errorf("from is no mail address; write one such as vedette@example.com")
	}
	if err := mail.To(s.To...); err != nil {
		return nil, fmt.Errorf("to holds what is no mail address; write addresses such as ops@example.com")
	}
	mail.SetMessageIDWithValue(m.ID + "@vedette.invalid")
	mail.SetDateWithValue(m.At)
	mail.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no holiday answers
	mail.Subject(m.Title())
	mail.SetBodyString(gomail.TypeTextPlain, mailText(m))
	return mail, nil
}

// mailText is a message as lines of text.
func mailText(m Message) string {
	var b strings.Builder
	for i, line := range m.Lines() {
		b.WriteString("- " + strings.ReplaceAll(line, "\n", " ") + "\n")
		if link := m.link(i); link != "" {
			b.WriteString("  " + link + "\n")
		}
	}
	switch {
	case m.Kind == KindAlert && m.Link != "":
		b.WriteString("\nThe log: " + m.Link + "\n")
	case m.Kind == KindAlert:
		b.WriteString("\nThe log: vedette ledger list\n")
	case m.Link != "":
		b.WriteString("\nAll that wait: " + m.Link + "\n")
	default:
		b.WriteString("\nAll that wait: vedette approvals list\n")
	}
	return b.String()
}
