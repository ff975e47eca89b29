package email

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/vedette-dev/vedette/skills"
)

// What arrives is what was written, for every recipient, under each TLS policy. A copy of it
// is in the sent folder.
func TestSend(t *testing.T) {
	for _, mode := range []string{tlsNone, tlsStart, tlsWhole} {
		s := startMail(t, mode)
		d := open(t, s, mode)
		d.put(t, "cur/5.q:2,S", multipart)
		list, err := d.do(t, "list", args{})
		require.NoError(t, err)
		body := "Grüße,\n.\nline with a dot alone above\n" + strings.Repeat("long ", 300)
		got, err := d.do(t, "send", args{"to": []string{"a@example.org", "b@example.org"}, "cc": "c@example.org", "subject": "Übersicht",
			"body": body, "in_reply_to": messages(list)[0]["id"]})
		require.NoError(t, err, mode)
		require.Equal(t, true, got["sent"])
		require.Len(t, s.arrived(), 1)
		item := s.arrived()[0]
		require.Equal(t, "me@example.com", item.from)
		require.Equal(t, []string{"a@example.org", "b@example.org", "c@example.org"}, item.to)
		require.Equal(t, mode != tlsNone, item.user == "me")
		p, err := parseMessage(t.Context(), strings.NewReader(item.data))
		require.NoError(t, err)
		require.Equal(t, "Übersicht", p.Subject)
		require.Equal(t, strings.TrimSpace(body), p.Text)
		require.Contains(t, item.data, "In-Reply-To: <m1@example.org>")
		require.Equal(t, []string{"m1@example.org"}, p.references)
		sent, err := d.do(t, "read", args{"id": got["id"]})
		require.NoError(t, err)
		require.Equal(t, "sent", sent["folder"])
		require.Equal(t, p.Text, sent["text"])
	}
}

// A refusal by the server means that nothing was sent. A line that breaks after the whole
// message was handed over means that the outcome is unknown.
func TestSendFailures(t *testing.T) {
	no := &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no"}
	letter := args{"to": []string{"a@example.org", "b@example.org"}, "subject": "s", "body": "b"}
	for name, row := range map[string]struct {
		harm    func(*mailServer)
		unknown bool
	}{
		"recipient refused": {func(s *mailServer) { s.rcptErr = no }, false},
		"message refused":   {func(s *mailServer) { s.dataErr = no }, false},
		"line broke":        {func(s *mailServer) { s.hangUp = true; s.dataErr = no }, true},
	} {
		s := startMail(t, tlsStart)
		row.harm(s)
		d := open(t, s, tlsStart)
		_, err := d.do(t, "send", letter)
		require.Equal(t, row.unknown, failure(t, err).Unknown, "%s: %v", name, err)
		if !row.unknown {
			require.ErrorIs(t, err, skills.ErrNoEffect, name)
		}
		require.Empty(t, s.arrived())
		require.Empty(t, d.files(t), "a copy of what wasn't sent")
	}
	// starttls isn't given up where the server doesn't offer it.
	s := startMail(t, tlsNone)
	_, err := open(t, s, tlsStart).do(t, "send", letter)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	// A certificate that isn't trusted, and no server there.
	s = startMail(t, tlsStart)
	s.pool = nil
	_, err = open(t, s, tlsStart).do(t, "send", letter)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	s.addr = "127.0.0.1:1"
	_, err = open(t, s, tlsStart).do(t, "send", letter)
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.Empty(t, s.arrived())
}

// Once the server has said yes the message is sent, whatever comes of the line
// or of the copy.
func TestSendIsOverWithTheServersYes(t *testing.T) {
	letter := args{"to": "a@example.org", "subject": "s", "body": "b"}
	s := startMail(t, tlsStart)
	s.leave = true
	d := open(t, s, tlsStart)
	got, err := d.do(t, "send", letter)
	require.NoError(t, err)
	require.Equal(t, true, got["sent"])
	require.NotEmpty(t, got["id"])
	d = open(t, s, tlsStart)
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, ".Sent"), nil, 0o600)) // no folder can be made
	got, err = d.do(t, "send", letter)
	require.NoError(t, err)
	require.Equal(t, true, got["sent"])
	require.Contains(t, got["note"], "no copy")
	require.Len(t, s.arrived(), 2)
}

// Bad addresses, header injection and unknown originals are refused before the
// server or the disk sees anything.
func TestBadLetters(t *testing.T) {
	s := startMail(t, tlsNone)
	d := open(t, s, tlsNone)
	good := func(k string, v any) args {
		a := args{"to": "a@example.org", "subject": "s", "body": "b"}
		a[k] = v
		return a
	}
	bad := []args{good("subject", "s\r\nBcc: evil@example.org"), good("subject", "s\nX: y"), good("subject", "s\x00"),
		good("subject", strings.Repeat("s", 501)),
		good("body", "a\x00b"), good("body", strings.Repeat("b", 10<<20)), good("to", []string{}), good("to", 7)}
	for _, a := range []string{"", "a", "a@", "@b.c", "a@b.c\r\nBcc: e@e.e", "a@b.c, d@e.f", "Name <a@b.c>", "<a@b.c>", "a b@c.d", "a@b.c\x00",
		"ä@b.c", "a@[127.0.0.1]", "a%e.f@b.c", "e.f!a@b.c", `"x y"@b.c`, strings.Repeat("a", 250) + "@b.c"} {
		bad = append(bad, good("to", a), good("cc", []string{"ok@example.org", a}))
	}
	for _, a := range bad {
		for _, op := range []string{"send", "draft"} {
			_, err := d.do(t, op, a)
			require.ErrorIs(t, err, skills.ErrNoEffect, "%s %.80v", op, fmt.Sprint(a))
		}
	}
	_, err := d.do(t, "send", good("in_reply_to", "nope"))
	require.ErrorIs(t, err, skills.ErrNoEffect)
	require.Zero(t, s.connections())
	require.Empty(t, d.files(t))
}

// A draft is in the drafts, flagged as one, and went nowhere.
func TestDraft(t *testing.T) {
	s := startMail(t, tlsNone)
	d := open(t, s, tlsNone)
	got, err := d.do(t, "draft", args{"to": "a@example.org", "subject": "later", "body": "text"})
	require.NoError(t, err)
	require.Len(t, d.files(t), 1)
	require.Regexp(t, `^\.Drafts/cur/1767000000\.M0P\d+R[0-9a-f]{16}\..+:2,DS$`, d.files(t)[0])
	list, err := d.do(t, "list", args{"folder": "drafts"})
	require.NoError(t, err)
	require.Equal(t, got["id"], messages(list)[0]["id"])
	require.Equal(t, "later", messages(list)[0]["subject"])
	require.Zero(t, s.connections())
}
