package email

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/vedette-dev/vedette/skills"
	"github.com/vedette-dev/vedette/skills/internal/runtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type args = map[string]any

// desk holds the five executors over one mailbox.
type desk struct {
	*runtest.Kit
	dir    string
	skills map[string]*skills.Skill
	execs  map[string]skills.Executor
}

func open(t *testing.T, s *mailServer, mode string) *desk {
	t.Helper()
	d := &desk{Kit: runtest.New(t), dir: t.TempDir(), skills: map[string]*skills.Skill{}, execs: map[string]skills.Executor{}}
	for _, sub := range []string{"cur", "new", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(d.dir, sub), 0o700))
	}
	conf := args{"addr": s.addr, "from": "me@example.com", "tls": mode}
	if mode != tlsNone {
		conf["username"], conf["password"] = "me", "canary-password"
	}
	now := func() time.Time { return time.Unix(1767000000, 0) }
	for _, spec := range Specs() {
		sk := runtest.Compile(t, spec, args{"maildir": ".", "smtp": conf})
		e, err := New(sk, d.Redeemer, Options{Dir: d.dir, Now: now, RootCAs: s.pool})
		require.NoError(t, err)
		op := strings.TrimPrefix(spec.Name, "email.")
		d.skills[op], d.execs[op] = sk, e
	}
	return d
}

func (d *desk) do(t *testing.T, op string, a args) (map[string]any, error) {
	t.Helper()
	res, err := d.Run(t, d.execs[op], d.skills[op], a)
	if err != nil {
		require.NotContains(t, err.Error(), "canary-password")
		return nil, err
	}
	require.Equal(t, isolation, res.Isolation)
	require.NotContains(t, res.Content, d.dir)
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(res.Content), &m))
	return m, nil
}

func (d *desk) put(t *testing.T, file, raw string) {
	t.Helper()
	p := filepath.Join(d.dir, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o700))
	require.NoError(t, os.WriteFile(p, []byte(strings.ReplaceAll(raw, "\n", "\r\n")), 0o600))
}

func (d *desk) files(t *testing.T) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(d.dir, func(p string, e fs.DirEntry, err error) error {
		if !e.IsDir() {
			rel, _ := filepath.Rel(d.dir, p)
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func messages(m map[string]any) (out []map[string]any) {
	for _, e := range m["messages"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

func failure(t *testing.T, err error) *skills.Failure {
	t.Helper()
	var f *skills.Failure
	require.ErrorAs(t, err, &f)
	return f
}

const multipart = `From: =?utf-8?q?J=C3=B6rg?= <jorg@example.org>
To: me@example.com
Subject: =?iso-8859-1?q?Gr=FC=DFe?= from Bonn
Date: Mon, 02 Mar 2026 10:00:00 +0100
Message-ID: <m1@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Sch=F6nen Tag
--inner
Content-Type: text/html; charset=utf-8

<p>Sch&ouml;nen <b>Tag</b></p>
--inner--
--outer
Content-Type: application/pdf
Content-Disposition: attachment; filename="plan.pdf"
Content-Transfer-Encoding: base64

AAECAwQ=
--outer--
`

// Messages of every folder are listed, found and read, newest first, and
// reading moves and marks nothing.
func TestListSearchRead(t *testing.T) {
	d := open(t, startMail(t, tlsNone), tlsNone)
	d.put(t, "cur/1700000001.a.host:2,S", "From: a@example.org\nSubject: old\n\nthe budget\n")
	d.put(t, "new/1700000003.c.host", multipart)
	d.put(t, ".Work/cur/1700000002.b.host:2,",
		"From: boss@example.org\nSubject: BUDGET\nContent-Type: text/html\n\n<style>x</style>hi<br>there\n")
	before := d.files(t)
	got, err := d.do(t, "list", args{})
	require.NoError(t, err)
	require.Len(t, messages(got), 2)
	newest := messages(got)[0]
	require.Equal(t, "Grüße from Bonn", newest["subject"])
	require.Equal(t, true, newest["unread"])
	require.NotContains(t, messages(got)[1], "unread")

	msg, err := d.do(t, "read", args{"id": newest["id"]})
	require.NoError(t, err)
	require.Equal(t, "Schönen Tag", msg["text"])
	require.Equal(t, "Jörg <jorg@example.org>", msg["from"])
	require.Equal(t, "2026-03-02T09:00:00Z", msg["date"])
	require.Equal(t, []any{args{"name": "plan.pdf", "type": "application/pdf", "size": 5.0}}, msg["attachments"])

	found, err := d.do(t, "search", args{"query": "budget"})
	require.NoError(t, err)
	require.Len(t, messages(found), 2)
	require.Equal(t, "Work", messages(found)[0]["folder"])
	found, err = d.do(t, "search", args{"query": "budget", "from": "BOSS@", "limit": 1})
	require.NoError(t, err)
	msg, err = d.do(t, "read", args{"id": messages(found)[0]["id"]})
	require.NoError(t, err)
	require.Equal(t, "hi\nthere", msg["text"])
	require.Equal(t, before, d.files(t))
	// The id survives that another program reads and flags the message.
	require.NoError(t, os.Rename(filepath.Join(d.dir, "new/1700000003.c.host"), filepath.Join(d.dir, "cur/1700000003.c.host:2,RS")))
	_, err = d.do(t, "read", args{"id": newest["id"]})
	require.NoError(t, err)
}

// Unknown ids, folders that climb, links out, FIFO-like and oversized messages are refused.
func TestBadReads(t *testing.T) {
	d := open(t, startMail(t, tlsNone), tlsNone)
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("From: x@y.z\nSubject: canary\n\ncanary\n"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(d.dir, "cur/1.link")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(d.dir, ".Out")))
	for _, id := range []string{"", "../secret", "cur/1.link", "0123456789abcdef01234567", "\x00"} {
		_, err := d.do(t, "read", args{"id": id})
		require.ErrorIs(t, err, skills.ErrNoEffect)
	}
	for _, folder := range []string{"../x", "a/b", "..", ".Sent", "x\x00"} {
		_, err := d.do(t, "list", args{"folder": folder})
		require.ErrorIs(t, err, skills.ErrNoEffect, folder)
	}
	d.put(t, "cur/2.big", "Subject: big\n\n"+strings.Repeat("x", DefaultMaxMessage))
	d.put(t, "cur/3.none", "")
	got, err := d.do(t, "search", args{"query": "canary"})
	require.NoError(t, err)
	require.Empty(t, messages(got))
	require.GreaterOrEqual(t, got["skipped"], 1.0)
}

// Without a valid warrant nothing is sent or written.
func TestRefusesWithoutWarrant(t *testing.T) {
	s := startMail(t, tlsNone)
	d := open(t, s, tlsNone)
	letter := args{"to": "a@example.org", "subject": "s", "body": "b"}
	for op, a := range map[string]args{"send": letter, "draft": letter, "read": {"id": "x"}, "list": {}, "search": {"query": "x"}} {
		d.Unwarranted(t, d.execs[op], d.skills[op], a, func() bool { return s.connections() == 0 && len(d.files(t)) == 0 })
	}
	_, err := d.do(t, "send", letter)
	require.NoError(t, err)
	require.Len(t, s.arrived(), 1)
}

// Every mistake in the options has its own path, and no text shows a password.
func TestRefusesBadOptions(t *testing.T) {
	kit, dir := runtest.New(t), t.TempDir()
	for _, sub := range []string{"cur", "new", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
	}
	server := func(k string, v any) args {
		c := args{"addr": "mail.example:587", "from": "me@example.com"}
		c[k] = v
		return args{"maildir": dir, "smtp": c}
	}
	send := Specs()[4]
	for name, row := range map[string]struct {
		o    any
		want []string
	}{
		"nothing": {args{}, []string{"run.builtin.maildir", "run.builtin.smtp"}},
		"typo":    {args{"maildir": dir, "smpt": args{}}, []string{"run.builtin.smpt"}},
		"no box": {args{"maildir": t.TempDir(), "max_message": 0, "smtp": args{"addr": "localhost:25", "from": "a@b.c", "tls": "none"}},
			[]string{"run.builtin.maildir", "run.builtin.max_message"}},
		"addr":      {server("addr", "mail.example"), []string{"run.builtin.smtp.addr"}},
		"from":      {server("from", "Me <me@example.com>"), []string{"run.builtin.smtp.from"}},
		"tls":       {server("tls", "startls"), []string{"run.builtin.smtp.tls"}},
		"plain":     {server("tls", "none"), []string{"run.builtin.smtp.tls"}},
		"half auth": {server("password", "canary-password"), []string{"run.builtin.smtp.username"}},
		"plain password": {args{"maildir": dir, "smtp": args{"addr": "127.0.0.1:25", "from": "a@b.c", "tls": "none", "username": "u",
			"password": "canary-password"}},
			[]string{"run.builtin.smtp.tls"}},
	} {
		_, err := New(runtest.Compile(t, send, row.o), kit.Redeemer, Options{})
		require.ElementsMatch(t, row.want, runtest.Paths(err), "%s: %v", name, err)
		require.NotContains(t, err.Error(), "canary")
	}
	mild := send
	mild.Effect, mild.Reaches = skills.Create, skills.Self
	_, err := New(runtest.Compile(t, mild, args{"maildir": dir}), kit.Redeemer, Options{})
	require.Equal(t, []string{"effect", "reaches"}, runtest.Paths(err))
}

// Recipients are targets in both shapes, and subject and body are content.
func TestSpecs(t *testing.T) {
	for _, spec := range Specs() {
		s := runtest.Compile(t, spec, nil)
		s.Walk(args{"to": []any{"a"}, "cc": "b", "subject": "s", "body": "b"}, func(a skills.Arg) {
			want := map[string]skills.Annotation{"to": skills.Target, "cc": skills.Target, "subject": skills.Content, "body": skills.Content}[a.Name]
			if s.Declares("to") {
				require.Equal(t, want, a.Marks, "%s %s", spec.Name, a.Name)
			}
		})
	}
}

// Deep nesting, endless parts and huge text end at their bounds.
func TestParseBounds(t *testing.T) {
	var deep, tail strings.Builder
	for i := range 50 {
		fmt.Fprintf(&deep, "Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
	}
	deep.WriteString("Content-Type: text/plain\r\n\r\ndeep\r\n")
	many := "Content-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n\r\nx\r\n", 1000) + "--b--\r\n"
	for _, raw := range []string{deep.String() + tail.String(), many, "Subject: s\r\n\r\n" + strings.Repeat("y", 2<<20)} {
		p, err := parseMessage(t.Context(), strings.NewReader(raw))
		require.NoError(t, err)
		require.True(t, p.Cut)
		require.LessOrEqual(t, len(p.Text), maxText)
	}
	_, err := parseMessage(t.Context(), strings.NewReader("X: "+strings.Repeat("h", 2*maxHeader)))
	require.Error(t, err)
}

// HTML becomes the text that it shows.
func TestHTML(t *testing.T) {
	for in, want := range map[string]string{
		"<p>a</p><p>b</p>":                 "a\n\nb",
		"x<script>alert('<p>')</script>y":  "xy",
		"<SCRIPT src=x>bad":                "",
		"a &lt;b&gt; &amp; c<!-- no --> d": "a <b> & c d",
		"1 < 2 and <b>bold":                "1 < 2 and bold",
		"<":                                "<",
		"<!doctype html><html><head><title>t</title></head>İx": "İx",
	} {
		require.Equal(t, want, extractHTMLText(in), in)
	}
}

// No bytes break the parser, and what comes out is clean, bounded text.
func FuzzParse(f *testing.F) {
	f.Add([]byte(strings.ReplaceAll(multipart, "\n", "\r\n")))
	f.Add([]byte("Subject: =?x?q?=?=\n\n\x00\xff"))
	f.Add([]byte("Content-Type: text/html; charset=utf-7\n\n<p"))
	f.Add([]byte("Content-Transfer-Encoding: base64\n\n!!!!"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parseMessage(t.Context(), strings.NewReader(string(raw)))
		if err != nil {
			return
		}
		for _, s := range []string{p.From, p.To, p.Cc, p.Subject} {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\r\n\x00\x1b") || len(s) > maxField {
				t.Fatalf("header %q", s)
			}
		}
		if !utf8.ValidString(p.Text) || strings.ContainsAny(p.Text, "\r\x00\x1b") || len(p.Text) > maxText {
			t.Fatalf("text %q", p.Text)
		}
		if p.messageID != "" && !isPlainMessageID(p.messageID) {
			t.Fatalf("id %q", p.messageID)
		}
	})
}
