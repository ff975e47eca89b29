package scrub

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func findTexts(text string) []string {
	var out []string
	for _, f := range Find(text, 100) {
		out = append(out, text[f.From:f.To])
	}
	return out
}

// What is shaped like a secret, or called one, is found with its ends.
func TestFindSecrets(t *testing.T) {
	for text, want := range map[string][]string{
		"password: x7, user: bo":                         {"x7"},
		`{"db_password":"hunter2","n":1}`:                {"hunter2"},
		`{\"password\":\"hunter2\"}`:                     {"hunter2"},
		"Your access code is 90210.":                     {"90210"},
		"the PIN 4711 opens it":                          {"4711"},
		"key AKIAABCDEFGHIJKLMNOP!":                      {"AKIAABCDEFGHIJKLMNOP"},
		"card 4111 1111 1111 1111 exp":                   {"4111 1111 1111 1111"},
		"a\n-----BEGIN KEY-----\nabc\n-----END KEY-----": {"-----BEGIN KEY-----\nabc\n"},
		"seed phrase: apple tiger lamp\nnext":            {"apple tiger lamp"},
		"mot de passe: soleil":                           {"soleil"},
		"密码：ab12":                                        {"ab12"},
		"apiKey=k2k2k2k2k2;":                             {"k2k2k2k2k2"},
		"Author: Jane Doe; monkey: x; session 4 of 6":    nil,
		"Your password is expired. Token: null":          nil,
		"password=${PASSWORD} or ******":                 nil,
		"code: red, key: value, the pin board":           nil,
		"order 4111 1111 1111 1112":                      nil,
		"one pass of the key through 2026-11-30":         nil,
	} {
		require.Equal(t, want, findTexts(text), text)
	}
	require.Len(t, Find(strings.Repeat("password: x7 ", 50), 10), 10)
	require.True(t, IsToken(`"ghp_0123456789abcdef0123"`))
	require.False(t, IsToken("ghp_short"))
	require.True(t, HasCard("4111-1111-1111-1111"))
}

// What is found lies within the text, in order, whatever the text is.
func TestFoundLiesWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom([]string{"password", ": ", "=", "\"", "\\", "4111", " ", "-----BEGIN ",
			"密码", "：", "pin", "is ", "\n"}), rapid.String())).Draw(t, "text"), "")
		at := 0
		for _, f := range Find(text, 20) {
			require.LessOrEqual(t, at, f.From)
			require.Less(t, f.From, f.To)
			require.LessOrEqual(t, f.To, len(text))
			at = f.From
		}
	})
}

// Readings undo escapes once and twice.
func TestReadings(t *testing.T) {
	require.Equal(t, []string{"plain"}, Readings("plain"))
	require.Contains(t, Readings("a%2562"), "ab")
	require.Contains(t, Readings(`a\u0062 &amp; c`), "ab & c")
}
