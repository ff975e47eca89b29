package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/vedette-dev/vedette/config"
	"github.com/vedette-dev/vedette/skills"
)

// lookEvery is how often the files of a certificate are looked at, with the next connection.
const lookEvery = 5 * time.Second

// certificate is the certificate of two files. It is read again when they change; where they are wrong
// then, the last good one counts.
type certificate struct {
	files config.ServerTLS
	log   *slog.Logger
	now   func() time.Time

	mu     sync.Mutex
	loaded *tls.Certificate
	seen   [2]fileMark
	looked time.Time
}

// fileMark tells two versions of a file apart.
type fileMark struct {
	size int64
	at   time.Time
}

// loadCertificate reads a certificate. The error is a *skills.PathError.
func loadCertificate(files config.ServerTLS, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: files, log: log, now: time.Now}
	info, err := os.Stat(files.Key)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, &skills.PathError{Path: "server.tls.key", Msg: "can be read by other users: take that away with chmod 600"}
	}
	if err := c.read(); err != nil {
		return nil, &skills.PathError{Path: "server.tls", Msg: fmt.Sprintf("can't be used: %v", err)}
	}
	return c, nil
}

// read reads both files.
func (c *certificate) read() error {
	marks, err := c.markFiles()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	c.seen, c.looked = marks, c.now() // what is wrong is not read again until it changes
	if err != nil {
		return err
	}
	c.loaded = &pair
	return nil
}

// markFiles looks at both files.
func (c *certificate) markFiles() (out [2]fileMark, err error) {
	for i, name := range []string{c.files.Cert, c.files.Key} {
		info, serr := os.Stat(name)
		if serr != nil {
			err = errors.Join(err, serr)
			continue
		}
		out[i] = fileMark{info.Size(), info.ModTime()}
	}
	return out, err
}

// current returns the certificate, read again where its files have changed.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now().Sub(c.looked) < lookEvery {
		return c.loaded, nil
	}
	c.looked = c.now()
	marks, err := c.markFiles()
	if err == nil && marks == c.seen {
		return c.loaded, nil
	}
	if err == nil {
		err = c.read()
	}
	if err != nil {
		c.log.Error("the server's certificate can't be read again; the last good one counts until it expires", "error", err)
	} else {
		c.log.Info("the server's certificate was read again")
	}
	return c.loaded, nil
}
