package http

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-dev/vedette/internal/scrub"
	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
	"github.com/vedette-dev/vedette/skills/warrant"
)

// Options is what a running system adds to a skill's own options.
type Options struct {
	// Token signs the request. If nil, no token is sent. An error ends the
	// call before anything is sent.
	Token func(o skills.Order, r Request) (string, error)
	// Lookup resolves a host's name. If nil, the system's resolver.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// AllowHosts are names and addresses of private hosts that every skill may connect to
	// (guard.allow_hosts). A skill's own allow_private adds to them. A skill that says
	// "allow_private: false" gets none of them, and no list can allow a metadata service.
	AllowHosts []string
	// Credentials are what a skill's option of that name may use. If nil, none.
	Credentials skills.Credentials
	// RootCAs verify servers. If nil, the system's.
	RootCAs *x509.CertPool
}

// Request is what a token is for.
type Request struct {
	// Audience is scheme, host and, where the url names one, port:
	// "https://mail.internal".
	Audience string
	// Method and Target are the request line: the target is path and query.
	Method, Target string
	// Body is what is sent; nil without a body.
	Body []byte
}

const defaultOutput = 256 << 10

// config is the skill's own options, as written.
type config struct {
	Method       string            `json:"method"`
	URL          string            `json:"url"`
	Headers      map[string]string `json:"headers"`
	Body         string            `json:"body"`
	Query        []string          `json:"query"`
	OutputLimit  int               `json:"output_limit"`
	AllowHosts   []string          `json:"allow_hosts"`
	AllowPrivate hosts             `json:"allow_private"`
	// Safe says that the endpoint changes nothing, whatever its method says.
	Safe bool `json:"safe"`
	// Isolation is external where the service isolates what it runs.
	Isolation string `json:"isolation"`
	// Credentials are headers with the name of a credential in braces.
	Credentials map[string]string `json:"credentials"`
}

// hosts is a list of names, or false for none.
type hosts struct {
	list []string
	none bool
}

type hint string

func (h hint) Error() string { return string(h) }
func (h hint) Hint() string  { return string(h) }

// UnmarshalJSON takes a list of host names, or false.
func (h *hosts) UnmarshalJSON(b []byte) error {
	if string(b) == "false" {
		h.none = true
		return nil
	}
	var l []string
	if json.Unmarshal(b, &l) != nil {
		return hint("must be false, or the list of the hosts that may have a private address")
	}
	h.list = l
	return nil
}

// New returns the Executor of a skill of kind "http", or every mistake in its
// options as joined *skills.PathError values. It connects nowhere.
func New(s *skills.Skill, r skills.Redeemer, o Options) (skills.Executor, error) {
	at, err := decode.Start(s, r, "http")
	if err != nil {
		return nil, err
	}
	c := config{Method: http.MethodPost, OutputLimit: defaultOutput}
	if err := decode.Options(s.Spec().Run.Options, at, &c); err != nil {
		return nil, err
	}
	e := &endpoint{config: c, token: o.Token, readsOnly: s.Effect() == skills.Read, credentials: o.Credentials}
	err = errors.Join(
		e.checkPrivate(at), e.checkPlain(at), e.checkURL(at, s),
		e.checkHeaders(at), e.checkQuery(at, s), e.checkCredentials(at, s),
	)
	if err != nil {
		return nil, err
	}
	e.clean = scrub.New(e.ownSecrets()...)
	e.client = newClient(o, e.host, newReach(e.host, c.AllowPrivate, o.AllowHosts))
	return skills.NewExecutor(r, s, e.runRequest), nil
}

// endpoint is a skill's options, checked.
type endpoint struct {
	config
	audience  string
	host      string // without port
	client    *http.Client
	token     func(skills.Order, Request) (string, error)
	readsOnly bool
	clean     *scrub.Scrubber // takes out what the configuration keeps secret

	credentials skills.Credentials
}

// ownSecrets are the values of the skill's own options that no model may see.
func (e *endpoint) ownSecrets() []string {
	out := scrub.OfURL(e.URL)
	for k, v := range e.Headers {
		out = append(out, scrub.OfHeader(k, v)...)
	}
	return out
}

func (e *endpoint) checkPlain(at string) error {
	errs := []error{decode.OneOf(at+".method", "method", e.Method, "GET", "HEAD", "QUERY", "POST", "PUT", "PATCH", "DELETE"),
		e.checkPerimeter(at)}
	reading := e.Method == http.MethodGet || e.Method == http.MethodHead
	if e.Body == "" {
		e.Body = "json"
		if reading {
			e.Body = "none"
		}
	}
	errs = append(errs, decode.OneOf(at+".body", "body", e.Body, "json", "none"))
	if e.Isolation != "" {
		errs = append(errs, decode.OneOf(at+".isolation", "isolation", e.Isolation, string(skills.External)))
	}
	if e.Body == "json" && reading {
		errs = append(errs, &skills.PathError{Path: at + ".body", Msg: "a GET or HEAD has no body; use query"})
	}
	if e.OutputLimit < 1 || e.OutputLimit > skills.MaxResult {
		errs = append(errs, &skills.PathError{Path: at + ".output_limit", Msg: fmt.Sprintf("must be between 1 and %d bytes", skills.MaxResult)})
	}
	return errors.Join(errs...)
}

// checkPerimeter holds a skill that only reads to methods that only read.
func (e *endpoint) checkPerimeter(at string) error {
	if !e.readsOnly || e.Safe || skills.ReadsOnly(e.Method) {
		return nil
	}
	return &skills.PathError{Path: at + ".method", Msg: fmt.Sprintf("is %s, and the skill's effect is read; "+
		"say GET, HEAD or QUERY, a greater effect, "+
		"or safe: true where the endpoint changes nothing", e.Method)}
}

func (e *endpoint) checkURL(at string, s *skills.Skill) error {
	at += ".url"
	if e.URL == "" {
		return &skills.PathError{Path: at, Msg: "is missing; write the whole address, such as https://host/path"}
	}
	u, err := url.Parse(e.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Hostname() == "":
		return &skills.PathError{Path: at, Msg: "must be a whole URL, such as https://host/path"}
	case u.User != nil:
		return &skills.PathError{Path: at, Msg: "must not hold a name or password; use headers"}
	case u.Fragment != "" || strings.ContainsAny(u.Host+u.RawQuery, "{}"):
		return &skills.PathError{Path: at, Msg: "may have {places} in its path alone, and no fragment; for the query use query"}
	case isMetadataName(u.Hostname()): // first: nothing that could be added would allow it
		return &skills.PathError{Path: at, Msg: metadataHost}
	case u.Scheme == "http" && !slices.ContainsFunc(e.AllowHosts, func(h string) bool { return strings.EqualFold(h, u.Hostname()) }):
		return &skills.PathError{Path: at, Msg: "must be https, or its host must stand in allow_hosts"}
	case u.Scheme != "http" && u.Scheme != "https":
		return &skills.PathError{Path: at, Msg: "must be https"}
	}
	e.audience, e.host = u.Scheme+"://"+u.Host, u.Hostname()
	names, ok := listPlaceNames(e.URL)
	if !ok {
		return &skills.PathError{Path: at, Msg: "has a brace without its partner, or an empty place; write a place as {name}, in single braces"}
	}
	var errs []error
	for _, n := range names {
		if !s.Declares(n) {
			errs = append(errs, decode.Unknown(at, "argument", n, s.DeclaredArgs()))
		}
	}
	return errors.Join(errs...)
}

// metadataHost is said of a host that no list may name.
const metadataHost = "names a metadata service, which hands out this machine's credentials; it is never allowed"

func (e *endpoint) checkPrivate(at string) error {
	var errs []error
	for _, list := range []struct {
		key   string
		hosts []string
	}{{"allow_hosts", e.AllowHosts}, {"allow_private", e.AllowPrivate.list}} {
		for i, h := range list.hosts {
			if isMetadataName(h) {
				errs = append(errs, &skills.PathError{Path: fmt.Sprintf("%s.%s[%d]", at, list.key, i), Msg: metadataHost})
			}
		}
	}
	return errors.Join(errs...)
}

func (e *endpoint) checkHeaders(at string) error {
	var errs []error
	for k, v := range e.Headers {
		errs = append(errs, checkHeader(at+".headers."+k, k, v))
	}
	return errors.Join(errs...)
}

func checkHeader(here, k, v string) error {
	switch textproto.CanonicalMIMEHeaderKey(k) {
	case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer", "Idempotency-Key", warrant.Header:
		return &skills.PathError{Path: here, Msg: "is set by the program itself"}
	}
	var errs []error
	if !isHeaderName(k) {
		errs = append(errs, &skills.PathError{Path: here, Msg: "is no header's name"})
	}
	if hasControlCharacter(v) {
		errs = append(errs, &skills.PathError{Path: here, Msg: "its value holds a line break or another control character"})
	}
	return errors.Join(errs...)
}

func hasControlCharacter(v string) bool {
	return strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func isHeaderName(k string) bool {
	return k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

func (e *endpoint) checkQuery(at string, s *skills.Skill) error {
	var errs []error
	for i, n := range e.Query {
		if !s.Declares(n) {
			errs = append(errs, decode.Unknown(fmt.Sprintf("%s.query[%d]", at, i), "argument", n, s.DeclaredArgs()))
		}
	}
	return errors.Join(errs...)
}
