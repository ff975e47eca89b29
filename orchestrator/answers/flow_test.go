package answers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// flowThrough defangs a text in the pieces that cuts say.
func flowThrough(text string, o Options, cuts func(left int) int) string {
	f := NewFlow(o)
	var b strings.Builder
	for text != "" {
		n := min(max(cuts(len(text)), 1), len(text))
		b.WriteString(f.Write(text[:n]))
		text = text[n:]
	}
	b.WriteString(f.Close())
	return b.String()
}

// flowWords are what texts of this test are made of: every beginning, middle and end of what
// Defang knows.
var flowWords = []string{
	" ", " ", " ", "\n", "\t", "\u00a0", "\u3000", "\u200b", "\u2028", "a", "b", "word", "Wort", "中文", "。", "：", "ｈ", "é",
	"http", "https", "https:", "https://", "//", "/", "\\", "\\\\", "www", "www.", ".", ":", "evil.test", "example.com", "/x?q=1#f",
	"https://example.com/a", "https://evil.test/a", "[", "]", "](", "]:", "(", ")", "<", ">", "</", "<a", "<img ", "href=\"", "\"", "'",
	"<a href=\"https://example.com/\">", "&", "&#", "&#104;", "&#x68", "&amp;", "&lt;", "&zwj;", ";",
	"#", "#x", "@", "ann@example.com", "data:",
	"text/html,", "javascript:", "mailto:", "hxxps://", "`", "|", "^", "[1]", "!", "![",
	"localhost", "\x00", "\xff", "\xe4\xb8", "\u0301", "K", "ſ",
}

// What flows is the defanging of the whole, wherever the text is cut.
func TestFlowIsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(flowWords), 0, 24).Draw(t, "words"), "")
		o := Options{Allow: []string{"example.com"}, Request: rapid.SampledFrom([]string{"", "look at evil.test"}).Draw(t, "request")}
		whole, _ := Defang(text, o)
		most := rapid.IntRange(1, 12).Draw(t, "most")
		got := flowThrough(text, o, func(int) int { return rapid.IntRange(1, most).Draw(t, "piece") })
		if got != whole {
			t.Fatalf("%q flowed as %q, and is %q", text, got, whole)
		}
	})
}

// A text flows: what is held back is a word, not a page.
func TestFlowFlows(t *testing.T) {
	for name, row := range map[string]struct {
		text string
		held int
	}{
		"words":   {strings.Repeat("The mailbox holds three letters, two of them read. ", 20), 12},
		"no gaps": {strings.Repeat("邮箱里有三封信，其中两封已读。", 20), 12},
		"links":   {strings.Repeat("see [this page](https://evil.test/a?b=c) or www.evil.test now ", 20), 40},
	} {
		f, in, out, most := NewFlow(Options{}), 0, 0, 0
		for _, r := range row.text {
			in += len(string(r))
			shown := f.Write(string(r))
			out += len(shown)
			most = max(most, len(f.held))
		}
		require.LessOrEqual(t, most, row.held, name)
		whole, _ := Defang(row.text, Options{})
		require.Equal(t, len(whole), out+len(f.Close()), name)
	}
}

// What never ends is held back at a cost that grows with its length alone.
func TestFlowIsLinear(t *testing.T) {
	for _, unit := range []string{"<a ", "]( ", "https:", "www.", "&", "\\\\a.b"} {
		f, read := NewFlow(Options{}), 0
		for range 64 << 10 / len(unit) {
			before := f.next
			f.Write(unit)
			if f.next != before || f.next == 0 {
				read += len(f.held)
			}
		}
		require.Less(t, read, 1<<20+16*(64<<10), unit)
	}
}

func FuzzFlow(f *testing.F) {
	f.Add("see [a](https://evil.test/x) and <a href=x> www.e.t &#104;ttps://b", byte(3))
	f.Add(strings.Join(flowWords, ""), byte(1))
	f.Fuzz(func(t *testing.T, text string, step byte) {
		o := Options{Allow: []string{"example.com"}}
		whole, _ := Defang(text, o)
		n := int(step)
		got := flowThrough(text, o, func(int) int { n = n*31 + 7; return 1 + n%5 })
		if got != whole {
			t.Errorf("%q flowed as %q, and is %q", text, got, whole)
		}
	})
}
