package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// No value of the environment is left in a message, however a package quoted it. What is
// like a part of a value stays.
func TestMessagesHoldNoValueOfTheEnvironment(t *testing.T) {
	ways := map[string]func(string) string{
		"as it is": func(s string) string { return s },
		"quoted":   strconv.Quote,
		"ASCII":    strconv.QuoteToASCII,
		"JSON": func(s string) string {
			b, err := json.Marshal(s)
			require.NoError(t, err)
			return string(b)
		},
		"query": url.QueryEscape,
		"path":  url.PathEscape,
	}
	hides := func(t require.TestingT, value string) {
		s := scrubber{seen: map[string]bool{}, env: func(string) (string, bool) { return value, true }}
		v, ok := s.lookupEnv("A")
		require.True(t, ok)
		require.Equal(t, value, v)
		for name, write := range ways {
			got := s.hideValues(fmt.Sprintf("the value %s of A", write(value)))
			require.Contains(t, got, redacted, "%s: %q", name, value)
			require.NotContains(t, got, value, name)
		}
	}
	hides(t, "0\t&%00") // was drawn once: what JSON has as \u0026%00
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[a-z0-9é😀][a-z0-9é😀"'<>/ ._:\\%&\t-]{4,28}[a-z0-9]`).Filter(func(s string) bool {
			around := "the value [redacted] of A"
			return !strings.Contains(around, s)
		}).Draw(t, "value")
		hides(t, value)
	})
	s := scrubber{seen: map[string]bool{}, env: func(name string) (string, bool) {
		return map[string]string{"HOME": "/home/ann/very/long/path", "N": "12345"}[name], true
	}}
	for _, name := range []string{"HOME", "N", "HOME"} {
		s.lookupEnv(name)
	}
	require.Equal(t, "/home/ann/very/long is no [redacted]; 12345",
		s.hideValues("/home/ann/very/long is no /home/ann/very/long/path; 12345"), "a value that is short is too common a text")
}
