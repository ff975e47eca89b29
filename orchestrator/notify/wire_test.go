package notify_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/orchestrator/notify"
)

// told is a message whose names try to be more than names.
func told() notify.Message {
	m := notify.NewTest("https://v.example", began)
	m.Kind = notify.KindPending
	m.Items = []notify.Item{{
		Approval: "d1", State: "pending", Skill: "email.send", Effect: "irreversible", Agent: "<!channel> *x*",
		User:         "ann<https://evil.test|here>",
		Conversation: "c1", Asked: began, Expires: began.Add(time.Hour), Needed: 2, Link: "https://v.example/approvals/d1",
	}}
	m.More = 3
	return m
}

// receiver is a real HTTPS server that keeps what it is posted.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	body   []byte
	header http.Header
	posts  int
}

func startReceiver(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.body, _ = io.ReadAll(req.Body)
		r.header = req.Header
		r.posts++
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) trust() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

const hookKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The signature is the one that other implementations of Standard Webhooks make.
func TestSignatureOfTheStandard(t *testing.T) {
	got, err := notify.Sign(notify.Webhook{URL: "https://x.example", Secrets: []string{hookKey, hookKey}},
		"msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	require.NoError(t, err)
	const want = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	require.Equal(t, want+" "+want, got)
}

// A receiver of webhooks can tell whose message it is, and which.
func TestWebhook(t *testing.T) {
	r := startReceiver(t, nil)
	n, err := notify.NewWebhook(notify.Webhook{URL: r.URL, Secrets: []string{hookKey}, TLS: r.trust()})
	require.NoError(t, err)
	m := told()
	require.NoError(t, n.Send(t.Context(), m))
	require.Equal(t, m.ID, r.header.Get("Webhook-Id"))
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hookKey, "whsec_"))
	require.NoError(t, err)
	h := hmac.New(sha256.New, key)
	h.Write([]byte(m.ID + "." + r.header.Get("Webhook-Timestamp") + "." + string(r.body)))
	require.Equal(t, "v1,"+base64.StdEncoding.EncodeToString(h.Sum(nil)), r.header.Get("Webhook-Signature"))
	var body struct {
		Type string         `json:"type"`
		Data notify.Message `json:"data"`
	}
	require.NoError(t, json.Unmarshal(r.body, &body))
	require.Equal(t, "approvals.pending", body.Type)
	require.Equal(t, m, body.Data)
}

// Names in Slack mention no person, link nowhere and format nothing.
func TestSlack(t *testing.T) {
	r := startReceiver(t, nil)
	n, err := notify.NewSlack(notify.Slack{URL: r.URL, TLS: r.trust()})
	require.NoError(t, err)
	require.NoError(t, n.Send(t.Context(), told()))
	var body struct {
		Text   string
		Blocks []struct {
			Text struct {
				Type, Text string
				Verbatim   bool
			}
		}
	}
	require.NoError(t, json.Unmarshal(r.body, &body))
	require.True(t, body.Blocks[1].Text.Verbatim)
	require.Equal(t, "Vedette: 4 calls wait for an answer", body.Text)
	require.Len(t, body.Blocks, 3)
	line := body.Blocks[1].Text.Text
	require.Contains(t, line, "&lt;!channel&gt;")
	require.Equal(t, 1, strings.Count(line, "<"), line)
	require.Contains(t, line, "<https://v.example/approvals/d1|Open>")
	require.NotContains(t, line, " *x*")
	require.Equal(t, "and 3 more", body.Blocks[2].Text.Text)
}

// A name turns no line and is no link, wherever it is read: programs choose some of them.
func TestNamesAreOneLine(t *testing.T) {
	m := told()
	m.Items[0].Agent = "x\u202e\u200b\r\n\x1b[31m https://evil.test/approvals/d1 " + strings.Repeat("A", 1000)
	m.Items[0].User, m.Items[0].By = "\u2066ann", "bob\nAll that wait: http://evil.test/"
	for _, kind := range []notify.Kind{notify.KindPending, notify.KindDecided} {
		m.Kind = kind
		for _, line := range m.Lines() {
			require.NotContains(t, line, "://")
			require.Less(t, len(line), 600)
			for _, r := range line {
				require.True(t, unicode.IsPrint(r), "%U", r)
			}
		}
	}
	require.Contains(t, m.Lines()[0], `x\u202e\u200b`)
}

// A card for Teams has runs of text, which read no Markdown, and its links open pages.
func TestTeams(t *testing.T) {
	r := startReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	n, err := notify.NewTeams(notify.Teams{URL: r.URL, TLS: r.trust()})
	require.NoError(t, err)
	require.NoError(t, n.Send(t.Context(), told()))
	require.Contains(t, string(r.body), `"contentType":"application/vnd.microsoft.card.adaptive"`)
	require.NotContains(t, string(r.body), `"TextBlock"`)
	require.Contains(t, string(r.body), `{"type":"Action.OpenUrl","url":"https://v.example/approvals/d1"}`)
	require.Less(t, len(r.body), 28<<10)
}

// What a receiver answers decides whether and when it is asked again. No redirect is followed.
func TestAnswersOfReceivers(t *testing.T) {
	for name, row := range map[string]struct {
		status int
		after  string
		want   notify.SendError
	}{
		"too many":    {429, "90", notify.SendError{Reason: "the receiver answered 429", RetryAfter: 90 * time.Second}},
		"a long wish": {503, "999999999999", notify.SendError{Reason: "the receiver answered 503", RetryAfter: time.Hour}},
		"a day":       {503, "86400", notify.SendError{Reason: "the receiver answered 503", RetryAfter: time.Hour}},
		"broken":      {500, "", notify.SendError{Reason: "the receiver answered 500"}},
		"gone":        {404, "", notify.SendError{Reason: "the receiver answered 404; look at the channel's settings", Refused: true}},
		"elsewhere":   {302, "", notify.SendError{Reason: "the receiver answered 302; look at the channel's settings", Refused: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startReceiver(t, func(w http.ResponseWriter, req *http.Request) {
				w.Header().Set("Retry-After", row.after)
				w.Header().Set("Location", "/other")
				w.WriteHeader(row.status)
			})
			n, err := notify.NewSlack(notify.Slack{URL: r.URL, TLS: r.trust()})
			require.NoError(t, err)
			err = n.Send(t.Context(), told())
			var got *notify.SendError
			require.ErrorAs(t, err, &got)
			require.Equal(t, row.want, *got)
			require.Equal(t, 1, r.posts)
		})
	}
}

// A failure says what happened without the address, which is a secret.
func TestFailuresHideTheAddress(t *testing.T) {
	r := startReceiver(t, nil)
	strange, err := notify.NewSlack(notify.Slack{URL: r.URL + "/CANARY"}) // its certificate is not known
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	down, err := notify.NewSlack(notify.Slack{URL: "http://" + l.Addr().String() + "/CANARY"})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for want, got := range map[string]error{
		"the receiver's certificate is not to be trusted": strange.Send(t.Context(), told()),
		"no connection to the receiver":                   down.Send(t.Context(), told()),
		"the process ends":                                down.Send(ended, told()),
	} {
		require.EqualError(t, got, want)
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "-1": 0, "0": 0, "12": 12 * time.Second, "3601": time.Hour, "soon": 0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second, "Sun, 01 Mar 2026 11:00:00 GMT": 0,
	} {
		require.Equal(t, want, notify.ParseRetryAfter(text, began), text)
	}
}

// mailbox is a real SMTP server.
type mailbox struct {
	mu   sync.Mutex
	to   []string
	data string
	fail *smtp.SMTPError
}

func (b *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &mailSession{b}, nil }

type mailSession struct{ b *mailbox }

func (s *mailSession) Reset()                               {}
func (s *mailSession) Logout() error                        { return nil }
func (s *mailSession) Mail(string, *smtp.MailOptions) error { return nil }

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.b.fail != nil {
		return s.b.fail
	}
	s.b.to = append(s.b.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.b.data = string(raw)
	return err
}

// startMailbox serves with STARTTLS, with TLS at once, or without TLS.
func startMailbox(t *testing.T, mode string) (b *mailbox, port int, trust *tls.Config) {
	t.Helper()
	https := httptest.NewTLSServer(nil)
	cert, pool := https.TLS.Certificates[0], x509.NewCertPool()
	pool.AddCert(https.Certificate())
	https.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b = &mailbox{}
	srv := smtp.NewServer(b)
	srv.Domain = "localhost"
	conf := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	port = l.Addr().(*net.TCPAddr).Port
	switch mode {
	case notify.SMTPStartTLS:
		srv.TLSConfig = conf
	case notify.SMTPImplicit:
		l = tls.NewListener(l, conf)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return b, port, &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// A mail arrives by each way to a server, and names of an agent forge no header of it.
func TestSMTP(t *testing.T) {
	for _, mode := range []string{notify.SMTPStartTLS, notify.SMTPImplicit, notify.SMTPPlain} {
		t.Run(mode, func(t *testing.T) {
			b, port, trust := startMailbox(t, mode)
			n, err := notify.NewSMTP(notify.SMTP{Host: "127.0.0.1", Port: port, Encryption: mode, From: "vedette@example.com",
				To: []string{"ops@example.com", "on-call@example.com"}, TLS: trust})
			require.NoError(t, err)
			m := told()
			m.Items[0].Agent = "x\r\nBcc: evil@example.test\r\n\r\nyes"
			require.NoError(t, n.Send(t.Context(), m))
			require.Equal(t, []string{"ops@example.com", "on-call@example.com"}, b.to)
			head, body, _ := strings.Cut(b.data, "\r\n\r\n")
			require.Contains(t, head, "Subject: Vedette: 4 calls wait for an answer")
			require.Contains(t, head, "Message-ID: <"+m.ID+"@")
			require.Contains(t, head, "Auto-Submitted: auto-generated")
			require.NotContains(t, head, "evil")
			require.Contains(t, body, "https://v.example/approvals/d1")
		})
	}
}

// A server that lacks TLS gets no mail where TLS is wanted, and a refusal is told apart from a
// temporary one.
func TestSMTPFailures(t *testing.T) {
	b, port, _ := startMailbox(t, notify.SMTPPlain)
	settings := notify.SMTP{Host: "127.0.0.1", Port: port, From: "vedette@example.com", To: []string{"ops@example.com"}}
	safe, err := notify.NewSMTP(settings)
	require.NoError(t, err)
	require.EqualError(t, safe.Send(t.Context(), told()), "no session with the mail server; look at TLS, user and password")
	require.Empty(t, b.to)
	settings.Encryption = notify.SMTPPlain
	n, err := notify.NewSMTP(settings)
	require.NoError(t, err)
	for code, refused := range map[int]bool{550: true, 450: false} {
		b.fail = &smtp.SMTPError{Code: code, Message: "CANARY"}
		var got *notify.SendError
		require.ErrorAs(t, n.Send(t.Context(), told()), &got)
		require.Equal(t, refused, got.Refused, code)
		require.NotContains(t, got.Reason, "CANARY")
	}
}

// Settings that can't work, or that would send in the clear, are refused before anything is sent.
func TestSettingsThatAreRefused(t *testing.T) {
	mail := notify.SMTP{Host: "mail.example.com", From: "v@example.com", To: []string{"o@example.com"}}
	with := func(change func(*notify.SMTP)) error {
		s := mail
		change(&s)
		_, err := notify.NewSMTP(s)
		return err
	}
	hook := func(url string, secrets ...string) error {
		_, err := notify.NewWebhook(notify.Webhook{URL: url, Secrets: secrets})
		return err
	}
	for want, err := range map[string]error{
		"not https":           errors.Join(hook("http://hooks.example.com/x", hookKey)),
		"no URL":              hook("hooks.example.com", hookKey),
		"without a user":      hook("https://ann:pw@hooks.example.com", hookKey),
		"needs a secret":      hook("https://hooks.example.com"),
		"24 to 64 bytes":      hook("https://hooks.example.com", "whsec_c2hvcnQ="),
		`"whsec_" and base64`: hook("https://hooks.example.com", "CANARY"),
		"must be on this":     with(func(s *notify.SMTP) { s.Encryption = notify.SMTPPlain }),
		"no way to a mail":    with(func(s *notify.SMTP) { s.Encryption = "ssl" }),
		"host is missing":     with(func(s *notify.SMTP) { s.Host = "" }),
		"from is no mail":     with(func(s *notify.SMTP) { s.From = "x\r\nBcc: y@example.com" }),
		"what is no mail":     with(func(s *notify.SMTP) { s.To = []string{"o@example.com, p"} }),
		"needs someone to":    with(func(s *notify.SMTP) { s.To = nil }),
	} {
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "CANARY")
	}
}

// Whatever a name holds, Slack reads it as text: no mention, no link, no new line.
func FuzzSlackEscape(f *testing.F) {
	for _, s := range []string{"<!here>", "&lt;", "a_b_c", "*x*", "\n", "`x`", "~x~"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := notify.EscapeSlack(s)
		require.NotContains(t, got, "<")
		require.NotContains(t, got, ">")
		require.NotContains(t, got, "\n")
		for _, part := range strings.Split(got, "&")[1:] {
			require.True(t, strings.HasPrefix(part, "amp;") || strings.HasPrefix(part, "lt;") || strings.HasPrefix(part, "gt;"))
		}
	})
}
