package terminal

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing that a terminal would act on passes; what is seen stays.
func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain é 漢 \"q\"": "plain é 漢 \"q\"", "\x1b[31mred": `\x1b[31mred`, "a\nb\tc": `a\nb\tc`, "\u202egnp.exe": `\u202egnp.exe`,
		"\u009b1m": `\u009b1m`, "\x7f": `\x7f`, "\xff\xfe": `\xff\xfe`, "\u2028": `\u2028`, "a\u200bb": `a\u200bb`, "\ufffd": "\ufffd",
		"\U000e0041": `\U000e0041`,
	} {
		require.Equal(t, want, Clean(in))
	}
}

// Cleaned JSON is the same JSON, and holds nothing that a terminal acts on.
func FuzzCleanJSON(f *testing.F) {
	for _, s := range []string{"", "a", "\u202e\x7f\u009b", "\U000e0041x", "é\u2028", "\xff", "\ufffd"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := json.Marshal(map[string]string{s: s})
		require.NoError(t, err)
		got := CleanJSON(bytes.Clone(b))
		require.JSONEq(t, string(b), string(got))
		for _, r := range string(got) {
			require.True(t, strconv.IsPrint(r), "%q", r)
		}
	})
}

// Columns are aligned by characters, whatever colours are in them.
func TestTable(t *testing.T) {
	tab := Table{Colour: true, Right: map[int]bool{1: true}}
	tab.Add("é", "1", "deny")
	tab.Add("abc", "100", "x\x1b")
	var b strings.Builder
	require.NoError(t, tab.Write(&b))
	require.Equal(t, "é      1  \x1b[31mdeny\x1b[0m\nabc  100  x\\x1b\n", b.String())
}

// No line of a frame is wider than the screen and no frame higher, so the first
// lines stay where they are seen.
func TestFitScreen(t *testing.T) {
	lines := []string{
		strings.Repeat("x", 80), strings.Repeat("x", 81), "short", strings.Repeat("漢", 41), "e" + strings.Repeat("\u0301", 200),
		"\x1b[31m" + strings.Repeat("r", 100) + "\x1b[0m",
	}
	got := FitScreen(lines, 80, 24, "")
	require.Len(t, got, len(lines))
	require.Equal(t, lines[0], got[0], "just fits")
	require.Equal(t, strings.Repeat("x", 79)+"…", got[1])
	require.Equal(t, "short", got[2])
	require.Equal(t, strings.Repeat("漢", 39)+"…", got[3])
	require.Equal(t, lines[4], got[4], "marks take no room")
	require.Equal(t, "\x1b[31m"+strings.Repeat("r", 79)+"…\x1b[0m", got[5], "the colour ends")
	for _, l := range got {
		require.LessOrEqual(t, countColumns(colourSequences.ReplaceAllString(l, "")), 80)
	}
	many := FitScreen(strings.Split(strings.Repeat("line\n", 50), "\n"), 20, 24, "--once shows all")
	require.Len(t, many, 23)
	require.Equal(t, "… and 29 more lines…", many[22], "the last line is cut too")
	require.Equal(t, lines, FitScreen(lines, 0, 0, ""), "a screen that has no size")
}

// A text that comes in pieces stands in rows of ours: it begins none itself, at any width and
// however it was cut.
func TestQuoter(t *testing.T) {
	write := func(columns int, pieces ...string) string {
		var b strings.Builder
		q := Quoter{Out: &b, Mark: "| ", Columns: columns}
		for _, p := range pieces {
			require.NoError(t, q.WriteText(p))
		}
		require.NoError(t, q.End())
		return b.String()
	}
	require.Equal(t, "| one two\n| \n| three\n", write(0, "one t", "wo\n", "\nthree"))
	require.Equal(t, "| one two \n| three\n", write(10, "one two ", "three"), "a word goes into the next row")
	require.Equal(t, "| aaaaaaaa\n| aa\n", write(10, "aaaaaaaaaa"), "one that is longer than a row is broken")
	require.Equal(t, "| é漢\n", write(0, "\xc3", "\xa9\xe6\xbc", "\xa2"), "a character that is cut")
	require.Equal(t, "| a\\xc3\n", write(0, "a\xc3"))
	require.Equal(t, "| \\x1b[2Jx\\r\\u202e\\u200b\n", write(0, "\x1b[2Jx\r\u202e\u200b"))
	require.Equal(t, "| e\u0301\u0301\\u0301\\u0301\n", write(0, "e"+strings.Repeat("\u0301", 4)))
	require.Empty(t, write(0))
	hostile := "y\n  ask    orchestrator  approve this call? [y/N] \x1b[1A" + strings.Repeat("漢", 30) + strings.Repeat(" ", 90) + "ann> y"
	for columns := range 40 {
		whole := write(columns, hostile)
		letters := strings.NewReplacer("\n| ", "", " ", "") // a space that is a break is none
		require.Equal(t, letters.Replace(whole), letters.Replace(write(columns, strings.Split(hostile, "")...)))
		for row := range strings.Lines(whole) {
			require.True(t, strings.HasPrefix(row, "| "), "%d: %q", columns, row)
			if columns > 5 {
				require.LessOrEqual(t, countColumns(strings.TrimSuffix(row, "\n")), columns)
			}
		}
	}
}

func TestFitLine(t *testing.T) {
	require.Equal(t, "abc", FitLine("abc", 3))
	require.Equal(t, "ab…", FitLine("abcd", 3))
	require.Equal(t, "abcd", FitLine("abcd", 0))
}
