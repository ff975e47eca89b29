package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-smtp"
)

// maxMail is the largest message the outbox takes.
const maxMail = 1 << 20

// outbox is an SMTP server on loopback that puts mail into a Maildir. Mail leaves the
// demo over the wire and goes no further.
type outbox struct {
	srv *smtp.Server
	l   net.Listener
	dir string
	n   atomic.Int64
	wg  sync.WaitGroup
}

func startOutbox(ctx context.Context, dir string) (*outbox, error) {
	for _, d := range []string{"new", "cur", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := &outbox{l: l, dir: dir}
	o.srv = smtp.NewServer(o)
	o.srv.Domain = "localhost"
	o.srv.MaxMessageBytes = maxMail
	o.srv.ReadTimeout, o.srv.WriteTimeout = 10*time.Second, 10*time.Second
	o.wg.Go(func() { _ = o.srv.Serve(l) }) // ends with close
	return o, nil
}

func (o *outbox) address() string { return o.l.Addr().String() }

func (o *outbox) close() error {
	err := o.srv.Close()
	o.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// NewSession implements smtp.Backend.
func (o *outbox) NewSession(*smtp.Conn) (smtp.Session, error) { return session{o}, nil }

type session struct{ o *outbox }

// Mail, Rcpt, Reset and Logout take what they are given: it is a demo's outbox.
func (session) Mail(string, *smtp.MailOptions) error { return nil }

// Rcpt accepts every recipient.
func (session) Rcpt(string, *smtp.RcptOptions) error { return nil }

// Reset has nothing to forget.
func (session) Reset() {}

// Logout has nothing to release.
func (session) Logout() error { return nil }

// Data stores the message, whole or not at all.
func (s session) Data(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxMail))
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d.%d.demo", time.Now().UnixNano(), s.o.n.Add(1))
	tmp := filepath.Join(s.o.dir, "tmp", name)
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(s.o.dir, "new", name))
}
