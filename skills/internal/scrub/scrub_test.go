package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const secret = `SECRET-token/42+"<&>%41é`

// percentAll writes every byte as an escape.
func percentAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

// unicodeAll writes every character as an escape.
func unicodeAll(s string) string {
	var b strings.Builder
	for _, r := range s {
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	return b.String()
}

func quoteJSON(s string) string {
	b, _ := json.Marshal(s) // a text is always JSON
	return string(b[1 : len(b)-1])
}

// ways are encodings in which a secret must not come back.
var ways = map[string]func(string) string{
	"as it is":         func(s string) string { return s },
	"base64":           func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64 url":       func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
	"base64, offset 1": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u" + s + "!")) },
	"base64, offset 2": func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s + "?!")) },
	"base64 as JSON": func(s string) string {
		return strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(s)), "/", `\/`)
	},
	"hex":                func(s string) string { return hex.EncodeToString([]byte(s)) },
	"upper hex":          func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
	"query":              url.QueryEscape,
	"path":               url.PathEscape,
	"percent, all":       percentAll,
	"percent, twice":     func(s string) string { return url.QueryEscape(percentAll(s)) },
	"JSON":               quoteJSON,
	"JSON, twice":        func(s string) string { return quoteJSON(quoteJSON(s)) },
	"JSON, all":          unicodeAll,
	"HTML":               html.EscapeString,
	"lines":              func(s string) string { return s[:5] + "\r\n  " + s[5:9] + "\n" + s[9:] },
	"written lines":      func(s string) string { return s[:5] + `\n` + s[5:9] + `\r\n` + s[9:] },
	"lines in base64":    func(s string) string { b := base64.StdEncoding.EncodeToString([]byte(s)); return b[:9] + "\n" + b[9:] },
	"shortened":          func(s string) string { return s[:len(s)*2/3] + "…" },
	"shortened, percent": func(s string) string { return percentAll(s[:len(s)*2/3]) + "..." },
}

// A secret is found in every encoding, whatever stands around it, and what stands
// around it stays.
func TestEveryEncoding(t *testing.T) {
	s := New(secret)
	for name, encode := range ways {
		for _, around := range [][2]string{{"", ""}, {"header: ", " end"}, {`{"a":"`, `"}`}, {"x\n\\n%41&amp;", "\n%zz\\u00"}} {
			got := s.Text(around[0] + encode(secret) + around[1])
			require.Contains(t, got, Mark, name)
			require.True(t, strings.HasPrefix(got, around[0]), "%s: %q", name, got)
			require.True(t, strings.HasSuffix(got, around[1]), "%s: %q", name, got)
			require.NotContains(t, got, "token", name)
			if name == "as it is" {
				require.Equal(t, around[0]+Mark+around[1], got)
			}
		}
	}
}

// What is no secret stays byte for byte.
func TestOrdinaryTextStays(t *testing.T) {
	s := New(secret, "tiny")
	for _, text := range []string{"", "plain", "100% sure \\n & so on\r\n", "SECRET", "destiny is no tinyness",
		strings.Repeat("a%41\\u0041&lt;\n", 100)} {
		require.Equal(t, text, s.Text(text))
	}
	var none *Scrubber
	require.Equal(t, secret, none.Text(secret))
	require.Nil(t, New("", "abc", " x "))
}

// At a cut, what is left of a secret goes too, also where the cut is within an
// escape.
func TestCut(t *testing.T) {
	s := New(secret)
	for name, encode := range ways {
		whole := encode(secret)
		for n := 1; n < len(whole); n++ {
			got := s.Cut("before "+whole[:n], true)
			require.True(t, strings.HasPrefix(got, "before "), "%s %d: %q", name, n, got)
			require.NotContains(t, got, "SECR", "%s %d", name, n)
			require.Less(t, len(got), len("before ")+len(Mark)+24, "%s %d: %q", name, n, got)
		}
	}
	require.Equal(t, "ends on SECR", s.Cut("ends on SECR", false))
}

// A short secret is found as a word alone, one of three bytes isn't.
func TestShortSecrets(t *testing.T) {
	s := New("pass1", "abc")
	require.Equal(t, "abc "+Mark+" mypass1 ("+Mark+")", s.Text("abc pass1 mypass1 (pass1)"))
}

// Each line of a key is a secret.
func TestLinesOfAKey(t *testing.T) {
	s := New("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQDK\n-----END KEY-----\n")
	require.Equal(t, "it is "+Mark+".", s.Text("it is AASCBKcwggSjAgEAAoIBAQDK."))
}

// An error keeps what it is, and loses what it holds.
func TestError(t *testing.T) {
	err := New(secret).Error(fmt.Errorf("malformed %q: %w", secret, fs.ErrNotExist))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NotContains(t, err.Error(), "token")
	require.NoError(t, New(secret).Error(nil))
	var held *fs.PathError
	require.NotErrorAs(t, New(secret).Error(&fs.PathError{Op: secret, Path: secret, Err: fs.ErrClosed}), &held)
	require.NotErrorAs(t, errors.Join(err), &held)
}

// Printing a Scrubber shows no secret.
func TestPrinting(t *testing.T) {
	s := New(secret)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		require.NotContains(t, fmt.Sprintf(verb, s), "SECRET", verb)
	}
}

// What a configuration holds is told from what everybody may know.
func TestWhatIsSecret(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:password-1"))
	for _, row := range []struct {
		got  []string
		want string
	}{
		{OfHeader("authorization", "Bearer abcdefgh12"), "abcdefgh12"}, {OfHeader("Authorization", basic), "password-1"},
		{OfHeader("Cookie", "theme=dark; sid=abcdefgh12"), "abcdefgh12"}, {OfHeader("X-Api-Key", "abcdefgh12"), "abcdefgh12"},
		{OfHeader("Authorization", `Signature keyId="k",signature="abcdefgh12=="`), "abcdefgh12=="},
		{OfURL("https://me:hunter22@h/x"), "hunter22"}, {OfURL("https://h/x?api_key=abcdefgh12"), "abcdefgh12"},
		{OfURL("https://h/x?v=1a2b3c4d5e6f7a8b9c0d"), "1a2b3c4d5e6f7a8b9c0d"},
		{OfVariable("GH_TOKEN", "abcdefgh12"), "abcdefgh12"}, {OfVariable("DATABASE", "postgres://u:hunter22@h/db"), "hunter22"},
	} {
		require.Contains(t, row.got, row.want)
	}
	require.Empty(t, OfHeader("Accept", "application/json"))
	require.Empty(t, OfURL("https://h/x?format=detailed&since=2026-01-01T00:00:00Z"))
	require.Empty(t, OfVariable("PATH", "/usr/bin:/usr/local/bin2"))
	require.Empty(t, OfVariable("LANG", "en_GB.UTF-8"))
}

// Whatever stands around a secret, and wherever it is cut, no secret is left and nothing
// panics. Scrubbing again changes nothing that matters.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "%", "\\u00", "&amp", "\r\n ", "%4", "é\xff", "[secret]", `\\\u005c`, "&#x26;lt;"} {
		f.Add(seed, seed, secret)
		f.Add(seed, "x", "0123456789abcdef")
	}
	f.Fuzz(func(t *testing.T, before, after, value string) {
		value = strings.Trim(value, " \t\r\n")
		if len(value) < MinLength {
			return
		}
		s := New(value)
		for _, text := range []string{before + value + after, before + base64.StdEncoding.EncodeToString([]byte(value)) + after} {
			if got := s.Text(text); strings.Contains(got, value) && !strings.Contains(Mark, value) && !strings.Contains(before+Mark+after, value) {
				t.Fatalf("%q is left in %q", value, got)
			}
			_ = s.Cut(text[:len(text)/2], true)
		}
	})
}
