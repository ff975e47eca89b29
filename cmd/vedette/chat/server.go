package chat

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-dev/vedette/sentinel/approval"
)

// ServerOptions are the settings of Dial.
type ServerOptions struct {
	// URL is the server's address: https, or http to this machine.
	URL string
	// Token has the scope chat, and approve where its person answers questions.
	Token string
	// Conversation is the id of a conversation; empty begins one.
	Conversation string
}

// ServerError is what a server answered in place of what was asked for.
type ServerError struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Title  string `json:"title"`
	Remedy string `json:"remedy"`
	// RetryAfter is when to come again, in seconds; zero where time changes nothing.
	RetryAfter int `json:"-"`
}

// Error says what the server said.
func (e *ServerError) Error() string {
	said := cmp.Or(e.Detail, e.Title, "it answered "+strconv.Itoa(e.Status))
	return "the server refused: " + said
}

// Advice returns the server's remedy.
func (e *ServerError) Advice() string { return e.Remedy }

const (
	// maxAnswer bounds what is read of an answer, and of one event, in bytes.
	maxAnswer = 8 << 20
	// headerTime is how long a server may take to begin an answer.
	headerTime = 30 * time.Second
)

// server is a conversation on a server.
type server struct {
	base, token string
	http        *http.Client
	place       Place
	last        int64 // id of the newest event
}

// Dial reaches a conversation on a server. It asks the server once, so that a wrong address or token
// is found at once. The errors hold no token.
func Dial(ctx context.Context, o ServerOptions) (Peer, error) {
	base, err := checkAddress(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Token == "" || strings.ContainsAny(o.Token, " \t\r\n") {
		return nil, errors.New("the token is missing, or is none")
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("the program's HTTP transport was replaced")
	}
	transport = transport.Clone()
	transport.ResponseHeaderTimeout = headerTime
	s := &server{base: base, token: o.Token, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would take the token along
	}}
	var made struct{ ID, User string }
	body := map[string]string{}
	if o.Conversation != "" {
		body["id"] = o.Conversation
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := s.ask(ctx, http.MethodPost, "/v1/conversations", body, &made); err != nil {
		return nil, err
	}
	s.place = Place{
		Conversation: made.ID, User: made.User, At: base,
		Resume: "vedette chat --server " + base + " --conversation " + made.ID, Approvals: "",
	}
	return s, nil
}

// checkAddress refuses an address to which a token would go in the open.
func checkAddress(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the server's address is a URL such as https://vedette.example.com, without anything behind it")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())) {
		return "", errors.New("the server's address must be https, or http to this machine: a token would go there in the open")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Describe implements Peer.
func (s *server) Describe() Place { return s.place }

// path is a path below the conversation.
func (s *server) path(below string) string {
	return "/v1/conversations/" + url.PathEscape(s.place.Conversation) + below
}

// Cancel implements Peer.
func (s *server) Cancel(ctx context.Context, id string) error {
	return s.ask(ctx, http.MethodPost, s.path("/requests/"+url.PathEscape(id)+"/cancel"), nil, nil)
}

// List implements Peer.
func (s *server) List(ctx context.Context) ([]Message, error) {
	var page struct{ Data []Message }
	err := s.ask(ctx, http.MethodGet, s.path("/messages?limit="+strconv.Itoa(shownBefore)), nil, &page)
	if refused := (*ServerError)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil, nil // it is new
	}
	return page.Data, err
}

// Pending implements Peer.
func (s *server) Pending(ctx context.Context) ([]string, error) {
	var page struct{ Data []approval.Item }
	err := s.ask(ctx, http.MethodGet, "/v1/approvals?limit=1000&conversation="+url.QueryEscape(s.place.Conversation), nil, &page)
	return listIDs(page.Data), err
}

// Show implements Peer.
func (s *server) Show(ctx context.Context, id string) (c approval.Card, err error) {
	err = s.ask(ctx, http.MethodGet, "/v1/approvals/"+url.PathEscape(id), nil, &c)
	if refused := (*ServerError)(nil); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return c, fmt.Errorf("%w: %w", approval.ErrUnknown, err)
	}
	return c, err
}

// Answer implements Peer. Who answers is the token's principal.
func (s *server) Answer(ctx context.Context, a approval.Answer) (i approval.Item, err error) {
	body := struct {
		Word     approval.Word   `json:"word"`
		Digest   string          `json:"digest"`
		Feedback string          `json:"feedback,omitempty"`
		Edit     json.RawMessage `json:"edit,omitempty"`
	}{a.Word, a.Digest, a.Feedback, a.Edit}
	err = s.ask(ctx, http.MethodPost, "/v1/approvals/"+url.PathEscape(a.Approval)+"/answer", body, &i)
	if refused := (*ServerError)(nil); errors.As(err, &refused) && answerErrors[refused.Code] != nil {
		err = fmt.Errorf("%w: %w", answerErrors[refused.Code], err)
	}
	return i, err
}

// answerErrors are the errors of an inbox by the codes of a server.
var answerErrors = map[string]error{"stale": approval.ErrStale, "invalid": approval.ErrAnswer, "not_allowed": approval.ErrNotAllowed}

// Close implements Peer. What is under way goes on at the server.
func (s *server) Close(context.Context) (string, error) {
	s.http.CloseIdleConnections()
	return "", nil
}

// open sends a request and returns its answer, whose body the caller closes. An answer that is no
// success is a *ServerError.
func (s *server) open(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, bytes.NewReader(raw))
	if err != nil {
		return nil, errors.New("the server's address can't be used")
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := s.http.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, &unreachableError{s.base, err}
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	refused := &ServerError{}
	_ = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(refused) // the status says enough
	refused.Status = res.StatusCode
	refused.RetryAfter, _ = strconv.Atoi(res.Header.Get("Retry-After"))
	return nil, refused
}

// ask sends a request and reads its answer.
func (s *server) ask(ctx context.Context, method, path string, body, into any) error {
	res, err := s.open(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	if into == nil {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return &unreachableError{s.base, err}
	}
	if len(raw) > maxAnswer || json.Unmarshal(raw, into) != nil {
		return errors.New("the server's answer is not understood; it may be of another version")
	}
	return nil
}

// unreachableError is a server that gives no answer.
type unreachableError struct {
	base  string
	cause error
}

// Error names the server and the cause.
func (e *unreachableError) Error() string {
	return fmt.Sprintf("the server %s can't be reached: %v", e.base, e.cause)
}

// Unwrap returns the cause.
func (e *unreachableError) Unwrap() error { return e.cause }

// Advice says what to do.
func (e *unreachableError) Advice() string {
	return "start it with vedette serve, or name another with --server URL"
}
