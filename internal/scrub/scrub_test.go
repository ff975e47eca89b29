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
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
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

// asciiAll writes every character as JSON of ASCII alone has it: two halves of some.
func asciiAll(s string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		fmt.Fprintf(&b, `\u%04x`, u)
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
	"JSON of ASCII":      asciiAll,
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
	require.Equal(t, "5%"+Mark, s.Cut("5%SECR", true), "what stands before it is no escape")
	wide := New("SECR😀😀token")
	whole := asciiAll("SECR😀😀token")
	for n := len(asciiAll("SECR")); n < len(whole); n++ {
		require.Equal(t, "x "+Mark, wide.Cut("x "+whole[:n], true), n)
	}
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

// escapeSome writes each character of a text in one of the ways that JSON, URLs and HTML
// know, as choices say.
func escapeSome(text string, choices []byte) string {
	var b strings.Builder
	list := []rune(text)
	for i, r := range list {
		choice := byte(i)
		if len(choices) > 0 {
			choice = choices[i%len(choices)]
		}
		switch choice % 8 {
		case 0:
			b.WriteString(quoteJSON(string(r)))
		case 1:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		case 2:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04X`, u)
			}
		case 3:
			b.WriteString(percentAll(string(r)))
		case 4:
			b.WriteString(html.EscapeString(string(r)))
		case 5:
			entity := fmt.Sprintf("&#x%x;", r)
			if html.UnescapeString(entity) != string(r) { // HTML knows no such character
				entity = string(r)
			}
			b.WriteString(entity)
		case 6:
			q := strconv.QuoteToASCII(string(r))
			b.WriteString(q[1 : len(q)-1])
		case 7:
			b.WriteRune(r)
			if choice >= 128 && i < len(list)-1 && !strings.ContainsRune(" \t", list[i+1]) { // a break; blanks behind it are its own
				b.WriteString("\r\n  ")
			}
		}
	}
	return b.String()
}

// canHide reports whether a value can be told apart in a text that escapeSome wrote.
func canHide(value string) bool {
	return len(value) >= MinLength && utf8.ValidString(value) && strings.Trim(value, " \t\r\n") == value &&
		!strings.ContainsAny(value, "\\%&\r\n") && !strings.Contains(Mark, value) && !strings.ContainsRune(value, utf8.RuneError)
}

// No configured value survives, whichever of its characters are escaped, in whichever ways,
// and wherever lines break within it. What stands around it stays.
func checkNothingSurvives(t require.TestingT, value string, choices []byte) {
	for name, s := range map[string]*Scrubber{"secret": New(value), "whole": NewWhole("[gone]", value)} {
		mark := map[string]string{"secret": Mark, "whole": "[gone]"}[name]
		for _, around := range [][2]string{{"", ""}, {`{"a": "`, `"}`}, {"<p>", "</p>"}, {"\n", "\n"}} {
			written := escapeSome(value, choices)
			require.Equal(t, around[0]+mark+around[1], s.Text(around[0]+written+around[1]), "%s: %q as %q", name, value, written)
			twice := quoteJSON(written)
			require.Equal(t, around[0]+mark+around[1], s.Text(around[0]+twice+around[1]), "%s: %q as %q", name, value, twice)
		}
	}
}

func TestNothingSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Za-z0-9é€😀"'<>/+ ._:-]{8,40}`).Filter(canHide).Draw(t, "value")
		checkNothingSurvives(t, value, rapid.SliceOf(rapid.Byte()).Draw(t, "choices"))
	})
}

func FuzzNothingSurvives(f *testing.F) {
	f.Add("0123456789", []byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add("pass 😀 word", []byte{1})
	f.Add("tab\tand\abell\U0001f600", []byte{6})
	f.Add(`a"quoted"value`, []byte{7, 0, 7})
	f.Fuzz(func(t *testing.T, value string, choices []byte) {
		if canHide(value) && len(value) < 200 {
			checkNothingSurvives(t, value, choices)
		}
	})
}

// A value that may be no secret is found whole alone: neither its half nor its lines.
func TestWholeValues(t *testing.T) {
	s := NewWhole("[redacted]", "/home/ann/project", "shortd", "short", "first line of it\nsecond line of it", "  edge")
	for text, want := range map[string]string{
		"/home/ann/project is missing":          "[redacted] is missing",
		"/home/ann/proj is missing":             "/home/ann/proj is missing",
		"abshortdc":                             "ab[redacted]c",
		"short":                                 "short",
		"second line of it":                     "second line of it",
		"first line of it\nsecond line of it":   "[redacted]",
		`"first line of it\nsecond line of it"`: `"[redacted]"`,
		"  edge":                                "[redacted]",
		"edge":                                  "edge",
		"shortd/home/ann/project":               "[redacted]",
	} {
		require.Equal(t, want, s.Text(text), text)
	}
	require.Nil(t, NewWhole("x", "short", ""))
}

// A value that holds what looks like an escape of one language is found in the escapes of
// another.
func TestEscapesWithinAValue(t *testing.T) {
	for _, value := range []string{"0\t&%00", "0é\t%00", "0\x01%00a", "0&%00ab", `0<\x41&`, "0%00&amp;"} {
		s := NewWhole("[redacted]", value)
		var plain strings.Builder
		e := json.NewEncoder(&plain)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(value))
		for name, written := range map[string]string{
			"as it is": value, "quoted": strconv.Quote(value), "ASCII": strconv.QuoteToASCII(value), "JSON": quoteJSON(value),
			"plain JSON": strings.TrimSpace(plain.String()), "query": url.QueryEscape(value), "path": url.PathEscape(value),
			"HTML": html.EscapeString(value),
		} {
			require.Contains(t, s.Text("the value "+written+" of A"), "[redacted]", "%s: %q", name, value)
		}
	}
}

// Scrubbers that are joined find what each finds, and mark it as the first does.
func TestJoin(t *testing.T) {
	first, second := NewWhole("[redacted]", "one-value"), New("two-secret-value")
	require.Equal(t, "[redacted] [redacted]", first.Join(second).Text("one-value two-secret-value"))
	require.Equal(t, Mark+" "+Mark, second.Join(first).Text("one-value two-secret-value"))
	require.Equal(t, first, first.Join(nil))
	var none *Scrubber
	require.Equal(t, second, none.Join(second))
	require.Equal(t, "[redacted] two-secret-value", first.Text("one-value two-secret-value"), "it is unchanged")
}

// Of an address no more is shown than where it leads.
func TestAddress(t *testing.T) {
	shown, ok := Address("https://ann:hunter22@h.example:8443/v1/x?api_key=abcdefgh12#part")
	require.True(t, ok)
	require.Equal(t, "https://h.example:8443/v1/x", shown)
	_, ok = Address("https://ann:hunter22@h.example/%zz")
	require.False(t, ok)
}

// Where two beginnings of a secret stand at a cut, the longer one is hidden.
func TestCutKeepsNoLongerRemain(t *testing.T) {
	require.Equal(t, Mark, New("xyz%xyz 12345678").Cut("xyz%25xyz%", true)) // cut within the %20 of the blank
}
