package email

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/mail"
	"slices"
	"strings"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/decode"
)

const (
	maxRecipients = 50
	maxSubject    = 500
	maxBody       = 1_000_000
)

// recipients is one address or a list of them.
type recipients []string

// UnmarshalJSON takes a text or a list of texts.
func (r *recipients) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*r = recipients{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(r))
}

// letter is what a call asks to write.
type letter struct {
	To        recipients `json:"to"`
	Cc        recipients `json:"cc"`
	Subject   string     `json:"subject"`
	Body      string     `json:"body"`
	InReplyTo string     `json:"in_reply_to"`
}

// checkAddress checks one plain address, "name@host". Names beside addresses and
// what net/mail would repair are refused: what was judged is what is used.
func checkAddress(s string) error {
	if len(s) > 254 || strings.IndexByte(s, '@') > 64 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("an address must be plain ASCII without spaces, at most 254 characters and 64 before the @")
	}
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || a.Name != "" || strings.ContainsAny(s, `"<>,;:\()[]`) {
		return errors.New("an address must be of the form name@host")
	}
	if strings.ContainsAny(s, "%!") {
		return errors.New("an address must have no % and no !: some mail servers send such mail on to another host")
	}
	return nil
}

// checkFields refuses what is no letter, before anything is written or sent.
func (l *letter) checkFields() error {
	all := slices.Concat(l.To, l.Cc)
	switch {
	case len(l.To) == 0:
		return decode.Refuse("there is no recipient")
	case len(all) > maxRecipients:
		return decode.Refuse("there are more than %d recipients", maxRecipients)
	case len(l.Subject) > maxSubject || len(l.Body) > maxBody:
		return decode.Refuse("subject or body is too long; at most %d and %d bytes", maxSubject, maxBody)
	case strings.ContainsFunc(l.Subject, unicode.IsControl):
		return decode.Refuse("the subject holds a line break or another control character")
	case strings.ContainsRune(l.Body, 0):
		return decode.Refuse("the body holds a NUL")
	}
	for _, a := range all {
		if err := checkAddress(a); err != nil {
			return decode.Refuse("%w", err)
		}
	}
	return nil
}

// buildMessage builds the letter. Its Message-ID comes from the call's key, so that
// a repeated call is the same message.
func (b *box) buildMessage(l *letter, key string, reply *parsed) (*gomail.Msg, []byte, error) {
	m := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	_, domain, _ := strings.Cut(b.smtp.From, "@")
	sum := sha256.Sum256([]byte("vedette/message/" + key))
	m.SetMessageIDWithValue(hex.EncodeToString(sum[:16]) + "@" + domain)
	m.SetDateWithValue(b.now())
	err := errors.Join(m.From(b.smtp.From), m.To(l.To...))
	if len(l.Cc) > 0 {
		err = errors.Join(err, m.Cc(l.Cc...))
	}
	if err != nil {
		return nil, nil, decode.Refuse("the message can't be made of these addresses")
	}
	m.Subject(l.Subject)
	if reply != nil && reply.messageID != "" {
		refs := append(slices.Clone(reply.references), reply.messageID)
		m.SetGenHeaderPreformatted(gomail.HeaderInReplyTo, "<"+reply.messageID+">")
		m.SetGenHeaderPreformatted(gomail.HeaderReferences, "<"+strings.Join(refs, ">\r\n <")+">")
	}
	m.SetBodyString(gomail.TypeTextPlain, l.Body)
	var raw bytes.Buffer
	if _, err := m.WriteTo(&raw); err != nil {
		return nil, nil, decode.Refuse("the message can't be made")
	}
	return m, raw.Bytes(), nil
}

func (b *box) runDraftSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var l letter
	if err := decode.Args(o.Args, &l); err != nil {
		return skills.Result{}, err
	}
	if err := l.checkFields(); err != nil {
		return skills.Result{}, err
	}
	_, raw, err := b.buildMessage(&l, o.IdempotencyKey(), nil)
	if err != nil {
		return skills.Result{}, err
	}
	root, err := b.openMaildir(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	id, err := b.deliverMessage(root, ".Drafts", "DS", raw)
	if err != nil {
		return skills.Result{}, err
	}
	return jsonResult(map[string]any{"drafted": true, "id": id})
}

func (b *box) runSendSkill(ctx context.Context, o skills.Order) (skills.Result, error) {
	var l letter
	if err := decode.Args(o.Args, &l); err != nil {
		return skills.Result{}, err
	}
	if err := l.checkFields(); err != nil {
		return skills.Result{}, err
	}
	root, err := b.openMaildir(ctx)
	if err != nil {
		return skills.Result{}, err
	}
	defer func() { _ = root.Close() }()
	var reply *parsed
	if l.InReplyTo != "" {
		e, err := b.findEntryByID(root, l.InReplyTo)
		if err != nil {
			return skills.Result{}, err
		}
		if reply, _, err = b.loadMessage(ctx, root, e); err != nil {
			return skills.Result{}, err
		}
	}
	m, raw, err := b.buildMessage(&l, o.IdempotencyKey(), reply)
	if err != nil {
		return skills.Result{}, err
	}
	if err := b.smtp.sendMessage(ctx, m); err != nil {
		return skills.Result{}, err
	}
	// From here on the message is out, whatever else goes wrong.
	said := map[string]any{"sent": true, "recipients": len(l.To) + len(l.Cc)}
	if id, err := b.deliverMessage(root, ".Sent", "S", raw); err == nil {
		said["id"] = id
	} else {
		said["note"] = "sent, but no copy could be kept in the sent folder"
	}
	return jsonResult(said)
}

func jsonResult(v map[string]any) (skills.Result, error) {
	raw, err := json.Marshal(v)
	return newResult(string(raw), false), err
}
