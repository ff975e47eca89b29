package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"syscall"

	"github.com/vedette-dev/vedette/sentinel"
	"github.com/vedette-dev/vedette/sentinel/pause"
)

// ErrNotRunning is returned where nothing listens on the socket.
var ErrNotRunning = errors.New("no process of Vedette's listens there")

// ErrNotOwn is returned where what stands in the socket's place is another user's. The
// client asked nothing of it, and believes nothing that it says.
var ErrNotOwn = errors.New("it belongs to another user, who may have put it there to deceive")

// maxAnswer bounds an answer in bytes: a tree of 100,000 processes fits.
const maxAnswer = 256 << 20

// Client talks to one process. It is safe for concurrent use.
type Client struct {
	path   string
	owners []int
	peer   func(net.Conn) (who, error)
	http   *http.Client
}

// Dial returns a client of the process that listens on the socket at path. It
// connects with the first call, and believes a process of this user's or of
// root's alone: any other is ErrNotOwn. Root, who has to do with processes of
// others, names whose it expects in owners.
func Dial(path string, owners ...int) *Client {
	c := &Client{path: path, owners: []int{os.Getuid(), 0}, peer: readPeer}
	if os.Getuid() == 0 {
		c.owners = append(c.owners, owners...)
	}
	c.http = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: c.connectToOwner}, Timeout: callTimeout}
	return c
}

// connectToOwner looks at who listens before a word is sent.
func (c *Client) connectToOwner(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := checkSocketOwner(c.path, c.owners...); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", c.path)
	if err != nil {
		return nil, err
	}
	switch w, err := c.peer(conn); {
	case err != nil:
		return nil, errors.Join(err, conn.Close())
	case !slices.Contains(c.owners, w.uid):
		return nil, errors.Join(fmt.Errorf("%w: user %d listens at %s", ErrNotOwn, w.uid, c.path), conn.Close())
	}
	return conn, nil
}

// Pauses returns the pauses in force.
func (c *Client) Pauses(ctx context.Context) (out []pause.Pause, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/pauses", nil, &out)
}

// Pause begins a pause.
func (c *Client) Pause(ctx context.Context, t pause.Target) (out Paused, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/pauses", t, &out)
}

// Lift ends a pause.
func (c *Client) Lift(ctx context.Context, t pause.Target) (out Lifted, err error) {
	return out, c.callProcess(ctx, http.MethodDelete, "/v1/pauses", t, &out)
}

// InFlight returns the calls that wait for a person, for their places or for their skill,
// or run.
func (c *Client) InFlight(ctx context.Context) (out []sentinel.InFlight, err error) {
	return out, c.callProcess(ctx, http.MethodGet, "/v1/in-flight", nil, &out)
}

// Top reads what the process is doing into out.
func (c *Client) Top(ctx context.Context, out any) error {
	return c.callProcess(ctx, http.MethodGet, "/v1/top", nil, out)
}

// Status asks how the process is, and reads the answer into out.
func (c *Client) Status(ctx context.Context, out any) error {
	return c.callProcess(ctx, http.MethodGet, "/v1/status", nil, out)
}

// callProcess sends one request and decodes its answer into out.
func (c *Client) callProcess(ctx context.Context, method, path string, in, out any) error {
	var b bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&b).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://vedette"+path, &b)
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.explainFailure(err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	d := json.NewDecoder(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode != http.StatusOK {
		var f failed
		if err := d.Decode(&f); err != nil || f.Error == "" {
			return fmt.Errorf("the process answered with status %d", res.StatusCode)
		}
		return f.decodeError()
	}
	return d.Decode(out)
}

// explainFailure adds what the operator can do when no process answers.
func (c *Client) explainFailure(err error) error {
	switch {
	case errors.Is(err, ErrNotOwn):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w: %s", ErrNotRunning, c.path)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s belongs to another user: only that user and root may", c.path)
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return fmt.Errorf("the process behind %s does not answer", c.path)
	}
	return err
}

// ArchiveLedger closes the ledger's database file and has another go on. It waits for that.
func (c *Client) ArchiveLedger(ctx context.Context) (out Archived, err error) {
	patient := *c
	patient.http = &http.Client{Transport: c.http.Transport, Timeout: archiveTime}
	return out, patient.callProcess(ctx, http.MethodPost, "/v1/archives", nil, &out)
}

// ReadStory returns a story with its values, in the name of this process's user. The errors are
// ErrRecordUnknown, ErrRecordAmbiguous and ErrNoStories.
func (c *Client) ReadStory(ctx context.Context, id string) (out Story, err error) {
	return out, c.callProcess(ctx, http.MethodPost, "/v1/stories/"+url.PathEscape(id), nil, &out)
}
