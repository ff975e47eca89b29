package email

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

// Options is what a running system adds to a skill's own options.
type Options struct {
	// Dir is the folder that a relative maildir resolves against. If empty,
	// the process's own working directory.
	Dir string
	// Now is the clock for dates and file names. If nil, time.Now.
	Now func() time.Time
	// RootCAs verify the SMTP server. If nil, the system's.
	RootCAs *x509.CertPool
}

// The values of smtp.tls.
const (
	tlsStart = "starttls"
	tlsWhole = "tls"
	tlsNone  = "none"
)

// DefaultMaxMessage is the greatest size of a message in bytes where
// max_message is not set. Larger ones are listed but not read.
const DefaultMaxMessage = 25 << 20

// config is the skill's own options, as written.
type config struct {
	Maildir    string      `json:"maildir"`
	MaxMessage int64       `json:"max_message"`
	SMTP       *smtpConfig `json:"smtp"`
}

type smtpConfig struct {
	Addr     string `json:"addr"`
	From     string `json:"from"`
	Username string `json:"username"`
	Password string `json:"password"`
	TLS      string `json:"tls"`
}

// New returns the Executor of one of the skills of Specs, or every mistake as joined
// *skills.PathError values. The last part of the skill's name tells which. The maildir must
// exist; smtp is needed by send, and by draft for its sender.
func New(s *skills.Skill, r skills.Redeemer, o Options) (skills.Executor, error) {
	at, err := decode.Start(s, r, "builtin")
	if err != nil {
		return nil, err
	}
	op, err := decode.Operation(s, Specs())
	c := config{MaxMessage: DefaultMaxMessage}
	if err := errors.Join(err, decode.Options(s.Spec().Run.Options, at, &c)); err != nil {
		return nil, err
	}
	b := &box{maxMessage: c.MaxMessage, now: o.Now}
	if b.now == nil {
		b.now = time.Now
	}
	errs := []error{b.findMaildir(at, c.Maildir, o.Dir)}
	if c.MaxMessage < 1 || c.MaxMessage > 256<<20 {
		errs = append(errs, &skills.PathError{Path: at + ".max_message", Msg: fmt.Sprintf("must be between 1 and %d bytes", 256<<20)})
	}
	switch {
	case c.SMTP != nil:
		b.smtp, err = newSMTPServer(at+".smtp", *c.SMTP, o.RootCAs)
		errs = append(errs, err)
	case op == "send" || op == "draft":
		errs = append(errs, &skills.PathError{Path: at + ".smtp", Msg: "is missing; it names the server and the sender"})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	run := map[string]skills.RunFunc{"list": b.runListSkill, "search": b.runSearchSkill, "read": b.runReadSkill, "draft": b.runDraftSkill,
		"send": b.runSendSkill}[op]
	return skills.NewExecutor(r, s, run), nil
}

func (b *box) findMaildir(at, dir, base string) error {
	at += ".maildir"
	if dir == "" {
		return &skills.PathError{Path: at, Msg: "is missing; name the mailbox's folder"}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return &skills.PathError{Path: at, Msg: "can't be found"}
	}
	for _, sub := range []string{"cur", "new", "tmp"} {
		if st, err := os.Stat(filepath.Join(dir, sub)); err != nil || !st.IsDir() {
			return &skills.PathError{Path: at, Msg: "is no Maildir: it has no folder " + sub}
		}
	}
	b.path = dir
	return nil
}

// newSMTPServer checks how mail is sent.
func newSMTPServer(at string, c smtpConfig, roots *x509.CertPool) (*server, error) {
	if c.TLS == "" {
		c.TLS = tlsStart
	}
	s := &server{smtpConfig: c, roots: roots}
	errs := []error{decode.OneOf(at+".tls", "tls policy", c.TLS, tlsStart, tlsWhole, tlsNone)}
	host, port, err := net.SplitHostPort(c.Addr)
	n, nerr := strconv.ParseUint(port, 10, 16)
	if err != nil || nerr != nil || host == "" || n == 0 {
		errs = append(errs, &skills.PathError{Path: at + ".addr", Msg: "must be host:port"})
	}
	s.host, s.port = host, int(n)
	if err := checkAddress(c.From); err != nil {
		errs = append(errs, &skills.PathError{Path: at + ".from", Msg: "must be one plain address"})
	}
	if c.TLS == tlsNone {
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.IsLoopback()) {
			errs = append(errs, &skills.PathError{Path: at + ".tls", Msg: "none is for a server on this machine alone; use starttls or tls"})
		}
		if c.Username != "" || c.Password != "" {
			errs = append(errs, &skills.PathError{Path: at + ".tls", Msg: "a password needs starttls or tls"})
		}
	}
	if (c.Username == "") != (c.Password == "") {
		errs = append(errs, &skills.PathError{Path: at + ".username",
			Msg: "username and password go together; write both with a value, or neither"})
	}
	return s, errors.Join(errs...)
}

// people is the schema of recipients: one address or a list.
const people = `{"x-target":true,"anyOf":[{"type":"string","format":"email","maxLength":254},` +
	`{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","format":"email","maxLength":254}}]}`

// Specs returns the five skills as they are declared by default. Run.Options is
// empty: put the maildir and the server there.
func Specs() []skills.Spec {
	spec := func(name, description string, e skills.Effect, r skills.Reach, required, properties string) skills.Spec {
		return skills.Spec{
			Name: "email." + name, Description: description, Effect: e, Reaches: r, Output: skills.Untrusted,
			Parameters: json.RawMessage(
				`{"type":"object","additionalProperties":false,"required":[` + required + `],"properties":{` + properties + `}}`),
			Idempotent: e == skills.Read, Run: skills.Run{Kind: "builtin"},
		}
	}
	limit := `"limit":{"type":"integer","minimum":1,"maximum":100,"description":"Most messages to return; 20 if absent."}`
	body := `"to":` + people + `,"cc":` + people + `,"subject":{"type":"string","maxLength":500,"x-content":true},` +
		`"body":{"type":"string","maxLength":1000000,"x-content":true}`
	return []skills.Spec{
		spec("list", "List the newest messages of a mail folder.", skills.Read, skills.Self, ``,
			`"folder":{"type":"string","minLength":1,"maxLength":100,"x-content":true,`+
				`"description":"inbox (the default), drafts, sent or another folder."},`+limit),
		spec("search", "Find messages by words in subject, text or addresses, in all folders.", skills.Read, skills.Self, `"query"`,
			`"query":{"type":"string","minLength":1,"maxLength":1000,"x-content":true},`+
				`"from":{"type":"string","minLength":1,"maxLength":254,"x-content":true,`+
				`"description":"Only messages whose sender contains this."},`+limit),
		spec("read", "Read one message by the id that list and search give.", skills.Read, skills.Self, `"id"`,
			`"id":{"type":"string","maxLength":64}`),
		spec("draft", "Put a message into the drafts. It isn't sent.", skills.Create, skills.Self, `"to","subject","body"`, body),
		spec("send", "Send an email from the user's mailbox.", skills.Irreversible, skills.Others, `"to","subject","body"`,
			body+`,"in_reply_to":{"type":"string","maxLength":64,"description":"Id of the message that this answers."}`),
	}
}
