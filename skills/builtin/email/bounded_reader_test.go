package email

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered joins n texts, each made with its number.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// hostile are messages that are made to cost more than they weigh.
func hostile() map[string]string {
	const head = "From: a@b.c\r\nSubject: x\r\nMIME-Version: 1.0\r\n"
	const mixed = head + "Content-Type: multipart/mixed; boundary=B\r\n\r\n"
	part := func(header string) string { return mixed + "--B\r\n" + header + "\r\n\r\nx\r\n--B--\r\n" }
	text := func(params, body string) string {
		return head + "Content-Type: text/" + params + "\r\n\r\n" + body
	}
	lines := 1 << 18 // a parser that keeps them takes twice what is allowed
	if os.Getenv("VEDETTE_LONG") != "" {
		lines = 3 << 20
	}
	return map[string]string{
		"a part with one long line":    part("X-A: " + strings.Repeat("a", 20<<20)),
		"a part with many lines":       part(strings.Repeat("X: y\r\n", lines) + "Z: z"),
		"a part with bare lines":       part(strings.Repeat("X:\n", lines) + "Z: z"),
		"a part with folded lines":     part("X: y\r\n" + strings.Repeat(" z\r\n", lines) + "Z: z"),
		"boundaries within a header":   mixed + strings.Repeat("--B\r\n--C: x\r\nX: y\r\n", 1<<19),
		"many parts with long headers": mixed + strings.Repeat("--B\r\n"+strings.Repeat("X: y\r\n", 490)+"\r\nx\r\n", 1000) + "--B--\r\n",
		"many parameters":              part("Content-Type: text/plain" + numbered(600_000, "; p%d=v")),
		"continued parameters":         part("Content-Type: text/plain" + numbered(400_000, "; n*%d*=v")),
		"continued parameters on top":  head + "Content-Type: text/plain" + numbered(20_000, "; n*%d*=v") + "\r\n\r\nx",
		"words in a file's name":       part(`Content-Disposition: attachment; filename="` + strings.Repeat("=?utf-8?q?a?= ", 500_000) + `"`),
		"boundaries without end":       mixed + strings.Repeat("--B\r\n\r\n", 2<<20),
		"almost boundaries":            mixed + "--B\r\n\r\n" + strings.Repeat("\r\n--A", lines) + "\r\n--B--",
		"a long boundary": head + "Content-Type: multipart/mixed; boundary=" + strings.Repeat("b", 60_000) + "\r\n\r\n" +
			strings.Repeat("--"+strings.Repeat("b", 59_999)+"\r\n", 300),
		"words in From":          "From: " + strings.Repeat("=?utf-8?q?a?= ", 17_000) + "\r\n\r\nx",
		"addresses in From":      "From: " + strings.Repeat("a@b.c, ", 36_000) + "x@y.z\r\n\r\nx",
		"comments in From":       "From: " + strings.Repeat("(", 250_000) + "\r\n\r\nx",
		"references":             head + "References: " + strings.Repeat("<a@b.c> ", 32_000) + "\r\n\r\nx",
		"comments in References": head + "References: " + strings.Repeat("(", 255_000) + "\r\n\r\nx",
		"comments in Message-Id": head + "Message-Id: " + strings.Repeat("(", 255_000) + "\r\n\r\nx",
		"comments in Date":       head + "Date: " + strings.Repeat("(", 255_000) + "\r\n\r\nx",
		"quotes in Message-Id":   head + "Message-Id: <" + strings.Repeat("\"\\", 120_000) + "@x>\r\n\r\nx",
		"HTML of <":              text("html", strings.Repeat("<", 262_000)),
		"HTML of comments":       text("html", strings.Repeat("<!--", 65_000)),
		"HTML of scripts":        text("html", strings.Repeat("<script>", 32_000)),
		"HTML of &":              text("html", strings.Repeat("&aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 8_000)),
		"200 parts of HTML": mixed + strings.Repeat("--B\r\nContent-Type: text/html\r\n\r\n"+strings.Repeat("<p>aaaaaaa", 8000)+
			"\r\n", 199) + "--B--",
		"a charset with states": text("plain; charset=iso-2022-jp", strings.Repeat("\x1b$B$\"\x1b(B", 100_000)),
		"UTF-7":                 text("plain; charset=utf-7", strings.Repeat("+AAA-", 100_000)),
		"a multipart in base64": head + "Content-Type: multipart/mixed; boundary=B\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			strings.Repeat("QUFB", 1<<20),
		"base64 of much": head + "Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n" +
			strings.Repeat("QUFB", 4<<20),
		"multiparts within multiparts":    head + numbered(5000, "Content-Type: multipart/mixed; boundary=b%[1]d\r\n\r\n--b%[1]d\r\n"),
		"multiparts of one boundary":      head + strings.Repeat("Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\n", 100_000),
		"many lines in the message's own": "From: a@b.c\r\n" + strings.Repeat("X:\n", 80_000) + "\r\nx",
	}
}

// No message takes much more memory than it has bytes, however it is made. What
// takes time with the square of its length takes memory so, in these parsers.
func TestHostileMessages(t *testing.T) {
	for name, raw := range hostile() {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			p, err := parseMessage(t.Context(), strings.NewReader(raw))
			runtime.ReadMemStats(&after)
			if err == nil {
				require.LessOrEqual(t, len(p.Text), maxText)
				require.LessOrEqual(t, len(p.references), maxIDs)
			} else {
				require.ErrorContains(t, err, "its header can't be read")
			}
			took := after.TotalAlloc - before.TotalAlloc
			require.Less(t, took, uint64(48<<20+4*len(raw)), "%d bytes for a message of %d", took, len(raw))
		})
	}
}

// A message with nothing against the bounds is passed on byte for byte.
func TestBoundedPassesOn(t *testing.T) {
	long := strings.Repeat("z", 40_000)
	for _, raw := range []string{"", "X: y", "X: y\r\n\r\n", "X: y\n\nbody\n-- \nsignature\n", "X: " + long + "\n\n" + long + "\n--\n" + long,
		"\n\n--B\n\n--B\n",
		"A: b\r\n\r\n--B\r\nC: d\r\n\r\ntext\r\n--B--\r\n", strings.Repeat("-", 30_000) + "\n\n" + strings.Repeat("\n-- x", 400)} {
		b := newBoundedReader(t.Context(), strings.NewReader(raw))
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, raw, string(got))
		require.False(t, b.cut)
	}
}

// A part's header beyond the bounds ends there; the rest is text, and the message
// is marked as cut.
func TestLongPartHeader(t *testing.T) {
	raw := "Content-Type: multipart/mixed; boundary=B\r\n\r\n--B\r\nContent-Type: text/plain\r\n" + strings.Repeat("X: y\r\n", 600) +
		"\r\nhello\r\n--B\r\n\r\nsecond\r\n--B--\r\n"
	p, err := parseMessage(t.Context(), strings.NewReader(raw))
	require.NoError(t, err)
	require.True(t, p.Cut)
	require.Contains(t, p.Text, "hello")
	require.Contains(t, p.Text, "second")
}

// A reader whose context ends stops within the message.
func TestParseHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader("X: y\r\n\r\n"+strings.Repeat("a\r\n", 50_000)),
		readerFunc(func([]byte) (int, error) { cancel(); return 0, nil }),
		readerFunc(func(p []byte) (int, error) { return copy(p, "endless\r\n"), nil }))
	_, err := parseMessage(ctx, body)
	require.ErrorIs(t, err, context.Canceled)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Ids are read whatever stands between them, and none that can't be a header of
// ours.
func TestMessageIDs(t *testing.T) {
	for in, want := range map[string][]string{
		"<a@b>": {"a@b"}, " (c) <a@b>\t<c@d>x": {"a@b", "c@d"}, "a@b": nil, "<a@b": nil, "<>": nil, "<a b@c>": nil, "<a@b\x00>": nil,
		"<no-at>": nil, "<" + strings.Repeat("a", 251) + "@b> <c@d>": {"c@d"},
	} {
		require.Equal(t, want, messageIDs(in, 3), in)
	}
	require.Len(t, messageIDs(strings.Repeat("<a@b>", 50), maxIDs), maxIDs)
}

// Whatever comes, no block of lines behind "--" is longer than the bounds, and
// nothing but line breaks is added.
func FuzzBounded(f *testing.F) {
	f.Add([]byte("X: y\r\n\r\n--B\r\nZ: z\r\n\r\ntext\r\n--B--"), uint16(3))
	f.Add([]byte("\n--"), uint16(60_000))
	f.Add([]byte("\n--\n"+strings.Repeat("x\n", 50)), uint16(700))
	f.Fuzz(func(t *testing.T, raw []byte, times uint16) {
		raw = bytes.Repeat(raw, min(int(times), 1<<20/(len(raw)+1)))
		b := newBoundedReader(t.Context(), bytes.NewReader(raw))
		got, err := io.ReadAll(b)
		squeeze := func(b []byte) []byte {
			return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r"), nil), []byte("\n"), nil)
		}
		if err == nil && !bytes.Equal(squeeze(raw), squeeze(got)) {
			t.Fatalf("%d bytes in, %d out", len(raw), len(got))
		}
		if !b.cut && err == nil && !bytes.Equal(raw, got) {
			t.Fatal("changed and not marked")
		}
		block, lines, in := 0, 0, false
		_, body, _ := bytes.Cut(got, []byte("\n\n"))
		for line := range bytes.Lines(body) {
			switch {
			case len(bytes.TrimRight(line, "\r\n")) == 0:
				in = false
			case in:
				block, lines = block+len(line), lines+1
			case bytes.HasPrefix(line, []byte("--")):
				block, lines, in = len(line), 0, true
			}
			if in && (lines > maxPartLines+1 || block > maxPartHeader+32<<10) {
				t.Fatalf("a block of %d lines and %d bytes", lines, block)
			}
		}
	})
}
