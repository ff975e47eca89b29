package email

import (
	"context"
	"errors"
	"io"
	"mime"
	"strings"
	"time"
	"unicode"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // the charsets that mail still comes in
	"github.com/emersion/go-message/mail"
)

// The bounds of one message. Beyond them the rest is left out and the message
// marked as cut.
const (
	maxHeader = 256 << 10
	maxText   = 256 << 10
	maxParts  = 200
	maxDepth  = 10
	maxField  = 2000
)

// parsed is a message as a model reads it. All of it was written by others.
type parsed struct {
	From        string       `json:"from,omitempty"`
	To          string       `json:"to,omitempty"`
	Cc          string       `json:"cc,omitempty"`
	Subject     string       `json:"subject,omitempty"`
	Date        string       `json:"date,omitempty"`
	Text        string       `json:"text,omitempty"`
	Attachments []attachment `json:"attachments,omitempty"`
	Cut         bool         `json:"cut,omitempty"`

	messageID  string
	references []string
	parts      int
	html       string
}

// attachment is what is told of one: it is not opened.
type attachment struct {
	Name string `json:"name,omitempty"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// parseMessage reads a message of any bytes, until ctx ends. What it can't make out is
// left out; it fails only where there is no header, or one that is too large.
func parseMessage(ctx context.Context, r io.Reader) (*parsed, error) {
	in := newBoundedReader(ctx, r)
	e, err := message.ReadWithOptions(in, &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return nil, errors.New("this is no message: its header can't be read")
	}
	p := &parsed{}
	p.readHeader(mail.Header{Header: e.Header})
	p.walkBody(e, 0)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.Cut = p.Cut || in.cut
	if p.Text == "" {
		p.Text = p.html
	}
	return p, nil
}

// The greatest sizes in bytes of fields that are parsed: an address list or a
// subject shows its beginning, a longer date is none, and of references the first
// are those that are kept.
const (
	maxRawField = 32 << 10
	maxDate     = 200
	maxIDs      = 20
)

func (p *parsed) readHeader(h mail.Header) {
	for _, k := range []string{"Subject", "From", "To", "Cc"} {
		if v := h.Get(k); len(v) > maxRawField {
			h.Set(k, v[:maxRawField])
		}
	}
	p.Subject = cleanField(h.Subject())
	p.From, p.To, p.Cc = cleanField(h.Text("From")), cleanField(h.Text("To")), cleanField(h.Text("Cc"))
	if len(h.Get("Date")) <= maxDate {
		if d, err := h.Date(); err == nil {
			p.Date = d.UTC().Format(time.RFC3339)
		}
	}
	if ids := messageIDs(h.Get("Message-Id"), 1); len(ids) == 1 {
		p.messageID = ids[0]
	}
	p.references = messageIDs(h.Get("References"), maxIDs)
}

// messageIDs returns the first plain ids that stand in a field as <id>, in one
// pass over it.
func messageIDs(s string, most int) []string {
	var out []string
	for len(out) < most {
		_, rest, found := strings.Cut(s, "<")
		if !found {
			break
		}
		id, after, closed := strings.Cut(rest, ">")
		if !closed {
			break
		}
		s = after
		if strings.Contains(id, "@") && isPlainMessageID(id) {
			out = append(out, id)
		}
	}
	return out
}

// isPlainMessageID reports whether a foreign message id can go into a header of ours.
func isPlainMessageID(id string) bool {
	return id != "" && len(id) <= 250 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' })
}

// cleanField makes one line of clean text of a header, even where it was only partly
// readable.
func cleanField(s string, _ error) string { return clipText(oneLine(s), maxField) }

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(cleanText(s), unicode.IsSpace), " ")
}

// cleanText makes valid UTF-8 without control characters of s. Line breaks and tabs
// stay.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func clipText(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}

// walkBody walks the parts. Readable text is collected, the rest counted.
func (p *parsed) walkBody(e *message.Entity, depth int) {
	if p.parts++; p.parts > maxParts || depth > maxDepth {
		p.Cut = true
		return
	}
	if mr := e.MultipartReader(); mr != nil {
		for p.parts <= maxParts {
			part, err := mr.NextPart()
			if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
				p.Cut = p.Cut || !errors.Is(err, io.EOF)
				return
			}
			p.walkBody(part, depth+1)
		}
		p.Cut = true
		return
	}
	kind, params, err := e.Header.ContentType()
	if err != nil && kind == "" {
		kind = "text/plain"
	}
	disposition, dparams, _ := e.Header.ContentDisposition()
	name := dparams["filename"]
	if name == "" {
		name = params["name"]
	}
	if disposition == "attachment" || name != "" || kind != "" && kind != "text/plain" && kind != "text/html" {
		p.countAttachment(e, name, kind)
		return
	}
	p.addReadableText(e, kind == "text/html")
}

func (p *parsed) countAttachment(e *message.Entity, name, kind string) {
	n, err := io.Copy(io.Discard, e.Body)
	p.Cut = p.Cut || err != nil
	name = clipText(name, maxField)
	if decoded, err := new(mime.WordDecoder).DecodeHeader(name); err == nil {
		name = decoded
	}
	p.Attachments = append(p.Attachments, attachment{Name: clipText(oneLine(name), 200), Type: clipText(oneLine(kind), 100), Size: n})
}

func (p *parsed) addReadableText(e *message.Entity, html bool) {
	if full := p.Text; len(full) >= maxText || html && len(p.html) >= maxText {
		p.Cut = true
		return
	}
	b, err := io.ReadAll(io.LimitReader(e.Body, maxText+1))
	p.Cut = p.Cut || err != nil || len(b) > maxText
	b = b[:min(len(b), maxText)]
	into, s := &p.Text, string(b)
	if html {
		into, s = &p.html, extractHTMLText(s)
	} else {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	s = strings.TrimSpace(cleanText(s))
	if *into != "" && s != "" {
		s = "\n\n" + s
	}
	joined := *into + s
	p.Cut = p.Cut || len(joined) > maxText
	*into = clipText(joined, maxText)
}
