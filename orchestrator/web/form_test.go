package web

import (
	"encoding/json"
	"html/template"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// A form is one value for each field of ours, as text, or an error.
func FuzzForm(f *testing.F) {
	for _, s := range []string{"", "a=1&b=2", "a=1&a=2", "c=1", "a=%zz", "a=%00", "a=%ff", "a=1;b=2", "a=x%0d%0ay%0dz", "%61=1", "a", "=x",
		"a=+"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		form, err := parseForm(body, "a", "b")
		if err != nil {
			require.Nil(t, form)
			return
		}
		for name, value := range form {
			require.Contains(t, []string{"a", "b"}, name)
			require.True(t, utf8.ValidString(value))
			require.NotContains(t, value, "\x00")
			require.NotContains(t, value, "\r")
		}
	})
}

// A text with marks has nothing that no screen shows, and JSON that is escaped so says the same.
func FuzzMarks(f *testing.F) {
	for _, s := range []string{"", "plain", "a\u202eb", "\x00\xff\u200b", "e\u0301\u0301\u0301\u0301", "\u115f\ufe0f\u2800", "\U000e0041",
		"a\n\tb", "\r"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range splitMarks(s) {
			for _, r := range p.Text {
				require.False(t, isHidden(r), "%q", p.Text)
			}
		}
		raw, err := json.Marshal(map[string]string{"a": s})
		require.NoError(t, err)
		shown := indentJSON(raw)
		for _, r := range shown {
			require.False(t, isHidden(r), "%q", shown)
		}
		require.JSONEq(t, string(raw), shown)
	})
}

// What must be refused is, and what browsers send is read.
func TestParseForm(t *testing.T) {
	form, err := parseForm("a=x%0d%0ay%0dz&b=", "a", "b")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "x\ny\nz", "b": ""}, form)
	for _, bad := range []string{"a=1&a=2", "c=1", "a=%zz", "a=%00", "a=%ff", "a=1;b=2"} {
		_, err := parseForm(bad, "a", "b")
		require.ErrorIs(t, err, errForm, bad)
	}
}

// A long text is cut, says how much is missing, and keeps both ends.
func TestLongTexts(t *testing.T) {
	long := "BEGIN" + strings.Repeat("x", 1<<20) + "END"
	pieces := splitMarks(long)
	require.Len(t, pieces, 3)
	require.True(t, strings.HasPrefix(pieces[0].Text, "BEGIN"))
	require.Contains(t, pieces[1].Text, "bytes are not shown, sha256 of the whole")
	require.True(t, strings.HasSuffix(pieces[2].Text, "END"))
	require.LessOrEqual(t, len(template.HTMLEscapeString(pieces[0].Text)), maxShown)
}
